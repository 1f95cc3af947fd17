/*
 * Removing a tree somebody else made, without trusting its shape. The walk goes down with openat2,
 * which refuses links and mounts, and up with "..", checking that it came back to where it was; it
 * keeps the descriptors of the first levels and only names and inode numbers of those below, so
 * that depth costs memory, not descriptors or stack. A directory is listed once: what is no
 * directory goes at once, directories are remembered and taken one after the other.
 */
#include "box/store.h"

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
#include "box/owner.h"

#define REMOVE_KEPT_FDS 64
#define REMOVE_NAMES_MAX (8u << 20) /* bytes of directory names held of one directory at a time */
#define REMOVE_STACK_MAX (256u << 20)

struct remove_frame {
	dev_t dev;
	ino_t ino;
	int fd;		 /* kept open, or -1: reached again by ".." */
	struct buf dirs; /* names of directories still to be removed, each NUL-terminated */
	size_t next;	 /* offset in DIRS of the one that is being removed */
	bool partial;	 /* DIRS is full; list again when it is done */
};

struct remover {
	struct remove_frame *frames;
	size_t n, cap;
	int cur; /* the directory of the last frame; owned unless that frame keeps it */
	struct error *err;
};

/* Rights on a directory are mended through its inode, reached by the descriptor and not by a name.
 */
static int
mend_dir(int dir, const char *name, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char self[64];

	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, -errno, "open a directory to mend its mode");
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (chmod(self, 0700) != 0)
		return error_sys(err, -errno, "mend the mode of a directory");
	return 0;
}

static int
open_child(int dir, const char *name)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	/* Descending must be able to list it, search it and take entries out of it. */
	if (fd >= 0 && faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0)
		return fd;
	if (fd < 0 && errno != EACCES)
		return -1;
	fd_close(fd);
	if (mend_dir(dir, name, NULL) < 0)
		return -1;
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static int
remove_entry(void *arg, const char *name, unsigned char type, struct error *err)
{
	struct remover *rm = arg;
	struct remove_frame *f = &rm->frames[rm->n - 1];

	if (type != DT_DIR) {
		if (unlinkat(rm->cur, name, 0) == 0 || errno == ENOENT)
			return 0;
		if (errno != EISDIR && errno != EPERM)
			return error_sys(err, -errno, "remove a file");
	}
	if (unlinkat(rm->cur, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
		return error_sys(err, -errno, "remove an entry");
	buf_add(&f->dirs, name, strlen(name) + 1);
	if (f->dirs.no_memory)
		return buf_check(&f->dirs, err);
	if (f->dirs.failed) {
		f->partial = true;
		f->dirs.failed = false;
	}
	return 0;
}

static int
frame_list(struct remover *rm)
{
	struct remove_frame *f = &rm->frames[rm->n - 1];

	buf_reset(&f->dirs);
	f->next = 0;
	f->partial = false;
	return owner_list(rm->cur, remove_entry, rm, rm->err);
}

/* FD becomes the directory of a new last frame. Closed on failure. */
static int
frame_push(struct remover *rm, int fd)
{
	struct remove_frame *f;
	struct stat st;

	if (rm->n == rm->cap) {
		size_t cap = rm->cap == 0 ? 64 : rm->cap * 2;

		f = cap > REMOVE_STACK_MAX / sizeof(*f)
			    ? NULL
			    : realloc(rm->frames, cap * sizeof(*rm->frames));
		if (f == NULL) {
			fd_close(fd);
			return error_set(rm->err, -ENOMEM, "no memory to remove a tree this deep");
		}
		rm->frames = f;
		rm->cap = cap;
	}
	if (fstat(fd, &st) != 0) {
		fd_close(fd);
		return error_sys(rm->err, -errno, "fstat a directory");
	}
	if (rm->n > 0 && rm->frames[rm->n - 1].fd < 0)
		fd_close(rm->cur);
	f = &rm->frames[rm->n++];
	*f = (struct remove_frame){.dev = st.st_dev, .ino = st.st_ino, .fd = -1};
	if (rm->n <= REMOVE_KEPT_FDS)
		f->fd = fd;
	rm->cur = fd;
	buf_init(&f->dirs, REMOVE_NAMES_MAX);
	return frame_list(rm);
}

/* Leave the last frame for the one above it. */
static int
frame_pop(struct remover *rm)
{
	struct remove_frame *f = &rm->frames[rm->n - 1];
	struct stat st;
	int up = -1;

	if (rm->n > 1) {
		struct remove_frame *above = f - 1;

		up = above->fd >= 0 ? above->fd
				    : openat(rm->cur, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (up < 0 || fstat(up, &st) != 0 || st.st_dev != above->dev ||
		    st.st_ino != above->ino) {
			if (above->fd < 0)
				fd_close(up);
			return error_set(rm->err, -ESTALE,
					 "a directory moved while it was removed");
		}
	}
	fd_close(rm->cur);
	buf_fini(&f->dirs);
	rm->n--;
	rm->cur = up;
	return 0;
}

static void
remover_fini(struct remover *rm)
{
	if (rm->n > 0 && rm->frames[rm->n - 1].fd < 0)
		fd_close(rm->cur);
	for (size_t i = 0; i < rm->n; i++) {
		fd_close(rm->frames[i].fd);
		buf_fini(&rm->frames[i].dirs);
	}
	free(rm->frames);
}

static int
remove_walk(struct remover *rm)
{
	int r;

	for (;;) {
		struct remove_frame *f = &rm->frames[rm->n - 1];

		if (f->next < f->dirs.len) {
			int fd = open_child(rm->cur, f->dirs.data + f->next);

			if (fd < 0 && errno == EXDEV)
				return error_set(rm->err, -EXDEV,
						 "a mount lies beneath it; it stays");
			if (fd < 0)
				return error_sys(rm->err, -errno, "open a directory to remove it");
			r = frame_push(rm, fd);
			if (r < 0)
				return r;
			continue;
		}
		if (f->partial) {
			r = frame_list(rm);
			if (r < 0)
				return r;
			continue;
		}
		if (rm->n == 1)
			return 0;
		r = frame_pop(rm);
		if (r < 0)
			return r;
		f = &rm->frames[rm->n - 1];
		if (unlinkat(rm->cur, f->dirs.data + f->next, AT_REMOVEDIR) != 0 && errno != ENOENT)
			return error_sys(rm->err, -errno, "remove a directory");
		f->next += strlen(f->dirs.data + f->next) + 1;
	}
}

int
store_remove_tree(int dir, const char *name, struct error *err)
{
	struct remover rm = {.cur = -1, .err = err};
	int fd, r;

	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return unlinkat(dir, name, 0) == 0 || errno == ENOENT
			       ? 0
			       : error_sys(err, -errno, "remove a file");
	fd = open_child(dir, name);
	if (fd < 0)
		return error_sys(err, -errno, "open a directory to remove it");
	r = frame_push(&rm, fd);
	if (r == 0)
		r = remove_walk(&rm);
	remover_fini(&rm);
	if (r == 0 && unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		r = error_sys(err, -errno, "remove a directory");
	return r;
}
