/*
 * One pass over the journal with everything that can be checked along the way: scan.h for the
 * entries, a set of open intents for their order, the edge of the tree for the root, and the tiles,
 * each compared with what would have been written. The first thing that is wrong ends it.
 *
 * The ledger may publish a newer checkpoint meanwhile and remove partial tiles of the older one. So
 * when something is wrong and the checkpoint is not the one it was, all is looked at once more.
 */
#include "ledger/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/open.h"
#include "ledger/tiles.h"
#include "ledger/walk.h"
#include "model/examine.h"
#include "model/scan.h"
#include "wire/message.h"

#define ATTEMPTS 3
#define PROGRESS_EVERY 4096 /* entries */
#define BUNDLE_WINDOW (64 * 1024)

/* A bundle of entries that is compared with the journal as it goes by. */
struct bundle {
	int fd;
	uint64_t n;
	char path[TILE_PATH_MAX];
	uint8_t *window;
	size_t at, len;
};

struct verify {
	const struct ledger_verify_options *options;
	struct ledger_report *report;
	int dirfd;
	struct walk walk;
	struct edge edge;
	struct openset open;
	struct bundle bundle;
	struct buf note; /* the checkpoint, as it was when this began */
};

/* Found something wrong: told once, and the end of it (-EBADMSG). */
static int PRINTF(4, 5)
	found(struct verify *v, uint64_t index, struct error *err, const char *fmt, ...)
{
	struct ledger_report *r = v->report;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->what, sizeof(r->what), fmt, ap);
	va_end(ap);
	r->bad_index = index;
	return error_set(err, -EBADMSG, "%s", r->what);
}

/* As found, at the record that was read last. */
static int
found_here(struct verify *v, struct error *err, const char *what)
{
	v->report->bad_segment = v->walk.segments[v->walk.at];
	v->report->bad_offset = v->walk.reader.at;
	return found(v, v->edge.size, err, "entry %llu: %s", (unsigned long long)v->edge.size,
		     what);
}

/* ---- tiles */

static int
tile_compare(struct verify *v, struct tile_id id, edge_hashes hashes, struct error *err)
{
	CLEANUP(buf_fini) struct buf data = {0};
	struct tile_id full = {id.level, id.n, TILE_WIDTH};
	char path[TILE_PATH_MAX];
	size_t len = id.width * SHA256_LEN;
	struct error why = {0};
	int r;

	buf_init(&data, TILE_WIDTH * SHA256_LEN);
	tile_path(id, path);
	r = tile_read(v->dirfd, id, &data, &why);
	/* A partial tile goes when the full one is there. */
	if (r == -ENOENT && id.width < TILE_WIDTH)
		r = tile_read(v->dirfd, full, &data, NULL);
	if (r < 0)
		return found(v, id.n << (TILE_LEVEL_BITS * (id.level + 1)), err, "%s", why.text);
	if (memcmp(data.data, hashes, len) != 0)
		return found(v, id.n << (TILE_LEVEL_BITS * (id.level + 1)), err,
			     "%s: not the hashes of the entries", path);
	return 0;
}

static int
on_full(void *ctx, unsigned int level, uint64_t n, edge_hashes hashes, struct error *err)
{
	struct verify *v = ctx;
	const struct tile_id id = {level, n, TILE_WIDTH};

	/* Behind the checkpoint they may not be written yet. */
	if ((n + 1) << (TILE_LEVEL_BITS * (level + 1)) > v->report->checkpoint.size)
		return 0;
	return tile_compare(v, id, hashes, err);
}

