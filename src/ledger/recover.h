/* What recover.c and putback.c share while a ledger starts. */
#ifndef LOOM_LEDGER_RECOVER_H
#define LOOM_LEDGER_RECOVER_H

#include <jansson.h>

#include "ledger/reader.h"
#include "ledger/record.h"
#include "ledger/state.h"

#define LEAF_HEX_MAX (2 * SHA256_LEN + 1)

struct held {
	struct record record;
	uint64_t offset;
};

struct recovery {
	struct ledger *l;
	struct reader reader;
	struct tree_head checkpoint; /* size 0 when there is none */
	uint64_t *segments;
	size_t n_segments;
	uint64_t segment;		    /* the one that is read */
	struct segment_head head;	    /* its head */
	bool following;			    /* tiles can be written */
	uint64_t blobs_from;	     /* first entry whose blobs may not be in the index */
	struct held held[LEDGER_BATCH_MAX]; /* the newest batch */
	size_t n_held;
	/* What was found at the end. */
	uint64_t tail, end;
	json_t *lost; /* leaf hashes of complete records behind the tail */
	uint64_t restored;
};

/*
 * Put back out of the bundles what the checkpoint covers beyond the journal's end. -EBADMSG when they
 * do not lead to the signed root; nothing was written then.
 */
int recovery_restore(struct recovery *rec, struct error *err) MUST_CHECK;
/* SHA-256 of what lies between `tail` and `end` and will be overwritten. */
int recovery_digest(struct recovery *rec, uint8_t ret[SHA256_LEN], struct error *err) MUST_CHECK;
/* Record that and what was recovered, and commit it. */
int recovery_tell(struct recovery *rec, const uint8_t sha256[SHA256_LEN],
		  struct error *err) MUST_CHECK;

#endif
