/*
 * The sandbox's init, process 1 of its PID namespace. In two parts:
 *
 * Parked, with all capabilities in its own user namespace and none outside: it takes the session's
 * id, puts procfs, devpts and the two tmpfs into the root, leaves the stage by pivot_root, and
 * gives up what it will not need (bounding set, ambient set, securebits, privileges).
 *
 * With a plan: it mounts the workspace, opens the command's directory, enters the Landlock domain,
 * drops its capabilities, installs the filter, and clones the command, which inherits all that.
 * Then it waits: for children to reap, for signals to pass on. When the command ends, init ends,
 * and the kernel kills what is left in the namespace. It dies with its keeper (PDEATHSIG, and the
 * end of the control channel).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/landlock.h"
#include "box/mounts.h"
#include "box/quotas.h"
#include "box/sandbox.h"
#include "box/sanitized.h"

#define TMPFS_FLAGS (MS_NOSUID | MS_NODEV)
#define PROC_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)
#define COMMAND_STACK (64 * 1024)
#define TERMINALS_MAX "64" /* of the machine's few thousand */

struct init {
	const struct init_start *start;
	const struct sandbox_park *park;
	struct failure failure;
	int ruleset;
	uint8_t landlock_digest[32];
	int signals;
	uint64_t tmp_bytes, shm_bytes;	    /* as mounted */
	char prepared_at[PROFILE_PATH_MAX]; /* where a workspace is mounted already; empty: none */
	pid_t command;
	struct sandbox_plan message; /* last: large, and touched only as far as it is filled */
};

static int
tell_failure(struct init *in)
{
	struct sandbox_failed f = {.type = SANDBOX_FAILED, .failure = in->failure};

	(void)!sandbox_send(in->start->control, &f, sizeof(f), NULL, 0);
	_exit(125);
}

#define FAIL(in, step, ...)                                                                        \
	failure_sys(&(in)->failure, R_CAPABILITY_UNAVAILABLE, step, -errno, __VA_ARGS__)

/* ---- parked ---- */

