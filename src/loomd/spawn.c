/*
 * All that a child needs is made before the first fork and lies above every number it will be
 * handed at, so that between fork and execve only system calls remain: die with the parent, move
 * the descriptors into place, close everything else, reset signals, execve. The programs lie in our
 * own directory (installed) or in their folders beside ours (a build tree); no environment and no
 * argument has a say in that.
 */
#include "loomd/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/secret.h"
#include "model/ids.h"
#include "model/receipt.h"

/* A test build replaces the authority with one that lies. */
#ifndef LOOMD_AUTHORITY
#define LOOMD_AUTHORITY "loom-authority"
#endif

#define FD_FLOOR 64 /* above all numbers of wire/inherit.h */
#define ARGS_MAX 24
#define ENVIRONMENT_MAX 8
#define EXIT_CANNOT_EXECUTE 127

static const struct child_kind {
	const char *name;
	const char *folder; /* beside ours, in a build tree */
	uint32_t party;
} kinds[CHILD_COUNT] = {
	[CHILD_AUTHORITY] = {LOOMD_AUTHORITY, "authority", P_AUTHORITY},
	[CHILD_API] = {"loom-api", "api", P_API},
	[CHILD_BOX] = {"loom-box", "box", P_BOX},
	[CHILD_LEDGER] = {"loom-ledger", "ledger", P_LEDGER},
};

/* Whose channel to the authority is at which number on the authority's side. */
static const struct {
	enum child_id child;
	enum inherit_fd at;
} to_authority[] = {
	{CHILD_API, INHERIT_API},
	{CHILD_BOX, INHERIT_BOX},
	{CHILD_LEDGER, INHERIT_LEDGER},
};

static const enum child_id key_holders[] = {CHILD_LEDGER, CHILD_BOX};

struct wiring {
	int at[CHILD_COUNT][INHERIT_END]; /* owned; -1: this child is not due it */
};

/* Ready to be executed. */
struct program {
	char path[PATH_MAX];
	char *argv[ARGS_MAX];
	char *envp[ENVIRONMENT_MAX];
};

static void
wiring_fini(struct wiring *w)
{
	for (size_t c = 0; c < CHILD_COUNT; c++)
		for (size_t i = 0; i < INHERIT_END; i++)
			fd_closep(&w->at[c][i]);
}

static void
wiring_init(struct wiring *w)
{
	for (size_t c = 0; c < CHILD_COUNT; c++)
		for (size_t i = 0; i < INHERIT_END; i++)
			w->at[c][i] = -1;
}

/* Hand a copy of FD, which stays the caller's, to CHILD at number AT. */
static int
wiring_add(struct wiring *w, enum child_id child, enum inherit_fd at, int fd, struct error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);

	if (copy < 0)
		return error_sys(err, -errno, "duplicate a descriptor for %s", kinds[child].name);
	fd_close(w->at[child][at]);
	w->at[child][at] = copy;
	return 0;
}

static int
wire_pair(struct wiring *w, enum child_id a, enum inherit_fd a_at, enum child_id b,
	  enum inherit_fd b_at, struct error *err)
{
	int pair[2], r;

	r = channel_pair(pair, err);
	if (r < 0)
		return r;
	r = wiring_add(w, a, a_at, pair[0], err);
	if (r == 0)
		r = wiring_add(w, b, b_at, pair[1], err);
	fd_close(pair[0]);
	fd_close(pair[1]);
	return r;
}

