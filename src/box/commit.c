/*
 * Carrying the plan out is one renameat2 or chmod a step, from an open parent directory that was
 * reached without links. What a step took out of its place is compared with what was gathered: a
 * workspace that changed in between is noticed on the object itself, and undone.
 *
 * Whether a step was done can be seen: new/N is gone (put), is another object (swapped), old/N is
 * there (taken); modes are simply set back. So undoing needs no record of progress.
 */
#include "box/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/store.h"

#define RESOLVE_TRIES 16
#define SYNC_EACH_MAX 64

/* ---- the way there ---- */

static int
open_dir_beneath(int dir, const char *path, struct error *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int fd = -1;

	/* EAGAIN: a rename raced with the look-up. */
	for (int i = 0; i < RESOLVE_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV)
		return error_set(err, -ESTALE, "a directory of the workspace is not what it was");
	return error_sys(err, -errno, "open a directory of the workspace");
}

int
takeover_open_parent(int workspace, const char *path, const char **ret_name, struct error *err)
{
	CLEANUP(fd_closep) int cur = -1;
	const char *name = strrchr(path, '/');
	const char *end = name != NULL ? name : path;

	cur = openat(workspace, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cur < 0)
		return error_sys(err, -errno, "open the workspace");
	/* In parts that the kernel takes, each ending at a component. */
	while (path < end) {
		char part[PATH_BYTES_MAX];
		size_t n = (size_t)(end - path);
		int fd;

		if (n > sizeof(part) - 1) {
			n = sizeof(part) - 1;
			while (n > 0 && path[n] != '/')
				n--;
		}
		memcpy(part, path, n);
		part[n] = '\0';
		fd = open_dir_beneath(cur, part, err);
		if (fd < 0)
			return fd;
		fd_close(cur);
		cur = fd;
		path += n;
		path += *path == '/';
	}
	*ret_name = name != NULL ? name + 1 : end;
	return TAKE_FD(cur);
}

/* The parent of the step before is mostly that of the next. */
struct parents {
	int workspace;
	int fd;	    /* -1: none yet */
	char *path; /* of fd's directory with a slash at the end; borrowed length below */
	size_t len;
};

static int
parents_get(struct parents *p, const char *path, const char **ret_name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
	int fd;

	if (p->fd >= 0 && p->len == len && (len == 0 || memcmp(p->path, path, len) == 0)) {
		*ret_name = path + len;
		return p->fd;
	}
	fd = takeover_open_parent(p->workspace, path, ret_name, err);
	if (fd < 0)
		return fd;
	fd_close(p->fd);
	free(p->path);
	p->fd = fd;
	p->len = len;
	p->path = strndup(path, len);
	if (p->path == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return fd;
}

static void
parents_fini(struct parents *p)
{
	fd_close(p->fd);
	free(p->path);
}

/* ---- steps ---- */

static int
number_name(uint32_t n, char out[16])
{
	return snprintf(out, 16, "%u", n);
}

/* The mode of the object that is there, if it is the one that is meant; links have none. */
static int
change_mode(int parent, const char *name, uint64_t ino, uint32_t mode, struct error *err)
{
	CLEANUP(fd_closep) int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char self[64];

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_ino != ino || S_ISLNK(st.st_mode))
		return error_set(err, -ESTALE, "an entry of the workspace is not what it was");
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (chmod(self, mode) != 0)
		return error_sys(err, -errno, "set a mode");
	return 0;
}

/* Is what was taken out of its place and is now DIR/NAME what was gathered? */
static int
check_taken(int dir, const char *name, const struct item *item, struct error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return error_sys(err, -errno, "look at what was replaced");
	if (st.st_ino != item->was || (!item->was_dir && st.st_size != item->was_size) ||
	    st.st_mtim.tv_sec != item->was_changed.tv_sec ||
	    st.st_mtim.tv_nsec != item->was_changed.tv_nsec)
		return error_set(err, -ESTALE, "an entry of the workspace changed meanwhile");
	return 0;
}

static int
move(int from, const char *from_name, int to, const char *to_name, unsigned int flags,
     struct error *err)
{
	if (renameat2(from, from_name, to, to_name, flags) == 0)
		return 0;
	if (errno == EEXIST || errno == ENOENT)
		return error_set(err, -ESTALE, "an entry of the workspace came or went meanwhile");
	if (errno == EINVAL || errno == ENOSYS)
		return error_set(err, -EOPNOTSUPP,
				 "the file system of the workspace cannot exchange two entries");
	return error_sys(err, -errno, "move into place");
}

static int
do_step(struct takeover *t, struct parents *p, const struct step *s, struct error *err)
{
	const struct item *item = s->verb == STEP_CHMOD ? NULL : &t->items[s->item];
	char number[16];
	const char *name;
	int parent = parents_get(p, s->path, &name, err), r;

	if (parent < 0)
		return parent;
	number_name(s->item, number);
	switch (s->verb) {
	case STEP_CHMOD:
		return change_mode(parent, name, s->was, s->mode_to, err);
	case STEP_PUT:
		return move(t->fresh, number, parent, name, RENAME_NOREPLACE, err);
	case STEP_SWAP:
		r = move(t->fresh, number, parent, name, RENAME_EXCHANGE, err);
		return r < 0 ? r : check_taken(t->fresh, number, item, err);
	case STEP_TAKE:
		r = move(parent, name, t->old, number, RENAME_NOREPLACE, err);
		return r < 0 ? r : check_taken(t->old, number, item, err);
	}
	return error_set(err, -EINVAL, "no such step");
}

