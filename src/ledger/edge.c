/*
 * A leaf that fills a tile is folded with its neighbours into a hash of the level above, and so on.
 * The place after the last hash counts only once `size` says so, which is the last thing that
 * changes.
 */
#include "ledger/edge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
edge_init(struct edge *e, struct error *err)
{
	*e = (struct edge){.sha = sha256_new()};
	e->hash = calloc(TILE_LEVELS, sizeof(*e->hash));
	if (e->sha == NULL || e->hash == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void
edge_fini(struct edge *e)
{
	sha256_free(e->sha);
	free(e->hash);
	*e = (struct edge){0};
}

unsigned int
edge_width(unsigned int level, uint64_t size)
{
	return (unsigned int)((size >> (TILE_LEVEL_BITS * level)) % TILE_WIDTH);
}

int
edge_add(struct edge *e, const uint8_t leaf[SHA256_LEN],
	 int (*full)(void *ctx, unsigned int level, uint64_t n, edge_hashes hashes,
		     struct error *err),
	 void *ctx, struct error *err)
{
	uint8_t up[SHA256_LEN];

	memcpy(up, leaf, sizeof(up));
	for (unsigned int level = 0; level < TILE_LEVELS; level++) {
		uint64_t n = e->size >> (TILE_LEVEL_BITS * level);
		int r;

		memcpy(e->hash[level][n % TILE_WIDTH], up, sizeof(up));
		if (n % TILE_WIDTH + 1 < TILE_WIDTH)
			break;
		r = full(ctx, level, n / TILE_WIDTH, e->hash[level], err);
		if (r < 0)
			return r;
		merkle_fold(e->sha, e->hash[level], TILE_WIDTH, up);
	}
	e->size++;
	return 0;
}

void
edge_frontier(const struct edge *e, struct frontier *ret)
{
	frontier_init(ret);
	ret->size = e->size;
	for (unsigned int level = 0; level < TILE_LEVELS; level++) {
		unsigned int width = edge_width(level, e->size), first = 0;

		/* The complete subtrees of a tile that is not full, the largest first. */
		for (unsigned int bit = TILE_LEVEL_BITS; bit-- > 0;) {
			if ((width >> bit & 1) == 0)
				continue;
			merkle_fold(e->sha, &e->hash[level][first], (size_t)1 << bit,
				    ret->hash[TILE_LEVEL_BITS * level + bit]);
			first += 1U << bit;
		}
	}
}
