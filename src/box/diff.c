/*
 * The forms of a diff. Each is a consumer of the walk in changes.c and writes as it goes; the list
 * and the text stop at CHANGES_OUTPUT_MAX and say so in their own form.
 *
 * The text is git's: a header per file, hunks by unified.c, a link as a file whose content is its
 * target. A change of type is a removal and an addition, as git has it.
 */
#include "box/changes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "box/manifest.h"
#include "box/owner.h"
#include "box/protect.h"
#include "box/selection.h"
#include "box/store.h"
#include "box/unified.h"

#define DIFF_FLUSH_BYTES 65536
#define DIFF_TAIL_BYTES 128	    /* room for the words at the end */
#define DIFF_BUFFER_MAX (80u << 20) /* what is not written yet, and the hunks of one pair */

struct diff {
	struct buf out;
	int out_fd;
	uint64_t written;
	uint64_t entries;
	bool cut;
	struct selection *sel;
};

/* Stops the walk without being an error. */
#define DIFF_CUT 1

static int
diff_flush(struct diff *d, struct error *err)
{
	int r = buf_check(&d->out, err);

	if (r == 0)
		r = fd_write_all(d->out_fd, d->out.data, d->out.len, err);
	d->written += d->out.len;
	buf_cut(&d->out, 0);
	return r;
}

/* After each change, which began at BEFORE: write what has gathered, and see whether it is enough.
 */
static int
diff_added(struct diff *d, size_t before, struct error *err)
{
	if (d->out.failed)
		return buf_check(&d->out, err);
	if (d->written + d->out.len > CHANGES_OUTPUT_MAX - DIFF_TAIL_BYTES) {
		d->cut = true;
		buf_cut(&d->out, before);
		return DIFF_CUT;
	}
	return d->out.len >= DIFF_FLUSH_BYTES ? diff_flush(d, err) : 0;
}

/* ---- the list ---- */

