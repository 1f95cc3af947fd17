/*
 * One walk gathers the items, computes the manifest and looks for what stands against it. All of
 * that is counted before anything is said, so that the sentence can be the one that helps most:
 * first that the changes are not those that were recorded, then what must never be taken, what has
 * to be named, what cannot be taken over, what somebody else changed.
 *
 * A directory that goes is looked through whole: what somebody put into it since, what is protected
 * in it, and what could not be removed must not go down with it unnoticed.
 */
#include "box/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/manifest.h"
#include "box/owner.h"
#include "box/protect.h"

#define NAMED_MAX 3 /* paths that a sentence names */

/* One kind of thing that stands against it. */
struct objection {
	uint64_t n;
	char shown[NAMED_MAX][CHANGE_SHOWN_MAX];
};

enum objection_kind { O_NEVER, O_PROTECTED, O_SPECIAL, O_CONFLICT, O_FOREIGN, O_COUNT };

struct gather {
	struct takeover *t;
	struct manifest manifest;
	struct objection against[O_COUNT];
	struct accept_result *result;
	const struct change *within; /* while a directory that goes is looked through */
	struct buf path;	     /* then: of the entry, from the workspace on */
};

static void
object(struct gather *g, enum objection_kind kind, const char *path)
{
	struct objection *o = &g->against[kind];

	if (o->n < NAMED_MAX)
		change_show(path, o->shown[o->n]);
	o->n++;
}

static bool
newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Did somebody else change it since the session started? */
static bool
changed_since(const struct takeover *t, const struct stat *st)
{
	return newer(&st->st_ctim, &t->started) && !stamps_have(t->stamps, st);
}

/* An entry of a directory that goes. The walk sees the workspace's directory as if it were a layer.
 */
static int
look_at_going(void *arg, const struct change *c, struct error *err)
{
	struct gather *g = arg;
	enum protection p;
	const char *path;

	buf_reset(&g->path);
	buf_str(&g->path, g->within->path);
	buf_char(&g->path, '/');
	buf_str(&g->path, c->path);
	if (g->path.failed)
		return buf_check(&g->path, err);
	path = g->path.data;
	p = protect_path(path, NULL);
	if (p == PROTECT_NEVER)
		object(g, O_NEVER, path);
	else if (p == PROTECT_NAMED && !selection_names(g->t->sel, path) &&
		 !selection_names(g->t->sel, g->within->path))
		object(g, O_PROTECTED, path);
	if (c->type == TYPE_DIR && c->upper.st_uid != geteuid())
		object(g, O_FOREIGN, path);
	if (changed_since(g->t, &c->upper))
		object(g, O_CONFLICT, path);
	return 0;
}

static int
look_through_going(struct gather *g, const struct change *c, struct error *err)
{
	CLEANUP(fd_closep) int fd = owner_open_dir(c->lower_dir, c->name);
	struct changes_in in = {.upper = fd, .lower = -1, .depth_max = CHANGES_DEPTH_MAX};
	int r;

	if (fd < 0)
		return error_sys(err, -errno, "open a directory that is to go");
	if (c->lower.st_uid != geteuid())
		object(g, O_FOREIGN, c->path);
	g->within = c;
	r = changes_walk(&in, look_at_going, g, err);
	g->within = NULL;
	return r;
}

static int
look_for_conflict(struct gather *g, const struct change *c, struct error *err)
{
	bool conflict;

	if (c->kind == CHANGE_ADDED)
		return 0;
	conflict = changed_since(g->t, &c->lower);
	/* A directory's change time also moves with its entries, whose own conflicts are theirs. */
	if (conflict && c->kind == CHANGE_MODE && c->type == TYPE_DIR &&
	    newer(&c->lower.st_mtim, &g->t->started))
		conflict = false;
	if (conflict)
		object(g, O_CONFLICT, c->path);
	if (c->kind != CHANGE_MODE && S_ISDIR(c->lower.st_mode))
		return look_through_going(g, c, err);
	return 0;
}

