/*
 * What a start finds. Reading begins in the segment that the checkpoint ends in, from the state its
 * head records, and goes to the end of the journal; nothing older is looked at, however long the
 * history is.
 *
 * The end may be torn: a crash can leave any part of the last batch, which was never answered for.
 * So records are applied a batch behind, and the last batch only as far as it is complete, blobs
 * included. What does not fit that picture (damage before the last batch, a tree that is not the
 * one that was signed) is not repaired: the ledger does not start.
 *
 * One case is mended: the journal lost an entry that a checkpoint covers. The bundles have it, the
 * checkpoint's root proves it, and a history without it would contradict what was signed; so it is
 * put back. All of this is told in a "recovered" event before anything else is recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "ledger/recover.h"

#define INDEX_PENDING_MAX 4096

static void
free_bytes(uint8_t **p)
{
	free(*p);
}

static int
refuse(struct error *err, const struct recovery *rec, uint64_t offset, const char *what)
{
	return error_set(err, -EBADMSG,
			 "journal/%020llu, offset %llu: %s. Nothing was changed; see loom ledger "
			 "verify",
			 (unsigned long long)rec->segment, (unsigned long long)offset, what);
}

static int
checkpoint_load(struct recovery *rec, struct error *err)
{
	CLEANUP(buf_fini) struct buf note = {0};
	struct ledger *l = rec->l;
	struct error why = {0};
	int r;

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	r = fd_read_file_at(l->dirfd, "checkpoint", &note, &why);
	if (r == -ENOENT)
		return error_set(
			err, -EBADMSG,
			"the checkpoint is gone. A ledger has one from its first moment on; "
			"put it back, or move the whole ledger aside to begin anew");
	if (r < 0)
		return error_set(err, r, "%s", why.text);
	r = checkpoint_read(note.data, note.len, signer_vkey(l->signer), &rec->checkpoint, err);
	if (r < 0)
		return r;
	l->published = rec->checkpoint.size;
	return 0;
}

/* ---- going through the journal */

/* Into the index of blobs, those that are not in it for certain. */
static int
index_blobs(struct recovery *rec, const struct held *h, struct error *err)
{
	struct blob_index *index = &rec->l->blobs;
	const struct record *r = &h->record;
	int code;

	for (uint32_t i = 0; r->index >= rec->blobs_from && i < r->n_blobs; i++) {
		struct blob_place place = {.segment = rec->segment, .offset = h->offset};

		memcpy(place.sha256, r->blobs[i].sha256, SHA256_LEN);
		code = blob_index_add(index, &place, err);
		if (code < 0)
			return code;
	}
	return index->n > INDEX_PENDING_MAX ? blob_index_write(index, err) : 0;
}

static int
replay(struct recovery *rec, const struct held *h, struct error *err)
{
	struct ledger *l = rec->l;
	const struct record *r = &h->record;
	uint8_t root[SHA256_LEN];
	int code;

	code = ledger_recent_add(l, rec->segment, h->offset, r->leaf, err);
	if (code < 0)
		return code;
	frontier_add(&l->frontier, l->sha, r->leaf);
	if (r->kind == ENTRY_INTENT) {
		if (!openset_room(&l->open))
			return error_set(err, -ENOMEM, "more open intents than there can be");
		openset_add(&l->open, r->index, r->ref, r->digest);
	} else if (r->ref != RECORD_NO_REF) {
		if (openset_find(&l->open, r->ref) == NULL)
			return refuse(err, rec, h->offset, "it ends an intent that is not open");
		openset_remove(&l->open, r->ref);
	}
	code = index_blobs(rec, h, err);
	if (code < 0)
		return code;
	if (l->frontier.size == rec->checkpoint.size) {
		frontier_root(&l->frontier, l->sha, root);
		if (memcmp(root, rec->checkpoint.root, sizeof(root)) != 0)
			return refuse(err, rec, h->offset,
				      "the tree is not the one that was signed");
	}
	if (l->frontier.size > tiles_size(&l->tiles) && rec->following)
		rec->following = ledger_follow(l, NULL) == 0;
	if (l->n_recent > RECENT_MAX)
		return error_set(err, -ENOSPC, "the tiles cannot be written");
	return 0;
}

static int
replay_held(struct recovery *rec, size_t n, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = replay(rec, &rec->held[i], err);
	rec->n_held = 0;
	return r;
}

/* Take a record that was read: those of the batch before it are complete then. */
static int
hold(struct recovery *rec, const struct record *record, struct error *err)
{
	uint64_t due = rec->l->frontier.size + rec->n_held;
	int r;

	if (record->index != due)
		return refuse(err, rec, rec->reader.at, "it is not the entry that comes next");
	if (rec->n_held > 0 && record->batch != rec->held[0].record.batch) {
		r = replay_held(rec, rec->n_held, err);
		if (r < 0)
			return r;
	}
	if (record->batch != record->index - rec->n_held || rec->n_held == LEDGER_BATCH_MAX)
		return refuse(err, rec, rec->reader.at, "it is not of the batch it says");
	rec->held[rec->n_held++] = (struct held){.record = *record, .offset = rec->reader.at};
	return 0;
}