static int
list_change(void *arg, const struct change *c, struct error *err)
{
	struct diff *d = arg;
	CLEANUP(json_decrefp) json_t *obj = NULL;
	size_t before = d->out.len;
	int r;

	if (!selection_covers(d->sel, c->path))
		return 0;
	obj = change_json(c, c->mode);
	if (obj == NULL ||
	    json_object_set_new(obj, "protected",
				json_boolean(protect_path(c->path, NULL) != PROTECT_NONE)) != 0 ||
	    json_object_set_new(obj, "size", json_integer((json_int_t)c->size)) != 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (d->entries++ > 0)
		buf_char(&d->out, ',');
	r = json_write_canonical(obj, &d->out, err);
	return r < 0 ? r : diff_added(d, before, err);
}

/* ---- the text ---- */

enum text_state { TEXT_ABSENT, TEXT_THERE, TEXT_LARGE, TEXT_UNREADABLE };

struct text_side {
	enum text_state state;
	enum change_type type;
	uint32_t mode;
	struct buf content; /* when there */
};

static void
text_side_fini(struct text_side *s)
{
	buf_fini(&s->content);
}

static int
text_side_load(struct text_side *s, int dir, const char *name, const struct stat *st,
	       struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char target[PATH_BYTES_MAX];
	ssize_t n;
	int r;

	s->mode = st->st_mode & 07777;
	s->state = TEXT_THERE;
	buf_init(&s->content, CHANGES_DIFF_FILE_MAX);
	if (S_ISLNK(st->st_mode)) {
		s->type = TYPE_LINK;
		n = owner_readlink(dir, name, target, sizeof(target));
		if (n < 0)
			return error_sys(err, -errno, "read a link");
		buf_add(&s->content, target, (size_t)n);
		return buf_check(&s->content, err);
	}
	s->type = TYPE_FILE;
	if ((uint64_t)st->st_size > CHANGES_DIFF_FILE_MAX) {
		s->state = TEXT_LARGE;
		return 0;
	}
	fd = owner_open_file(dir, name);
	if (fd < 0) {
		s->state = TEXT_UNREADABLE;
		return 0;
	}
	r = fd_read_to_end(fd, &s->content, err);
	if (r == -EMSGSIZE)
		return error_set(err, -ESTALE, "a file grows while it is read; try again");
	return r;
}

static unsigned int
git_mode(const struct text_side *s)
{
	return s->type == TYPE_LINK ? 0120000u : (s->mode & 0111) != 0 ? 0100755u : 0100644u;
}

/* "--- a/x" or "+++ b/x". GNU patch wants a tab after a name with a space in it. */
static void
put_file_line(struct buf *out, const char *mark, const char *prefix, const char *path)
{
	buf_str(out, mark);
	if (path == NULL)
		buf_str(out, "/dev/null");
	else
		unified_path(out, prefix, path);
	if (path != NULL && strchr(path, ' ') != NULL)
		buf_char(out, '\t');
	buf_char(out, '\n');
}

static void
put_note(struct buf *out, const char *path, const char *note)
{
	buf_str(out, "# ");
	unified_path(out, "", path);
	buf_str(out, ": ");
	buf_str(out, note);
	buf_char(out, '\n');
}

static void
put_modes(struct buf *out, const struct text_side *a, const struct text_side *b)
{
	if (a->state == TEXT_ABSENT)
		buf_fmt(out, "new file mode %06o\n", git_mode(b));
	else if (b->state == TEXT_ABSENT)
		buf_fmt(out, "deleted file mode %06o\n", git_mode(a));
	else if (git_mode(a) != git_mode(b))
		buf_fmt(out, "old mode %06o\nnew mode %06o\n", git_mode(a), git_mode(b));
	else if ((a->mode ^ b->mode) & 01777)
		buf_fmt(out, "# mode %04o, was %04o\n", b->mode, a->mode);
}

/* A and B: what was and what is there; either may be absent, both are a file or a link. */
static int
put_pair(struct diff *d, const char *path, const struct text_side *a, const struct text_side *b,
	 struct error *err)
{
	const struct unified_text ta = {a->content.data != NULL ? a->content.data : "",
					a->content.len};
	const struct unified_text tb = {b->content.data != NULL ? b->content.data : "",
					b->content.len};
	size_t head;
	int r;

	buf_str(&d->out, "diff --git ");
	unified_path(&d->out, "a/", path);
	buf_char(&d->out, ' ');
	unified_path(&d->out, "b/", path);
	buf_char(&d->out, '\n');
	put_modes(&d->out, a, b);
	if (a->state > TEXT_THERE || b->state > TEXT_THERE) {
		bool large = a->state == TEXT_LARGE || b->state == TEXT_LARGE;

		put_note(&d->out, path, large ? "too large to show" : "not readable for its owner");
		return 0;
	}
	if (unified_is_binary(ta) || unified_is_binary(tb)) {
		if (ta.len != tb.len || memcmp(ta.data, tb.data, ta.len) != 0)
			put_note(&d->out, path, "binary files differ");
		return 0;
	}
	head = d->out.len;
	put_file_line(&d->out, "--- ", "a/", a->state == TEXT_ABSENT ? NULL : path);
	put_file_line(&d->out, "+++ ", "b/", b->state == TEXT_ABSENT ? NULL : path);
	if (ta.len == tb.len && memcmp(ta.data, tb.data, ta.len) == 0)
		buf_cut(&d->out, head);
	r = unified_hunks(ta, tb, &d->out, err);
	return r == -EMSGSIZE ? error_set(err, -EFBIG, "the diff of one file is too long") : r;
}

static bool
has_text(mode_t mode)
{
	return S_ISREG(mode) || S_ISLNK(mode);
}

static int
put_sides(struct diff *d, const struct change *c, bool was, bool is, struct error *err)
{
	CLEANUP(text_side_fini) struct text_side a = {.state = TEXT_ABSENT};
	CLEANUP(text_side_fini) struct text_side b = {.state = TEXT_ABSENT};
	int r = 0;

	if (was)
		r = text_side_load(&a, c->lower_dir, c->name, &c->lower, err);
	if (r == 0 && is)
		r = text_side_load(&b, c->upper_dir, c->name, &c->upper, err);
	return r < 0 ? r : put_pair(d, c->path, &a, &b, err);
}

static const char *
note_for(enum change_kind kind, enum change_type type)
{
	static const char *const notes[][6] = {
		[CHANGE_ADDED] = {[TYPE_DIR] = "directory added",
				  [TYPE_FIFO] = "fifo added",
				  [TYPE_SOCKET] = "socket added",
				  [TYPE_DEVICE] = "device added"},
		[CHANGE_DELETED] = {[TYPE_DIR] = "directory deleted, with all in it",
				    [TYPE_FIFO] = "fifo deleted",
				    [TYPE_SOCKET] = "socket deleted",
				    [TYPE_DEVICE] = "device deleted"},
		[CHANGE_MODIFIED] = {[TYPE_DEVICE] = "another device"},
		[CHANGE_MODE] = {[TYPE_DIR] = "directory mode changed",
				 [TYPE_FIFO] = "fifo mode changed",
				 [TYPE_SOCKET] = "socket mode changed",
				 [TYPE_DEVICE] = "device mode changed"},
	};

	return kind == CHANGE_TYPE || notes[kind][type] == NULL ? "changed" : notes[kind][type];
}

static void
put_mode_note(struct diff *d, const struct change *c)
{
	buf_str(&d->out, "# ");
	unified_path(&d->out, "", c->path);
	buf_fmt(&d->out, ": %s, %04o, was %04o\n", note_for(c->kind, c->type), c->mode,
		(unsigned int)c->lower.st_mode & 07777u);
}

static int
unified_change(void *arg, const struct change *c, struct error *err)
{
	struct diff *d = arg;
	bool was = c->kind != CHANGE_ADDED && has_text(c->lower.st_mode);
	bool is = c->kind != CHANGE_DELETED && has_text(c->upper.st_mode);
	size_t before = d->out.len;
	int r = 0;

	if (!selection_covers(d->sel, c->path))
		return 0;
	if (c->kind == CHANGE_TYPE) {
		if (was)
			r = put_sides(d, c, true, false, err);
		else
			put_note(&d->out, c->path,
				 note_for(CHANGE_DELETED,
					  S_ISDIR(c->lower.st_mode) ? TYPE_DIR : TYPE_DEVICE));
		if (r == 0 && is)
			r = put_sides(d, c, false, true, err);
		else if (r == 0)
			put_note(&d->out, c->path, note_for(CHANGE_ADDED, c->type));
	} else if (was || is) {
		r = put_sides(d, c, was, is, err);
	} else if (c->kind == CHANGE_MODE) {
		put_mode_note(d, c);
	} else {
		put_note(&d->out, c->path, note_for(c->kind, c->type));
	}
	return r < 0 ? r : diff_added(d, before, err);
}

/* ---- the job ---- */

static int
diff_write(int upper, int lower, struct diff *d, enum diff_form form, struct error *err)
{
	const struct changes_in in = {
		.upper = upper, .lower = lower, .depth_max = CHANGES_DEPTH_MAX};
	int r;

	buf_init(&d->out, DIFF_BUFFER_MAX);
	if (form == DIFF_LIST)
		buf_str(&d->out, "{\"changes\":[");
	r = changes_walk(&in, form == DIFF_LIST ? list_change : unified_change, d, err);
	if (r < 0)
		return r;
	if (form == DIFF_LIST)
		buf_fmt(&d->out, "],\"truncated\":%s}", d->cut ? "true" : "false");
	else if (d->cut)
		buf_str(&d->out, "# cut here: the diff is too long to be shown whole\n");
	return diff_flush(d, err);
}

static enum reason
diff_reason(int code)
{
	switch (code) {
	case -E2BIG:
	case -EFBIG:
		return R_LIMIT_EXCEEDED;
	case -EINVAL:
	case -ENOENT:
	case -ESTALE:
		return R_INVALID_PATH;
	default:
		return R_INTERNAL;
	}
}

static int
diff_run(int upper, int lower, const struct diff_in *in, struct selection *sel, struct error *err)
{
	struct diff d = {.out_fd = in->out_fd, .sel = sel};
	uint8_t digest[SHA256_LEN];
	int r;

	if (in->form == DIFF_MANIFEST)
		return manifest_of(upper, lower, sel, in->out_fd, digest, err);
	r = diff_write(upper, lower, &d, in->form, err);
	buf_fini(&d.out);
	return r;
}

int
diff_job(const struct diff_in *in, enum reason *ret_reason, struct error *err)
{
	CLEANUP(selection_fini) struct selection sel = {0};
	CLEANUP(store_session_close) struct store_session s;
	CLEANUP(fd_closep) int workspace = -1;
	struct store_meta meta;
	int r;

	store_session_init(&s);
	*ret_reason = R_INVALID_PATH;
	r = selection_read(in->paths, in->paths_len, &sel, err);
	if (r < 0)
		return r;
	r = store_read(in->sessions, in->session, &meta, err);
	*ret_reason = r == -ENOENT ? R_SESSION_ENDED : R_INTERNAL;
	if (r < 0)
		return r;
	r = store_open_kept(in->sessions, in->session, &s, &workspace, err);
	*ret_reason = r == -ENOENT || r == -ESTALE ? R_INVALID_PATH : R_INTERNAL;
	if (r == 0)
		r = owner_become(s.meta.uid, s.meta.gid, err);
	if (r < 0)
		return r;
	r = diff_run(s.upper, workspace, in, &sel, err);
	if (r < 0)
		*ret_reason = diff_reason(r);
	return r;
}
