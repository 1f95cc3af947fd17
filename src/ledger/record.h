/*
 * One entry in the journal, and how a segment of the journal begins. Encoding and decoding only;
 * all numbers are big endian. The format is described for people in loom-ledger(5).
 *
 * A record is its header, the entry, then the blobs one after the other, then zeros up to the next
 * multiple of 8 bytes. The header's CRC covers the header; the entry is covered by its RFC 6962
 * leaf hash and each blob by its SHA-256, both in the header. So a blob can be erased (all zeros)
 * and the record stays what it was. A header that begins with zeros is the end of the log.
 */
#ifndef LOOM_LEDGER_RECORD_H
#define LOOM_LEDGER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "ledger/merkle.h"
#include "ledger/openset.h"
#include "model/entry.h"

#define RECORD_ALIGN 8
#define RECORD_FIXED_BYTES 104
#define RECORD_BLOB_BYTES 36
#define RECORD_HEADER_MAX (RECORD_FIXED_BYTES + ENTRY_BLOBS_MAX * RECORD_BLOB_BYTES)
#define RECORD_BLOB_MAX (2 * 1024 * 1024)
#define RECORD_MAX                                                                                 \
	(RECORD_HEADER_MAX + ENTRY_MAX + ENTRY_BLOBS_MAX * RECORD_BLOB_MAX + RECORD_ALIGN)
#define RECORD_NO_REF UINT64_MAX

struct record_blob {
	uint32_t len;
	uint8_t sha256[SHA256_LEN];
};

struct record {
	uint32_t kind;              /* enum entry_kind */
	uint64_t index;
	uint64_t batch;             /* index of the first record that was synced together with it */
	uint64_t ref;               /* intent: the number of its op; an entry that closes an intent:
				     * the intent's index; else RECORD_NO_REF */
	uint8_t digest[SHA256_LEN]; /* intent: of the operation; else zeros */
	uint8_t leaf[SHA256_LEN];
	uint32_t entry_len;
	uint32_t n_blobs;
	struct record_blob blobs[ENTRY_BLOBS_MAX];
};

size_t record_header_len(const struct record *r);
size_t record_blobs_len(const struct record *r);
size_t record_len(const struct record *r); /* all of it, a multiple of RECORD_ALIGN */

void record_encode(const struct record *r, uint8_t *out); /* record_header_len bytes */

enum record_state {
	RECORD_OK,
	RECORD_END,   /* zeros: nothing was written here */
	RECORD_SHORT, /* LEN is less than the header; *ret_need says how much it takes */
	RECORD_BAD,   /* neither */
};
/*
 * Judge the header at DATA. Only RECORD_OK writes *ret; it means magic, version, bounds and CRC are
 * right, and says nothing about the entry and the blobs.
 */
enum record_state record_decode(const void *data, size_t len, struct record *ret, size_t *ret_need);

/*
 * A segment begins with all that is needed to go on from there without the segments before it: the
 * frontier of the tree and the intents that are open. A SHA-256 closes it; its length is a multiple
 * of SEGMENT_ALIGN.
 */
#define SEGMENT_ALIGN 4096
#define SEGMENT_NAME_LEN 20 /* the first index, decimal */
#define SEGMENT_HEAD_MAX                                                                           \
	((128 + MERKLE_LEVELS * SHA256_LEN + OPENSET_MAX * OPENSET_ITEM_BYTES + SHA256_LEN +           \
	  SEGMENT_ALIGN - 1) /                                                                      \
	 SEGMENT_ALIGN * SEGMENT_ALIGN)

struct segment_head {
	uint64_t bytes;           /* of the file when it was made */
	uint32_t key_id;          /* of the key that signs this ledger's heads */
	bool reserve;             /* it was the reserve (journal.h) */
	struct frontier frontier; /* frontier.size is the first index */
};

size_t segment_head_len(const struct segment_head *s, const struct openset *open);
void segment_head_encode(const struct segment_head *s, const struct openset *open, uint8_t *out);
/* How long the head at DATA (at least 16 bytes of it) is; 0 when it is none. */
size_t segment_head_peek(const void *data);
/* OPEN is emptied and filled. -EBADMSG; -ENOMEM. */
int segment_head_decode(const void *data, size_t len, struct segment_head *ret,
			struct openset *open, struct error *err) MUST_CHECK;

void segment_name(uint64_t first, char out[SEGMENT_NAME_LEN + 1]);
bool segment_name_parse(const char *name, uint64_t *ret_first);

#endif
