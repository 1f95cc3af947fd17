/*
 * Where in the journal a blob lies, by its digest: blob/<first byte, hex>, each an array of
 * {SHA-256, first index of the segment, offset of the record}. Written after the journal like the
 * tiles, and only a hint: whoever reads a blob hashes it.
 */
#ifndef LOOM_LEDGER_BLOBINDEX_H
#define LOOM_LEDGER_BLOBINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"

struct blob_place {
	uint8_t sha256[SHA256_LEN];
	uint64_t segment; /* its first index */
	uint64_t offset;  /* of the record in it */
};

struct blob_index {
	int dirfd;                  /* borrowed: the ledger's directory */
	struct blob_place *pending; /* not written yet, oldest first */
	size_t n, cap;
	bool dirty[256];            /* written, not synced */
	bool made;                  /* the folder is there */
};

void blob_index_init(struct blob_index *b, int dirfd);
void blob_index_fini(struct blob_index *b);
int blob_index_add(struct blob_index *b, const struct blob_place *place, struct error *err) MUST_CHECK;
/* Is there an index on disk? Each one that was written is, even when it is empty. */
bool blob_index_there(const struct blob_index *b);
/* Write what is pending. On failure what was not written stays pending. */
int blob_index_write(struct blob_index *b, struct error *err) MUST_CHECK;
/* Sync one file that was written; 1 when there are more, 0 when not. */
int blob_index_sync(struct blob_index *b, struct error *err) MUST_CHECK;
/*
 * Call FOUND for each place that is on record for SHA256, newest first, until it returns something
 * else than -ENOENT, which is then returned. -ENOENT when none is left.
 */
int blob_index_find(struct blob_index *b, const uint8_t sha256[SHA256_LEN],
		    int (*found)(void *ctx, const struct blob_place *place, struct error *err),
		    void *ctx, struct error *err) MUST_CHECK;

#endif
