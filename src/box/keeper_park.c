/*
 * Parking: into the cgroups, init into its namespaces and through its own preparations, and once
 * through what will be done when somebody waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/keeper.h"
#include "box/mounts.h"
#include "box/procfs.h"

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static void
become_a_process_of_its_own(struct keeper *k)
{
	/* By the system call: 32 and 33, which a parent that used posix_spawn(3) leaves ignored,
	 * are the C library's own and sigaction(3) refuses to touch them. */
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} dfl = {.handler = SIG_DFL}, ign = {.handler = SIG_IGN};
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != k->park->parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "loom-keeper", 0, 0, 0);
	for (int s = 1; s < NSIG; s++)
		(void)syscall(__NR_rt_sigaction, s, s == SIGPIPE ? &ign : &dfl, NULL,
			      sizeof(dfl.mask));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* A session of its own, so that no signal to a group reaches across. */
	(void)setsid();
}

/* So that the box can end us from here on. */
static void
tell_born(struct keeper *k)
{
	const struct sandbox_born born = {.type = SANDBOX_BORN};
	CLEANUP(fd_closep) int self = (int)syscall(__NR_pidfd_open, getpid(), 0);

	if (self < 0 || sandbox_send(k->park->box, &born, sizeof(born), &self, 1) < 0)
		_exit(1);
}

static int
enter_cgroups(struct keeper *k)
{
	struct error err = {0};

	if (cgroup_make(k->park->base->cgroups, k->park->spawn.number, &k->cgroup, &err) < 0 ||
	    (k->park->spawn.limits.memory != 0 &&
	     cgroup_limit(&k->cgroup, &k->park->spawn.limits, &err) < 0) ||
	    cgroup_enter(&k->cgroup, &err) < 0)
		return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "cgroup", &err);
	return 0;
}

/* A pair whose second end is the child's. */
static int
make_pair(struct keeper *k, int *ours, int *theirs)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return KEEPER_FAIL(k, "process", "make a socket pair");
	*ours = fds[0];
	*theirs = fds[1];
	return 0;
}

static int
make_pipe(struct keeper *k, int *reading, int *writing)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return KEEPER_FAIL(k, "process", "make a pipe");
	*reading = fds[0];
	*writing = fds[1];
	return 0;
}

static int
make_channels(struct keeper *k, struct init_start *start)
{
	const int on = 1;

	if (make_pair(k, &k->control, &start->control) < 0 ||
	    make_pair(k, &k->gate, &start->gate) < 0 || make_pipe(k, &start->in, &k->in) < 0 ||
	    make_pipe(k, &k->out, &start->out) < 0 || make_pipe(k, &k->err, &start->err) < 0)
		return k->failure.code;
	/* The command can open its streams anew by name (/dev/stderr), as the pipes' owner. */
	if (fchown(start->in, k->park->spawn.host_id, k->park->spawn.host_id) != 0 ||
	    fchown(start->out, k->park->spawn.host_id, k->park->spawn.host_id) != 0 ||
	    fchown(start->err, k->park->spawn.host_id, k->park->spawn.host_id) != 0)
		return KEEPER_FAIL(k, "ids", "give the streams to the session");
	/* The kernel says who reports at the gate, in our own numbers. */
	if (setsockopt(k->gate, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return KEEPER_FAIL(k, "process", "ask for credentials");
	/* Ours alone (the command has the other ends), so they may stop blocking. */
	if (fcntl(k->in, F_SETFL, O_NONBLOCK) != 0 || fcntl(k->out, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(k->err, F_SETFL, O_NONBLOCK) != 0)
		return KEEPER_FAIL(k, "process", "set up the streams");
	return 0;
}

/*
 * A user namespace belongs to who makes it, and what is used in it of the kernel's quotas per user
 * (inotify, pending signals, locked memory, namespaces) counts against him. So it is made as the
 * session's own user; capabilities stay with us. A change of ids unties us from our parent.
 */
static int
act_as(struct keeper *k, uid_t uid)
{
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0 ||
	    syscall(__NR_setresuid, -1, uid, -1) != 0)
		return KEEPER_FAIL(k, "ids", "act as another user");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != k->park->parent)
		_exit(1);
	return 0;
}

static int
clone_init(struct keeper *k, const struct init_start *start)
{
	int group = cgroup_clone_fd(&k->cgroup);
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0u),
		.pidfd = (uint64_t)(uintptr_t)&k->init_pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = group >= 0 ? (unsigned)group : 0u,
	};
	long pid;

	/* Where Loom was started with 0, init could not go up to a 1 that its plan asks for. If we
	 * cannot either, that plan is refused. */
	(void)setrlimit(RLIMIT_CORE, &(const struct rlimit){1, 1});
	if (act_as(k, k->park->spawn.host_id) < 0)
		return k->failure.code;
	pid = syscall(__NR_clone3, &args, sizeof(args));
	if (pid == 0) {
		int keep[] = {start->control, start->gate, start->in, start->out, start->err};

		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
			_exit(1);
		sandbox_keep_only(keep, ARRAY_LEN(keep));
		init_main(start);
	}
	if (pid < 0)
		return failure_sys(&k->failure,
				   errno == ENOSPC || errno == EPERM ? R_RUNTIME_UNAVAILABLE
								     : R_CAPABILITY_UNAVAILABLE,
				   "namespaces", -errno, "make the session's namespaces");
	k->init = (pid_t)pid;
	return act_as(k, 0);
}

