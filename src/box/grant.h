/*
 * Is a grant what it claims to be? The box judges no policy but trusts no sender: it checks that
 * the ledger recorded exactly this (MAC of the receipt, leaf hash, digest), that it is used for the
 * first time, and that the profile is the one of the record. What is then found in the recorded
 * operation is what is done.
 */
#ifndef LOOM_BOX_GRANT_H
#define LOOM_BOX_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/secret.h"
#include "model/operation.h"
#include "model/profile.h"
#include "model/receipt.h"
#include "wire/message.h"

/*
 * Which ledger indexes were used: exact for the last SEEN_WINDOW ones; what is older counts as
 * used. The receipt key is new with each start, so that nothing from before can come back.
 */
#define SEEN_WINDOW 65536u
struct seen_indexes {
	bool any;
	uint64_t highest;
	uint8_t bits[SEEN_WINDOW / 8];
};
/* true: it is used for the first time, and marked. */
bool seen_take(struct seen_indexes *s, uint64_t index);

/* Large (an operation has room for every variable), so on the heap and handed on. */
struct grant {
	struct receipt receipt;
	struct operation op;
};
void grant_free(struct grant *g);
void grant_freep(struct grant **g);

/*
 * -EBADMSG, -EALREADY: the authority broke the protocol (a receipt that is none, an entry that is
 * not its, an index used before, no intent); there is nothing to answer, and the index of a valid
 * receipt is used up by now. 0: RET is what was recorded.
 */
int grant_read(const struct secret *key, struct seen_indexes *seen, const struct msg_grant *m,
	       struct grant **ret, struct error *err) MUST_CHECK;
/*
 * The profile that came with it: sealed, canonical, and of the recorded digest. CACHE holds the
 * last one and is replaced. -EBADMSG with what is wrong.
 */
int grant_profile(const struct grant *g, int fd, struct profile **cache,
		  struct error *err) MUST_CHECK;
/* Are the facts of the record those that were found (and of what is held)? -ESTALE names the first
 * that is not. */
int grant_same_facts(const struct exec_facts *recorded, const struct exec_facts *held,
		     struct error *err) MUST_CHECK;

#endif
