/*
 * One message is one keeper, or one thing to remove (which can take a while, and nobody waits for
 * it). Dead keepers are reaped by the kernel (SIGCHLD is ignored), and so are
 * inits whose keeper died, which become ours (subreaper); the box watches pidfds and needs no more.
 */
#include "box/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

enum order_type { ORDER_SPAWN = 1, ORDER_REMOVE };
struct order {
	uint32_t type;
	char name[SPARE_NAME_MAX]; /* to remove */
	struct sandbox_spawn spawn;
	struct root root;
};
#define ORDER_SHORT offsetof(struct order, spawn)

static void
keep_descriptors(const struct sandbox_base *base, int channel)
{
	int keep[4 + CGROUP_CONTROLLERS] = {channel, base->host_ns, base->id_lock, base->sessions};
	size_t n = 4;

	for (uint32_t i = 0; i < base->cgroups->n; i++)
		keep[n++] = base->cgroups->top[i];
	sandbox_keep_only(keep, n);
}

/* In the new process: only the keeper's own descriptors are left above 2. */
static void NORETURN
become_keeper(const struct sandbox_base *base, struct order *order, const int fds[3], int channel)
{
	static struct sandbox_park park;

	fd_close(channel);
	order->root.ns = fds[1];
	park = (struct sandbox_park){.base = base,
				     .spawn = order->spawn,
				     .root = &order->root,
				     .box = fds[0],
				     .workspace = fds[2],
				     .parent = getppid()};
	keeper_main(&park);
}

/*
 * The box closed the channel: its keepers go by themselves, since theirs is closed too, and one
 * that was just being born may have left something. (What is ignored is not waited for, but for its
 * end.)
 */
static void NORETURN
leave(const struct sandbox_base *base)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	spare_sweep(base->sessions);
	_exit(0);
}

static void NORETURN
nursery_main(const struct sandbox_base *base, int channel, pid_t box)
{
	static struct order order;
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != box ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		_exit(1);
	(void)prctl(PR_SET_NAME, "loom-nursery", 0, 0, 0);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	keep_descriptors(base, channel);
	for (;;) {
		int fds[3];
		ssize_t n = sandbox_recv(channel, &order, sizeof(order), fds, 3, NULL);
		struct error err = {0};

		if (n == (ssize_t)ORDER_SHORT && order.type == ORDER_REMOVE) {
			if (spare_remove(base->sessions, order.name, &err) < 0)
				log_warning("%s", err.text);
			continue;
		}
		if (n == 0)
			leave(base);
		if (n != (ssize_t)sizeof(order) || order.type != ORDER_SPAWN || fds[1] < 0)
			_exit(1);
		if (fork() == 0)
			become_keeper(base, &order, fds, channel);
		/* When there is none, the box sees its end of the channel close. */
		for (int i = 0; i < 3; i++)
			fd_close(fds[i]);
	}
}

int
nursery_start(struct nursery *n, const struct sandbox_base *base, struct error *err)
{
	const int room = 4 * (int)sizeof(struct order);
	pid_t box = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0 ||
	    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) != 0)
		return error_sys(err, -errno, "make a socket pair");
	n->pid = fork();
	if (n->pid == 0)
		nursery_main(base, fds[1], box);
	fd_close(fds[1]);
	if (n->pid < 0) {
		fd_close(fds[0]);
		return error_sys(err, -errno, "fork the nursery");
	}
	n->channel = fds[0];
	return 0;
}

int
nursery_spawn(struct nursery *n, const struct sandbox_spawn *spawn, const struct root *root,
	      int channel, int workspace, struct error *err)
{
	static struct order order;
	const int fds[] = {channel, root->ns, workspace};
	int r;

	order.type = ORDER_SPAWN;
	order.spawn = *spawn;
	order.root = *root;
	r = sandbox_send(n->channel, &order, sizeof(order), fds, workspace >= 0 ? 3 : 2);
	return r == 0 ? 0 : error_sys(err, r, "ask the nursery for a keeper");
}

void
nursery_remove(struct nursery *n, const char *name)
{
	struct order order = {.type = ORDER_REMOVE};

	(void)snprintf(order.name, sizeof(order.name), "%s", name);
	if (n->channel < 0 || sandbox_send(n->channel, &order, ORDER_SHORT, NULL, 0) < 0)
		log_warning("%s stays until the next start", name);
}

void
nursery_close(struct nursery *n)
{
	if (n->channel < 0)
		return;
	fd_closep(&n->channel);
	while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
