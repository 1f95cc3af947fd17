/*
 * The walk goes down the upper layer with two descriptors, the directory there and the one it
 * covers in the workspace, and up again by "..", checking device and inode; so it holds a few
 * descriptors however deep the tree is. Per level it keeps the sorted names and where it was.
 *
 * What overlayfs leaves (mounted with userxattr, which forbids redirects and metacopy): a removed
 * entry is a character device 0:0, or an empty file with user.overlay.whiteout in a directory whose
 * user.overlay.opaque is "x"; a directory that replaced another has user.overlay.opaque "y", and
 * then nothing of the workspace shows through from there on down. Sessions cannot forge these: the
 * overlay escapes or refuses such attributes and refuses to make a device 0:0.
 *
 * Beneath a directory that has no counterpart the workspace's descriptor is parked in the frame
 * above; that can be only one at a time.
 */
#include "box/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "box/owner.h"

#define COMPARE_CHUNK_BYTES 65536
#define MOVED "a directory moved while the changes were read; try again"
#define NAME_OVERHEAD 32 /* bytes of bookkeeping charged for a name */

enum name_from { FROM_UPPER = 1, FROM_LOWER = 2 };

struct walk_name {
	char *text;
	uint8_t from; /* enum name_from bits */
};

struct walk_frame {
	struct walk_name *names;
	size_t n, cap, next;
	size_t charged;	 /* bytes counted against CHANGES_MEMORY_MAX */
	size_t path_len; /* of the walker's path at this directory */
	dev_t udev, ldev;
	ino_t uino, lino;
	bool has_lower;
	bool opaque;	 /* nothing of the workspace shows through */
	bool xwhiteouts; /* whiteouts may be attributes */
	int parked;	 /* the workspace's descriptor while the child has none; or -1 */
};

struct walker {
	struct walk_frame *frames;
	size_t n, cap;
	size_t charged;
	uint32_t depth_max;
	int upper, lower; /* of the last frame; owned; lower -1 when it has none */
	struct buf path;
	change_fn fn;
	void *arg;
	struct error *err;
};

const char *
change_kind_name(enum change_kind k)
{
	static const char *const names[] = {
		[CHANGE_ADDED] = "added",     [CHANGE_MODIFIED] = "modified",
		[CHANGE_DELETED] = "deleted", [CHANGE_TYPE] = "type",
		[CHANGE_MODE] = "mode",
	};

	return names[k];
}

const char *
change_type_name(enum change_type t)
{
	static const char *const names[] = {
		[TYPE_FILE] = "file", [TYPE_DIR] = "dir",	[TYPE_LINK] = "link",
		[TYPE_FIFO] = "fifo", [TYPE_SOCKET] = "socket", [TYPE_DEVICE] = "device",
	};

	return names[t];
}

void
change_show(const char *path, char out[CHANGE_SHOWN_MAX])
{
	CLEANUP(buf_fini) struct buf b = {0};
	size_t len = strlen(path), at = 0;

	buf_init(&b, CHANGE_SHOWN_MAX - sizeof("..."));
	/* Character by character, so that a cut never goes through one. */
	while (at < len && !b.failed) {
		uint32_t c;
		size_t n = utf8_next(path + at, len - at, &c);

		n = n == 0 ? 1 : n;
		text_escape(path + at, n, &b);
		at += n;
	}
	(void)snprintf(out, CHANGE_SHOWN_MAX, "%s%s", b.data != NULL ? b.data : "",
		       b.failed ? "..." : "");
}

static enum change_type
type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return TYPE_FILE;
	case S_IFDIR:
		return TYPE_DIR;
	case S_IFLNK:
		return TYPE_LINK;
	case S_IFIFO:
		return TYPE_FIFO;
	case S_IFSOCK:
		return TYPE_SOCKET;
	default:
		return TYPE_DEVICE;
	}
}

/* ---- names of one directory ---- */