static bool
opensets_equal(const struct openset *a, const struct openset *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].index != b->items[i].index || a->items[i].op != b->items[i].op ||
		    memcmp(a->items[i].digest, b->items[i].digest, SHA256_LEN) != 0)
			return false;
	return true;
}

/* Does the head agree with where the records before it lead? The first one read is taken on trust,
 * and so is checked against the checkpoint's root only. */
static int
segment_enter(struct recovery *rec, int fd, bool first, struct error *err)
{
	struct ledger *l = rec->l;
	struct openset open;
	struct error why = {0};
	size_t len = 0;
	bool same;
	int r;

	openset_init(&open);
	r = journal_head_read(fd, &rec->head, &open, &len, &why);
	if (r < 0) {
		openset_fini(&open);
		return r == -EBADMSG ? refuse(err, rec, 0, why.text)
				     : error_set(err, r, "%s", why.text);
	}
	if (first) {
		openset_fini(&l->open);
		l->open = open;
		l->frontier = rec->head.frontier;
		l->recent_base = rec->head.frontier.size;
		same = true;
	} else {
		same = frontier_equal(&rec->head.frontier, &l->frontier) &&
		       opensets_equal(&open, &l->open);
		openset_fini(&open);
	}
	if (!same || rec->head.frontier.size != rec->segment)
		return refuse(err, rec, 0, "it does not go on where the segment before it ends");
	if (rec->head.key_id != signer_vkey(l->signer)->id)
		return refuse(err, rec, 0, "it belongs to a ledger with another key");
	reader_seek(&rec->reader, fd, len);
	return 0;
}

/* ---- the end of the journal */

/* Are the blobs of the record that was read last all there? */
static int
record_whole(struct recovery *rec, const struct record *record, bool *ret_whole, struct error *err)
{
	enum blob_state states[ENTRY_BLOBS_MAX];
	int r;

	r = reader_blobs(&rec->reader, record, states, err);
	*ret_whole = true;
	/* Length 0: put back by recovery, which had no blobs. */
	for (uint32_t i = 0; r == 0 && i < record->n_blobs; i++)
		if (states[i] != BLOB_OK && record->blobs[i].len > 0)
			*ret_whole = false;
	return r;
}

