/*
 * The manifest: what an accept of a selection would do, as one canonical JSON array in the order of
 * the walk (base/json.h), so that its SHA-256 names exactly that. Members of an entry:
 *   "kind", "path" (escaped), "type" always; not for deleted: "mode" (four octal digits, without
 *   set-id bits), and for a file "sha256" and "size", for a link "target" (escaped).
 */
#ifndef LOOM_BOX_MANIFEST_H
#define LOOM_BOX_MANIFEST_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "box/changes.h"
#include "box/selection.h"

#define MANIFEST_FILE_MAX (UINT64_C(16) << 30) /* bytes, apparent, of one file */

struct manifest {
	struct sha256 *hash;
	struct buf out; /* not yet written */
	int out_fd;	/* -1: only the digest is wanted */
	uint64_t entries;
	uint64_t bytes; /* written or hashed; at most CHANGES_OUTPUT_MAX */
};
int manifest_begin(struct manifest *m, int out_fd, struct error *err) MUST_CHECK;
/* RET_SHA256 (may be NULL) gets a file's content hash. -EFBIG: larger than MANIFEST_FILE_MAX.
 * -E2BIG: the manifest has become longer than CHANGES_OUTPUT_MAX. */
int manifest_add(struct manifest *m, const struct change *c, uint8_t ret_sha256[SHA256_LEN],
		 struct error *err) MUST_CHECK;
int manifest_end(struct manifest *m, uint8_t ret_digest[SHA256_LEN], struct error *err) MUST_CHECK;
void manifest_fini(struct manifest *m);

/* All of it in one go. -ENOENT: nothing changed at a selected path (the text names it). */
int manifest_of(int upper, int lower, struct selection *sel, int out_fd,
		uint8_t ret_digest[SHA256_LEN], struct error *err) MUST_CHECK;

/* {"path":…} and the members that the list and the manifest share; NULL: no memory. */
json_t *change_json(const struct change *c, uint32_t mode) MUST_CHECK;

#endif