static int
frame_name_add(struct walker *w, const char *name, uint8_t from)
{
	struct walk_frame *f = &w->frames[w->n - 1];
	size_t cost = strlen(name) + 1 + NAME_OVERHEAD;

	if (w->charged + cost > CHANGES_MEMORY_MAX)
		return error_set(w->err, -E2BIG, "too many names in the session's changes");
	if (f->n == f->cap) {
		size_t cap = f->cap == 0 ? 16 : f->cap * 2;
		struct walk_name *names = realloc(f->names, cap * sizeof(*names));

		if (names == NULL)
			return error_set(w->err, -ENOMEM, "out of memory");
		f->names = names;
		f->cap = cap;
	}
	f->names[f->n].text = strdup(name);
	if (f->names[f->n].text == NULL)
		return error_set(w->err, -ENOMEM, "out of memory");
	f->names[f->n++].from = from;
	w->charged += cost;
	f->charged += cost;
	return 0;
}

static int
name_compare(const void *a, const void *b)
{
	return strcmp(((const struct walk_name *)a)->text, ((const struct walk_name *)b)->text);
}

/* A name that both layers have was added twice: make it one. */
static void
frame_sort(struct walk_frame *f)
{
	size_t kept = 0;

	if (f->n > 1)
		qsort(f->names, f->n, sizeof(*f->names), name_compare);
	for (size_t i = 0; i < f->n; i++) {
		if (kept > 0 && strcmp(f->names[kept - 1].text, f->names[i].text) == 0) {
			f->names[kept - 1].from |= f->names[i].from;
			free(f->names[i].text);
		} else {
			f->names[kept++] = f->names[i];
		}
	}
	f->n = kept;
}

static int
add_upper(void *arg, const char *name, unsigned char type, struct error *err)
{
	return frame_name_add(arg, name, FROM_UPPER);
}

static int
add_lower(void *arg, const char *name, unsigned char type, struct error *err)
{
	return frame_name_add(arg, name, FROM_LOWER);
}

/* ---- frames ---- */

static int
frame_attributes(struct walker *w, struct walk_frame *f)
{
	char value[2];
	ssize_t n;

	n = owner_getxattr(w->upper, "user.overlay.opaque", value, sizeof(value));
	if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return error_sys(w->err, -errno, "read an attribute of the layer");
	if (n == 1 && value[0] == 'y')
		f->opaque = true;
	if (n == 1 && value[0] == 'x')
		f->xwhiteouts = true;
	n = owner_getxattr(w->upper, "user.overlay.redirect", NULL, 0);
	if (n >= 0)
		return error_set(w->err, -EUCLEAN, "the layer has a redirect, which is never made");
	return 0;
}

/*
 * UPPER and LOWER (or -1) become the directories of a new last frame, and are its. The caller has
 * taken care of those of the frame above.
 */
static int
frame_push(struct walker *w, int upper, int lower, bool opaque)
{
	struct walk_frame *f;
	struct stat st;
	int r;

	w->upper = upper;
	w->lower = lower;
	if (w->depth_max > 0 && w->n > w->depth_max)
		return error_set(w->err, -E2BIG, "the changes are more than %u directories deep",
				 w->depth_max);
	if (w->charged + sizeof(*f) > CHANGES_MEMORY_MAX)
		return error_set(w->err, -E2BIG, "the changes are too deep");
	if (w->n == w->cap) {
		size_t cap = w->cap == 0 ? 32 : w->cap * 2;

		f = realloc(w->frames, cap * sizeof(*f));
		if (f == NULL)
			return error_set(w->err, -ENOMEM, "out of memory");
		w->frames = f;
		w->cap = cap;
	}
	f = &w->frames[w->n++];
	*f = (struct walk_frame){.parked = -1, .opaque = opaque, .path_len = w->path.len};
	f->charged = sizeof(*f);
	w->charged += f->charged;
	if (fstat(upper, &st) != 0)
		return error_sys(w->err, -errno, "fstat a directory");
	f->udev = st.st_dev;
	f->uino = st.st_ino;
	if (lower >= 0) {
		if (fstat(lower, &st) != 0)
			return error_sys(w->err, -errno, "fstat a directory");
		f->ldev = st.st_dev;
		f->lino = st.st_ino;
		f->has_lower = true;
	}
	r = frame_attributes(w, f);
	if (r == 0)
		r = owner_list(upper, add_upper, w, w->err);
	if (r == 0 && f->opaque && lower >= 0)
		r = owner_list(lower, add_lower, w, w->err);
	if (r == 0)
		frame_sort(&w->frames[w->n - 1]);
	return r;
}

