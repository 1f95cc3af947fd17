/*
 * The keeper of one sandbox: a process of the box's that is in the session's cgroups before anyone
 * asks for it, the parent of the sandbox's init, and the one that looks at the command from outside
 * before it lets it go. Afterwards it carries bytes.
 *
 * It dies with the nursery, which dies with the box, and init dies with it. It holds no key: that
 * page was wiped by the fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/keeper.h"
#include "box/relay.h"
#include "box/sandbox.h"

/* Tell the box, and be gone; init goes with us. */
void NORETURN
keeper_give_up(struct keeper *k)
{
	struct sandbox_failed f = {.type = SANDBOX_FAILED, .failure = k->failure};

	(void)!sandbox_send(k->park->box, &f, sizeof(f), NULL, 0);
	_exit(1);
}

/* 1: got one; 0: init has gone. A failure it tells is our own. */
int
keeper_hear_init(struct keeper *k, union init_message *m, int *ret_fd)
{
	ssize_t n = sandbox_recv(k->control, m, sizeof(*m), ret_fd, 1, NULL);

	if (n <= 0)
		return 0;
	if (n == (ssize_t)sizeof(m->failed) && m->type == SANDBOX_FAILED) {
		k->failure = m->failed.failure;
		k->failure.step[FAILURE_STEP_MAX - 1] = k->failure.text[FAILURE_TEXT_MAX - 1] =
			'\0';
		if (k->failure.code == 0)
			k->failure.code = -EPROTO;
		if (k->failure.reason >= REASON_COUNT)
			k->failure.reason = R_INTERNAL;
	}
	return 1;
}

/* From here on it carries bytes, waits, and kills nobody but init, which is its own. */
static void
drop_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct keep[2] = {
		{.effective = 1u << CAP_KILL, .permitted = 1u << CAP_KILL}};

	if (syscall(__NR_capset, &head, keep) != 0)
		_exit(1);
}

static void
hear_box(struct keeper *k)
{
	union {
		uint32_t type;
		struct sandbox_signal signal;
		struct sandbox_winsize winsize;
	} m;
	ssize_t n = sandbox_recv(k->park->box, &m, sizeof(m), NULL, 0, NULL);

	if (n <= 0)
		_exit(1);
	if (n == (ssize_t)sizeof(m.signal) && m.type == SANDBOX_SIGNAL) {
		(void)!sandbox_send(k->control, &m.signal, sizeof(m.signal), NULL, 0);
	} else if (n == (ssize_t)sizeof(m.type) && m.type == SANDBOX_HURRY) {
		k->hurry = true;
	} else if (n == (ssize_t)sizeof(m.winsize) && m.type == SANDBOX_WINSIZE &&
		   k->terminal >= 0) {
		const struct winsize size = {.ws_row = m.winsize.rows, .ws_col = m.winsize.columns};

		(void)ioctl(k->terminal, TIOCSWINSZ, &size);
	}
}

static void
hear_end(struct keeper *k)
{
	union init_message m = {0};
	int fd;

	if (keeper_hear_init(k, &m, &fd) == 0) {
		fd_closep(&k->control);
		return;
	}
	fd_close(fd);
	if (m.type == SANDBOX_ENDED)
		k->ended = m.ended;
}

static void
tell_started(struct keeper *k)
{
	if (k->told_started)
		return;
	k->told_started = true;
	k->started.type = SANDBOX_STARTED;
	(void)!sandbox_send(k->park->box, &k->started, sizeof(k->started), NULL, 0);
	drop_privileges();
}

/* The command says nothing here when its execve worked: the end of the stream is the good news. */
static void
hear_gate(struct keeper *k, int32_t *exec_errno)
{
	struct sandbox_exec_failed failed;
	ssize_t n = sandbox_recv(k->gate, &failed, sizeof(failed), NULL, 0, NULL);

	if (n == (ssize_t)sizeof(failed) && failed.type == SANDBOX_EXEC_FAILED)
		*exec_errno = failed.error;
	if (n <= 0)
		fd_closep(&k->gate);
	tell_started(k);
}

#define HURRY_MS 500 /* without anything happening */

/*
 * Until the session is over: its init has gone, or said that nobody but itself is left; and all
 * that was said has been delivered.
 */
static void
carry(struct keeper *k, struct relay *relay, int32_t *exec_errno)
{
	bool alive = true;

	while ((alive && !k->ended.alone) || !relay_finished(relay)) {
		struct pollfd p[4 + RELAY_POLLS] = {
			{.fd = k->park->box, .events = POLLIN},
			{.fd = alive ? k->init_pidfd : -1, .events = POLLIN},
			{.fd = k->control, .events = POLLIN},
			{.fd = k->gate, .events = POLLIN},
		};
		unsigned n = relay_polls(relay, p + 4);

		int ready = poll(p, 4 + n, k->hurry ? HURRY_MS : -1);

		if (ready < 0)
			continue;
		if (ready == 0)
			relay_abandon(relay);
		relay_step(relay, p + 4, n);
		if (p[3].revents != 0)
			hear_gate(k, exec_errno);
		if (p[2].revents != 0)
			hear_end(k);
		if (p[0].revents != 0)
			hear_box(k);
		if (p[1].revents != 0 && k->control < 0)
			alive = false;
	}
}

static void
finish(struct keeper *k, struct relay *relay, int32_t exec_errno)
{
	static struct sandbox_done done;

	tell_started(k);
	done.type = SANDBOX_DONE;
	done.exec_errno = exec_errno;
	done.ended = k->ended.type == SANDBOX_ENDED;
	done.status = k->ended.status;
	done.cpu_us = k->ended.cpu_us;
	cgroup_usage(&k->cgroup, &done.usage);
	relay_stream(&relay->out, &done.out);
	relay_stream(&relay->err, &done.err);
	(void)!sandbox_send(k->park->box, &done, sizeof(done), NULL, 0);
	/* Now init may go. The end of our channel tells the box that nothing is left, so it is
	 * last. */
	fd_closep(&k->control);
	while (waitpid(k->init, NULL, 0) < 0 && errno == EINTR)
		;
}

void
keeper_main(const struct sandbox_park *p)
{
	static struct keeper k;
	struct relay relay;
	struct error err = {0};
	int fds[PLAN_FDS_MAX];
	int32_t exec_errno = 0;
	int out, to;

	k.park = p;
	k.init_pidfd = k.control = k.gate = k.in = k.out = k.err = k.idmap = k.terminal = -1;
	keeper_park(&k);
	keeper_receive_plan(&k, fds);
	keeper_start(&k, fds);
	out = k.terminal >= 0 ? k.terminal : k.out;
	to = k.terminal >= 0 ? dup(k.terminal) : k.in;
	if (k.terminal >= 0) {
		fd_close(k.in);
		fd_close(k.out);
		fd_closep(&k.err);
		(void)fcntl(out, F_SETFL, O_NONBLOCK);
	}
	if (relay_init(&relay, k.client, to, out, k.err, k.message.plan.output_bytes, &err) < 0) {
		(void)failure_error(&k.failure, R_INTERNAL, "relay", &err);
		keeper_give_up(&k);
	}
	carry(&k, &relay, &exec_errno);
	finish(&k, &relay, exec_errno);
	relay_fini(&relay);
	_exit(0);
}