static int
bundle_open(struct verify *v, uint64_t n, struct error *err)
{
	struct bundle *b = &v->bundle;
	struct tile_id id = tile_edge(TILE_ENTRIES, v->report->checkpoint.size);

	if (id.n != n)
		id = (struct tile_id){TILE_ENTRIES, n, TILE_WIDTH};
	fd_closep(&b->fd);
	tile_path(id, b->path);
	b->fd = ledger_openat(v->dirfd, b->path, O_RDONLY, 0, NULL);
	if (b->fd == -ENOENT && id.width < TILE_WIDTH) {
		id.width = TILE_WIDTH;
		tile_path(id, b->path);
		b->fd = ledger_openat(v->dirfd, b->path, O_RDONLY, 0, NULL);
	}
	if (b->fd < 0)
		return found(v, n * TILE_WIDTH, err, "%s: cannot be opened", b->path);
	b->n = n;
	b->at = b->len = 0;
	return 0;
}

/* Do the bundle's next LEN bytes say the same as DATA? */
static int
bundle_compare(struct bundle *b, const uint8_t *data, size_t len, bool *ret_same, struct error *err)
{
	*ret_same = false;
	while (len > 0) {
		size_t n = b->len - b->at < len ? b->len - b->at : len;

		if (n == 0) {
			ssize_t got = read(b->fd, b->window, BUNDLE_WINDOW);

			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return error_sys(err, -errno, "read %s", b->path);
			if (got == 0)
				return 0;
			b->at = 0;
			b->len = (size_t)got;
			continue;
		}
		if (memcmp(b->window + b->at, data, n) != 0)
			return 0;
		b->at += n;
		data += n;
		len -= n;
	}
	*ret_same = true;
	return 0;
}

static int
bundle_check(struct verify *v, const uint8_t *entry, size_t len, struct error *err)
{
	const uint8_t head[] = {(uint8_t)(len >> 8), (uint8_t)len};
	uint64_t index = v->edge.size;
	bool same = false;
	int r = 0;

	if (index >= v->report->checkpoint.size)
		return 0;
	if (index % TILE_WIDTH == 0)
		r = bundle_open(v, index / TILE_WIDTH, err);
	if (r == 0)
		r = bundle_compare(&v->bundle, head, sizeof(head), &same, err);
	if (r == 0 && same)
		r = bundle_compare(&v->bundle, entry, len, &same, err);
	if (r == 0 && !same)
		r = found(v, index, err, "%s: entry %llu is not the journal's", v->bundle.path,
			  (unsigned long long)index);
	return r;
}