static void
frame_free(struct walker *w, struct walk_frame *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->names[i].text);
	free(f->names);
	fd_close(f->parked);
	w->charged -= f->charged;
}

static int
go_up(struct walker *w, int from, dev_t dev, ino_t ino)
{
	CLEANUP(fd_closep) int fd = owner_open_dir(from, "..");
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != dev || st.st_ino != ino)
		return error_set(w->err, -ESTALE, MOVED);
	return TAKE_FD(fd);
}

static int
frame_pop(struct walker *w)
{
	struct walk_frame *f = &w->frames[w->n - 1], *above = f - 1;
	int fd;

	if (w->n > 1) {
		fd = go_up(w, w->upper, above->udev, above->uino);
		if (fd < 0)
			return fd;
		fd_close(w->upper);
		w->upper = fd;
		if (above->has_lower && !f->has_lower) {
			w->lower = TAKE_FD(above->parked);
		} else if (above->has_lower) {
			fd = go_up(w, w->lower, above->ldev, above->lino);
			if (fd < 0)
				return fd;
			fd_close(w->lower);
			w->lower = fd;
		}
		buf_cut(&w->path, above->path_len);
	}
	frame_free(w, f);
	w->n--;
	return 0;
}

static void
walker_fini(struct walker *w)
{
	for (size_t i = 0; i < w->n; i++)
		frame_free(w, &w->frames[i]);
	free(w->frames);
	buf_fini(&w->path);
	fd_close(w->upper);
	fd_close(w->lower);
}

/* ---- comparing one entry ---- */

/* 1: equal, 0: different, negative: the layer's side cannot be read. */
static int
same_content(int upper, int lower, struct error *err)
{
	char a[COMPARE_CHUNK_BYTES], b[COMPARE_CHUNK_BYTES];
	uint64_t off = 0;

	for (;;) {
		ssize_t n = pread(upper, a, sizeof(a), (off_t)off);
		ssize_t m = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read a changed file");
		while (m < n) {
			ssize_t got = pread(lower, b + m, (size_t)(n - m), (off_t)off + m);

			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return 0;
			m += got;
		}
		if (n == 0)
			return 1;
		if (memcmp(a, b, (size_t)n) != 0)
			return 0;
		off += (uint64_t)n;
	}
}

static int
same_file(struct walker *w, const char *name, const struct stat *u, const struct stat *l)
{
	CLEANUP(fd_closep) int ufd = -1;
	CLEANUP(fd_closep) int lfd = -1;

	if (u->st_size != l->st_size || (uint64_t)u->st_size > CHANGES_COMPARE_MAX)
		return 0;
	ufd = owner_open_file(w->upper, name);
	if (ufd < 0)
		return error_sys(w->err, -errno, "open a changed file");
	if (owner_getxattr(ufd, "user.overlay.metacopy", NULL, 0) >= 0)
		return error_set(w->err, -EUCLEAN, "the layer has a metacopy, which is never made");
	lfd = owner_open_file(w->lower, name);
	if (lfd < 0)
		return 0; /* not for this user to read: what is there now is shown as new content */
	return same_content(ufd, lfd, w->err);
}

static int
same_link(struct walker *w, const char *name)
{
	char a[PATH_MAX], b[PATH_MAX];
	ssize_t n = owner_readlink(w->upper, name, a, sizeof(a));
	ssize_t m = owner_readlink(w->lower, name, b, sizeof(b));

	if (n < 0)
		return error_sys(w->err, -errno, "read a changed link");
	return n == m && memcmp(a, b, (size_t)n) == 0;
}

