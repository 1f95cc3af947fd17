/*
 * Looking at a ledger without its process: everything is read from the files, none of which is
 * changed, and nothing is believed that is not checked. It may run while loom-ledger appends: what
 * is newer than the checkpoint need only be well formed.
 *
 * Verified means: there is a checkpoint, its signature is the verifier key's, and
 *   - the journal has the entries 0 to the end without a gap, each canonical JSON, each record true
 *     to its checksums and to what its entry says;
 *   - the tree over the first of them is the signed one, and the tiles agree with it;
 *   - each intent ended at most once, and nothing ended that had not begun;
 *   - behind the last record there is nothing.
 * The key lies beside the log when nothing else is given: then this tells damage and meddling from
 * history, but not a history that was rewritten by somebody who has the key.
 *
 * Memory does not grow with the history.
 */
#ifndef LOOM_LEDGER_VERIFY_H
#define LOOM_LEDGER_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "ledger/checkpoint.h"

#define LEDGER_NOWHERE UINT64_MAX

struct ledger_verify_options {
	const struct vkey *vkey; /* NULL: the one in the ledger's directory */
	/* Read each entry in full (model/entry.h) and recompute each intent's digest: slower. */
	bool deep;
	/* Nobody writes it: what is not complete at the end is not waited for. */
	bool stopped;
	/* Now and then: bytes of the journal that were read, and all there are. May be NULL. */
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *ctx;
};

struct ledger_report {
	bool verified;
	/* The first thing that is wrong, for a person; empty when verified. */
	char what[256];
	uint64_t bad_index;   /* entry it was found at; LEDGER_NOWHERE: at none */
	uint64_t bad_segment; /* journal/<this, 20 digits>; LEDGER_NOWHERE: in no segment */
	uint64_t bad_offset;  /* in that file, bytes */
	/* What was signed; size 0 and zeros when no checkpoint could be read. */
	bool has_checkpoint;
	struct vkey vkey;
	struct tree_head checkpoint;
	/* What was read up to there. */
	uint64_t entries;     /* well formed; those beyond checkpoint.size are not signed yet */
	uint64_t intents, outcomes, events;
	uint64_t recovered;   /* events "recovered" among them */
	uint64_t open;        /* intents without an end */
	uint64_t blobs, blobs_erased;
	uint64_t bytes;       /* of the entries */
};

/*
 * Look at the ledger in DIRFD. 0: *ret says what was found, verified or not. Negative: it could not
 * be read (no ledger there, no permission, an I/O error).
 */
int ledger_verify(int dirfd, const struct ledger_verify_options *options,
		  struct ledger_report *ret, struct error *err) MUST_CHECK;

/* Entries in order, straight from the journal, each checked against its record. */
struct ledger_iter;
/* Starts at entry FROM; beyond the end it has no entries. */
int ledger_iter_open(int dirfd, uint64_t from, struct ledger_iter **ret,
		     struct error *err) MUST_CHECK;
/* 1: the entry is borrowed until the next call. 0: no more. -EBADMSG: damage. */
int ledger_iter_next(struct ledger_iter *it, uint64_t *ret_index, const void **ret_entry,
		     size_t *ret_len, struct error *err) MUST_CHECK;
void ledger_iter_free(struct ledger_iter *it);
void ledger_iter_freep(struct ledger_iter **it);
/* How many entries the journal has; reads its last segment only. */
int ledger_count(int dirfd, uint64_t *ret, struct error *err) MUST_CHECK;

#endif