/* Everything of the checkpoint was read. */
static int
checkpoint_check(struct verify *v, struct error *err)
{
	const struct tree_head *head = &v->report->checkpoint;
	uint8_t root[SHA256_LEN];
	struct frontier f;

	edge_frontier(&v->edge, &f);
	frontier_root(&f, v->edge.sha, root);
	if (memcmp(root, head->root, sizeof(root)) != 0)
		return found(v, LEDGER_NOWHERE, err,
			     "the first %llu entries are not the ones that were signed",
			     (unsigned long long)head->size);
	for (unsigned int level = 0; level < TILE_LEVELS; level++) {
		struct tile_id id = tile_edge(level, head->size);
		int r = id.width > 0 ? tile_compare(v, id, v->edge.hash[level], err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- entries */

static const char *
closing_check(struct verify *v, const struct record *rec, const struct scan_entry *e,
	      bool digest_due)
{
	struct open_intent *intent;
	uint8_t digest[SHA256_LEN];
	uint64_t n;

	if (scan_u64(e->intent, &n) < 0 || n != rec->ref)
		return "its record names another intent";
	intent = openset_find(&v->open, n);
	if (intent == NULL)
		return "it ends an intent that is not open: none was begun, or it ended before";
	if ((digest_due || e->digest.len > 0) &&
	    (scan_hash(e->digest, digest) < 0 ||
	     memcmp(digest, intent->digest, sizeof(digest)) != 0))
		return "its digest is not that of the intent";
	openset_remove(&v->open, n);
	return NULL;
}

static const char *
intent_check(struct verify *v, const struct record *rec, const struct scan_entry *e)
{
	uint8_t digest[SHA256_LEN];
	uint64_t op;

	if (scan_op(e->op, &op) < 0 || op != rec->ref)
		return "its record names another operation";
	if (scan_hash(e->digest, digest) < 0 || memcmp(digest, rec->digest, sizeof(digest)) != 0)
		return "its record has another digest";
	if (openset_has_op(&v->open, op))
		return "its operation is open already";
	if (!openset_room(&v->open))
		return "more intents are open than there can be";
	openset_add(&v->open, rec->index, op, digest);
	v->report->intents++;
	return NULL;
}

static const char *
event_check(struct verify *v, const struct record *rec, const struct scan_entry *e)
{
	v->report->events++;
	v->report->recovered += scan_is(e->event, "recovered");
	if (scan_is(e->event, "indeterminate"))
		return closing_check(v, rec, e, false);
	return rec->ref == RECORD_NO_REF ? NULL : "its record names an intent";
}

/* What the entry says against what its record says and against what came before. */
static const char *
entry_check(struct verify *v, const struct record *rec, const struct scan_entry *e)
{
	static const char *const kinds[] = {
		[ENTRY_INTENT] = "intent",
		[ENTRY_OUTCOME] = "outcome",
		[ENTRY_EVENT] = "event",
	};
	uint8_t blobs[ENTRY_BLOBS_MAX][SHA256_LEN];
	uint64_t version;
	uint32_t n;

	if (scan_u64(e->v, &version) < 0 || version != 1)
		return "of a version that is not known";
	if (!scan_is(e->kind, kinds[rec->kind]))
		return "its record is of another kind";
	if (scan_hashes(e->blobs, blobs, &n) < 0 || n != rec->n_blobs)
		return "its record has other blobs";
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(blobs[i], rec->blobs[i].sha256, SHA256_LEN) != 0)
			return "its record has other blobs";
	if (rec->kind == ENTRY_INTENT)
		return intent_check(v, rec, e);
	if (rec->kind == ENTRY_EVENT)
		return event_check(v, rec, e);
	v->report->outcomes++;
	return closing_check(v, rec, e, true);
}

static int
blobs_check(struct verify *v, const struct record *rec, struct error *err)
{
	enum blob_state states[ENTRY_BLOBS_MAX];
	int r;

	r = walk_blobs(&v->walk, rec, states, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rec->n_blobs; i++) {
		/* One is only ever erased when it has long been signed; what is not may be torn. */
		if (states[i] == BLOB_BAD ||
		    (states[i] == BLOB_ERASED && rec->index >= v->report->checkpoint.size))
			return found_here(v, err, "a blob is not the one that was recorded");
		v->report->blobs++;
		v->report->blobs_erased += states[i] == BLOB_ERASED;
	}
	return 0;
}

static int
deep_check(struct verify *v, const uint8_t *entry, size_t len, struct error *err)
{
	struct entry_facts facts;
	struct error why = {0};

	return entry_examine(entry, len, &facts, &why) < 0 ? found_here(v, err, why.text) : 0;
}

static int
on_record(struct verify *v, const struct record *rec, const uint8_t *entry, struct error *err)
{
	struct scan_entry e;
	struct error why = {0};
	const char *what;
	int r;

	if (scan_object(entry, rec->entry_len, &e, &why) < 0)
		return found_here(v, err, why.text);
	what = entry_check(v, rec, &e);
	if (what != NULL)
		return found_here(v, err, what);
	r = rec->n_blobs > 0 ? blobs_check(v, rec, err) : 0;
	if (r == 0 && v->options->deep)
		r = deep_check(v, entry, rec->entry_len, err);
	if (r == 0)
		r = bundle_check(v, entry, rec->entry_len, err);
	if (r == 0)
		r = edge_add(&v->edge, rec->leaf, on_full, v, err);
	if (r < 0)
		return r;
	v->report->entries++;
	v->report->bytes += rec->entry_len;
	if (v->options->progress != NULL && v->edge.size % PROGRESS_EVERY == 0)
		v->options->progress(v->options->ctx, v->walk.done_bytes + v->walk.reader.next,
				     v->walk.all_bytes);
	return v->edge.size == v->report->checkpoint.size ? checkpoint_check(v, err) : 0;
}

static int
on_segment(struct verify *v, struct error *err)
{
	struct walk *w = &v->walk;
	struct frontier f;
	bool same = w->open.n == v->open.n;

	edge_frontier(&v->edge, &f);
	w->reader.at = 0;
	for (size_t i = 0; same && i < v->open.n; i++)
		same = w->open.items[i].index == v->open.items[i].index &&
		       w->open.items[i].op == v->open.items[i].op &&
		       memcmp(w->open.items[i].digest, v->open.items[i].digest, SHA256_LEN) == 0;
	if (w->head.frontier.size != v->edge.size && v->edge.size == 0)
		return found_here(v, err, "the entries before the first segment are gone");
	if (!frontier_equal(&f, &w->head.frontier) || !same)
		return found_here(v, err, "the segment does not go on where the one before ends");
	if (w->head.key_id != v->report->vkey.id)
		return found_here(v, err, "the segment belongs to a ledger with another key");
	return 0;
}

/* ---- all of it */

static int
note_read(int dirfd, struct buf *note, struct error *err)
{
	buf_reset(note);
	return fd_read_file_at(dirfd, "checkpoint", note, err);
}

/* The key and what it signed. Without either nothing else is worth a look. */
static int
heads_read(struct verify *v, struct error *err)
{
	CLEANUP(buf_fini) struct buf text = {0};
	struct ledger_report *r = v->report;
	struct error why = {0};
	int code = 0;

	if (v->options->vkey != NULL) {
		r->vkey = *v->options->vkey;
	} else {
		buf_init(&text, VKEY_TEXT_MAX);
		code = fd_read_file_at(v->dirfd, "vkey", &text, &why);
		if (code == 0)
			code = vkey_parse(text.data, text.len, &r->vkey, &why);
		if (code < 0)
			return found(v, LEDGER_NOWHERE, err, "the verifier key: %s", why.text);
	}
	code = note_read(v->dirfd, &v->note, &why);
	if (code == -ENOENT)
		return found(v, LEDGER_NOWHERE, err, "there is no checkpoint");
	if (code == 0)
		code = checkpoint_read(v->note.data, v->note.len, &r->vkey, &r->checkpoint, &why);
	if (code < 0)
		return found(v, LEDGER_NOWHERE, err, "%s", why.text);
	r->has_checkpoint = true;
	return r->checkpoint.size == 0 ? checkpoint_check(v, err) : 0;
}

static int
journal_check(struct verify *v, struct error *err)
{
	const uint8_t *entry;
	struct record rec;
	struct error why = {0};
	int r;

	while ((r = walk_next(&v->walk, &rec, &entry, &why)) > WALK_END) {
		r = r == WALK_SEGMENT ? on_segment(v, err) : on_record(v, &rec, entry, err);
		if (r < 0)
			return r;
	}
	if (r == -EBADMSG) {
		walk_where(&v->walk, &v->report->bad_segment, &v->report->bad_offset);
		return found(v, v->edge.size, err, "%s", why.text);
	}
	if (r < 0)
		return error_set(err, r, "%s", why.text);
	if (v->edge.size < v->report->checkpoint.size) {
		walk_where(&v->walk, &v->report->bad_segment, &v->report->bad_offset);
		return found(v, v->edge.size, err,
			     "the journal ends at entry %llu, but %llu were signed",
			     (unsigned long long)v->edge.size,
			     (unsigned long long)v->report->checkpoint.size);
	}
	return 0;
}

static int
attempt(struct verify *v, struct error *err)
{
	int r;

	*v->report = (struct ledger_report){
		.bad_index = LEDGER_NOWHERE,
		.bad_segment = LEDGER_NOWHERE,
		.bad_offset = LEDGER_NOWHERE,
	};
	v->bundle.fd = -1;
	openset_init(&v->open);
	r = walk_open(&v->walk, v->dirfd, 0, err);
	if (v->options->stopped)
		v->walk.patience = 0;
	if (r == 0)
		r = edge_init(&v->edge, err);
	if (r == 0)
		r = heads_read(v, err);
	if (r == 0)
		r = journal_check(v, err);
	v->report->open = v->open.n;
	walk_close(&v->walk);
	edge_fini(&v->edge);
	openset_fini(&v->open);
	fd_closep(&v->bundle.fd);
	return r;
}

/* Is the checkpoint another one than when the attempt began? */
static bool
moved_on(const struct verify *v)
{
	CLEANUP(buf_fini) struct buf now = {0};

	buf_init(&now, CHECKPOINT_NOTE_MAX);
	return note_read(v->dirfd, &now, NULL) == 0 &&
	       (now.len != v->note.len || memcmp(now.data, v->note.data, now.len) != 0);
}

int
ledger_verify(int dirfd, const struct ledger_verify_options *options, struct ledger_report *ret,
	      struct error *err)
{
	struct ledger_report report;
	struct verify v = {.options = options, .report = &report, .dirfd = dirfd};
	struct error why;
	int r = 0;

	v.bundle.window = malloc(BUNDLE_WINDOW);
	if (v.bundle.window == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	buf_init(&v.note, CHECKPOINT_NOTE_MAX);
	for (int i = 0; i < ATTEMPTS; i++) {
		why = (struct error){0};
		r = attempt(&v, &why);
		if (r == 0 || !moved_on(&v))
			break;
	}
	free(v.bundle.window);
	buf_fini(&v.note);
	/* -EBADMSG without words is an error of reading that happens to have that number. */
	if (r < 0 && (r != -EBADMSG || report.what[0] == '\0'))
		return error_set(err, r, "%s", why.text);
	report.verified = r == 0;
	*ret = report;
	return 0;
}

/* ---- reading for show */

struct ledger_iter {
	struct walk walk;
	uint64_t from;
};

int
ledger_iter_open(int dirfd, uint64_t from, struct ledger_iter **ret, struct error *err)
{
	CLEANUP(ledger_iter_freep) struct ledger_iter *it = calloc(1, sizeof(*it));
	int r;

	if (it == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	it->from = from;
	r = walk_open(&it->walk, dirfd, from, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(it);
	return 0;
}

int
ledger_iter_next(struct ledger_iter *it, uint64_t *ret_index, const void **ret_entry,
		 size_t *ret_len, struct error *err)
{
	const uint8_t *entry;
	struct record rec;
	int r;

	while ((r = walk_next(&it->walk, &rec, &entry, err)) > WALK_END) {
		if (r != WALK_RECORD || rec.index < it->from)
			continue;
		*ret_index = rec.index;
		*ret_entry = entry;
		*ret_len = rec.entry_len;
		return 1;
	}
	return r;
}

void
ledger_iter_free(struct ledger_iter *it)
{
	if (it == NULL)
		return;
	walk_close(&it->walk);
	free(it);
}

void
ledger_iter_freep(struct ledger_iter **it)
{
	ledger_iter_free(*it);
	*it = NULL;
}

int
ledger_count(int dirfd, uint64_t *ret, struct error *err)
{
	const uint8_t *entry;
	struct record rec;
	struct walk w;
	int r;

	r = walk_open(&w, dirfd, UINT64_MAX, err);
	while (r >= 0 && (r = walk_next(&w, &rec, &entry, err)) > WALK_END)
		;
	if (r == 0)
		*ret = w.next;
	walk_close(&w);
	return r;
}