static int
take_ids(struct init *in)
{
	uint32_t go = 0;

	if (sandbox_recv(in->start->control, &go, sizeof(go), NULL, 0, NULL) !=
		    (ssize_t)sizeof(go) ||
	    go != SANDBOX_GO)
		_exit(125);
	(void)prctl(PR_SET_NAME, "loom-init", 0, 0, 0);
	if (setgroups(0, NULL) != 0)
		return FAIL(in, "groups", "drop supplementary groups");
	if (setresgid(PLAN_INSIDE_ID, PLAN_INSIDE_ID, PLAN_INSIDE_ID) != 0 ||
	    setresuid(PLAN_INSIDE_ID, PLAN_INSIDE_ID, PLAN_INSIDE_ID) != 0)
		return FAIL(in, "ids", "become the session's user");
	/* A change of ids clears both. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return FAIL(in, "process", "tie init to its keeper");
	return 0;
}

static int
set_up_loopback(struct init *in)
{
	CLEANUP(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = {.ifr_name = "lo"};

	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
		return FAIL(in, "loopback", "bring the loopback interface up");
	return 0;
}

static int
set_up_namespaces(struct init *in)
{
	/* On v2 the cgroup namespace was made before the move into the cgroup: once more, from
	 * inside. */
	if (in->park->base->cgroups->ops->version == 2 && unshare(CLONE_NEWCGROUP) != 0)
		return FAIL(in, "cgroup", "make a cgroup namespace");
	if (sethostname("loom", 4) != 0 || setdomainname("", 0) != 0)
		return FAIL(in, "hostname", "set the host name");
	if (syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return FAIL(in, "keyring", "make a session keyring");
	return set_up_loopback(in);
}

static void
tmpfs_options(char *out, size_t cap, uint64_t bytes, const char *mode)
{
	/* A page of memory an inode is generous, and the memory limit is beneath it all. */
	(void)snprintf(out, cap, "size=%llu,nr_inodes=%llu,%s", (unsigned long long)bytes,
		       (unsigned long long)(bytes / 4096 + 64), mode);
}

static int
mount_tmpfs(struct init *in, const char *at, uint64_t bytes, const char *mode, unsigned long more)
{
	char options[96];

	tmpfs_options(options, sizeof(options), bytes, mode);
	if (mount("tmpfs", at, "tmpfs", TMPFS_FLAGS | more, options) != 0)
		return FAIL(in, "tmpfs", "mount a tmpfs at %s", at);
	return 0;
}

/* Private mounts of the session, then out of the stage: afterwards "/" is the sandbox's root. */
static int
make_root(struct init *in)
{
	struct error err = {0};
	CLEANUP(fd_closep) int root = mounts_clone(AT_FDCWD, ROOT_DIR, true, &err);

	/* A copy on top of itself, because what a namespace is born with can not be pivoted to. */
	if (root < 0 || mounts_place(root, AT_FDCWD, ROOT_DIR, &err) < 0)
		return failure_error(&in->failure, R_CAPABILITY_UNAVAILABLE, "root", &err);
	if (mount("proc", ROOT_DIR "/proc", "proc", PROC_FLAGS, NULL) != 0)
		return failure_sys(&in->failure, R_RUNTIME_UNAVAILABLE, "proc", -errno,
				   "mount a procfs (in a container: is its /proc masked?)");
	if (quotas_bound(ROOT_DIR "/proc/sys/user", &err) < 0)
		return failure_error(&in->failure, R_CAPABILITY_UNAVAILABLE, "quotas", &err);
	if (mount(NULL, ROOT_DIR "/proc", NULL, MS_REMOUNT | MS_RDONLY | PROC_FLAGS, NULL) != 0)
		return FAIL(in, "proc", "make procfs read-only");
	if (mount("devpts", ROOT_DIR "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0600,max=" TERMINALS_MAX) != 0)
		return FAIL(in, "devpts", "mount a devpts");
	in->tmp_bytes = in->park->spawn.tmp_bytes;
	in->shm_bytes = in->park->spawn.shm_bytes;
	if (mount_tmpfs(in, ROOT_DIR "/dev/shm", in->shm_bytes, "mode=1777", 0) < 0 ||
	    mount_tmpfs(in, ROOT_DIR "/tmp", in->tmp_bytes, "mode=1777", 0) < 0)
		return in->failure.code;
	if (mkdir(ROOT_DIR "/tmp/home", 0700) != 0)
		return FAIL(in, "tmpfs", "make /tmp/home");
	if (chdir(ROOT_DIR) != 0 || syscall(__NR_pivot_root, ".", ".") != 0 ||
	    umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return FAIL(in, "pivot", "leave the stage");
	return 0;
}

static int
give_up_early(struct init *in)
{
	for (int cap = 0; cap <= 63; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
			if (errno == EINVAL && cap > 0)
				break; /* the first number the kernel does not know */
			return FAIL(in, "capabilities", "empty the bounding set");
		}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return FAIL(in, "capabilities", "empty the ambient set");
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0) != 0)
		return FAIL(in, "capabilities", "lock the securebits");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return FAIL(in, "privileges", "set no_new_privs");
	return 0;
}

static int
prepare(struct init *in)
{
	sigset_t chld;

	in->ruleset = landlock_rules(in->park->base->landlock_abi, in->landlock_digest);
	if (in->ruleset < 0)
		return failure_sys(&in->failure, R_CAPABILITY_UNAVAILABLE, "landlock", in->ruleset,
				   "make the Landlock rules");
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &chld, NULL) != 0)
		return FAIL(in, "signals", "block SIGCHLD");
	in->signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (in->signals < 0)
		return FAIL(in, "signals", "make a signalfd");
	return 0;
}

static void
park(struct init *in)
{
	struct sandbox_ready ready = {.type = SANDBOX_READY,
				      .landlock_abi = in->park->base->landlock_abi};

	if (take_ids(in) < 0 || set_up_namespaces(in) < 0 || make_root(in) < 0 ||
	    give_up_early(in) < 0 || prepare(in) < 0)
		tell_failure(in);
	memcpy(ready.landlock_digest, in->landlock_digest, sizeof(ready.landlock_digest));
	if (sandbox_send(in->start->control, &ready, sizeof(ready), NULL, 0) < 0)
		_exit(125);
}

/* ---- with a plan ---- */

