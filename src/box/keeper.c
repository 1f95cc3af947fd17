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
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "box/confirm.h"
#include "box/mounts.h"
#include "box/procfs.h"
#include "box/relay.h"
#include "box/sandbox.h"

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

struct keeper {
	const struct sandbox_park *park;
	struct failure failure;
	struct confirm_own own;
	struct cgroup cgroup;
	pid_t init;
	int init_pidfd;
	int control;             /* to init */
	int gate;                /* to the command */
	int in, out, err;        /* our ends of the command's streams */
	int idmap;               /* user namespace for the guessed owner; -1 */
	int terminal;            /* our side; -1: none */
	int landlock_abi;
	uint8_t landlock_digest[32]; /* before the workspace's rule */
	int client[3];
	bool told_started;
	struct sandbox_started started;
	struct sandbox_ended ended; /* type 0: init did not tell yet */
	struct sandbox_plan message;
};

#define FAIL(k, step, ...)                                                                         \
	failure_sys(&(k)->failure, R_CAPABILITY_UNAVAILABLE, step, -errno, __VA_ARGS__)

/* Tell the box, and be gone; init goes with us. */
static void NORETURN
give_up(struct keeper *k)
{
	struct sandbox_failed f = {.type = SANDBOX_FAILED, .failure = k->failure};

	(void)!sandbox_send(k->park->box, &f, sizeof(f), NULL, 0);
	_exit(1);
}

/* ---- parking ---- */

static void
become_a_process_of_its_own(struct keeper *k)
{
	/* By the system call: 32 and 33, which a parent that used posix_spawn(3) leaves ignored, are
	 * the C library's own and sigaction(3) refuses to touch them. */
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
		return FAIL(k, "process", "make a socket pair");
	*ours = fds[0];
	*theirs = fds[1];
	return 0;
}

