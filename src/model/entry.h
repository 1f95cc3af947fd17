/*
 * Ledger entries: canonical JSON of at most ENTRY_MAX bytes. Three kinds.
 *
 * intent:  {"v":1,"kind":"intent","time":T,"op":…,"session":…,"identity":{…},"profile":{…},
 *           "workflow":…,"capability":…,"verdict":"allow","reason":"allowed","rules":[…],
 *           "operation":{…},"digest":"<hex operation digest>","blobs":["<hex>",…]}
 *          A denial is an event entry of the same shape with "kind":"event","event":"denied" and
 *          whatever of the operation is known; nothing is granted on it.
 * outcome: {"v":1,"kind":"outcome","time":T,"op":…,"session":…,"intent":N,"digest":"<hex>",
 *           "result":{…}}   result: the performer's canonical JSON, under its MAC.
 * event:   {"v":1,"kind":"event","event":NAME,"time":T,…}   NAME: denied, started, stopped,
 *          profile, recovered, indeterminate, discarded, session, session-expired. An event may have op,
 *          session, digest and blobs, which are then read strictly; "indeterminate" must have
 *          "intent":N. "recovered" is the ledger's own: it takes none from anybody.
 *
 * An intent's op, session, identity, profile, workflow and capability are those of its operation;
 * its blobs are [args.sha256] for exec and [] for everything else. A denial that would be larger
 * than ENTRY_MAX is recorded without "operation".
 */
#ifndef LOOM_MODEL_ENTRY_H
#define LOOM_MODEL_ENTRY_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/verdict.h"

#define ENTRY_MAX 65535
#define ENTRY_BLOBS_MAX 4

/* All append canonical bytes to OUT (which the caller initialised with max ENTRY_MAX). */
int entry_intent(const struct operation *op, const struct verdict *v, uint64_t wall_ms,
		 struct buf *out, struct error *err) MUST_CHECK;
/* OP's unknown fields are left zero or empty and are then left out. */
int entry_denied(const struct operation *op, const struct verdict *v, uint64_t wall_ms,
		 struct buf *out, struct error *err) MUST_CHECK;
int entry_outcome(const char *op, const char *session, uint64_t intent, const uint8_t digest[32],
		  const void *result, size_t result_len, uint64_t wall_ms, struct buf *out,
		  struct error *err) MUST_CHECK;
/* FIELDS: an object whose members are added (may be NULL; borrowed). */
int entry_event(const char *event, const json_t *fields, uint64_t wall_ms, struct buf *out,
		struct error *err) MUST_CHECK;

/* What a reader needs first. Strict about the common fields; borrowed from JSON, which is owned. */
struct entry {
	json_t *json;
	const char *kind;
	const char *op;       /* NULL when there is none */
	const char *session;
	const char *event;
	uint64_t intent;      /* outcome, indeterminate; else UINT64_MAX */
	bool has_digest;
	uint8_t digest[32];
	uint32_t n_blobs;
	uint8_t blobs[ENTRY_BLOBS_MAX][32];
};
void entry_fini(struct entry *e);
/* Bytes must be canonical and at most ENTRY_MAX. An intent's digest is recomputed and must agree. */
int entry_read(const void *data, size_t len, struct entry *ret, struct error *err) MUST_CHECK;

#endif