static int
resize(struct init *in, const char *at, uint64_t have, uint64_t want)
{
	return have == want ? 0 : mount_tmpfs(in, at, want, "mode=1777", MS_REMOUNT);
}

/* Beneath /tmp the place does not come with the root. */
static int
make_place(struct init *in, const char *at)
{
	char path[PROFILE_PATH_MAX];

	if (!path_is_beneath(at, "/tmp"))
		return 0;
	(void)snprintf(path, sizeof(path), "%s", at);
	for (char *slash = strchr(path + strlen("/tmp/"), '/');; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return FAIL(in, "workspace", "make %s", path);
		if (slash == NULL)
			return 0;
		*slash = '/';
	}
}

/*
 * A layer has to be attached somewhere in our namespace while the overlay is mounted on it, and
 * then need not be any more. /dev/shm is a place that no workspace lies at or beneath. Without
 * LAYERS (-1) it is read-only, over nothing: sockets and FIFOs of the host are then no more than
 * names.
 */
static int
mount_overlay(struct init *in, const char *at, int lower, int layers)
{
	static const char place[] = "/dev/shm", empty[] = "/run";
	unsigned long flags = MS_NOSUID | MS_NODEV | (layers < 0 ? MS_RDONLY : 0u);
	char options[192];
	struct error err = {0};

	if ((layers >= 0 && mounts_place(layers, AT_FDCWD, place, &err) < 0) ||
	    mounts_place(lower, AT_FDCWD, place, &err) < 0)
		return failure_error(&in->failure, R_CAPABILITY_UNAVAILABLE, "workspace", &err);
	if (layers >= 0)
		(void)snprintf(options, sizeof(options),
			       "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/upper,"
			       "workdir=/proc/self/fd/%d/work,userxattr,index=off,volatile",
			       lower, layers, layers);
	else
		(void)snprintf(options, sizeof(options), "lowerdir=/proc/self/fd/%d:%s,userxattr",
			       lower, empty);
	if (mount("overlay", at, "overlay", flags, options) != 0)
		return FAIL(in, "overlay", "mount the overlay at %s", at);
	if (umount2(place, MNT_DETACH) != 0 || (layers >= 0 && umount2(place, MNT_DETACH) != 0))
		return FAIL(in, "workspace", "take the layers away");
	return 0;
}

static int
mount_workspace(struct init *in, int workspace, int layers)
{
	const struct plan *p = &in->message.plan;
	const char *at = plan_workspace_at(p);
	struct error err = {0};

	if (resize(in, "/tmp", in->tmp_bytes, p->tmp_bytes) < 0 ||
	    resize(in, "/dev/shm", in->shm_bytes, p->shm_bytes) < 0)
		return in->failure.code;
	if ((p->flags & PLAN_PREPARED) != 0)
		return strcmp(in->prepared_at, at) == 0
			       ? 0
			       : failure_set(&in->failure, R_INTERNAL, "workspace", -EPROTO,
					     "it was not prepared");
	/* The guess was wrong. */
	if (in->prepared_at[0] != '\0' && umount2(in->prepared_at, MNT_DETACH) != 0)
		return FAIL(in, "workspace", "take the prepared workspace away");
	if (make_place(in, at) < 0)
		return in->failure.code;
	if (p->mode != WORKSPACE_DIRECT)
		return mount_overlay(in, at, workspace, layers);
	if (mounts_place(workspace, AT_FDCWD, at, &err) < 0)
		return failure_error(&in->failure, R_CAPABILITY_UNAVAILABLE, "workspace", &err);
	return 0;
}