static int
item_new(struct takeover *t, const char *path, struct item **ret, struct error *err)
{
	struct item *item = NULL;

	if (t->n == TAKEOVER_ITEMS_MAX)
		return error_set(err, -E2BIG, "more than %d changes; accept them in parts (--path)",
				 TAKEOVER_ITEMS_MAX);
	if (t->n == t->cap) {
		size_t cap = t->cap == 0 ? 64 : t->cap * 2;

		item = realloc(t->items, cap * sizeof(*item));
		if (item == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		t->items = item;
		t->cap = cap;
	}
	item = &t->items[t->n];
	*item = (struct item){.path = strdup(path)};
	if (item->path == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	t->n++;
	*ret = item;
	return 0;
}

static int
item_fill(struct item *item, const struct change *c, struct error *err)
{
	struct stat st;

	item->kind = c->kind;
	item->type = c->type;
	item->size = c->size;
	item->mode = c->mode & 01777;
	if (c->kind != CHANGE_ADDED) {
		item->was_dir = S_ISDIR(c->lower.st_mode);
		item->was_mode = c->lower.st_mode & 07777;
		item->was = c->lower.st_ino;
		item->was_changed = c->lower.st_mtim;
		item->was_size = c->lower.st_size;
	}
	if (c->kind == CHANGE_MODE && c->type == TYPE_DIR)
		item->mode |= c->lower.st_mode & 06000;
	if (c->lower_dir < 0 || strcmp(c->path, ".") == 0)
		return 0;
	if (fstat(c->lower_dir, &st) != 0)
		return error_sys(err, -errno, "fstat a directory of the workspace");
	item->parent = st.st_ino;
	item->parent_mode = st.st_mode & 07777;
	item->parent_closed = (st.st_mode & 0300) != 0300 && st.st_uid == geteuid();
	return 0;
}

static void
tally(struct accept_result *r, const struct change *c)
{
	r->files++;
	if (c->kind != CHANGE_DELETED && c->type == TYPE_FILE && c->kind != CHANGE_MODE)
		r->bytes += c->size;
	if (c->kind != CHANGE_DELETED && (c->mode & 06000) != 0 &&
	    !(c->kind == CHANGE_MODE && c->type == TYPE_DIR))
		r->stripped++;
}

static int
gather_change(void *arg, const struct change *c, struct error *err)
{
	struct gather *g = arg;
	struct item *item = NULL;
	enum selected selected = selection_judge(g->t->sel, c, NULL);
	int r;

	if (selected == SELECTED_NO)
		return 0;
	if (selected == SELECTED_NEVER)
		object(g, O_NEVER, c->path);
	if (selected == SELECTED_PROTECTED)
		object(g, O_PROTECTED, c->path);
	if (c->kind != CHANGE_DELETED && c->type > TYPE_LINK)
		object(g, O_SPECIAL, c->path);
	r = item_new(g->t, c->path, &item, err);
	if (r == 0)
		r = manifest_add(&g->manifest, c, item->sha256, err);
	if (r == 0)
		r = item_fill(item, c, err);
	if (r == 0)
		r = look_for_conflict(g, c, err);
	if (r == 0)
		tally(g->result, c);
	return r;
}

/* ---- the sentence ---- */

static void refuse(struct accept_result *r, enum reason reason, const char *fmt, ...) PRINTF(3, 4);

static void
refuse(struct accept_result *r, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	r->status = RESULT_REFUSED;
	r->reason = reason;
	va_start(ap, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
}

/* "a, b, c and 5 more", bounded so that the rest of the sentence keeps its room. */
static void
name_them(const struct objection *o, char *out, size_t size)
{
	size_t at = 0, shown = 0;

	out[0] = '\0';
	while (shown < NAMED_MAX && shown < o->n &&
	       (shown == 0 || at + strlen(o->shown[shown]) + 2 + 16 < size)) {
		int n = snprintf(out + at, size - at, "%s%.80s", shown > 0 ? ", " : "",
				 o->shown[shown]);

		at += n > 0 ? (size_t)n : 0;
		shown++;
	}
	if (o->n > shown)
		(void)snprintf(out + at, size - at, " and %llu more",
			       (unsigned long long)(o->n - shown));
}

static void
judge_objections(struct gather *g, struct accept_result *r)
{
	static const struct {
		enum reason reason;
		const char *before, *after;
	} sentences[] = {
		[O_NEVER] = {R_RULE_DENIED, "inside of .git nothing is taken over: ",
			     "; select the others with --path"},
		[O_PROTECTED] = {R_RULE_DENIED, "protected, taken over only by name: ",
				 "; --path P takes one by its name, or others"},
		[O_SPECIAL] = {R_RULE_DENIED, "no device, fifo or socket is taken over: ",
			       "; remove it in the session or select others with --path"},
		[O_FOREIGN] = {R_INVALID_PATH,
			       "directories of another user cannot be removed: ", ""},
		[O_CONFLICT] = {R_CONFLICTING_CONSTRAINTS,
				"changed in the workspace since the session "
				"started: ",
				"; merge by hand, or select others with --path"},
	};

	for (size_t i = 0; i < O_COUNT; i++) {
		char named[140];

		if (g->against[i].n == 0)
			continue;
		name_them(&g->against[i], named, sizeof(named));
		refuse(r, sentences[i].reason, "%s%s%s", sentences[i].before, named,
		       sentences[i].after);
		return;
	}
}

static void
judge(struct gather *g, const uint8_t expected[SHA256_LEN], struct accept_result *r)
{
	const char *missing = selection_unmatched(g->t->sel);
	char shown[CHANGE_SHOWN_MAX];

	if (!bytes_equal_ct(r->manifest, expected, SHA256_LEN)) {
		refuse(r, R_CONFLICTING_CONSTRAINTS,
		       "the changes are not the ones that were decided on; look at the diff and "
		       "accept "
		       "again");
	} else if (missing != NULL) {
		change_show(missing, shown);
		refuse(r, R_INVALID_PATH, "nothing changed at '%s'", shown);
	} else if (g->t->n == 0) {
		refuse(r, R_INVALID_PATH, "there is nothing to take over");
	} else {
		judge_objections(g, r);
	}
}

int
takeover_gather(struct takeover *t, const uint8_t expected[SHA256_LEN], struct accept_result *ret,
		struct error *err)
{
	const struct changes_in in = {
		.upper = t->upper, .lower = t->workspace, .depth_max = CHANGES_DEPTH_MAX};
	struct gather *g = calloc(1, sizeof(*g));
	int r;

	if (g == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	g->t = t;
	g->result = ret;
	buf_init(&g->path, CHANGES_MEMORY_MAX);
	ret->status = RESULT_DONE;
	ret->reason = R_ALLOWED;
	ret->detail[0] = '\0';
	ret->files = ret->bytes = ret->stripped = 0;
	r = manifest_begin(&g->manifest, -1, err);
	if (r == 0)
		r = changes_walk(&in, gather_change, g, err);
	if (r == 0)
		r = manifest_end(&g->manifest, ret->manifest, err);
	if (r == 0)
		judge(g, expected, ret);
	manifest_fini(&g->manifest);
	buf_fini(&g->path);
	free(g);
	return r;
}

void
takeover_fini(struct takeover *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->items[i].path);
	free(t->items);
	fd_close(t->stage);
	fd_close(t->fresh);
	fd_close(t->old);
	t->items = NULL;
	t->n = 0;
	t->stage = t->fresh = t->old = -1;
}