/* Our own channel to CHILD. Ours does not block: a child that does not read cannot hold us up. */
static int
wire_ours(struct wiring *w, struct child *child, enum child_id id, struct error *err)
{
	int pair[2], r;

	r = channel_pair(pair, err);
	if (r < 0)
		return r;
	channel_init(&child->channel, pair[0], P_LOOMD, kinds[id].party, S_INIT);
	r = wiring_add(w, id, INHERIT_LOOMD, pair[1], err);
	fd_close(pair[1]);
	if (r == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
		r = error_sys(err, -errno, "make a channel nonblocking");
	return r;
}

/* The key goes through pipes that hold it whole, so that no write can block. */
static int
wire_key(struct wiring *w, struct error *err)
{
	struct secret key = {0};
	int r;

	r = secret_random(&key, RECEIPT_KEY_LEN, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(key_holders); i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) != 0) {
			r = error_sys(err, -errno, "pipe for the receipt key");
			break;
		}
		r = wiring_add(w, key_holders[i], INHERIT_KEY, fds[0], err);
		if (r == 0)
			r = fd_write_all(fds[1], key.data, key.len, err);
		fd_close(fds[0]);
		fd_close(fds[1]);
	}
	secret_wipe(&key);
	return r;
}

/*
 * So that the box knows where the next start will look. Not as arguments: a sandbox's first process
 * shows the box's arguments to everybody inside. Three paths fit into a pipe.
 */
static int
wire_paths(struct wiring *w, const struct places_spec *paths, struct error *err)
{
	const char *const all[] = {paths->state, paths->run, paths->config};
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_sys(err, -errno, "pipe for paths");
	r = wiring_add(w, CHILD_BOX, INHERIT_PATHS, fds[0], err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(all); i++)
		if (all[i] != NULL)
			r = fd_write_all(fds[1], all[i], strlen(all[i]) + 1, err);
	fd_close(fds[0]);
	fd_close(fds[1]);
	return r;
}

static int
wire_all(struct wiring *w, struct child *children, const struct spawn_spec *spec, struct error *err)
{
	const struct {
		enum child_id child;
		enum inherit_fd at;
		int fd;
	} given[] = {
		{CHILD_LEDGER, INHERIT_STATE, spec->places->ledger},
		{CHILD_BOX, INHERIT_STATE, spec->places->sessions},
		{CHILD_AUTHORITY, INHERIT_STATE, spec->places->views},
		{CHILD_AUTHORITY, INHERIT_CONFIG, spec->places->config},
		{CHILD_BOX, INHERIT_CONFIG, spec->places->config},
		{CHILD_BOX, INHERIT_RUN, spec->places->run},
		{CHILD_AUTHORITY, INHERIT_CLI_LISTEN, spec->cli_listen},
		{CHILD_AUTHORITY, INHERIT_HTTP_LISTEN, spec->http_listen},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(given); i++)
		if (given[i].fd >= 0)
			r = wiring_add(w, given[i].child, given[i].at, given[i].fd, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(to_authority); i++)
		r = wire_pair(w, CHILD_AUTHORITY, to_authority[i].at, to_authority[i].child,
			      INHERIT_AUTHORITY, err);
	for (size_t i = 0; r == 0 && i < CHILD_COUNT; i++)
		r = wire_ours(w, &children[i], (enum child_id)i, err);
	if (r == 0)
		r = wire_paths(w, spec->paths, err);
	return r == 0 ? wire_key(w, err) : r;
}

/* The directory of the program we are. */
static int
own_directory(char ret[PATH_MAX], struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return error_sys(err, -errno, "read /proc/self/exe; is /proc mounted?");
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (slash == NULL)
		return error_set(err, -EINVAL, "/proc/self/exe: no path");
	*slash = '\0';
	return 0;
}

static int
program_find(const char *dir, const struct child_kind *kind, char ret[PATH_MAX], struct error *err)
{
	int n;

	n = snprintf(ret, PATH_MAX, "%s/%s", dir, kind->name);
	if (n > 0 && n < PATH_MAX && access(ret, X_OK) == 0)
		return 0;
	n = snprintf(ret, PATH_MAX, "%s/../%s/%s", dir, kind->folder, kind->name);
	if (n > 0 && n < PATH_MAX && access(ret, X_OK) == 0)
		return 0;
	return error_set(err, -ENOENT, "%s is not beside loomd in %s; install Loom again",
			 kind->name, dir);
}

