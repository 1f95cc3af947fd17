/*
 * The log as others read it: C2SP tlog-tiles, tile/<L>/<N> with 256 hashes each, tile/entries/<N>
 * with 256 entries (16-bit length, big endian, before each), and partial ones in <N>.p/<W>. They are
 * written after the journal and can always be made again from it; the one exception is an entry the
 * journal lost though a signed head covers it (recover.c).
 *
 * Level L's tile N holds the roots of 256^L leaves each. Between two checkpoints full tiles may lie
 * on disk unsynced; tiles_partial and tiles_sync bring everything up to now there.
 */
#ifndef LOOM_LEDGER_TILES_H
#define LOOM_LEDGER_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "ledger/checkpoint.h"
#include "ledger/edge.h"
#include "ledger/open.h"

#define TILE_ENTRIES TILE_LEVELS /* in place of a level: the entries themselves */
#define TILE_PATH_MAX LEDGER_PATH_MAX
#define TILE_BUNDLE_MAX (TILE_WIDTH * (2 + 65535))

struct tile_id {
	unsigned int level;  /* below TILE_LEVELS, or TILE_ENTRIES */
	uint64_t n;
	unsigned int width;  /* 1 to TILE_WIDTH */
};
void tile_path(struct tile_id id, char out[TILE_PATH_MAX]);
/* The tile of LEVEL that a tree of SIZE ends in; width 0: it ends with a full one. */
struct tile_id tile_edge(unsigned int level, uint64_t size);
/*
 * Read a tile beneath DIRFD whole. -ENOENT; -EBADMSG when a tile of hashes has not exactly its
 * width. OUT is emptied first.
 */
int tile_read(int dirfd, struct tile_id id, struct buf *out, struct error *err) MUST_CHECK;
/* Entry I of a bundle: borrowed from it. -EBADMSG when the bundle ends before it. */
int tile_bundle_entry(const struct buf *bundle, unsigned int i, const void **ret, size_t *ret_len,
		      struct error *err) MUST_CHECK;
/* Entry INDEX from the bundles of a tree of SIZE. -ENOENT when no bundle has it. */
int tile_entry_read(int dirfd, uint64_t index, uint64_t size, struct buf *out,
		    struct error *err) MUST_CHECK;

/* Appends the bundle of COUNT entries from FIRST on to OUT. */
struct tile_source {
	int (*bundle)(void *ctx, uint64_t first, unsigned int count, struct buf *out,
		      struct error *err);
	void *ctx;
};

struct tiles {
	int dirfd;                  /* borrowed: the ledger's directory */
	struct tile_source source;
	struct edge edge;
	struct tile_id *dirty;      /* written, not synced */
	size_t n_dirty, cap_dirty;
};

int tiles_init(struct tiles *t, int dirfd, struct tile_source source, struct error *err) MUST_CHECK;
void tiles_fini(struct tiles *t);
/* Back to an empty tree; what is on disk will be written again. */
void tiles_reset(struct tiles *t);
/* Take up where HEAD was published. -EBADMSG, -ENOENT: the tiles there do not have its root. */
int tiles_load(struct tiles *t, const struct tree_head *head, struct error *err) MUST_CHECK;
/* Add a leaf. On failure (no space, usually) nothing has changed and it can be tried again. */
int tiles_add(struct tiles *t, const uint8_t leaf[SHA256_LEN], struct error *err) MUST_CHECK;
/* Leaves added. */
uint64_t tiles_size(const struct tiles *t);
/* Write the partial tiles of the size that is now. */
int tiles_partial(struct tiles *t, struct error *err) MUST_CHECK;
/* Sync one tile that was written; 1 when there are more, 0 when not. */
int tiles_sync(struct tiles *t, struct error *err) MUST_CHECK;
/* Remove the partial tiles of all sizes but NEW and OLD, the two last ones published. */
int tiles_prune(struct tiles *t, uint64_t new_size, uint64_t old_size,
		struct error *err) MUST_CHECK;
/* Root of the complete subtree of 2^LEVEL leaves at INDEX << LEVEL, all below tiles_size. */
int tiles_node(struct tiles *t, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
	       struct error *err) MUST_CHECK;

#endif
