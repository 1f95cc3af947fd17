/*
 * mountinfo says of each mount which directory of which file system it shows (fields 3 and 4). With
 * the path below the mount, which is the rest of the path the kernel gives for the descriptor, that
 * is the path within the file system.
 */
#include "box/where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/mount_table.h"

bool
object_is(const struct object *a, const struct object *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

struct object
object_of(const struct stat *st)
{
	return (struct object){.dev = st->st_dev, .ino = st->st_ino};
}

int
where_chain(int fd, struct object *chain, struct error *err)
{
	CLEANUP(fd_closep) int cur = -1;
	struct stat st;
	int n = 0;

	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "fstat a directory");
	for (;;) {
		int up;

		chain[n++] = object_of(&st);
		up = openat(cur >= 0 ? cur : fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return error_sys(err, -errno, "look at the directory above");
		fd_close(cur);
		cur = up;
		if (fstat(cur, &st) != 0)
			return error_sys(err, -errno, "fstat a directory");
		if (st.st_dev == chain[n - 1].dev && st.st_ino == chain[n - 1].ino)
			return n;
		if (n == WHERE_LEVELS_MAX)
			return error_set(err, -ELOOP, "too many directories above it");
	}
}

/* ROOT and REST (empty, or "/…") as one path. */
static char *
joined(const char *root, const char *rest)
{
	char *path = NULL;

	if (root[1] == '\0')
		root = *rest != '\0' ? "" : "/";
	return asprintf(&path, "%s%s", root, rest) < 0 ? NULL : path;
}

int
where_find(int fd, struct where *ret, struct error *err)
{
	char link[32], path[PATH_BYTES_MAX];
	const struct mount_line *m;
	struct where w = {0};
	struct statx stx;
	ssize_t n;
	int r;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0 || n >= (ssize_t)sizeof(path))
		return error_sys(err, n < 0 ? -errno : -ENAMETOOLONG, "find the path");
	path[n] = '\0';
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) != 0)
		return error_sys(err, -errno, "find the mount");
	if ((stx.stx_mask & STATX_MNT_ID) == 0)
		return error_set(err, -EOPNOTSUPP, "this kernel does not tell the mount");
	r = mount_table_find(stx.stx_mnt_id, &m, err);
	if (r < 0)
		return r;
	if (m == NULL || path[0] != '/' || !path_is_beneath(path, m->point))
		return error_set(err, -EXDEV, "it does not lie on a mount that is seen here");
	(void)snprintf(w.dev, sizeof(w.dev), "%s", m->dev);
	w.inside = joined(m->root, path[1] == '\0'	 ? ""
				   : m->point[1] == '\0' ? path
							 : path + strlen(m->point));
	if (w.inside == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = w;
	return 0;
}

void
where_fini(struct where *w)
{
	free(w->inside);
	w->inside = NULL;
}

bool
where_beneath(const struct where *w, const struct where *of)
{
	return w->inside != NULL && of->inside != NULL && strcmp(w->dev, of->dev) == 0 &&
	       path_is_beneath(w->inside, of->inside);
}

bool
where_same(const struct where *a, const struct where *b)
{
	return where_beneath(a, b) && strcmp(a->inside, b->inside) == 0;
}