static int
prefix_path(struct error *err, int code, const char *path)
{
	char shown[CHANGE_SHOWN_MAX];

	change_show(path, shown);
	return err != NULL ? error_prefix(err, "%s", shown) : code;
}

/* Note what the steps left behind as ours. */
static void
stamp_steps(struct takeover *t, struct parents *p, const struct journal *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const char *name;
		struct stat st;
		int parent = parents_get(p, j->steps[i].path, &name, NULL);

		if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			stamps_add(t->stamps, &st);
	}
	stamps_flush(t->stamps);
}

int
takeover_commit(struct takeover *t, const struct journal *j, struct error *err)
{
	CLEANUP(parents_fini) struct parents p = {.workspace = t->workspace, .fd = -1};
	int r = 0;

	for (size_t i = 0; i < j->n; i++) {
		r = do_step(t, &p, &j->steps[i], err);
		if (r < 0)
			return prefix_path(err, r, j->steps[i].path);
	}
	/* Journaling file systems sync all renames with any of them; else the whole is synced. */
	if (t->n > SYNC_EACH_MAX ? syncfs(t->workspace) != 0
				 : fsync(t->stage) != 0 || fsync(t->workspace) != 0)
		return error_sys(err, -errno, "sync the workspace");
	stamp_steps(t, &p, j);
	return 0;
}

/* ---- undoing ---- */

static bool
has_inode(int dir, const char *name, uint64_t ino)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == ino;
}

static bool
is_there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
was_done(const struct takeover *t, const struct step *s)
{
	char number[16];

	number_name(s->item, number);
	switch (s->verb) {
	case STEP_CHMOD:
		return true;
	case STEP_PUT:
		return !is_there(t->fresh, number);
	case STEP_SWAP:
		return !has_inode(t->fresh, number, s->staged);
	case STEP_TAKE:
		return is_there(t->old, number);
	}
	return false;
}

static int
undo_step(struct takeover *t, struct parents *p, const struct step *s, struct error *err)
{
	char number[16];
	const char *name;
	int parent;

	if (!was_done(t, s))
		return 0;
	parent = parents_get(p, s->path, &name, err);
	/* A new directory's mode: that it is gone again is no failure, but the order forbids it. */
	if (parent < 0)
		return s->verb == STEP_CHMOD ? 0 : parent;
	number_name(s->item, number);
	switch (s->verb) {
	case STEP_CHMOD:
		/* Only if it is that object: a step that was never done may have none yet. */
		return has_inode(parent, name, s->was)
			       ? change_mode(parent, name, s->was, s->mode_from, err)
			       : 0;
	case STEP_PUT:
		if (!has_inode(parent, name, s->staged))
			return error_set(err, -ESTALE, "it was replaced by somebody else");
		return move(parent, name, t->fresh, number, RENAME_NOREPLACE, err);
	case STEP_SWAP:
		return move(t->fresh, number, parent, name, RENAME_EXCHANGE, err);
	case STEP_TAKE:
		return move(t->old, number, parent, name, RENAME_NOREPLACE, err);
	}
	return 0;
}

static int
stage_reopen(struct takeover *t, const char *name, struct error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	if (t->stage >= 0)
		return 1;
	t->stage = openat(t->workspace, name, flags);
	if (t->stage < 0 && errno == ENOENT)
		return 0;
	if (t->stage >= 0)
		t->fresh = openat(t->stage, "new", flags);
	if (t->fresh >= 0)
		t->old = openat(t->stage, "old", flags);
	if (t->stage < 0 || t->fresh < 0 || t->old < 0)
		return error_sys(err, -errno, "open the staging directory %s", name);
	return 1;
}

int
takeover_undo(struct takeover *t, const struct journal *j, struct error *err)
{
	CLEANUP(parents_fini) struct parents p = {.workspace = t->workspace, .fd = -1};
	int first = 0, r;

	r = stage_reopen(t, j->stage, err);
	if (r <= 0)
		return r;
	for (size_t i = j->n; i > 0; i--) {
		const struct step *s = &j->steps[i - 1];
		struct error why = {0};

		r = undo_step(t, &p, s, &why);
		if (r < 0 && first == 0) {
			first = error_set(err, r, "%s", why.text);
			first = prefix_path(err, first, s->path);
		}
	}
	if (first == 0 && fsync(t->workspace) != 0)
		first = error_sys(err, -errno, "sync the workspace");
	stamp_steps(t, &p, j);
	return first;
}

int
takeover_clear(const struct takeover *t, const char *name, struct error *err)
{
	return store_remove_tree(t->workspace, name, err);
}
