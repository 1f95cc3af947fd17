/* An act, between act.c, accept.c and binding.c. */
#ifndef LOOM_AUTHORITY_ACT_INTERNAL_H
#define LOOM_AUTHORITY_ACT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/boxlink.h"
#include "authority/history.h"
#include "authority/profiles.h"
#include "authority/reply.h"
#include "authority/sessions.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/ids.h"
#include "model/operation.h"
#include "model/verdict.h"
#include "wire/message.h"

#define BINDING_LOOKS 8 /* a session's first entries: one of them is an intent */

struct act;

/* binding.c: what a session is bound to, as it is recorded. */
struct binding {
	uint64_t indexes[BINDING_LOOKS]; /* of entries of the session */
	size_t n_indexes, at_index;
	void (*found)(struct act *act);
	struct workspace_facts workspace;
	char profile_name[NAME_MAX_LEN + 1];
	uint8_t profile_digest[32];
	struct slot *slot; /* owned */
};

struct accepting;
struct act {
	struct act *prev, *next;
	struct asker asker;
	uint32_t verb;			/* enum session_verb */
	char session[NAME_MAX_LEN + 1]; /* as named; by its number once it was found */
	bool waiting;			/* for its run to end */
	bool waited;
	bool holds; /* marked its session busy */
	uint64_t changes;
	struct ask *ask;
	struct ticket ticket;

	struct binding binding;
	struct accepting *accepting; /* accept.c */
};

void act_free(struct act *act);
/* Its session as it is now; NULL when it was forgotten. */
struct session *act_session(const struct act *act);
/* It was answered: let its session go and free it. */
void act_end(struct act *act);
/* Answer with a denial, and end. */
void act_deny(struct act *act, enum reason reason, const char *next, const char *fmt, ...)
	PRINTF(4, 5);

/* accept.c: taking over the kept changes of a session. */

/* The selection as it came: NUL-terminated paths, into their one spelling. -EINVAL. */
int act_take_paths(struct act *act, struct wire_bytes paths, struct error *err) MUST_CHECK;
void act_accept(struct act *act, struct session *s);
void accepting_free(struct accepting *x);

/*
 * Find what S, which ACT works on, is bound to, into act->binding, and call FOUND; or deny ACT,
 * which is its end.
 */
void binding_find(struct act *act, const struct session *s, void (*found)(struct act *act));

#endif
