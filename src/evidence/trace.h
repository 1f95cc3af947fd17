/*
 * A trace: the walk profile -> decision -> approval -> grant -> lease -> broker -> session ->
 * outcome
 * -> ledger of one operation, or of every operation of one session, with each link CHECKED here
 * from the recorded bytes and nothing else. Pure: no descriptor, no clock, no service is asked.
 * Whoever calls gathers the material first (the authority from the ledger, a client from an
 * export).
 *
 * The document is
 *   {"id":ID,"links":[{"detail":…,"id":…,"link":…,"status":…}…],"status":"verified"|"unverified"}
 * with nine links per operation, in the order above, operations in the order of their entries. A
 * link is "verified", "missing" (its material is not there), "false" (the material is there and
 * does not hold) or "not-applicable" (this operation has no such link: an approval that nobody
 * asked for). The whole is "verified" only when there is at least one operation and no link is
 * missing or false. What cannot be read is never a reason for "verified".
 *
 * What the links mean for a recorded intent:
 *   profile   the blob named by the operation's profile digest is there, hashes to it, is named by
 * the entry, is a canonical effective profile of the recorded name and has the capability decision
 * the verdict is allow with at least one rule, the reason is "allowed", the operation digest
 * recomputes, the entry's fields repeat the operation's, and the arguments' blob hashes to what was
 * decided grant     exactly one outcome names the intent, with its index and digest, and lies after
 * it. The ledger records an outcome only under the MAC of the performer that took the grant session
 * all entries carry the operation's session; within a session's trace all operations have one
 * identity, workflow, profile digest and workspace outcome   the result can be read, and is of the
 * operation's capability ledger    each entry's leaf is included in a tree whose signed head
 * verifies under the vkey A recorded denial (event "denied") has a decision and a ledger link, the
 * rest does not apply.
 */
#ifndef LOOM_EVIDENCE_TRACE_H
#define LOOM_EVIDENCE_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/entry.h"

#define TRACE_ENTRIES_MAX 4096 /* entries of one trace; more is -E2BIG */

/* One entry as recorded, with its proof. All pointers are borrowed for the call. */
struct trace_entry {
	uint64_t index;
	const void *bytes; /* canonical JSON, byte for byte */
	size_t len;
	uint64_t tree_size; /* of the head the proof is for (message ledger_proof: size) */
	const void *path;   /* inclusion proof: n_hashes of 32 bytes, leaf to root */
	size_t path_len;    /* bytes; may be 0 in a tree of one entry */
	const char *note;   /* the signed checkpoint; NULL: no proof was gathered */
	size_t note_len;
};

/* One blob out of the store. DATA may be empty but not NULL. */
struct trace_blob {
	const void *data;
	size_t len;
};

/*
 * Everything a trace is judged by. Entries may come in any order and must be all those that carry
 * the operation (intent, outcomes, events), or the session; an index may appear once. BLOBS: what
 * trace_wants said (their digests are computed here, never believed).
 */
struct trace_material {
	const char *id;	  /* "op_…" or "s_N" */
	const char *vkey; /* the ledger's key as a verifier key (ledger/checkpoint.h) */
	const struct trace_entry *entries;
	size_t n_entries;
	const struct trace_blob *blobs;
	size_t n_blobs;
};

/*
 * The blobs that a trace of an entry needs, as digests: the profile's text and what the entry names
 * under "blobs". 0 for entries that need none, and for those that cannot be read (the trace will
 * say so). Returns how many were written.
 */
#define TRACE_WANTS_MAX (ENTRY_BLOBS_MAX + 1)
size_t
trace_wants(const void *entry, size_t len, uint8_t ret[TRACE_WANTS_MAX][32]);

/*
 * Build the document into *RET (a new reference). Success says only that it was built: look at its
 * status. -EINVAL for an id that is neither, -E2BIG, -ENOMEM.
 */
int
trace_build(const struct trace_material *m, json_t **ret, struct error *err) MUST_CHECK;

/* true when the document's status is "verified"; false for anything else, NULL included. */
bool
trace_is_verified(const json_t *trace);

#endif
