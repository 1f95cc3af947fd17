/*
 * Starting a private loomd. It must outlive this client and hold nothing of it: no terminal, no
 * descriptor (a pipeline would wait for it), no directory, no signal mask, an environment of a few
 * names. It says that it serves by a byte in a pipe; when it does not, the end of its log says why.
 *
 * Only one client starts it: the others wait for the same lock and find a daemon afterwards. The
 * log and the lock lie in the state directory, so a state directory that cannot be written is found
 * here, before anything starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/daemon.h"

#define READY_WITHIN_MS 30000
#define READY_FD 3
#define LOG_NAME "loomd.log"
#define LOCK_NAME "start.lock"
#define LOG_MAX_BYTES (1024 * 1024)
#define LOG_SHOWN_BYTES 1024
#define HELD_STATUS 75 /* EX_TEMPFAIL: another loomd holds the directories */
#define ENVIRONMENT_MAX 16

/* What loomd may see of this environment. */
static const char *const environment_kept[] = {
	"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "LOOM_LOG",
#if defined(__SANITIZE_ADDRESS__)
	"ASAN_OPTIONS",	   "UBSAN_OPTIONS",  "LSAN_OPTIONS",
#endif
};

struct launch {
	const struct place *place;
	char program[PATH_MAX];

	int state; /* descriptors, -1 when closed */
	int lock;
	int log;
	off_t log_start; /* where this attempt's lines begin */
	char environment[ENVIRONMENT_MAX][PATH_MAX + 32];
	char *envp[ENVIRONMENT_MAX + 1];
};

static void
launch_freep(struct launch **l)
{
	if (*l == NULL)
		return;
	fd_closep(&(*l)->state);
	fd_closep(&(*l)->lock);
	fd_closep(&(*l)->log);
	free(*l);
	*l = NULL;
}

int
sibling_find(const char *folder, const char *name, char out[PATH_MAX], struct error *err)
{
	const struct {
		const char *up;
		const char *folder;
	} places[] = {{"", ""}, {"/../libexec/", "loom"}, {"/../", folder}};
	char self[PATH_MAX];
	const char *slash;
	ssize_t len;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0)
		return error_sys(err, len < 0 ? -errno : -EIO, "/proc/self/exe");
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return error_set(err, -ENOENT, "this program has no place: %s", self);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		int n = snprintf(out, PATH_MAX, "%.*s%s%s/%s", (int)(slash - self), self,
				 places[i].up, places[i].folder, name);

		if (n > 0 && n < PATH_MAX && access(out, X_OK) == 0)
			return 0;
	}
	return error_set(err, -ENOENT, "%s is not beside %s; is Loom installed as a whole?", name,
			 self);
}

/* Make what is missing above PATH, mode 0700 as the base directory specification asks. */
static int
make_parents(const char *path, struct error *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return error_set(err, -ENAMETOOLONG, "%.64s...: the path is too long", path);
	memcpy(part, path, len + 1);
	for (char *at = strchr(part + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "create %s", part);
		*at = '/';
	}
	return 0;
}