static int
make_pipe(struct keeper *k, int *reading, int *writing)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return FAIL(k, "process", "make a pipe");
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
	/* The kernel says who reports at the gate, in our own numbers. */
	if (setsockopt(k->gate, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return FAIL(k, "process", "ask for credentials");
	/* Ours alone (the command has the other ends), so they may stop blocking. */
	if (fcntl(k->in, F_SETFL, O_NONBLOCK) != 0 || fcntl(k->out, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(k->err, F_SETFL, O_NONBLOCK) != 0)
		return FAIL(k, "process", "set up the streams");
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
	long pid = syscall(__NR_clone3, &args, sizeof(args));

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
	return 0;
}

static int
write_map(struct keeper *k, int proc, const char *file)
{
	CLEANUP(fd_closep) int fd = openat(proc, file, O_WRONLY | O_CLOEXEC);
	char map[48];
	int n = snprintf(map, sizeof(map), "%u %u 1\n", PLAN_INSIDE_ID, k->park->spawn.host_id);

	if (fd < 0 || write(fd, map, (size_t)n) != n)
		return FAIL(k, "ids", "write %s", file);
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
		return FAIL(k, "process", "set oom_score_adj");
	if (sandbox_send(k->control, &go, sizeof(go), NULL, 0) < 0)
		return FAIL(k, "process", "start init");
	return 0;
}

/* A message of init's: READY, TERMINAL, ENDED, FAILED. */
union init_message {
	uint32_t type;
	struct sandbox_ready ready;
	struct sandbox_ended ended;
	struct sandbox_failed failed;
};

/* 1: got one; 0: init has gone. A failure it tells is our own. */
static int
hear_init(struct keeper *k, union init_message *m, int *ret_fd)
{
	ssize_t n = sandbox_recv(k->control, m, sizeof(*m), ret_fd, 1, NULL);

	if (n <= 0)
		return 0;
	if (n == (ssize_t)sizeof(m->failed) && m->type == SANDBOX_FAILED) {
		k->failure = m->failed.failure;
		k->failure.step[FAILURE_STEP_MAX - 1] = k->failure.text[FAILURE_TEXT_MAX - 1] = '\0';
		if (k->failure.code == 0)
			k->failure.code = -EPROTO;
		if (k->failure.reason >= REASON_COUNT)
			k->failure.reason = R_INTERNAL;
	}
	return 1;
}

static int
wait_ready(struct keeper *k)
{
	union init_message m = {0};
	int fd;

	if (hear_init(k, &m, &fd) == 0)
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

static int
make_idmap(struct keeper *k, uint32_t uid, uint32_t gid)
{
	struct error err = {0};

	fd_closep(&k->idmap);
	k->idmap = mounts_userns(uid, gid, k->park->spawn.host_id, &err);
	if (k->idmap < 0)
		return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", &err);
	return 0;
}

/*
 * The client's directory as a mount: of the mount namespace that clients are in, or else by its
 * path, and then it must be the same object.
 */
static int
clone_workspace(struct keeper *k, int workspace, uint64_t ino, uint32_t dev_major, uint32_t dev_minor)
{
	char path[2 * PATH_BYTES_MAX], link[32];
	struct error err = {0}, again = {0};
	CLEANUP(fd_closep) int by_path = -1;
	int fd = mounts_clone(workspace, "", false, &err);
	struct stat st;
	ssize_t n;

	if (fd != -EINVAL)
		return fd >= 0 ? fd
			       : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "workspace",
					       &err);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", workspace);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 1)
		return FAIL(k, "workspace", "find the workspace's path");
	path[n] = '\0';
	by_path = mounts_open_plain(AT_FDCWD, path, &again);
	if (by_path < 0 || fstat(by_path, &st) != 0 || st.st_ino != ino ||
	    major(st.st_dev) != dev_major || minor(st.st_dev) != dev_minor)
		return failure_set(&k->failure, R_INVALID_PATH, "workspace", -ESTALE,
				   "the workspace is not to be seen where the box is");
	fd = mounts_clone(by_path, "", false, &again);
	return fd >= 0 ? fd
		       : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "workspace", &again);
}

static int
idmapped(struct keeper *k, int fd, uint64_t attr)
{
	struct error err = {0};
	int r = mounts_idmap(fd, k->idmap, &err);

	if (r == -EOPNOTSUPP)
		return failure_set(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", r,
				   "the workspace's file system has no idmapped mounts");
	if (r == 0)
		r = mounts_attr(fd, false, attr, &err);
	return r == 0 ? 0 : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", &err);
}

/*
 * The last plan's workspace is likely to be the next one's: mount it now, on layers that become a
 * session's if it is. The box sees to it that it is the same object then, or that it goes.
 */
static int
prepare(struct keeper *k)
{
	const struct spare_for *w = &k->park->spawn.workspace;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	struct sandbox_prepare m = {.type = SANDBOX_PREPARE};
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(fd_closep) int lower = -1;
	CLEANUP(fd_closep) int layers = -1;
	union init_message answer = {0};
	struct error err = {0};
	int none;

	(void)snprintf(m.at, sizeof(m.at), "%s", k->park->root->shape.workspace_at);
	dir = spare_make(k->park->base->sessions, k->park->spawn.number, w, &err);
	layers = dir >= 0 ? mounts_clone(dir, "", false, &err) : dir;
	if (layers < 0)
		return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "layers", &err);
	lower = clone_workspace(k, k->park->workspace, w->ino, major(w->dev), minor(w->dev));
	if (lower < 0 || idmapped(k, lower, safe | MOUNT_ATTR_RDONLY) < 0 ||
	    idmapped(k, layers, safe) < 0)
		return k->failure.code;
	if (sandbox_send(k->control, &m, sizeof(m), (const int[]){lower, layers}, 2) < 0 ||
	    hear_init(k, &answer, &none) == 0)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPIPE,
				   "init died while it was prepared");
	fd_close(none);
	if (k->failure.code == 0 && answer.type != SANDBOX_PREPARED)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPROTO,
				   "init said something out of turn");
	return k->failure.code;
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

static void
park(struct keeper *k)
{
	struct init_start start = {.park = k->park};
	struct sandbox_parked parked = {.type = SANDBOX_PARKED};

	become_a_process_of_its_own(k);
	tell_born(k);
	if (enter_cgroups(k) < 0 || make_channels(k, &start) < 0)
		give_up(k);
	/* Init is born with the root of the template; the client's descriptors are the host's. */
	if (setns(k->park->root->ns, CLONE_NEWNS) != 0) {
		(void)FAIL(k, "namespaces", "enter the root's mount namespace");
		give_up(k);
	}
	if (clone_init(k, &start) < 0)
		give_up(k);
	fd_close(start.control);
	fd_close(start.gate);
	fd_close(start.in);
	fd_close(start.out);
	fd_close(start.err);
	if (setns(k->park->base->host_ns, CLONE_NEWNS) != 0) {
		(void)FAIL(k, "namespaces", "return to the host's mount namespace");
		give_up(k);
	}
	if (set_up_init(k) < 0 || make_idmap(k, k->park->spawn.owner_uid, k->park->spawn.owner_gid) < 0 ||
	    wait_ready(k) < 0 || (k->park->spawn.prepare && prepare(k) < 0))
		give_up(k);
	fd_close(k->park->workspace);
	if (confirm_know_own(&k->own, &k->failure) < 0)
		give_up(k);
	if (!k->park->spawn.awaited)
		rehearse(k);
	fd_close(k->park->root->ns);
	fd_close(k->park->base->host_ns);
	parked.init_pid = k->init;
	if (sandbox_send(k->park->box, &parked, sizeof(parked), &k->init_pidfd, 1) < 0)
		_exit(1);
}

