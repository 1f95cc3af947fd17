/*
 * One message is one keeper. Dead keepers are reaped by the kernel (SIGCHLD is ignored), and so are
 * inits whose keeper died, which become ours (subreaper); the box watches pidfds and needs no more.
 */
#include "box/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

struct order {
	struct sandbox_spawn spawn;
	struct root root;
};

static void
keep_descriptors(const struct sandbox_base *base, int channel)
{
	int keep[3 + CGROUP_CONTROLLERS] = {channel, base->host_ns, base->id_lock};
	size_t n = 3;

	for (uint32_t i = 0; i < base->cgroups->n; i++)
		keep[n++] = base->cgroups->top[i];
	sandbox_keep_only(keep, n);
}

static void NORETURN
nursery_main(const struct sandbox_base *base, int channel, pid_t box)
{
	static struct order order;
	static struct sandbox_park park;
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
		int fds[2];
		ssize_t n = sandbox_recv(channel, &order, sizeof(order), fds, 2, NULL);
		pid_t pid;

		if (n != (ssize_t)sizeof(order) || fds[1] < 0)
			_exit(n == 0 ? 0 : 1);
		pid = fork();
		if (pid == 0) {
			fd_close(channel);
			order.root.ns = fds[1];
			park = (struct sandbox_park){.base = base,
						     .spawn = order.spawn,
						     .root = &order.root,
						     .box = fds[0],
						     .parent = getppid()};
			keeper_main(&park);
		}
		/* When there is none, the box sees its end of the channel close. */
		fd_close(fds[0]);
		fd_close(fds[1]);
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
	      int channel, struct error *err)
{
	static struct order order;
	const int fds[] = {channel, root->ns};
	int r;

	order.spawn = *spawn;
	order.root = *root;
	r = sandbox_send(n->channel, &order, sizeof(order), fds, 2);
	return r == 0 ? 0 : error_sys(err, r, "ask the nursery for a keeper");
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
