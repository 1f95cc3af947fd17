/*
 * Staging copies everything that is to come into the workspace's own file system, under numbers,
 * and hashes it on the way: what is moved into place afterwards is what was recorded. A second walk
 * does it; it must meet the gathered items in the same order.
 *
 * The plan follows. Directories that cannot be written to are opened first and closed again at the
 * end; final modes are set last, the deepest first, since a directory may close for us with its
 * own.
 */
#include "box/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/owner.h"

#define COPY_CHUNK_BYTES 65536
#define SYNC_EACH_MAX 64 /* so many items are synced one by one; more by the whole file system */

struct stager {
	struct takeover *t;
	size_t next;
};

static bool
all_zero(const char *p, size_t len)
{
	return len > 0 && p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

/* Runs of zeros are left out: a sparse file stays sparse. */
static int
copy_bytes(int from, int to, uint64_t size, uint8_t ret_sha256[SHA256_LEN], struct error *err)
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();
	char chunk[COPY_CHUNK_BYTES];
	uint64_t off = 0;
	int r = 0;

	if (h == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	while (r == 0 && off <= size) {
		ssize_t n = read(from, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read a changed file");
		if (n == 0)
			break;
		sha256_add(h, chunk, (size_t)n);
		if (!all_zero(chunk, (size_t)n))
			r = fd_pwrite_all(to, chunk, (size_t)n, off, err);
		off += (uint64_t)n;
	}
	if (r < 0)
		return r;
	if (off != size)
		return error_set(err, -ESTALE, "a changed file changed again while it was copied");
	if (ftruncate(to, (off_t)size) != 0)
		return error_sys(err, -errno, "set the size of a file");
	sha256_end(h, ret_sha256);
	return 0;
}

static int
stage_file(struct stager *s, const struct change *c, const struct item *item, const char *name,
	   struct error *err)
{
	CLEANUP(fd_closep) int from = -1;
	CLEANUP(fd_closep) int to = -1;
	uint8_t digest[SHA256_LEN];
	int r;

	from = owner_open_file(c->upper_dir, c->name);
	if (from < 0)
		return error_sys(err, -errno, "open a changed file");
	to = openat(s->t->fresh, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return error_sys(err, -errno, "create a file in the workspace");
	r = copy_bytes(from, to, item->size, digest, err);
	if (r < 0)
		return r;
	if (memcmp(digest, item->sha256, sizeof(digest)) != 0)
		return error_set(err, -ESTALE, "a changed file changed again while it was copied");
	if (fchmod(to, item->mode) != 0)
		return error_sys(err, -errno, "set the mode of a file");
	if (s->t->n <= SYNC_EACH_MAX && fsync(to) != 0)
		return error_sys(err, -errno, "sync a file");
	return 0;
}

static int
stage_link(struct stager *s, const struct change *c, const char *name, struct error *err)
{
	char target[PATH_BYTES_MAX];
	ssize_t n = owner_readlink(c->upper_dir, c->name, target, sizeof(target) - 1);

	if (n < 0)
		return error_sys(err, -errno, "read a changed link");
	target[n] = '\0';
	if (symlinkat(target, s->t->fresh, name) != 0)
		return error_sys(err, -errno, "create a link in the workspace");
	return 0;
}

static int
stage_item(struct stager *s, const struct change *c, struct item *item, size_t number,
	   struct error *err)
{
	char name[24];
	struct stat st;
	int r;

	(void)snprintf(name, sizeof(name), "%zu", number);
	switch (item->type) {
	case TYPE_FILE:
		r = stage_file(s, c, item, name, err);
		break;
	case TYPE_LINK:
		r = stage_link(s, c, name, err);
		break;
	case TYPE_DIR:
		r = mkdirat(s->t->fresh, name, 0700) == 0
			    ? 0
			    : error_sys(err, -errno, "create a directory in the workspace");
		break;
	default:
		r = error_set(err, -EINVAL, "neither file, link nor directory");
		break;
	}
	if (r < 0)
		return r;
	if (fstatat(s->t->fresh, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return error_sys(err, -errno, "look at what was staged");
	item->staged = st.st_ino;
	return 0;
}

static int
stage_change(void *arg, const struct change *c, struct error *err)
{
	struct stager *s = arg;
	struct item *item = &s->t->items[s->next];
	int r;

	if (selection_judge(s->t->sel, c, NULL) == SELECTED_NO)
		return 0;
	if (s->next == s->t->n || strcmp(item->path, c->path) != 0 || item->kind != c->kind ||
	    item->type != c->type)
		return error_set(err, -ESTALE, "the changes changed while they were copied");
	s->next++;
	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_MODE)
		return 0;
	r = stage_item(s, c, item, s->next - 1, err);
	if (r < 0) {
		char shown[CHANGE_SHOWN_MAX];

		change_show(c->path, shown);
		return error_prefix(err, "%s", shown);
	}
	return 0;
}

static int
stage_dir(int dir, const char *name, struct error *err)
{
	int fd;

	if (mkdirat(dir, name, 0700) != 0)
		return error_sys(err, -errno, "create a directory for staging in the workspace");
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, -errno, "open the directory for staging");
}

static int
stage_sync(const struct takeover *t, struct error *err)
{
	bool ok = t->n > SYNC_EACH_MAX ? syncfs(t->stage) == 0
				       : fsync(t->fresh) == 0 && fsync(t->stage) == 0;

	return ok ? 0 : error_sys(err, -errno, "sync what was staged");
}

int
takeover_stage(struct takeover *t, const char *name, struct error *err)
{
	const struct changes_in in = {
		.upper = t->upper, .lower = t->workspace, .depth_max = CHANGES_DEPTH_MAX};
	struct stager s = {.t = t};
	int r;

	t->stage = stage_dir(t->workspace, name, err);
	if (t->stage < 0)
		return t->stage;
	t->fresh = stage_dir(t->stage, "new", err);
	if (t->fresh < 0)
		return t->fresh;
	t->old = stage_dir(t->stage, "old", err);
	if (t->old < 0)
		return t->old;
	r = changes_walk(&in, stage_change, &s, err);
	if (r < 0)
		return r;
	if (s.next != t->n)
		return error_set(err, -ESTALE, "the changes changed while they were copied");
	return stage_sync(t, err);
}

/* ---- the plan ---- */

/* A directory of the workspace that is written to in between, though its mode says no. */
struct closed_dir {
	char *path;
	uint64_t ino;
	uint32_t mode;
	bool has_item; /* its final mode is an item's */
};

struct planner {
	struct takeover *t;
	struct journal *j;
	struct closed_dir *closed;
	size_t n_closed;
	struct step *finals; /* paths borrowed */
	size_t n_finals;
	struct error *err;
};

static struct closed_dir *
closed_find(struct planner *p, uint64_t ino)
{
	for (size_t i = p->n_closed; i > 0; i--)
		if (p->closed[i - 1].ino == ino)
			return &p->closed[i - 1];
	return NULL;
}

static int
plan_open_parent(struct planner *p, const struct item *item)
{
	const char *slash = strrchr(item->path, '/');
	struct closed_dir *closed;
	struct step s = {.verb = STEP_CHMOD,
			 .was = item->parent,
			 .mode_from = item->parent_mode,
			 .mode_to = item->parent_mode | 0700};
	char *path;
	int r;

	if (!item->parent_closed || closed_find(p, item->parent) != NULL)
		return 0;
	path = slash != NULL ? strndup(item->path, (size_t)(slash - item->path)) : strdup(".");
	closed = realloc(p->closed, (p->n_closed + 1) * sizeof(*closed));
	if (closed != NULL)
		p->closed = closed;
	if (path == NULL || closed == NULL) {
		free(path);
		return error_set(p->err, -ENOMEM, "out of memory");
	}
	closed[p->n_closed++] =
		(struct closed_dir){.path = path, .ino = item->parent, .mode = item->parent_mode};
	s.path = path;
	r = journal_add(p->j, &s, p->err);
	return r;
}

/* Moving a directory elsewhere writes to its "..", so it has to be writable itself. */
static int
plan_open_going(struct planner *p, const struct item *item)
{
	struct step s = {.verb = STEP_CHMOD,
			 .was = item->was,
			 .path = item->path,
			 .mode_from = item->was_mode,
			 .mode_to = item->was_mode | 0700};

	if (!item->was_dir || (item->was_mode & 0200) != 0)
		return 0;
	return journal_add(p->j, &s, p->err);
}

static int
plan_item(struct planner *p, size_t number)
{
	static const enum step_verb verbs[] = {
		[CHANGE_ADDED] = STEP_PUT,
		[CHANGE_MODIFIED] = STEP_SWAP,
		[CHANGE_TYPE] = STEP_SWAP,
		[CHANGE_DELETED] = STEP_TAKE,
	};
	const struct item *item = &p->t->items[number];
	struct step s = {.item = (uint32_t)number,
			 .path = item->path,
			 .staged = item->staged,
			 .was = item->was};
	int r;

	if (item->kind == CHANGE_MODE)
		return 0;
	s.verb = verbs[item->kind];
	r = plan_open_parent(p, item);
	if (r == 0)
		r = plan_open_going(p, item);
	return r < 0 ? r : journal_add(p->j, &s, p->err);
}

static void
plan_final(struct planner *p, const char *path, uint64_t ino, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	p->finals[p->n_finals++] = (struct step){.verb = STEP_CHMOD,
						 .was = ino,
						 .mode_from = from,
						 .mode_to = to,
						 .path = (char *)(uintptr_t)path};
}

static void
plan_item_final(struct planner *p, const struct item *item)
{
	struct closed_dir *closed;
	uint32_t from = item->was_mode;

	if (item->kind == CHANGE_MODE) {
		closed = closed_find(p, item->was);
		if (closed != NULL) {
			closed->has_item = true;
			from = closed->mode | 0700;
		}
		plan_final(p, item->path, item->was, from, item->mode);
	} else if (item->kind != CHANGE_DELETED && item->type == TYPE_DIR) {
		plan_final(p, item->path, item->staged, 0700, item->mode);
	}
}

static size_t
depth_of(const char *path)
{
	size_t n = strcmp(path, ".") != 0;

	for (; *path != '\0'; path++)
		n += *path == '/';
	return n;
}

static int
deepest_first(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	size_t m = depth_of(x->path), n = depth_of(y->path);

	return m != n ? (m > n ? -1 : 1) : strcmp(x->path, y->path);
}

int
takeover_plan(struct takeover *t, struct journal *j, struct error *err)
{
	struct planner p = {.t = t, .j = j, .err = err};
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->n; i++)
		r = plan_item(&p, i);
	p.finals = calloc(t->n + p.n_closed + 1, sizeof(*p.finals));
	if (r == 0 && p.finals == NULL)
		r = error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < t->n; i++)
		plan_item_final(&p, &t->items[i]);
	for (size_t i = 0; r == 0 && i < p.n_closed; i++)
		if (!p.closed[i].has_item)
			plan_final(&p, p.closed[i].path, p.closed[i].ino, p.closed[i].mode | 0700,
				   p.closed[i].mode);
	if (p.n_finals > 1)
		qsort(p.finals, p.n_finals, sizeof(*p.finals), deepest_first);
	for (size_t i = 0; r == 0 && i < p.n_finals; i++)
		r = journal_add(j, &p.finals[i], err);
	for (size_t i = 0; i < p.n_closed; i++)
		free(p.closed[i].path);
	free(p.closed);
	free(p.finals);
	return r;
}
