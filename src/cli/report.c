/*
 * The name is split by us and each half opened by descriptor: the directory as the user wrote it
 * (links in it are the user's), then the last component, which may not be a link.
 */
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/place.h"

/* No path is deeper; the walk ends at the root long before. */
#define WALK_MAX PATH_MAX

static int
open_directory_of(const char *path, const char **ret_base, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	char dir[PATH_MAX];
	int fd;

	if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return error_set(err, -EISDIR, "report '%s' does not name a file", path);
	if (slash != NULL && (size_t)(slash - path) + 2 > sizeof(dir))
		return error_set(err, -ENAMETOOLONG, "report %.64s...: the path is too long", path);
	if (slash == NULL) {
		memcpy(dir, ".", 2);
	} else {
		memcpy(dir, path, (size_t)(slash - path) + 1);
		dir[slash - path + 1] = '\0';
	}
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, -errno, "report %s: its directory", path);
	*ret_base = base;
	return fd;
}

static bool
same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The directories of ours that are there: a report must not empty a file of them. */
static size_t
own_places(struct stat ret[3])
{
	struct place place;
	size_t n = 0;

	if (place_here(&place, NULL) < 0)
		return 0;
	for (size_t i = 0; i < 3; i++) {
		const char *const paths[] = {place.state, place.run, place.config};

		n += stat(paths[i], &ret[n]) == 0;
	}
	return n;
}

/* 0 when DIR is neither the workspace (-1: there is none) nor a place of ours, nor beneath one. */
static int
check_outside(const char *path, int dir, int workspace, struct error *err)
{
	CLEANUP(fd_closep) int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	struct stat ws, here, above, own[3];
	const size_t n_own = own_places(own);

	if (at < 0 || (workspace >= 0 && fstat(workspace, &ws) != 0) || fstat(at, &here) != 0)
		return error_sys(err, -errno, "report %s: look at its directory", path);
	for (int i = 0; i < WALK_MAX; i++) {
		int up;

		if (workspace >= 0 && same(&here, &ws))
			return error_set(err, -EINVAL,
					 "report %s lies in the workspace, which the sandbox may "
					 "change; name a file outside it",
					 path);
		for (size_t k = 0; k < n_own; k++)
			if (same(&here, &own[k]))
				return error_set(
					err, -EINVAL,
					"report %s lies in a directory of Loom's own; name "
					"a file outside it",
					path);
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0 || fstat(up, &above) != 0) {
			int code = -errno;

			fd_close(up);
			return error_sys(err, code, "report %s: look above its directory", path);
		}
		fd_closep(&at);
		at = up;
		if (same(&here, &above))
			return 0;
		here = above;
	}
	return error_set(err, -ELOOP, "report %s: its directory has no end", path);
}

int
report_open(const char *path, int workspace, int *ret_fd, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(fd_closep) int fd = -1;
	const char *base;
	struct stat st;
	int r;

	dir = open_directory_of(path, &base, err);
	if (dir < 0)
		return dir;
	r = check_outside(path, dir, workspace, err);
	if (r < 0)
		return r;
	/* Nonblocking, so that a FIFO with no reader is an error and not a wait. */
	fd = openat(dir, base, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0666);
	if (fd < 0 && errno == ELOOP)
		return error_set(err, -ELOOP, "report %s is a symbolic link", path);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_sys(err, -errno, "report %s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "report %s is not a regular file", path);
	if (st.st_nlink != 1)
		return error_set(err, -EINVAL,
				 "report %s has other names (hard links), one of which may lie in "
				 "the workspace",
				 path);
	if (ftruncate(fd, 0) != 0)
		return error_sys(err, -errno, "report %s: empty it", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int
report_write(int fd, const char *text, size_t len, struct error *err)
{
	int r = fd_write_all(fd, text, len, err);

	if (r == 0)
		r = fd_write_all(fd, "\n", 1, err);
	return r < 0 ? error_prefix(err, "write the report") : 0;
}

/* TEXT as a JSON string. Escaping leaves printable UTF-8, in which JSON minds two characters. */
static void
add_string(struct buf *out, const char *key, const char *text)
{
	CLEANUP(buf_fini) struct buf plain = {0};

	buf_fmt(out, ",\"%s\":", key);
	if (text == NULL || text[0] == '\0') {
		buf_str(out, "null");
		return;
	}
	buf_init(&plain, 4 * strlen(text) + 1);
	text_escape(text, strlen(text), &plain);
	buf_char(out, '"');
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"' || plain.data[i] == '\\')
			buf_char(out, '\\');
		buf_char(out, plain.data[i]);
	}
	buf_char(out, '"');
}

void
report_failure(const char *session, const char *op, const char *reason, const char *text,
	       struct buf *out)
{
	buf_str(out, "{\"changes\":0");
	add_string(out, "detail", text);
	buf_str(out, ",\"exit\":null");
	add_string(out, "operation", op);
	add_string(out, "reason", reason);
	add_string(out, "session", session);
	buf_str(out, ",\"trace\":\"unverified\",\"verdict\":\"deny\"}");
}
