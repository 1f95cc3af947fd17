/*
 * Inclusion proofs of RFC 6962, section 2.1.1: the hashes that lead from a leaf to the root of the
 * tree of some size. Checking is pure; making asks a source for the roots of complete subtrees.
 */
#ifndef LOOM_LEDGER_PROOF_H
#define LOOM_LEDGER_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"

#define PROOF_PATH_MAX 64 /* hashes */

/*
 * Does LEAF (its leaf hash) stand at INDEX in the tree of SIZE leaves with ROOT? PATH: N hashes,
 * the leaf's sibling first (algorithm of RFC 9162, 2.1.3.2). -EBADMSG when it does not.
 */
int proof_check(const uint8_t leaf[SHA256_LEN], uint64_t index, uint64_t size,
		const uint8_t (*path)[SHA256_LEN], size_t n, const uint8_t root[SHA256_LEN],
		struct error *err) MUST_CHECK;

/* The root of the complete subtree of 2^level leaves that starts at leaf index << level. */
struct proof_source {
	int (*node)(void *ctx, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
		    struct error *err);
	void *ctx;
};
/* -ERANGE unless index < size. */
int proof_make(const struct proof_source *source, uint64_t index, uint64_t size,
	       uint8_t ret_path[PROOF_PATH_MAX][SHA256_LEN], size_t *ret_n,
	       struct error *err) MUST_CHECK;

#endif
