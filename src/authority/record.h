/*
 * Writing down: an entry is built, its row for the view made, and both go to the ledger. Whoever
 * has to wait for the receipt gives a function (history.h); the rest is written and forgotten, and
 * a failure of that is logged.
 */
#ifndef LOOM_AUTHORITY_RECORD_H
#define LOOM_AUTHORITY_RECORD_H

#include <stdint.h>

#include "authority/history.h"
#include "authority/profiles.h"
#include "authority/sessions.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/verdict.h"
#include "wire/message.h"

struct authority;

/* The bytes of an intent, into OUT (max ENTRY_MAX), and the operation's digest. */
int record_intent_bytes(const struct operation *op, const struct verdict *v, struct buf *out,
			uint8_t ret_digest[32], struct error *err) MUST_CHECK;
/* FDS: its blobs, in the order the entry names them; they stay the caller's. */
int record_intent(struct authority *a, const struct operation *op, const struct verdict *v,
		  const struct buf *entry, const uint8_t digest[32], const int *fds, size_t n_fds,
		  ask_fn fn, void *arg, struct ask **ret_ask, struct error *err) MUST_CHECK;
int record_denied(struct authority *a, const struct operation *op, const struct verdict *v,
		  ask_fn fn, void *arg, struct ask **ret_ask, struct error *err) MUST_CHECK;
/* The performer's outcome M of the intent at index INTENT. */
int record_outcome(struct authority *a, const char *op, const char *session, uint64_t intent,
		   const uint8_t digest[32], const struct msg_outcome *m, ask_fn fn, void *arg,
		   struct ask **ret_ask, struct error *err) MUST_CHECK;
/* Event "profile": the profile's canonical bytes as a blob. */
int record_profile(struct authority *a, const struct slot *slot, ask_fn fn, void *arg,
		   struct ask **ret_ask, struct error *err) MUST_CHECK;
/* Event "session": what its owner calls it. */
int record_session_name(struct authority *a, const struct session *s, ask_fn fn, void *arg,
			struct ask **ret_ask, struct error *err) MUST_CHECK;
/* Event NAME ("stopped", "discarded") about a session. FN may be NULL: written and forgotten. */
int record_session_event(struct authority *a, const char *name, const struct session *s, ask_fn fn,
			 void *arg, struct ask **ret_ask, struct error *err) MUST_CHECK;
/* Event "indeterminate": nothing more will be known of the intent at index INTENT. Forgotten. */
void record_indeterminate(struct authority *a, uint64_t intent, const char *op, const char *session,
			  const char *why);

/* The same, and FN is told. */
int record_indeterminate_then(struct authority *a, uint64_t intent, const char *op,
			      const char *session, const char *why, ask_fn fn, void *arg,
			      struct error *err) MUST_CHECK;

/* Who is meant by "self". */
void record_identity(const struct authority *a, uint32_t uid, struct identity *ret);

#endif