/* ---- with a plan ---- */

/* Wait for one of our two peers. What the box says before its plan can only be its end. */
static void
receive_plan(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	struct pollfd polled[] = {{.fd = k->park->box, .events = POLLIN},
				  {.fd = k->init_pidfd, .events = POLLIN}};
	ssize_t n;

	while (poll(polled, 2, -1) < 0)
		;
	if (polled[1].revents != 0) {
		(void)failure_set(&k->failure, R_INTERNAL, "init", -EPIPE, "init died while parked");
		give_up(k);
	}
	n = sandbox_recv(k->park->box, &k->message, sizeof(k->message), fds, PLAN_FDS_MAX, NULL);
	if (n <= 0)
		_exit(0);
	if (k->message.type != SANDBOX_PLAN || (size_t)n < SANDBOX_PLAN_FIXED ||
	    !plan_valid(&k->message.plan, (size_t)n - offsetof(struct sandbox_plan, plan))) {
		(void)failure_set(&k->failure, R_INTERNAL, "plan", -EPROTO, "what came is no plan");
		give_up(k);
	}
}

/* The client's directory, and the session's layers, as mounts for init. */
static int
make_mounts(struct keeper *k, int workspace, int session, int *ret_workspace, int *ret_layers)
{
	const struct plan *p = &k->message.plan;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	CLEANUP(fd_closep) int lower = -1;
	CLEANUP(fd_closep) int layers = -1;
	struct error err = {0};

	if (p->owner_uid != k->park->spawn.owner_uid || p->owner_gid != k->park->spawn.owner_gid)
		if (make_idmap(k, p->owner_uid, p->owner_gid) < 0)
			return k->failure.code;
	lower = clone_workspace(k, workspace, p->ino, p->dev_major, p->dev_minor);
	if (lower < 0 ||
	    idmapped(k, lower, safe | (p->mode == WORKSPACE_DIRECT ? 0 : MOUNT_ATTR_RDONLY)) < 0)
		return k->failure.code;
	if (p->mode == WORKSPACE_OVERLAY) {
		layers = mounts_clone(session, "", false, &err);
		if (layers < 0)
			return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "layers", &err);
		if (idmapped(k, layers, safe) < 0)
			return k->failure.code;
	}
	*ret_workspace = TAKE_FD(lower);
	*ret_layers = TAKE_FD(layers);
	return 0;
}

/* Hand the plan on, with what init needs of it. */
static int
pass_plan(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	const struct plan *p = &k->message.plan;
	CLEANUP(fd_closep) int workspace = -1;
	CLEANUP(fd_closep) int layers = -1;
	int send[4], at = PLAN_FD_ENV, n = 0, r;

	send[n++] = fds[PLAN_FD_ARGS];
	if ((p->flags & PLAN_CLIENT_ENV) != 0)
		send[n++] = fds[at++];
	if ((p->flags & PLAN_PREPARED) == 0) {
		if (make_mounts(k, fds[PLAN_FD_WORKSPACE], fds[at], &workspace, &layers) < 0)
			return k->failure.code;
		send[n++] = workspace;
		if (layers >= 0)
			send[n++] = layers;
	}
	r = sandbox_send(k->control, &k->message, offsetof(struct sandbox_plan, plan) + p->size,
			 send, (size_t)n);
	for (int i = PLAN_FD_WORKSPACE; i < PLAN_FDS_MAX; i++)
		fd_closep(&fds[i]);
	fd_closep(&k->idmap);
	return r == 0 ? 0
		      : failure_sys(&k->failure, R_INTERNAL, "plan", r, "hand the plan to init");
}

