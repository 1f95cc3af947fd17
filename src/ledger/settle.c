/*
 * Publishing follows the journal at a distance: leaves go into tiles after their batch was
 * answered, full tiles are written at once, everything else when the ledger settles. Entries whose
 * tile is not full are read back from the journal, so that nothing of their size is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "ledger/reader.h"
#include "ledger/record.h"
#include "ledger/state.h"

#define CHECKPOINT_NAME "checkpoint"

int
ledger_recent_add(struct ledger *l, uint64_t segment, uint64_t offset,
		  const uint8_t leaf[SHA256_LEN], struct error *err)
{
	struct recent *r;

	if (l->n_recent == l->cap_recent) {
		size_t cap = l->cap_recent == 0 ? 2 * TILE_WIDTH : 2 * l->cap_recent;

		r = reallocarray(l->recent, cap, sizeof(*r));
		if (r == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		l->recent = r;
		l->cap_recent = cap;
	}
	r = &l->recent[l->n_recent++];
	*r = (struct recent){.segment = segment, .offset = offset};
	memcpy(r->leaf, leaf, SHA256_LEN);
	return 0;
}

/* Forget the entries whose bundle is written. */
static void
recent_trim(struct ledger *l)
{
	uint64_t base = tiles_size(&l->tiles) / TILE_WIDTH * TILE_WIDTH;
	size_t n = base > l->recent_base ? (size_t)(base - l->recent_base) : 0;

	/* Not at each tile: moving the rest costs as much as it has. */
	if (n == 0 || (n < l->n_recent / 2 && l->n_recent < RECENT_MAX / 2))
		return;
	l->n_recent -= n;
	memmove(l->recent, l->recent + n, l->n_recent * sizeof(*l->recent));
	l->recent_base = base;
}

/* Read the entry of a record whose place is known, and hold it against its leaf hash. */
static int
recent_entry(struct ledger *l, const struct recent *at, struct buf *out, struct error *err)
{
	CLEANUP(fd_closep) int other = -1;
	uint8_t head[RECORD_HEADER_MAX], leaf[SHA256_LEN];
	size_t n, need, header, before = out->len;
	struct record rec;
	int fd = l->journal.fd, r;

	if (fd < 0 || at->segment != l->journal.first) {
		other = journal_segment_open(l->journal.dirfd, at->segment, err);
		if (other < 0)
			return other;
		fd = other;
	}
	r = reader_pread(fd, head, sizeof(head), at->offset, &n, err);
	if (r < 0)
		return r;
	if (record_decode(head, n, &rec, &need) != RECORD_OK ||
	    memcmp(rec.leaf, at->leaf, sizeof(rec.leaf)) != 0)
		return error_set(err, -EBADMSG, "the journal changed at offset %llu",
				 (unsigned long long)at->offset);
	header = record_header_len(&rec);
	for (size_t done = 0; done < rec.entry_len;) {
		uint8_t piece[4096];
		size_t len = rec.entry_len - done;

		len = len < sizeof(piece) ? len : sizeof(piece);
		r = fd_pread_exact(fd, piece, len, at->offset + header + done, err);
		if (r < 0)
			return r;
		buf_add(out, piece, len);
		done += len;
	}
	r = buf_check(out, err);
	if (r < 0)
		return r;
	merkle_leaf(l->sha, out->data + before, rec.entry_len, leaf);
	if (memcmp(leaf, at->leaf, sizeof(leaf)) != 0)
		return error_set(err, -EBADMSG, "the journal changed at offset %llu",
				 (unsigned long long)at->offset);
	return 0;
}