/* 1: same content, 0: not, negative. Both entries are there and of one type. */
static int
same_entry(struct walker *w, const char *name, const struct stat *u, const struct stat *l)
{
	switch (type_of(u->st_mode)) {
	case TYPE_FILE:
		return same_file(w, name, u, l);
	case TYPE_LINK:
		return same_link(w, name);
	case TYPE_DEVICE:
		return u->st_rdev == l->st_rdev;
	default:
		return 1;
	}
}

static bool
same_mode(const struct stat *u, const struct stat *l)
{
	return S_ISLNK(u->st_mode) || ((u->st_mode ^ l->st_mode) & 01777) == 0;
}

static int
is_whiteout(struct walker *w, const char *name, const struct stat *st)
{
	CLEANUP(fd_closep) int fd = -1;

	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(0, 0);
	if (!S_ISREG(st->st_mode) || st->st_size != 0 || !w->frames[w->n - 1].xwhiteouts)
		return 0;
	fd = owner_open_file(w->upper, name);
	if (fd < 0)
		return error_sys(w->err, -errno, "open an entry of the layer");
	return owner_getxattr(fd, "user.overlay.whiteout", NULL, 0) >= 0;
}

static int
report(struct walker *w, const char *name, enum change_kind kind, const struct stat *u,
       const struct stat *l)
{
	const struct stat *now = u != NULL ? u : l;
	struct change c = {
		.path = w->path.data,
		.path_len = w->path.len,
		.depth = (uint32_t)(w->n > 0 ? w->n - 1 : 0),
		.kind = kind,
		.type = type_of(now->st_mode),
		.mode = now->st_mode & 07777,
		.copied = u != NULL,
		.upper_dir = w->upper,
		.lower_dir = w->lower,
		.name = name,
	};

	if (c.type == TYPE_FILE || c.type == TYPE_LINK)
		c.size = (uint64_t)now->st_size;
	if (u != NULL)
		c.upper = *u;
	if (l != NULL)
		c.lower = *l;
	return w->fn(w->arg, &c, w->err);
}

/* Report how U differs from L (either may be NULL, not both). */
static int
judge(struct walker *w, const char *name, const struct stat *u, const struct stat *l)
{
	int same;

	if (l == NULL)
		return report(w, name, CHANGE_ADDED, u, NULL);
	if (u == NULL)
		return report(w, name, CHANGE_DELETED, NULL, l);
	if (type_of(u->st_mode) != type_of(l->st_mode))
		return report(w, name, CHANGE_TYPE, u, l);
	same = same_entry(w, name, u, l);
	if (same < 0)
		return error_prefix(w->err, "%s", "compare with the workspace");
	if (same == 0)
		return report(w, name, CHANGE_MODIFIED, u, l);
	if (!same_mode(u, l))
		return report(w, name, CHANGE_MODE, u, l);
	return 0;
}