/* The name of the user we serve, as identities are written; "uid-N" when it is no such name. */
static void
owner_name(char ret[NAME_MAX_LEN + 1])
{
	const struct passwd *user = getpwuid(geteuid());

	if (user != NULL && name_valid(user->pw_name))
		(void)snprintf(ret, NAME_MAX_LEN + 1, "%s", user->pw_name);
	else
		(void)snprintf(ret, NAME_MAX_LEN + 1, "uid-%lu", (unsigned long)geteuid());
}

/* Texts that the vectors of a program point into. */
struct texts {
	char idle[32];
	char owner[NAME_MAX_LEN + 1];
	char group[32];
	char boot[SD_ID128_STRING_MAX];
	char log[32];
};

/* Which start of the machine this is: what was written without a sync before it may be damaged. */
static void
boot_id(char ret[SD_ID128_STRING_MAX])
{
	sd_id128_t id;

	/* libsystemd keeps it; its event loop asks again when nothing can be opened any more. */
	if (sd_id128_get_boot(&id) < 0)
		id = SD_ID128_NULL;
	(void)sd_id128_to_string(id, ret);
}

static void
argument(struct program *p, size_t *n, const char *name, const char *value)
{
	if (value == NULL)
		return;
	p->argv[(*n)++] = (char *)(uintptr_t)name;
	p->argv[(*n)++] = (char *)(uintptr_t)value;
}

static void
authority_arguments(struct program *p, size_t *n, const struct spawn_spec *spec, struct texts *t)
{
	bool group = spec->places->own_group != (gid_t)-1;

	(void)snprintf(t->idle, sizeof(t->idle), "%" PRIu64, spec->idle_ms);
	(void)snprintf(t->group, sizeof(t->group), "%lu", (unsigned long)spec->places->own_group);
	owner_name(t->owner);
	boot_id(t->boot);
	argument(p, n, "--idle-ms", t->idle);
	argument(p, n, "--owner", t->owner);
	argument(p, n, "--own-group", group ? t->group : NULL);
	argument(p, n, "--boot", t->boot);
	argument(p, n, "--state", spec->paths->state);
	argument(p, n, "--run", spec->paths->run);
	argument(p, n, "--config", spec->paths->config);
	if (spec->private_mode)
		p->argv[(*n)++] = (char *)(uintptr_t) "--private";
}

static void
program_arguments(struct program *p, enum child_id id, const struct spawn_spec *spec,
		  struct texts *t)
{
	size_t n = 0;

	p->argv[n++] = (char *)(uintptr_t)kinds[id].name;
	if (id == CHILD_AUTHORITY)
		authority_arguments(p, &n, spec, t);
	p->argv[n] = NULL;
}

/* Of our own environment only the level of the log goes on, and only if it is one. */
static void
program_environment(struct program *p, struct texts *t)
{
	static const char *const levels[] = {"debug", "info", "warning", "error"};
	const char *level = getenv("LOOM_LOG");
	size_t n = 0;

	p->envp[n++] = (char *)(uintptr_t) "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	p->envp[n++] = (char *)(uintptr_t) "LANG=C.UTF-8";
	for (size_t i = 0; level != NULL && i < ARRAY_LEN(levels); i++) {
		if (strcmp(level, levels[i]) != 0)
			continue;
		(void)snprintf(t->log, sizeof(t->log), "LOOM_LOG=%s", level);
		p->envp[n++] = t->log;
	}
	p->envp[n] = NULL;
}

static void
signals_reset(void)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} plain = {.handler = SIG_DFL};
	sigset_t none;

	/* By the system call: sigaction(3) refuses 32 and 33, the C library's own, which whoever
	 * started us may have left ignored. It fails for SIGKILL and SIGSTOP. */
	for (int s = 1; s < NSIG; s++)
		(void)syscall(SYS_rt_sigaction, s, &plain, NULL, sizeof(plain.mask));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. NULL_FD is /dev/null and, like all of FROM, above FD_FLOOR. */