static int
note_lost(struct recovery *rec, const struct record *record, struct error *err)
{
	char hex[LEAF_HEX_MAX];

	hex_encode(record->leaf, SHA256_LEN, hex);
	if (json_array_append_new(rec->lost, json_string(hex)) != 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

/*
 * Look for records behind a torn place. One of a later batch means that this place had been synced:
 * then it is damage, not a crash. Complete ones of the same batch are noted.
 */
static int
search_behind(struct recovery *rec, int fd, uint64_t due, struct error *err)
{
	uint64_t off = (rec->tail + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
	CLEANUP(free_bytes) uint8_t *data = NULL;
	size_t len = 0;
	int r;

	data = malloc((size_t)(rec->end - rec->tail) + RECORD_ALIGN);
	if (data == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (off < rec->end)
		r = reader_pread(fd, data, (size_t)(rec->end - off), off, &len, err);
	else
		r = 0;
	for (size_t at = 0; r == 0 && at < len; at += RECORD_ALIGN) {
		const uint8_t *entry;
		struct record record;
		bool whole = false;
		size_t need;

		if (record_decode(data + at, len - at, &record, &need) != RECORD_OK ||
		    record.index < due)
			continue;
		reader_seek(&rec->reader, fd, off + at);
		if (reader_next(&rec->reader, &record, &entry, NULL) != 1)
			continue;
		if (record.batch > due)
			return refuse(err, rec, rec->tail,
				      "damaged, with records behind it that were written later");
		r = record_whole(rec, &record, &whole, err);
		if (r == 0 && whole)
			r = note_lost(rec, &record, err);
		at += record_len(&record) - RECORD_ALIGN;
	}
	return r;
}

/* How many records of the newest batch are complete with their blobs. */
static int
held_complete(struct recovery *rec, int fd, size_t *ret_n, struct error *err)
{
	size_t n = 0;
	bool whole = true;
	int r = 0;

	while (r == 0 && n < rec->n_held) {
		reader_seek(&rec->reader, fd, rec->held[n].offset);
		r = record_whole(rec, &rec->held[n].record, &whole, err);
		if (!whole)
			break;
		n++;
	}
	*ret_n = n;
	return r;
}

static int
find_end(struct recovery *rec, int fd, struct error *err)
{
	size_t n = 0;
	int r;

	rec->tail = rec->reader.next;
	r = held_complete(rec, fd, &n, err);
	if (r < 0)
		return r;
	if (n < rec->n_held)
		rec->tail = rec->held[n].offset;
	r = replay_held(rec, n, err);
	if (r == 0)
		r = reader_find_zeros(fd, rec->tail, &rec->end, err);
	if (r < 0 || rec->end == rec->tail)
		return r;
	return search_behind(rec, fd, rec->l->frontier.size, err);
}

static int
segment_read(struct recovery *rec, bool first, bool last, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	const uint8_t *entry;
	struct record record;
	struct error why = {0};
	int r;

	fd = journal_segment_open(rec->l->journal.dirfd, rec->segment, err);
	if (fd < 0)
		return fd;
	r = segment_enter(rec, fd, first, err);
	if (r < 0)
		return r;
	while ((r = reader_next(&rec->reader, &record, &entry, &why)) == 1) {
		r = hold(rec, &record, err);
		if (r < 0)
			return r;
	}
	if (r < 0 && r != -EBADMSG)
		return error_set(err, r, "%s", why.text);
	if (last)
		return find_end(rec, fd, err);
	if (r == -EBADMSG)
		return refuse(err, rec, rec->reader.next,
			      "damaged, with records behind it that were written later");
	return replay_held(rec, rec->n_held, err);
}

/* The segment to begin in: the last one that begins before the tile the checkpoint ends in. */
static int
choose_first(struct recovery *rec, uint64_t size, size_t *ret, struct error *err)
{
	uint64_t want = size / TILE_WIDTH * TILE_WIDTH;
	size_t i = rec->n_segments;

	while (i > 0 && rec->segments[i - 1] > want)
		i--;
	if (i == 0)
		return error_set(err, -EBADMSG,
				 "the segment of the journal with entry %llu is gone",
				 (unsigned long long)want);
	*ret = i - 1;
	return 0;
}

static int
journal_read(struct recovery *rec, struct error *err)
{
	struct ledger *l = rec->l;
	size_t first = 0;
	int r = 0;

	/* The index was synced before the checkpoint, as far as that goes. */
	rec->blobs_from = blob_index_there(&l->blobs) ? rec->checkpoint.size : 0;
	if (rec->checkpoint.size > 0)
		r = tiles_load(&l->tiles, &rec->checkpoint, NULL);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	/* Without tiles, or the index, all of them are made again, from the first entry on. */
	if (rec->blobs_from < rec->checkpoint.size) {
		tiles_reset(&l->tiles);
		r = -ENOENT;
	}
	r = choose_first(rec, r < 0 ? 0 : rec->checkpoint.size, &first, err);
	rec->following = true;
	for (size_t i = first; r == 0 && i < rec->n_segments; i++) {
		rec->segment = rec->segments[i];
		r = segment_read(rec, i == first, i + 1 == rec->n_segments, err);
	}
	return r;
}

/* ---- starting */

static int
start_new(struct recovery *rec, struct error *err)
{
	struct ledger *l = rec->l;
	struct segment_head head = {.key_id = signer_vkey(l->signer)->id};

	if (rec->checkpoint.size > 0)
		return error_set(err, -EBADMSG,
				 "the journal is gone, though %llu entries were signed",
				 (unsigned long long)rec->checkpoint.size);
	return journal_room(&l->journal, 0, JOURNAL_INTENT, &head, &l->open, err);
}

static int
start_again(struct recovery *rec, struct error *err)
{
	struct ledger *l = rec->l;
	uint8_t sha256[SHA256_LEN];
	int r;

	r = journal_read(rec, err);
	if (r == 0)
		r = journal_attach(&l->journal, &rec->head, rec->tail, err);
	if (r == 0)
		r = recovery_digest(rec, sha256, err);
	if (r < 0)
		return r;
	l->start_size = l->frontier.size;
	if (l->frontier.size < rec->checkpoint.size) {
		r = recovery_restore(rec, err);
		if (r < 0)
			return r;
		l->start_size = l->frontier.size;
	}
	return rec->end > rec->tail || rec->restored > 0 ? recovery_tell(rec, sha256, err) : 0;
}

int
ledger_recover(struct ledger *l, struct error *err)
{
	struct recovery *rec = calloc(1, sizeof(*rec));
	int r;

	if (rec == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	rec->l = l;
	rec->lost = json_array();
	r = reader_init(&rec->reader, -1, 0, err);
	if (r == 0 && rec->lost == NULL)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = checkpoint_load(rec, err);
	if (r == 0)
		r = journal_list(l->journal.dirfd, &rec->segments, &rec->n_segments, err);
	if (r == 0)
		r = rec->n_segments == 0 ? start_new(rec, err) : start_again(rec, err);
	if (r == 0)
		r = ledger_sign(l, &l->frontier, &l->head, l->signature, err);
	reader_fini(&rec->reader);
	json_decref(rec->lost);
	free(rec->segments);
	free(rec);
	return r;
}