static int
write_map(struct keeper *k, int proc, const char *file)
{
	CLEANUP(fd_closep) int fd = openat(proc, file, O_WRONLY | O_CLOEXEC);
	char map[48];
	int n = snprintf(map, sizeof(map), "%u %u 1\n", PLAN_INSIDE_ID, k->park->spawn.host_id);

	if (fd < 0 || write(fd, map, (size_t)n) != n)
		return KEEPER_FAIL(k, "ids", "write %s", file);
	return 0;
}

/* Before init does anything: its ids; and that the out-of-memory killer takes the sandbox first. */
static int
set_up_init(struct keeper *k)
{
	const uint32_t go = SANDBOX_GO;
	struct error err = {0};
	CLEANUP(fd_closep) int proc = procfs_open(k->init, &err);
	CLEANUP(fd_closep) int oom = -1;

	if (proc < 0)
		return failure_error(&k->failure, R_INTERNAL, "process", &err);
	if (write_map(k, proc, "uid_map") < 0 || write_map(k, proc, "gid_map") < 0)
		return k->failure.code;
	oom = openat(proc, "oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (oom < 0 || write(oom, "1000", 4) != 4)
		return KEEPER_FAIL(k, "process", "set oom_score_adj");
	if (sandbox_send(k->control, &go, sizeof(go), NULL, 0) < 0)
		return KEEPER_FAIL(k, "process", "start init");
	return 0;
}

static int
wait_ready(struct keeper *k)
{
	union init_message m = {0};
	int fd;

	if (keeper_hear_init(k, &m, &fd) == 0)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPIPE, "init died");
	fd_close(fd);
	if (k->failure.code != 0)
		return k->failure.code;
	if (m.type != SANDBOX_READY)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPROTO,
				   "init said something else than that it is ready");
	k->landlock_abi = m.ready.landlock_abi;
	memcpy(k->landlock_digest, m.ready.landlock_digest, sizeof(k->landlock_digest));
	return 0;
}

/* See confirm.h. Init stands in for the command, and an empty plan for the plan. */
static void
rehearse(struct keeper *k)
{
	static struct sandbox_report report;
	const struct confirm_in in = {.own = &k->own,
				      .park = k->park,
				      .plan = &k->message.plan,
				      .cgroup = &k->cgroup,
				      .report = &report,
				      .init = k->init,
				      .command = k->init};

	confirm_rehearse(&in);
}

void
keeper_park(struct keeper *k)
{
	struct init_start start = {.park = k->park};
	struct sandbox_parked parked = {.type = SANDBOX_PARKED};

	become_a_process_of_its_own(k);
	tell_born(k);
	if (enter_cgroups(k) < 0 || make_channels(k, &start) < 0)
		keeper_give_up(k);
	/* Init is born with the root of the template; the client's descriptors are the host's. */
	if (setns(k->park->root->ns, CLONE_NEWNS) != 0) {
		(void)KEEPER_FAIL(k, "namespaces", "enter the root's mount namespace");
		keeper_give_up(k);
	}
	if (clone_init(k, &start) < 0)
		keeper_give_up(k);
	fd_close(start.control);
	fd_close(start.gate);
	fd_close(start.in);
	fd_close(start.out);
	fd_close(start.err);
	if (setns(k->park->base->host_ns, CLONE_NEWNS) != 0) {
		(void)KEEPER_FAIL(k, "namespaces", "return to the host's mount namespace");
		keeper_give_up(k);
	}
	if (set_up_init(k) < 0 ||
	    keeper_idmap(k, k->park->spawn.owner_uid, k->park->spawn.owner_gid) < 0 ||
	    wait_ready(k) < 0 || (k->park->spawn.prepare && keeper_prepare(k) < 0))
		keeper_give_up(k);
	fd_close(k->park->workspace);
	if (confirm_know_own(&k->own, &k->failure) < 0)
		keeper_give_up(k);
	if (!k->park->spawn.awaited)
		rehearse(k);
	fd_close(k->park->root->ns);
	fd_close(k->park->base->host_ns);
	parked.init_pid = k->init;
	if (sandbox_send(k->park->box, &parked, sizeof(parked), &k->init_pidfd, 1) < 0)
		_exit(1);
}
