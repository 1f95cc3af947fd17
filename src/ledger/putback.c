/*
 * What recovery writes: the entries that a checkpoint covers and the journal lost, and the event
 * that tells what was found. The bundles are gone through twice, first to see that they lead to the
 * signed root, then to stage what they have.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "ledger/recover.h"
#include "model/examine.h"

static int
commit(struct ledger *l, struct error *err)
{
	struct receipt receipts[LEDGER_BATCH_MAX];

	return ledger_commit(l, receipts, err);
}

static int
stage_or_commit(struct ledger *l, const struct ledger_append *a, struct error *err)
{
	int r;

	r = ledger_stage_trusted(l, a, true, err);
	if (r != -EAGAIN)
		return r;
	r = commit(l, err);
	return r < 0 ? r : ledger_stage_trusted(l, a, true, err);
}

static uint32_t
kind_of(const void *data, size_t len)
{
	struct entry_facts facts;

	return entry_examine(data, len, &facts, NULL) == 0 ? facts.kind : 0;
}

/* Go through the entries from the journal's end to the checkpoint's, out of the bundles. */
static int
bundles_walk(struct recovery *rec,
	     int (*visit)(struct recovery *rec, const void *entry, size_t len, struct frontier *f,
			  struct error *err),
	     struct frontier *f, struct error *err)
{
	CLEANUP(buf_fini) struct buf bundle = {0};
	uint64_t size = rec->checkpoint.size;
	int r = 0;

	buf_init(&bundle, TILE_BUNDLE_MAX);
	for (uint64_t i = rec->l->frontier.size, n = UINT64_MAX; r == 0 && i < size; i++) {
		struct tile_id id = tile_edge(TILE_ENTRIES, size);
		const void *entry;
		size_t len;

		if (i / TILE_WIDTH != id.n)
			id = (struct tile_id){TILE_ENTRIES, i / TILE_WIDTH, TILE_WIDTH};
		if (id.n != n)
			r = tile_read(rec->l->dirfd, id, &bundle, err);
		n = id.n;
		if (r == 0)
			r = tile_bundle_entry(&bundle, (unsigned int)(i % TILE_WIDTH), &entry, &len,
					      err);
		if (r == 0)
			r = visit(rec, entry, len, f, err);
	}
	return r;
}

static int
visit_hash(struct recovery *rec, const void *entry, size_t len, struct frontier *f,
	   struct error *err)
{
	uint8_t leaf[SHA256_LEN];

	(void)err;
	merkle_leaf(rec->l->sha, entry, len, leaf);
	frontier_add(f, rec->l->sha, leaf);
	return 0;
}

static int
visit_stage(struct recovery *rec, const void *entry, size_t len, struct frontier *f,
	    struct error *err)
{
	const struct ledger_append a = {.kind = kind_of(entry, len), .entry = entry, .len = len};

	(void)f;
	rec->restored++;
	return stage_or_commit(rec->l, &a, err);
}

int
recovery_restore(struct recovery *rec, struct error *err)
{
	struct frontier f = rec->l->frontier;
	uint8_t root[SHA256_LEN];
	int r;

	r = bundles_walk(rec, visit_hash, &f, err);
	if (r == 0) {
		frontier_root(&f, rec->l->sha, root);
		if (memcmp(root, rec->checkpoint.root, sizeof(root)) != 0)
			r = error_set(err, -EBADMSG, "they are not the ones that were signed");
	}
	if (r < 0) {
		(void)error_prefix(err,
				   "the journal ends at %llu but %llu entries were signed, and the "
				   "bundles do not give them back",
				   (unsigned long long)rec->l->frontier.size,
				   (unsigned long long)rec->checkpoint.size);
		return r;
	}
	r = bundles_walk(rec, visit_stage, &f, err);
	return r < 0 ? r : commit(rec->l, err);
}

static json_t *
event_fields(const struct recovery *rec, const uint8_t sha256[SHA256_LEN])
{
	char hex[LEAF_HEX_MAX];

	hex_encode(sha256, SHA256_LEN, hex);
	return json_pack("{s:I, s:I, s:I, s:s, s:O, s:I}", "segment", (json_int_t)rec->segment,
			 "offset", (json_int_t)rec->tail, "bytes",
			 (json_int_t)(rec->end - rec->tail), "sha256", hex, "lost", rec->lost,
			 "restored", (json_int_t)rec->restored);
}

int
recovery_tell(struct recovery *rec, const uint8_t sha256[SHA256_LEN], struct error *err)
{
	CLEANUP(json_decrefp) json_t *fields = event_fields(rec, sha256);
	CLEANUP(buf_fini) struct buf entry = {0};
	struct ledger *l = rec->l;
	struct ledger_append a = {.kind = ENTRY_EVENT};
	int r;

	if (fields == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	buf_init(&entry, ENTRY_MAX);
	r = entry_event("recovered", fields, clock_wall_ms(), &entry, err);
	if (r < 0)
		return r;
	a.entry = entry.data;
	a.len = entry.len;
	r = stage_or_commit(l, &a, err);
	if (r == 0)
		r = commit(l, err);
	if (r < 0) {
		(void)error_prefix(err, "record that it recovered");
		return r;
	}
	(void)snprintf(l->recovered, sizeof(l->recovered),
		       "journal/%020llu was torn at offset %llu: %llu bytes were no complete "
		       "record, %zu complete ones behind them were never answered for, %llu were "
		       "put back",
		       (unsigned long long)rec->segment, (unsigned long long)rec->tail,
		       (unsigned long long)(rec->end - rec->tail), json_array_size(rec->lost),
		       (unsigned long long)rec->restored);
	return 0;
}

int
recovery_digest(struct recovery *rec, uint8_t ret[SHA256_LEN], struct error *err)
{
	uint8_t piece[16384];
	int r = 0;

	for (uint64_t off = rec->tail; r == 0 && off < rec->end;) {
		size_t n =
			rec->end - off < sizeof(piece) ? (size_t)(rec->end - off) : sizeof(piece);

		r = fd_pread_exact(rec->l->journal.fd, piece, n, off, err);
		if (r == 0)
			sha256_add(rec->l->sha, piece, n);
		off += n;
	}
	sha256_end(rec->l->sha, ret);
	return r;
}
