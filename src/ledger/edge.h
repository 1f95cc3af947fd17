/*
 * The right edge of the tree in tiles: of each level of tiles (8 levels of the tree) the hashes that
 * do not fill one yet. It takes 64 KiB whatever the size of the tree, and hashes each node once.
 */
#ifndef LOOM_LEDGER_EDGE_H
#define LOOM_LEDGER_EDGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "ledger/merkle.h"

#define TILE_WIDTH 256
#define TILE_LEVELS 8
#define TILE_LEVEL_BITS 8

typedef const uint8_t edge_hashes[TILE_WIDTH][SHA256_LEN];

struct edge {
	uint64_t size;                            /* leaves */
	uint8_t (*hash)[TILE_WIDTH][SHA256_LEN];  /* TILE_LEVELS of them */
	struct sha256 *sha;
};

int edge_init(struct edge *e, struct error *err) MUST_CHECK;
void edge_fini(struct edge *e);

/*
 * Add a leaf. For each tile it fills, from the leaves up, FULL is called with its level, its number
 * and its hashes; when that fails the leaf is not added and can be added again.
 */
int edge_add(struct edge *e, const uint8_t leaf[SHA256_LEN],
	     int (*full)(void *ctx, unsigned int level, uint64_t n, edge_hashes hashes,
			 struct error *err),
	     void *ctx, struct error *err) MUST_CHECK;
/* How many hashes level LEVEL holds in a tree of SIZE. */
unsigned int edge_width(unsigned int level, uint64_t size);
/* The frontier of the tree. */
void edge_frontier(const struct edge *e, struct frontier *ret);

#endif