static void NORETURN
child_become(const struct program *p, const int *from, int null_fd, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(EXIT_CANNOT_EXECUTE);
	(void)setsid();
	if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
		_exit(EXIT_CANNOT_EXECUTE);
	for (int at = INHERIT_LOOMD; at < INHERIT_END; at++) {
		if (from[at] < 0)
			(void)close(at);
		else if (dup2(from[at], at) < 0)
			_exit(EXIT_CANNOT_EXECUTE);
	}
	if (syscall(SYS_close_range, INHERIT_END, ~0U, 0) != 0)
		_exit(EXIT_CANNOT_EXECUTE);
	signals_reset();
	(void)execve(p->path, p->argv, p->envp);
	_exit(EXIT_CANNOT_EXECUTE);
}

static int
child_start(struct child *child, const struct program *p, const int *from, int null_fd,
	    struct error *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return error_sys(err, -errno, "fork for %s", child->name);
	if (pid == 0)
		child_become(p, from, null_fd, parent);
	child->pid = pid;
	/* Nobody else reaps our children, so the number is still the child's. */
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (child->pidfd < 0) {
		int code = -errno;

		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return error_sys(err, code, "pidfd_open for %s", child->name);
	}
	return 0;
}

static int
start_all(struct child *children, const struct wiring *w, const struct spawn_spec *spec,
	  struct error *err)
{
	CLEANUP(fd_closep) int opened = -1;
	CLEANUP(fd_closep) int null_fd = -1;
	struct program programs[CHILD_COUNT];
	struct texts texts = {0};
	char dir[PATH_MAX];
	int r;

	opened = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (opened >= 0)
		null_fd = fcntl(opened, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (null_fd < 0)
		return error_sys(err, -errno, "open /dev/null");
	r = own_directory(dir, err);
	/* All four are found before the first one runs. */
	for (size_t i = 0; r == 0 && i < CHILD_COUNT; i++) {
		r = program_find(dir, &kinds[i], programs[i].path, err);
		program_arguments(&programs[i], (enum child_id)i, spec, &texts);
		program_environment(&programs[i], &texts);
	}
	/* History first, so that it is there when somebody asks. */
	for (size_t i = CHILD_COUNT; r == 0 && i > 0; i--)
		r = child_start(&children[i - 1], &programs[i - 1], w->at[i - 1], null_fd, err);
	return r;
}

int
spawn_all(struct child children[CHILD_COUNT], const struct spawn_spec *spec, struct error *err)
{
	struct wiring w;
	int r;

	for (size_t i = 0; i < CHILD_COUNT; i++) {
		children[i] = (struct child){.name = kinds[i].name, .pidfd = -1};
		channel_init(&children[i].channel, -1, P_LOOMD, kinds[i].party, S_INIT);
	}
	wiring_init(&w);
	r = wire_all(&w, children, spec, err);
	if (r == 0)
		r = start_all(children, &w, spec, err);
	wiring_fini(&w);
	if (r < 0) {
		spawn_kill_all(children);
		spawn_fini(children);
	}
	return r;
}

void
spawn_kill_all(struct child children[CHILD_COUNT])
{
	for (size_t i = 0; i < CHILD_COUNT; i++)
		if (children[i].pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, children[i].pidfd, SIGKILL, NULL, 0);
	for (size_t i = 0; i < CHILD_COUNT; i++) {
		siginfo_t info;
		int r;

		if (children[i].pidfd < 0)
			continue;
		do
			r = waitid(P_PIDFD, (id_t)children[i].pidfd, &info, WEXITED);
		while (r != 0 && errno == EINTR);
		if (r != 0)
			log_warning("wait for %s: %s", children[i].name, strerror(errno));
		fd_closep(&children[i].pidfd);
	}
}

void
spawn_fini(struct child children[CHILD_COUNT])
{
	for (size_t i = 0; i < CHILD_COUNT; i++) {
		channel_close(&children[i].channel);
		fd_closep(&children[i].pidfd);
	}
}
