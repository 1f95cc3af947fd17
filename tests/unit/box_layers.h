/*
 * For tests of what a session leaves: a private directory with a workspace and a directory of
 * sessions, and overlays made as a session's are, inside a user namespace of a child.
 */
#ifndef LOOM_TESTS_BOX_LAYERS_H
#define LOOM_TESTS_BOX_LAYERS_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/macro.h"
#include "box/store.h"

/*
 * For suites linked with --wrap=syscall: valgrind does not know openat2 yet. There it is done
 * without its guards, which the same tests show without valgrind.
 */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Takes six arguments however many there are, as syscall(2) itself does. */
__attribute__((no_sanitize("address"))) long
__wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_openat2 && getenv("LOOM_VALGRIND") != NULL) {
		const struct open_how *how = (const struct open_how *)a[2];

		return openat((int)a[0], (const char *)a[1], (int)how->flags | O_NOFOLLOW, 0600);
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define OWNER_UID 43210 /* nobody's; the workspace is its */
#define OWNER_GID 43211
#define OTHER_UID 43212

struct world {
	char path[64];
	char workspace_path[96];
	int root;
	int sessions;
	int workspace;
	uid_t uid;
	gid_t gid;
	struct store_session s; /* of world_session */
};

UNUSED static void
must(bool ok, const char *what)
{
	if (!ok)
		fail_msg("%s: %s", what, strerror(errno));
}

UNUSED static void
world_open_in(struct world *w, const char *parent, uid_t uid, gid_t gid)
{
	(void)umask(022);
	(void)snprintf(w->path, sizeof(w->path), "%s/loom-test-XXXXXX", parent);
	must(mkdtemp(w->path) != NULL, "mkdtemp");
	must(chmod(w->path, 0755) == 0, "chmod");
	w->root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(w->root >= 0 && mkdirat(w->root, "state", 0700) == 0, "mkdir state");
	must(mkdirat(w->root, "state/sessions", 0700) == 0, "mkdir sessions");
	must(mkdirat(w->root, "ws", 0755) == 0 && mkdirat(w->root, "merged", 0755) == 0, "mkdir");
	(void)snprintf(w->workspace_path, sizeof(w->workspace_path), "%s/ws", w->path);
	must(chown(w->workspace_path, uid, gid) == 0, "chown");
	w->sessions = openat(w->root, "state/sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->workspace = openat(w->root, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(w->sessions >= 0 && w->workspace >= 0, "open");
	w->uid = uid;
	w->gid = gid;
	store_session_init(&w->s);
}

/* On a disk's file system: what sessions need (user attributes) is there on every kernel. */
UNUSED static void
world_open(struct world *w)
{
	world_open_in(w, "/var/tmp", OWNER_UID, OWNER_GID);
}

UNUSED static void
world_close(struct world *w)
{
	struct error err = {0};
	char *name;
	int tmp;

	store_session_close(&w->s);
	fd_close(w->sessions);
	fd_close(w->workspace);
	fd_close(w->root);
	name = strrchr(w->path, '/') + 1;
	name[-1] = '\0';
	tmp = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store_remove_tree(tmp, name, &err) != 0)
		fail_msg("clean up: %s", err.text);
	(void)close(tmp);
}

/* In memory where that can hold a session's layers (tmpfs has user attributes since 6.6). */
UNUSED static void
world_open_fast(struct world *w)
{
	world_open_in(w, "/dev/shm", OWNER_UID, OWNER_GID);
	if (store_capable(w->sessions, NULL) == 0)
		return;
	world_close(w);
	world_open(w);
}

UNUSED static struct store_meta
world_meta(const struct world *w, const char *session)
{
	struct store_meta m = {.uid = w->uid, .gid = w->gid, .owner = 1000, .profile = {1, 2, 3}};
	struct stat st;

	must(fstat(w->workspace, &st) == 0, "fstat");
	(void)snprintf(m.session, sizeof(m.session), "%s", session);
	(void)snprintf(m.path, sizeof(m.path), "%s", w->workspace_path);
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	m.ino = st.st_ino;
	return m;
}

/* Let the kernel's coarse clock of file times pass on. */
UNUSED static void
tick(void)
{
	const struct timespec t = {.tv_nsec = 12000000};

	(void)nanosleep(&t, NULL);
}

UNUSED static void
world_session(struct world *w, const char *session)
{
	struct store_meta m = world_meta(w, session);
	struct error err = {0};

	tick();
	if (store_fresh(w->sessions, &m, w->workspace, &w->s, &err) != 0)
		fail_msg("store_fresh: %s", err.text);
}

/* A file of the workspace's owner. MODE with fchmod, so that no umask decides, and last, since a
 * change of owner clears bits. */
UNUSED static void
put_file(int dir, const char *path, const char *content, mode_t mode)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0, path);
	must(write(fd, content, strlen(content)) == (ssize_t)strlen(content), "write");
	must(geteuid() != 0 || fchown(fd, OWNER_UID, OWNER_GID) == 0, "fchown");
	must(fchmod(fd, mode) == 0, "fchmod");
	(void)close(fd);
}