/* Beneath the workspace, through links of the workspace's own that stay in it, and nothing else. */
static int
open_directory(struct init *in, int *ret_fd)
{
	const struct plan *p = &in->message.plan;
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	CLEANUP(fd_closep)
	int top = open(plan_workspace_at(p), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *cwd = plan_cwd(p);
	int fd;

	if (top < 0)
		return FAIL(in, "cwd", "open the workspace");
	fd = (int)syscall(__NR_openat2, top, *cwd == '\0' ? "." : cwd, &how, sizeof(how));
	if (fd < 0)
		return failure_sys(&in->failure, R_INVALID_PATH, "cwd", -errno,
				   "open the command's directory %s", *cwd == '\0' ? "." : cwd);
	*ret_fd = fd;
	return 0;
}

/* A terminal of the session's own; the keeper gets the other side. */
static int
make_terminal(struct init *in, int stdio[3])
{
	const uint32_t type = SANDBOX_TERMINAL;
	CLEANUP(fd_closep) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0, slave;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0)
		return FAIL(in, "terminal", "make a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return FAIL(in, "terminal", "open the terminal");
	if (sandbox_send(in->start->control, &type, sizeof(type), &master, 1) < 0)
		_exit(125);
	for (int i = 0; i < 3; i++)
		stdio[i] = slave;
	return 0;
}

static int
give_up(struct init *in)
{
	const struct plan *p = &in->message.plan;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	int r = landlock_workspace(in->ruleset, in->park->base->landlock_abi, plan_workspace_at(p),
				   p->mode == WORKSPACE_READ_ONLY, in->landlock_digest);

	if (r == 0)
		r = landlock_enter(in->ruleset);
	if (r < 0)
		return failure_sys(&in->failure, R_CAPABILITY_UNAVAILABLE, "landlock", r,
				   "enter the Landlock domain");
	if (syscall(__NR_capset, &head, none) != 0)
		return FAIL(in, "capabilities", "drop all capabilities");
	/* For the command, by inheritance: the filter may not let it set this one. */
	if (setrlimit(RLIMIT_CORE,
		      &(const struct rlimit){plan_core_limit(p), plan_core_limit(p)}) != 0)
		return FAIL(in, "limits", "set the limit of core files");
	r = filter_install(&in->park->base->filters[plan_filter(p)]);
	if (r < 0)
		return failure_sys(&in->failure, R_CAPABILITY_UNAVAILABLE, "seccomp", r,
				   "install the filter");
	return 0;
}

static int
command_entry(void *arg)
{
	command_main(arg);
}

/*
 * The command shares our memory until its execve, and we stand still until then, so nothing is
 * copied. (A sanitizer keeps its own books of a stack; there it is a plain fork.)
 */
static pid_t
clone_command(struct command_start *start)
{
#if SANITIZED
	pid_t pid = fork();

	if (pid == 0)
		command_entry(start);
	return pid;
#else
	_Alignas(16) static char stack[COMMAND_STACK];

	return clone(command_entry, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, start);
#endif
}

/* What comes with the plan to init: the arguments, variables as due, and unless it was prepared the
 * workspace as a detached mount, with the layers as due. */
struct received {
	int args, env, workspace, layers;
};

/* Mount a workspace that is likely to be wanted, before anyone asks. */
static int
prepare_workspace(struct init *in, size_t len, const int *fds)
{
	const struct sandbox_prepare *m = (const void *)&in->message;
	const uint32_t done = SANDBOX_PREPARED;

	if (len != sizeof(*m) || fds[0] < 0 || fds[1] < 0 || in->prepared_at[0] != '\0' ||
	    memchr(m->at, '\0', sizeof(m->at)) == NULL)
		return failure_set(&in->failure, R_INTERNAL, "workspace", -EPROTO,
				   "what came is nothing to prepare");
	if (mount_overlay(in, m->at, fds[0], fds[1]) < 0)
		return in->failure.code;
	fd_close(fds[0]);
	fd_close(fds[1]);
	(void)snprintf(in->prepared_at, sizeof(in->prepared_at), "%s", m->at);
	if (sandbox_send(in->start->control, &done, sizeof(done), NULL, 0) < 0)
		_exit(125);
	return 0;
}

static int
receive_plan(struct init *in, struct received *ret)
{
	const struct plan *p = &in->message.plan;
	int fds[PLAN_FDS_MAX];
	size_t at = 0;
	ssize_t n;

	for (;;) {
		n = sandbox_recv(in->start->control, &in->message, sizeof(in->message), fds,
				 PLAN_FDS_MAX, NULL);
		if (n <= 0)
			_exit(125);
		if (in->message.type != SANDBOX_PREPARE)
			break;
		if (prepare_workspace(in, (size_t)n, fds) < 0)
			return in->failure.code;
	}
	if (in->message.type != SANDBOX_PLAN || (size_t)n < SANDBOX_PLAN_FIXED ||
	    !plan_valid(p, (size_t)n - offsetof(struct sandbox_plan, plan)))
		return failure_set(&in->failure, R_INTERNAL, "plan", -EPROTO,
				   "what came is no plan");
	ret->args = fds[at++];
	ret->env = (p->flags & PLAN_CLIENT_ENV) != 0 ? fds[at++] : -1;
	ret->workspace = (p->flags & PLAN_PREPARED) == 0 ? fds[at++] : -1;
	ret->layers =
		(p->flags & PLAN_PREPARED) == 0 && p->mode == WORKSPACE_OVERLAY ? fds[at] : -1;
	return 0;
}

/* Ours are copies of the command's now; while one is open, nobody sees the end of a stream. */
static void
close_copies(struct init *in, const struct command_start *start, const struct received *got)
{
	const int fds[] = {start->stdio[0], in->start->in, in->start->out, in->start->err,
			   start->gate,	    start->cwd,	   in->ruleset,	   got->workspace,
			   got->args,	    got->env,	   got->layers};

	(void)close_range(0, 2, 0);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
}

static int
start_command(struct init *in)
{
	struct received got = {-1, -1, -1, -1};
	struct command_start start = {
		.park = in->park,
		.plan = &in->message.plan,
		.gate = in->start->gate,
		.stdio = {in->start->in, in->start->out, in->start->err},
	};

	if (receive_plan(in, &got) < 0 || mount_workspace(in, got.workspace, got.layers) < 0 ||
	    open_directory(in, &start.cwd) < 0)
		return in->failure.code;
	if ((in->message.plan.flags & PLAN_TTY) != 0 && make_terminal(in, start.stdio) < 0)
		return in->failure.code;
	if (give_up(in) < 0)
		return in->failure.code;
	memcpy(start.landlock_digest, in->landlock_digest, sizeof(start.landlock_digest));
	start.args = got.args;
	start.env = got.env;
	in->command = clone_command(&start);
	if (in->command < 0)
		return FAIL(in, "command", "clone the command");
	close_copies(in, &start, &got);
	return 0;
}

/* ---- afterwards ---- */

static uint64_t
cpu_of_children(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) != 0)
		return 0;
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/*
 * The command has ended. Orphans are our children, so if there is no child there is nobody, and it
 * is over at once; taking the namespaces down can then wait until the keeper has told it. Else the
 * kernel kills the others as we go, and the keeper waits for that.
 */
