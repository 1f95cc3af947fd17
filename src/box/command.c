/*
 * The command's process, from clone to execve. It shares memory with init (which stands still until
 * the execve), so it allocates only by mmap and touches nothing that init needs. Everything that
 * could be given up has been given up before it was cloned: ids, capabilities, Landlock, filter.
 * Here it gets its own descriptors, session, limits and directory, tries what must fail, reports,
 * and stops in a read until the keeper, who has looked at it from outside, opens the gate.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/landlock.h"
#include "box/sandbox.h"
#include "model/operation.h"

#define GATE 3 /* the only descriptor beside 0, 1 and 2; closed by execve */

/* Memory that goes with the process image: argv, envp and the blobs. */
static void *
map(size_t bytes, int fd)
{
	void *p = fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)
			  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

/* COUNT strings, each NUL-terminated, fill BLOB after its salt exactly. */
static bool
point_at_strings(char *blob, uint64_t bytes, uint32_t count, char **to)
{
	uint64_t at = ARGS_SALT_LEN;

	for (uint32_t i = 0; i < count; i++) {
		char *end = at < bytes ? memchr(blob + at, '\0', bytes - at) : NULL;

		if (end == NULL)
			return false;
		to[i] = blob + at;
		at = (uint64_t)(end - blob) + 1;
	}
	return at == bytes;
}

static char **
make_argv(const struct command_start *s)
{
	const struct plan *p = s->plan;
	char **argv = map(sizeof(char *) * ((size_t)p->args_count + 1), -1);
	char *blob = map(p->args_bytes, s->args);

	if (argv == NULL || blob == NULL || p->args_count == 0 ||
	    !point_at_strings(blob, p->args_bytes, p->args_count, argv))
		return NULL;
	argv[p->args_count] = NULL;
	return argv;
}

static size_t
name_length(const char *pair)
{
	return strcspn(pair, "=") + 1;
}

/* The plan's, each unless the client gives one of that name; then the client's. */
static char **
make_envp(const struct command_start *s)
{
	const struct plan *p = s->plan;
	uint32_t n = 0, mine = p->client_env_count;
	char **envp = map(sizeof(char *) * ((size_t)p->n_env + mine + 1), -1);
	const char *pair = plan_env(p);

	if (envp == NULL)
		return NULL;
	if (mine > 0) {
		char *blob = map(p->env_bytes, s->env);

		if (blob == NULL || !point_at_strings(blob, p->env_bytes, mine, envp))
			return NULL;
		n = mine;
	}
	for (uint32_t i = 0; i < p->n_env; i++, pair += strlen(pair) + 1) {
		bool given = false;

		for (uint32_t k = 0; k < mine && !given; k++)
			given = strncmp(envp[k], pair, name_length(pair)) == 0;
		if (!given)
			envp[n++] = (char *)(uintptr_t)pair;
	}
	envp[n] = NULL;
	return envp;
}

static const char *
find_env(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return "";
}