static int
open_state(struct launch *l, struct error *err)
{
	const char *path = l->place->state;
	struct stat st;
	int r;

	r = make_parents(path, err);
	if (r < 0)
		return error_prefix(err, "the state directory");
	l->state = fd_open_private_dir(AT_FDCWD, path, err);
	if (l->state < 0)
		return error_prefix(err, "the state directory %s", path);
	l->lock = openat(l->state, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock < 0)
		return error_sys(err, -errno, "the state directory %s cannot be written", path);
	if (flock(l->lock, LOCK_EX) != 0)
		return error_sys(err, -errno, "lock %s/%s", path, LOCK_NAME);
	l->log = openat(l->state, LOG_NAME, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (l->log < 0 || fstat(l->log, &st) != 0)
		return error_sys(err, -errno, "open %s/%s", path, LOG_NAME);
	if (st.st_size > LOG_MAX_BYTES && ftruncate(l->log, 0) == 0)
		st.st_size = 0;
	l->log_start = st.st_size;
	return 0;
}

static void
fill_environment(struct launch *l)
{
	size_t n = 0;

	l->envp[n] = l->environment[n];
	memcpy(l->environment[n++], "PATH=/usr/sbin:/usr/bin:/sbin:/bin", 35);
	for (size_t i = 0; i < ARRAY_LEN(environment_kept); i++) {
		const char *value = getenv(environment_kept[i]);
		int len;

		if (value == NULL)
			continue;
		len = snprintf(l->environment[n], sizeof(l->environment[n]), "%s=%s",
			       environment_kept[i], value);
		if (len <= 0 || (size_t)len >= sizeof(l->environment[n]))
			continue;
		l->envp[n] = l->environment[n];
		n++;
	}
	l->envp[n] = NULL;
}

/* In the child: nothing here may allocate or return. */
static void NORETURN
become_loomd(const struct launch *l, int ready)
{
	static const char failed[] = "loomd could not be executed\n";
	const struct place *p = l->place;
	const char *const arguments[] = {
		"loomd",      "--private", "--state",  p->state,  "--run", p->run,
		"--ready-fd", "3",	   "--config", p->config, NULL,
	};
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	int null, log, byte;
	sigset_t none;

	setsid();
	/* Clear of 0 to 3 first, so that no dup2 destroys a source of a later one. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	null = null >= 0 ? fcntl(null, F_DUPFD_CLOEXEC, 10) : -1;
	log = fcntl(l->log, F_DUPFD_CLOEXEC, 10);
	byte = fcntl(ready, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || log < 0 || byte < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 ||
	    dup2(log, 2) < 0 || dup2(byte, READY_FD) < 0 ||
	    close_range(READY_FD + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0 || chdir("/") != 0)
		_exit(127);
	for (int signo = 1; signo < NSIG; signo++)
		sigaction(signo, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	execve(l->program, (char *const *)arguments, l->envp);
	if (write(STDERR_FILENO, failed, sizeof(failed) - 1) < 0)
		_exit(127);
	_exit(127);
}

/* The end of what loomd wrote since it was started, as one text. */
static void
log_tail(const struct launch *l, char out[LOG_SHOWN_BYTES + 1])
{
	struct stat st;
	off_t from = l->log_start;
	ssize_t n = 0;

	if (fstat(l->log, &st) == 0 && st.st_size - from > LOG_SHOWN_BYTES)
		from = st.st_size - LOG_SHOWN_BYTES;
	n = pread(l->log, out, LOG_SHOWN_BYTES, from);
	if (n < 0)
		n = 0;
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	for (char *at = out; *at != '\0'; at++)
		*at = *at == '\n' ? ';' : *at;
}

/*
 * Why it did not start. A disk that is full leaves no room in the log for saying so, and is looked
 * at itself.
 */
static int
launch_failed(const struct launch *l, const char *what, int code, struct error *err)
{
	char tail[LOG_SHOWN_BYTES + 1];
	struct statvfs disk;

	log_tail(l, tail);
	if (strstr(tail, "No space left") != NULL ||
	    (tail[0] == '\0' && fstatvfs(l->state, &disk) == 0 && disk.f_bavail == 0))
		return error_set(err, -ENOSPC,
				 "%s: no space is left for the state directory %s; free some%s%s",
				 what, l->place->state, tail[0] != '\0' ? ": " : "", tail);
	return error_set(err, code, "%s; its log %s/%s: %s", what, l->place->state, LOG_NAME,
			 tail[0] != '\0' ? tail : "(empty)");
}

/* Wait for the byte. 1: it serves; 0: another one holds the directories; negative: it failed. */
static int
await_ready(const struct launch *l, int ready, pid_t pid, struct error *err)
{
	struct pollfd wait = {.fd = ready, .events = POLLIN};
	int r, status = 0;
	char byte;

	do
		r = poll(&wait, 1, READY_WITHIN_MS);
	while (r < 0 && errno == EINTR);
	if (r > 0 && read(ready, &byte, 1) == 1)
		return 1;
	if (r == 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == HELD_STATUS)
		return 0;
	if (r == 0)
		return launch_failed(l, "the daemon was not ready in time", -ETIMEDOUT, err);
	return launch_failed(l, "the daemon did not start", -EIO, err);
}

static int
launch_run(struct launch *l, struct error *err)
{
	CLEANUP(fd_closep) int ready = -1;
	CLEANUP(fd_closep) int byte = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return error_sys(err, -errno, "pipe");
	ready = fds[0];
	byte = fds[1];
	pid = fork();
	if (pid < 0)
		return error_sys(err, -errno, "fork");
	if (pid == 0)
		become_loomd(l, byte);
	fd_closep(&byte);
	return await_ready(l, ready, pid, err);
}

int
daemon_launch(const struct place *place, bool *ret_started, struct error *err)
{
	CLEANUP(launch_freep) struct launch *l = calloc(1, sizeof(*l));
	char path[PATH_MAX + sizeof(CLIENT_SOCKET) + 1];
	struct error ignored = {0};
	int fd, r;

	if (l == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	l->place = place;
	l->state = l->lock = l->log = -1;
	r = sibling_find("loomd", "loomd", l->program, err);
	if (r == 0)
		r = make_parents(place->run, err);
	if (r == 0)
		r = open_state(l, err);
	if (r < 0)
		return r;
	/* While we waited for the lock, its holder may have started one. */
	r = snprintf(path, sizeof(path), "%s/%s", place->run, CLIENT_SOCKET);
	if (r > 0 && channel_connect(path, &fd, &ignored) == 0) {
		fd_close(fd);
		*ret_started = false;
		return 0;
	}

	/* The daemon holds the directory, not its name: one that is made later it would not see. */
	if (make_parents(place->config, &ignored) == 0 && mkdir(place->config, 0700) != 0)
		ignored.code = -errno;
	fill_environment(l);
	r = launch_run(l, err);
	if (r < 0)
		return r;
	*ret_started = r > 0;
	return 0;
}