static void NORETURN
end(struct init *in, int status)
{
	struct sandbox_ended ended = {.type = SANDBOX_ENDED, .status = status};

	while (waitpid(-1, &status, WNOHANG | __WALL) > 0)
		;
	ended.alone = waitpid(-1, &status, WNOHANG | __WALL) < 0 && errno == ECHILD;
	ended.cpu_us = cpu_of_children();
	(void)!sandbox_send(in->start->control, &ended, sizeof(ended), NULL, 0);
	if (ended.alone)
		(void)!sandbox_recv(in->start->control, &status, sizeof(status), NULL, 0, NULL);
	_exit(0);
}

static void
reap(struct init *in)
{
	struct signalfd_siginfo seen;
	int status;
	pid_t pid;

	(void)!read(in->signals, &seen, sizeof(seen));
	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (pid == in->command)
			end(in, status);
}

static void
pass_on(struct init *in)
{
	struct sandbox_signal s;
	ssize_t n = sandbox_recv(in->start->control, &s, sizeof(s), NULL, 0, NULL);

	if (n == 0 || (n < 0 && n != -EAGAIN))
		_exit(125);
	if (n != (ssize_t)sizeof(s) || s.type != SANDBOX_SIGNAL || s.signo < 1 || s.signo >= NSIG)
		return;
	/* It is reaped only here, so its number is its own; it leads a session, and a group. */
	(void)kill(-in->command, s.signo);
}

void
init_main(const struct init_start *start)
{
	static struct init in;
	struct pollfd polled[2];

	in.start = start;
	in.park = start->park;
	park(&in);
	if (start_command(&in) < 0)
		tell_failure(&in);
	polled[0] = (struct pollfd){.fd = in.signals, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = start->control, .events = POLLIN};
	for (;;) {
		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[0].revents != 0)
			reap(&in);
		if (polled[1].revents != 0)
			pass_on(&in);
	}
}