/* Go down into NAME, a directory of the layer; MERGED: the workspace has one there too. */
static int
descend(struct walker *w, const char *name, bool merged)
{
	struct walk_frame *f = &w->frames[w->n - 1];
	CLEANUP(fd_closep) int upper = -1;
	CLEANUP(fd_closep) int lower = -1;

	upper = owner_open_dir(w->upper, name);
	if (upper < 0)
		return error_sys(w->err, -errno, "open a directory of the layer");
	if (merged) {
		lower = owner_open_dir(w->lower, name);
		if (lower < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
			return error_set(w->err, -ESTALE, MOVED);
		if (lower < 0)
			return error_sys(w->err, -errno, "open a directory of the workspace");
		fd_close(w->lower);
	} else if (f->has_lower) {
		f->parked = w->lower;
	}
	fd_close(w->upper);
	w->upper = w->lower = -1;
	return frame_push(w, TAKE_FD(upper), TAKE_FD(lower), f->opaque);
}

static int
walk_lower_stat(struct walker *w, const char *name, struct stat *ret, bool *ret_there)
{
	*ret_there = false;
	if (w->lower < 0)
		return 0;
	if (owner_stat(w->lower, name, ret) == 0)
		*ret_there = true;
	else if (errno != ENOENT)
		return error_sys(w->err, -errno, "look at an entry of the workspace");
	return 0;
}

static int
walk_entry(struct walker *w, const char *name, uint8_t from)
{
	struct walk_frame *f = &w->frames[w->n - 1];
	struct stat u, l;
	bool has_upper = false, has_lower;
	int r;

	buf_cut(&w->path, f->path_len);
	if (w->path.len > 0)
		buf_char(&w->path, '/');
	buf_str(&w->path, name);
	if (w->path.failed)
		return error_set(w->err, -E2BIG, "a path of the changes is too long");
	if ((from & FROM_UPPER) != 0) {
		if (owner_stat(w->upper, name, &u) != 0)
			return error_sys(w->err, -errno, "look at an entry of the layer");
		r = is_whiteout(w, name, &u);
		if (r < 0)
			return r;
		has_upper = r == 0;
	}
	r = walk_lower_stat(w, name, &l, &has_lower);
	if (r < 0)
		return r;
	if (!has_upper && !has_lower)
		return 0;
	r = judge(w, name, has_upper ? &u : NULL, has_lower ? &l : NULL);
	if (r != 0 || !has_upper || !S_ISDIR(u.st_mode))
		return r;
	return descend(w, name, has_lower && S_ISDIR(l.st_mode));
}

static int
walk_root_mode(struct walker *w)
{
	struct stat u, l;

	if (w->lower < 0)
		return 0;
	if (fstat(w->upper, &u) != 0 || fstat(w->lower, &l) != 0)
		return error_sys(w->err, -errno, "fstat the root of the workspace");
	if (same_mode(&u, &l))
		return 0;
	buf_char(&w->path, '.');
	return report(w, ".", CHANGE_MODE, &u, &l);
}

static int
walk(struct walker *w)
{
	int r;

	r = walk_root_mode(w);
	if (r != 0)
		return r;
	buf_cut(&w->path, 0);
	r = frame_push(w, TAKE_FD(w->upper), TAKE_FD(w->lower), false);
	while (r == 0 && w->n > 0) {
		struct walk_frame *f = &w->frames[w->n - 1];

		if (f->next < f->n) {
			size_t i = f->next++;

			r = walk_entry(w, f->names[i].text, f->names[i].from);
		} else {
			r = frame_pop(w);
		}
	}
	return r;
}

int
changes_walk(const struct changes_in *in, change_fn fn, void *arg, struct error *err)
{
	struct walker w = {.upper = -1,
			   .lower = -1,
			   .depth_max = in->depth_max,
			   .fn = fn,
			   .arg = arg,
			   .err = err};
	int r = 0;

	buf_init(&w.path, CHANGES_MEMORY_MAX);
	w.upper = owner_open_dir(in->upper, ".");
	if (w.upper < 0)
		r = error_sys(err, -errno, "open the layer");
	if (r == 0 && in->lower >= 0) {
		w.lower = owner_open_dir(in->lower, ".");
		if (w.lower < 0)
			r = error_sys(err, -errno, "open the workspace");
	}
	if (r == 0)
		r = walk(&w);
	walker_fini(&w);
	return r;
}

struct tally {
	uint64_t changes, bytes;
};

static int
tally_add(void *arg, const struct change *c, struct error *err)
{
	struct tally *t = arg;

	t->changes++;
	if (c->copied)
		t->bytes += (uint64_t)c->upper.st_blocks * 512;
	return 0;
}

int
changes_count(int upper, int lower, uint64_t *ret_changes, uint64_t *ret_bytes, struct error *err)
{
	struct tally t = {0};
	struct error inner = {0};
	const struct changes_in in = {.upper = upper, .lower = lower};
	int r = changes_walk(&in, tally_add, &t, &inner);

	if (r < 0 && r != -E2BIG)
		return error_set(err, r, "%s", inner.text);
	*ret_changes = t.changes;
	*ret_bytes = t.bytes;
	return 0;
}