/* What comes next: a terminal from init, then the command's report. Or a failure of either. */
static int
wait_report(struct keeper *k, struct sandbox_report *report, pid_t *ret_pid)
{
	union init_message m;

	for (;;) {
		struct pollfd polled[] = {{.fd = k->gate, .events = POLLIN},
					  {.fd = k->control, .events = POLLIN},
					  {.fd = k->init_pidfd, .events = POLLIN}};
		ssize_t n;
		int fd = -1;

		if (poll(polled, 3, -1) < 0)
			continue;
		if (polled[1].revents != 0) {
			if (hear_init(k, &m, &fd) == 0 || k->failure.code != 0)
				break;
			if (m.type != SANDBOX_TERMINAL || fd < 0 || k->terminal >= 0)
				return failure_set(&k->failure, R_INTERNAL, "init", -EPROTO,
						   "init said something out of turn");
			k->terminal = fd;
			continue;
		}
		if (polled[0].revents != 0) {
			n = sandbox_recv(k->gate, report, sizeof(*report), NULL, 0, ret_pid);
			if (n == (ssize_t)sizeof(*report) && report->type == SANDBOX_REPORT)
				return 0;
			if (n == (ssize_t)sizeof(m.failed) && report->type == SANDBOX_FAILED) {
				memcpy(&m.failed, report, sizeof(m.failed));
				k->failure = m.failed.failure;
				break;
			}
		}
		if (polled[0].revents != 0 || polled[2].revents != 0)
			break;
	}
	return failure_set(&k->failure, R_INTERNAL, "init", -EPIPE,
			   "the sandbox died while it was made");
}

static int
check(struct keeper *k, const struct sandbox_report *report, pid_t command,
      struct sandbox_facts *facts)
{
	const struct confirm_in in = {.own = &k->own,
				      .park = k->park,
				      .plan = &k->message.plan,
				      .cgroup = &k->cgroup,
				      .report = report,
				      .init = k->init,
				      .command = command};

	if (confirm(&in, facts, &k->failure) < 0)
		return k->failure.code;
	if (report->refused)
		return failure_set(&k->failure, R_INVALID_ARGUMENT, "command", -EINVAL,
				   "the command names a file of procfs or of Loom itself");
	return 0;
}

/* From here on it carries bytes, waits, and kills nobody but init, which is its own. */
static void
drop_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct keep[2] = {{.effective = 1u << CAP_KILL,
						  .permitted = 1u << CAP_KILL}};

	if (syscall(__NR_capset, &head, keep) != 0)
		_exit(1);
}

/* Up to the open gate. What has to be told is told when the command is on its way. */
static void
start(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	static struct sandbox_report report;
	const uint32_t open_gate = SANDBOX_OPEN;
	struct error err = {0};
	pid_t command = 0;

	if (pass_plan(k, fds) < 0)
		give_up(k);
	for (int i = 0; i < 3; i++)
		k->client[i] = TAKE_FD(fds[i]);
	if (cgroup_limit(&k->cgroup, &k->message.plan.limits, &err) < 0) {
		(void)failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "cgroup", &err);
		give_up(k);
	}
	if (wait_report(k, &report, &command) < 0 ||
	    check(k, &report, command, &k->started.facts) < 0)
		give_up(k);
	if (sandbox_send(k->gate, &open_gate, sizeof(open_gate), NULL, 0) < 0)
		_exit(1);
}

/* ---- while it runs ---- */

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
	} else if (n == (ssize_t)sizeof(m.winsize) && m.type == SANDBOX_WINSIZE && k->terminal >= 0) {
		const struct winsize size = {.ws_row = m.winsize.rows, .ws_col = m.winsize.columns};

		(void)ioctl(k->terminal, TIOCSWINSZ, &size);
	}
}

static void
hear_end(struct keeper *k)
{
	union init_message m = {0};
	int fd;

	if (hear_init(k, &m, &fd) == 0) {
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

/*
 * Until the session is over: its init has gone, or said that nobody but itself is left; and all that
 * was said has been delivered.
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

		if (poll(p, 4 + n, -1) < 0)
			continue;
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
	/* Now init may go. The end of our channel tells the box that nothing is left, so it is last. */
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
	park(&k);
	receive_plan(&k, fds);
	start(&k, fds);
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
		give_up(&k);
	}
	carry(&k, &relay, &exec_errno);
	finish(&k, &relay, exec_errno);
	relay_fini(&relay);
	_exit(0);
}