/* Is FILE something execve could run, and nothing of procfs or of ours? Sets R's fields. */
static int
look_at(const struct command_start *s, const char *file, struct sandbox_report *r)
{
	CLEANUP(fd_closep) int fd = open(file, O_PATH | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
		return errno;
	if (fs.f_type == PROC_SUPER_MAGIC ||
	    (st.st_dev == s->park->base->image_dev && st.st_ino == s->park->base->image_ino))
		r->refused = 1;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* As execvp does it, but there is no shell to fall back to. */
static void
resolve(const struct command_start *s, const char *name, const char *path, struct sandbox_report *r)
{
	int kept = ENOENT;

	if (*name == '\0') {
		r->resolve_errno = ENOENT;
		return;
	}
	if (strchr(name, '/') != NULL) {
		int n = snprintf(r->file, sizeof(r->file), "%s", name);

		r->resolve_errno = n < 0 || (size_t)n >= sizeof(r->file) ? ENAMETOOLONG
									 : look_at(s, r->file, r);
		return;
	}
	for (;; path++) {
		size_t len = strcspn(path, ":");
		int n = snprintf(r->file, sizeof(r->file), "%.*s%s%s", (int)len, path,
				 len > 0 ? "/" : "./", name);
		int e = n < 0 || (size_t)n >= sizeof(r->file) ? ENAMETOOLONG
							      : look_at(s, r->file, r);

		if (e == 0 || r->refused) {
			r->resolve_errno = e;
			return;
		}
		if (e == EACCES)
			kept = EACCES;
		path += len;
		if (*path == '\0')
			break;
	}
	r->file[0] = '\0';
	r->resolve_errno = kept;
}

/* One action for each layer that cannot be read from outside. Each must fail, and just so. */
static void
attempt(struct sandbox_report *r)
{
	int fd = open(LANDLOCK_SENTRY, O_RDONLY | O_CLOEXEC);

	r->landlock_errno = fd < 0 ? errno : 0;
	fd_close(fd);
	r->unshare_errno = unshare(CLONE_NEWUSER) != 0 ? errno : 0;
	r->clone3_errno = syscall(__NR_clone3, NULL, 0) < 0 ? errno : 0;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
	r->socket_errno = fd < 0 ? errno : 0;
	fd_close(fd);
}

static int
set_limits(const struct plan *p)
{
	const struct {
		int resource;
		rlim_t value;
	} limits[] = {
		{RLIMIT_NOFILE, p->open_files},
		{RLIMIT_MEMLOCK, PLAN_LOCKED_MAX},
		{RLIMIT_MSGQUEUE, PLAN_QUEUES_MAX},
		{RLIMIT_RTPRIO, 0},
		{RLIMIT_NICE, 0},
		{RLIMIT_SIGPENDING, PLAN_SIGNALS_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit l = {limits[i].value, limits[i].value};

		if (setrlimit((__rlimit_resource_t)limits[i].resource, &l) == 0)
			continue;
		/* Never up: what an operator holds lower stays lower. */
		if (errno != EPERM || getrlimit((__rlimit_resource_t)limits[i].resource, &l) != 0 ||
		    l.rlim_max > limits[i].value)
			return -errno;
	}
	return 0;
}

/* All are as they were at the keeper's start, who reset them; but it ignores SIGPIPE. */
static void
reset_signals(void)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	(void)sigaction(SIGPIPE, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Descriptors: 0, 1, 2 and the gate, whatever numbers they had; everything else is closed. */
static int
set_descriptors(const struct command_start *s)
{
	int high[4];

	for (int i = 0; i < 4; i++) {
		high[i] = fcntl(i < 3 ? s->stdio[i] : s->gate, F_DUPFD_CLOEXEC, 16);
		if (high[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 4; i++)
		if (dup3(high[i], i, i == GATE ? O_CLOEXEC : 0) < 0)
			return -errno;
	return close_range(GATE + 1, ~0u, 0) == 0 ? 0 : -errno;
}

static void
fail(const char *step, int code, int gate)
{
	struct sandbox_failed f = {.type = SANDBOX_FAILED};

	(void)failure_sys(&f.failure, R_INTERNAL, step, code, "the command's process");
	(void)!sandbox_send(gate, &f, sizeof(f), NULL, 0);
	_exit(125);
}

/* In the directory of the operation, and really in the workspace. */
static void
enter_directory(const struct command_start *s, struct sandbox_report *r)
{
	if (fchdir(s->cwd) != 0)
		fail("cwd", -errno, s->gate);
	if (getcwd(r->cwd, sizeof(r->cwd)) == NULL)
		fail("cwd", -errno, s->gate);
	if (!path_is_beneath(r->cwd, plan_workspace_at(s->plan)))
		fail("cwd", -EXDEV, s->gate);
}

void
command_main(const struct command_start *s)
{
	static struct sandbox_report report;
	struct sandbox_exec_failed failed = {.type = SANDBOX_EXEC_FAILED};
	char **argv, **envp;
	uint32_t open_gate = 0;
	int r;

	report = (struct sandbox_report){.type = SANDBOX_REPORT};
	memcpy(report.landlock_digest, s->landlock_digest, sizeof(report.landlock_digest));
	if (setsid() < 0)
		fail("setsid", -errno, s->gate);
	if ((s->plan->flags & PLAN_TTY) != 0 && ioctl(s->stdio[0], TIOCSCTTY, 0) != 0)
		fail("terminal", -errno, s->gate);
	argv = make_argv(s);
	envp = make_envp(s);
	if (argv == NULL || envp == NULL)
		fail("arguments", -EBADMSG, s->gate);
	enter_directory(s, &report);
	(void)umask(022);
	resolve(s, argv[0], find_env(envp, "PATH"), &report);
	r = set_descriptors(s);
	if (r < 0)
		fail("descriptors", r, s->gate);
	reset_signals();
	r = set_limits(s->plan);
	if (r < 0)
		fail("limits", r, GATE);
	attempt(&report);
	if (sandbox_send(GATE, &report, sizeof(report), NULL, 0) < 0)
		_exit(125);
	if (sandbox_recv(GATE, &open_gate, sizeof(open_gate), NULL, 0, NULL) !=
		    (ssize_t)sizeof(open_gate) ||
	    open_gate != SANDBOX_OPEN)
		_exit(125);
	failed.error = report.resolve_errno;
	if (failed.error == 0) {
		(void)execve(report.file, argv, envp);
		failed.error = errno;
	}
	(void)!sandbox_send(GATE, &failed, sizeof(failed), NULL, 0);
	_exit(127);
}