int
ledger_bundle(void *ctx, uint64_t first, unsigned int count, struct buf *out, struct error *err)
{
	struct ledger *l = ctx;

	for (unsigned int i = 0; i < count; i++) {
		uint64_t at = first + i - l->recent_base;
		size_t before = out->len, len;
		int r;

		if (first < l->recent_base || at >= l->n_recent)
			return error_set(err, -ERANGE, "entry %llu is not at hand",
					 (unsigned long long)(first + i));
		buf_add(out, "\0\0", 2);
		r = recent_entry(l, &l->recent[at], out, err);
		if (r < 0)
			return r;
		len = out->len - before - 2;
		out->data[before] = (char)(len >> 8);
		out->data[before + 1] = (char)len;
	}
	return 0;
}

int
ledger_entry(struct ledger *l, uint64_t index, struct buf *out, struct error *err)
{
	if (index >= l->frontier.size)
		return error_set(err, -ENOENT, "there is no entry %llu", (unsigned long long)index);
	if (index >= l->recent_base)
		return recent_entry(l, &l->recent[index - l->recent_base], out, err);
	return tile_entry_read(l->dirfd, index, l->frontier.size, out, err);
}

int
ledger_follow(struct ledger *l, struct error *err)
{
	while (tiles_size(&l->tiles) < l->frontier.size) {
		const struct recent *next = &l->recent[tiles_size(&l->tiles) - l->recent_base];
		int r;

		r = tiles_add(&l->tiles, next->leaf, err);
		if (r < 0)
			return r;
	}
	recent_trim(l);
	return 0;
}

bool
ledger_settled(const struct ledger *l)
{
	return l->settle == SETTLE_NONE && l->published == l->frontier.size &&
	       l->journal.reserve_bytes > 0;
}

uint64_t
ledger_unsettled(const struct ledger *l)
{
	return l->frontier.size - l->published;
}

static int
settle_begin(struct ledger *l, struct error *err)
{
	int r;

	r = journal_prepare(&l->journal, err);
	if (r == 0)
		r = ledger_follow(l, err);
	if (r < 0 || l->published == l->frontier.size)
		return r;
	r = tiles_partial(&l->tiles, err);
	if (r == 0)
		r = blob_index_write(&l->blobs, err);
	if (r < 0)
		return r;
	l->settle_head = l->head;
	memcpy(l->settle_signature, l->signature, sizeof(l->signature));
	l->settle = SETTLE_TILES;
	return 1;
}

int
ledger_note_write(struct ledger *l, const struct tree_head *head, const uint8_t *signature,
		  struct error *err)
{
	CLEANUP(buf_fini) struct buf note = {0};
	int r;

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	checkpoint_note(signer_vkey(l->signer), head, signature, &note);
	r = buf_check(&note, err);
	return r < 0 ? r
		     : fd_replace_file_at(l->dirfd, CHECKPOINT_NAME, note.data, note.len, 0600,
					  err);
}

static int
settle_publish(struct ledger *l, struct error *err)
{
	uint64_t before = l->published;
	int r = ledger_note_write(l, &l->settle_head, l->settle_signature, err);

	if (r < 0)
		return r;
	l->published = l->settle_head.size;
	l->settle = SETTLE_NONE;
	return tiles_prune(&l->tiles, l->published, before, err);
}

int
ledger_settle(struct ledger *l, struct error *err)
{
	int r = 0;

	/* What cannot be written to any more is not vouched for anew either. */
	if (l->journal.failure.code != 0)
		return error_set(err, l->journal.failure.code, "%s", l->journal.failure.text);
	switch (l->settle) {
	case SETTLE_NONE:
		return settle_begin(l, err);
	case SETTLE_TILES:
		r = tiles_sync(&l->tiles, err);
		if (r == 0)
			l->settle = SETTLE_BLOBS;
		break;
	case SETTLE_BLOBS:
		r = blob_index_sync(&l->blobs, err);
		if (r == 0)
			l->settle = SETTLE_PUBLISH;
		break;
	case SETTLE_PUBLISH:
		r = settle_publish(l, err);
		if (r == 0)
			return 0;
		break;
	}
	if (r < 0) {
		l->settle = SETTLE_NONE;
		return r;
	}
	return 1;
}
