/*
 * One pass over an entry's bytes without building a value: are they canonical JSON in the sense of
 * base/json.h (it accepts exactly what json_read_canonical accepts, for objects), and what do the
 * members say that a verifier needs? For histories of millions of entries; model/entry.h is for one.
 */
#ifndef LOOM_MODEL_SCAN_H
#define LOOM_MODEL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "model/entry.h"

/* A member's value as it stands in the bytes; len 0: there is none. */
struct scan_span {
	const uint8_t *at;
	size_t len;
};

struct scan_entry {
	struct scan_span v, kind, time, event, op, session, digest, intent, result, blobs;
	unsigned int n_members; /* of the object, those above and all others */
};

/*
 * -EBADMSG names what is not canonical and where. The spans are of the outermost object and live as
 * long as DATA.
 */
int scan_object(const void *data, size_t len, struct scan_entry *ret, struct error *err) MUST_CHECK;

/* Is the value the string TEXT (which needs no escapes)? */
bool scan_is(struct scan_span s, const char *text);
/* -EBADMSG when the value is of another form. */
int scan_u64(struct scan_span s, uint64_t *ret) MUST_CHECK;
int scan_hash(struct scan_span s, uint8_t ret[SHA256_LEN]) MUST_CHECK;
/* "op_" and 16 hex digits, as a number. */
int scan_op(struct scan_span s, uint64_t *ret) MUST_CHECK;
/* An array of at most ENTRY_BLOBS_MAX hashes; a span that is not there is an empty one. */
int scan_hashes(struct scan_span s, uint8_t ret[ENTRY_BLOBS_MAX][SHA256_LEN],
		uint32_t *ret_n) MUST_CHECK;

#endif
