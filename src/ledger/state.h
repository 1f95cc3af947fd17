/* The inside of struct ledger, for the files that together are the ledger: ledger.c, stage.c,
 * settle.c, recover.c. */
#ifndef LOOM_LEDGER_STATE_H
#define LOOM_LEDGER_STATE_H

#include "base/secret.h"
#include "ledger/blobindex.h"
#include "ledger/journal.h"
#include "ledger/ledger.h"
#include "ledger/openset.h"
#include "ledger/tiles.h"

/* Bytes of one batch, unless a single record is larger. */
#define STAGE_BYTES (1024 * 1024)
/* Entries that may wait for their tiles; each takes 48 bytes of memory. */
#define RECENT_MAX (64 * 1024)

struct staged {
	uint32_t kind;
	uint64_t index;
	uint64_t closes;      /* intent, or RECORD_NO_REF */
	size_t offset;        /* in the stage */
	uint8_t digest[SHA256_LEN];
	uint8_t leaf[SHA256_LEN];
	uint32_t n_blobs;
	uint8_t blobs[ENTRY_BLOBS_MAX][SHA256_LEN];
};

/* Where an entry lies whose tile is not full yet. */
struct recent {
	uint64_t segment, offset;
	uint8_t leaf[SHA256_LEN];
};

enum settle_step { SETTLE_NONE, SETTLE_TILES, SETTLE_BLOBS, SETTLE_PUBLISH };

struct ledger {
	int dirfd;
	struct secret receipt_key;
	struct signer *signer;
	struct sha256 *sha;
	struct journal journal;
	struct frontier frontier;   /* of what is durable */
	struct openset open;        /* and of what is staged */
	uint64_t start_size;        /* intents below it are of an earlier start */
	struct tree_head head;      /* of the frontier */
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];

	struct buf stage;
	struct staged staged[LEDGER_BATCH_MAX];
	size_t n_staged;

	struct recent *recent;      /* of the entries from recent_base on */
	uint64_t recent_base;       /* a multiple of TILE_WIDTH */
	size_t n_recent, cap_recent;
	struct tiles tiles;
	struct blob_index blobs;

	enum settle_step settle;
	struct tree_head settle_head;
	uint8_t settle_signature[CHECKPOINT_SIGNATURE_LEN];
	uint64_t published;         /* size of the checkpoint on disk */
	bool placed;                /* it lay at PLACE when it was opened */

	char recovered[256];
};

/* Root and signature of the tree of F, which becomes the head only when the caller says so. */
int ledger_sign(struct ledger *l, const struct frontier *f, struct tree_head *ret_head,
		uint8_t ret_signature[CHECKPOINT_SIGNATURE_LEN], struct error *err) MUST_CHECK;
/* Note where the entry at the frontier's end lies. */
int ledger_recent_add(struct ledger *l, uint64_t segment, uint64_t offset,
		      const uint8_t leaf[SHA256_LEN], struct error *err) MUST_CHECK;
/* Take an entry into the batch that passed all checks or needs none: recovery's own. */
int ledger_stage_trusted(struct ledger *l, const struct ledger_append *a, bool lost_blobs,
			 struct error *err) MUST_CHECK;

/* Are the journal and the ledger's own directory still under their names? -ESTALE when not. */
int ledger_place_look(const struct ledger *l, struct error *err) MUST_CHECK;
/* settle.c: replace the checkpoint. */
int ledger_note_write(struct ledger *l, const struct tree_head *head, const uint8_t *signature,
		      struct error *err) MUST_CHECK;
/* settle.c: what tiles.h asks for. */
int ledger_bundle(void *ctx, uint64_t first, unsigned int count, struct buf *out,
		  struct error *err) MUST_CHECK;

/* recover.c: bring the journal, the frontier and the open intents up to what is on disk. */
int ledger_recover(struct ledger *l, struct error *err) MUST_CHECK;

#endif
