/*
 * Directories still to be looked into lie on a stack of names, each with the length of its parent's
 * path. What is on top is always of a directory on the way that was gone last, so one path is cut
 * back and grown, and one directory is open at a time, whatever the depth.
 *
 * What goes away meanwhile is nothing to look at. What comes meanwhile comes from somebody outside:
 * nothing inside can set such a bit.
 */
#include "box/setid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/changes.h"

#define STEP "workspace"
#define SHOWN_MAX 120 /* bytes of a name in a failure */

struct look {
	int root;
	int dir; /* the one that is being listed */
	uint64_t left;
	char path[PATH_BYTES_MAX]; /* of it, from the root on, with a slash at the end */
	size_t path_len;
	char *stack; /* name, NUL, uint32_t: length of its parent's path, uint32_t: of the name */
	size_t used, cap;
	struct failure *f;
};

static void
look_fini(struct look *l)
{
	fd_close(l->dir);
	free(l->stack);
}

static int
too_much(struct look *l)
{
	return failure_set(l->f, R_LIMIT_EXCEEDED, STEP, -E2BIG,
			   "the direct workspace has too many or too deep entries to look for "
			   "set-id files; use an overlay profile");
}

static bool
is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static int
push(struct look *l, const char *name)
{
	const uint32_t tail[2] = {(uint32_t)l->path_len, (uint32_t)strlen(name)};
	size_t need = l->used + tail[1] + 1 + sizeof(tail);

	if (need > SETID_NAMES_MAX)
		return too_much(l);
	if (need > l->cap) {
		size_t cap = 2 * need;
		char *stack = realloc(l->stack, cap);

		if (stack == NULL)
			return failure_set(l->f, R_INTERNAL, STEP, -ENOMEM, "out of memory");
		l->stack = stack;
		l->cap = cap;
	}
	memcpy(l->stack + l->used, name, tail[1] + 1);
	memcpy(l->stack + need - sizeof(tail), tail, sizeof(tail));
	l->used = need;
	return 0;
}

/* The path becomes that of the directory on top. */
static int
pop(struct look *l)
{
	uint32_t tail[2];

	memcpy(tail, l->stack + l->used - sizeof(tail), sizeof(tail));
	l->used -= tail[1] + 1 + sizeof(tail);
	if (tail[0] + tail[1] + 2 > sizeof(l->path))
		return too_much(l);
	memcpy(l->path + tail[0], l->stack + l->used, tail[1]);
	l->path_len = tail[0] + tail[1];
	l->path[l->path_len++] = '/';
	l->path[l->path_len] = '\0';
	return 0;
}

static int
name_it(struct look *l, const char *name, const char *what, const char *remedy)
{
	char full[PATH_BYTES_MAX + NAME_MAX + 1], shown[CHANGE_SHOWN_MAX];
	size_t n = SHOWN_MAX;

	(void)snprintf(full, sizeof(full), "%s%s", l->path, name);
	change_show(full, shown);
	/* The sentence has to fit, and no character may be cut in two. */
	if (strlen(shown) > n) {
		while (n > 0 && ((unsigned char)shown[n] & 0xc0) == 0x80)
			n--;
		(void)snprintf(shown + n, sizeof(shown) - n, "...");
	}
	return failure_set(l->f, R_INVALID_PATH, STEP, -EPERM,
			   "%s file in a direct workspace: %s (%s FILE, or an overlay profile)",
			   what, shown, remedy);
}

/* Has it capabilities? By a path through the open directory, which ends at the name itself. */
static int
look_at_capability(struct look *l, const char *name)
{
	char at[sizeof("/proc/self/fd/") + 12 + NAME_MAX + 1];

	(void)snprintf(at, sizeof(at), "/proc/self/fd/%d/%s", l->dir, name);
	if (lgetxattr(at, "security.capability", NULL, 0) >= 0)
		return name_it(l, name, "privileged", "setcap -r");
	if (errno == ENODATA || errno == EOPNOTSUPP || is_gone(errno))
		return 0;
	return failure_sys(l->f, R_INVALID_PATH, STEP, -errno, "look through the workspace");
}

static int
look_at(struct look *l, const struct dirent64 *e)
{
	struct stat st;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return 0;
	if (l->left-- == 0)
		return too_much(l);
	if (e->d_type == DT_DIR)
		return push(l, e->d_name);
	if (e->d_type != DT_REG && e->d_type != DT_UNKNOWN)
		return 0;
	if (fstatat(l->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return is_gone(errno) ? 0
				      : failure_sys(l->f, R_INVALID_PATH, STEP, -errno,
						    "look through the workspace");
	if (S_ISDIR(st.st_mode))
		return push(l, e->d_name);
	if (!S_ISREG(st.st_mode))
		return 0;
	if ((st.st_mode & S_ISUID) != 0 ||
	    (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		return name_it(l, e->d_name, "set-id", "chmod u-s,g-s");
	return look_at_capability(l, e->d_name);
}

static int
list(struct look *l)
{
	_Alignas(struct dirent64) char chunk[32768];
	ssize_t n;

	while ((n = getdents64(l->dir, chunk, sizeof(chunk))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e =
				(const struct dirent64 *)(const void *)(chunk + at);
			int r = look_at(l, e);

			if (r < 0)
				return r;
			at += e->d_reclen;
		}
	}
	return n == 0 || is_gone(errno) ? 0
					: failure_sys(l->f, R_INVALID_PATH, STEP, -errno,
						      "look through the workspace");
}

/* The directory of the path: listed, unless it has gone. */
static int
look_into(struct look *l)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};

	fd_closep(&l->dir);
	l->dir = (int)syscall(__NR_openat2, l->root, l->path_len > 0 ? l->path : ".", &how,
			      sizeof(how));
	if (l->dir >= 0)
		return list(l);
	return l->path_len > 0 && is_gone(errno) ? 0
						 : failure_sys(l->f, R_INVALID_PATH, STEP, -errno,
							       "look through the workspace");
}

int
setid_look(int dir, uint64_t max, struct failure *f)
{
	CLEANUP(look_fini) struct look l = {.root = dir, .dir = -1, .left = max, .f = f};
	int r = look_into(&l);

	while (r == 0 && l.used > 0) {
		r = pop(&l);
		if (r == 0)
			r = look_into(&l);
	}
	return r;
}