UNUSED static void
put_dir(int dir, const char *path, mode_t mode)
{
	must(mkdirat(dir, path, 0700) == 0, path);
	must(geteuid() != 0 || fchownat(dir, path, OWNER_UID, OWNER_GID, 0) == 0, "chown");
	must(fchmodat(dir, path, mode, 0) == 0, "chmod");
}

UNUSED static char *
get_file(int dir, const char *path)
{
	static char content[65536];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, content, sizeof(content) - 1);
	(void)close(fd);
	if (n < 0)
		return NULL;
	content[n] = '\0';
	return content;
}

UNUSED static mode_t
mode_of(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode : 0;
}

static void
write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	(void)close(fd);
}

/* In the child: what a session does to its workspace, in the current directory; exit status 0. */
typedef void (*session_fn)(void *arg);

/* A failed expectation in the child: say what, and end it. */
#define IN(ok)                                                                                     \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			(void)fprintf(stderr, "in the session: %s: %s\n", #ok, strerror(errno));   \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

UNUSED static void
overlay_child(const struct world *w, int ready, session_fn fn, void *arg)
{
	char options[512], go;

	IN(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	IN(write(ready, "u", 1) == 1 && read(ready, &go, 1) == 1);
	IN(mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
	(void)snprintf(
		options, sizeof(options),
		"lowerdir=%s,upperdir=%s/state/sessions/%s/upper,workdir=%s/state/sessions/%s/"
		"work,userxattr",
		w->workspace_path, w->path, w->s.meta.session, w->path, w->s.meta.session);
	IN(chdir(w->path) == 0 && mount("overlay", "merged", "overlay", 0, options) == 0);
	IN(chdir("merged") == 0);
	IN(setresgid(w->gid, w->gid, w->gid) == 0 && setresuid(w->uid, w->uid, w->uid) == 0);
	(void)umask(022);
	fn(arg);
	_exit(0);
}

/* Run FN over the session's overlay, as the owner, in namespaces that end with it. */
UNUSED static void
in_session(struct world *w, session_fn fn, void *arg)
{
	int pair[2], status;
	char c;
	pid_t pid;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0)
		overlay_child(w, pair[1], fn, arg);
	(void)close(pair[1]);
	must(read(pair[0], &c, 1) == 1, "the child has no user namespace");
	write_proc(pid, "uid_map", "0 0 4294967294");
	write_proc(pid, "gid_map", "0 0 4294967294");
	must(write(pair[0], "g", 1) == 1, "write");
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	(void)close(pair[0]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* End the session as the box does after a run. */
UNUSED static uint64_t
end_session(struct world *w)
{
	struct error err = {0};
	uint64_t changes;
	bool kept;

	if (store_end(w->sessions, &w->s, w->workspace, &changes, &kept, &err) != 0)
		fail_msg("store_end: %s", err.text);
	assert_int_equal(kept, changes > 0);
	return changes;
}

/* Exit status 77 is a skip for the runner; with LOOM_MUST_WORK=1 it is a failure. */
UNUSED static bool
needs_root(void)
{
	const char *strict = getenv("LOOM_MUST_WORK");

	if (geteuid() == 0)
		return false;
	(void)fprintf(stderr, "SKIP: needs root\n");
	if (strict != NULL && strict[0] == '1')
		exit(1);
	return true;
}

#endif
