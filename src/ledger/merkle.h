/*
 * The Merkle tree of RFC 6962, section 2.1 (SHA-256; leaves are hashed with a 0x00 before them,
 * inner nodes with a 0x01), and its frontier: the roots of the complete subtrees that a tree of
 * some size consists of. A frontier is all that is needed to append and to know the root.
 *
 * H is a running hash (base/hash.h) of the caller's with nothing in it; it is left that way.
 */
#ifndef LOOM_LEDGER_MERKLE_H
#define LOOM_LEDGER_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define MERKLE_LEVELS 64

void merkle_leaf(struct sha256 *h, const void *entry, size_t len, uint8_t ret[SHA256_LEN]);
void merkle_node(struct sha256 *h, const uint8_t left[SHA256_LEN], const uint8_t right[SHA256_LEN],
		 uint8_t ret[SHA256_LEN]);
/* The root over N hashes of complete subtrees of one height; N is a power of two, at most 256. */
void merkle_fold(struct sha256 *h, const uint8_t (*hashes)[SHA256_LEN], size_t n,
		 uint8_t ret[SHA256_LEN]);

struct frontier {
	uint64_t size;                            /* leaves */
	uint8_t hash[MERKLE_LEVELS][SHA256_LEN];  /* [k] counts when bit k of size is set */
};
void frontier_init(struct frontier *f);
void frontier_add(struct frontier *f, struct sha256 *h, const uint8_t leaf[SHA256_LEN]);
bool frontier_equal(const struct frontier *a, const struct frontier *b);
void frontier_root(const struct frontier *f, struct sha256 *h, uint8_t ret[SHA256_LEN]);

#endif
