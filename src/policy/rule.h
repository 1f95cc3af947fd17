/*
 * The rules of a profile, compiled: egress, git, credentials, `protected`, `rules` and the plain
 * list of capabilities all become the same thing, an effect on a capability under selectors. A
 * selector that was not written looks at nothing; one that was has to match.
 */
#ifndef LOOM_POLICY_RULE_H
#define LOOM_POLICY_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/profile.h"
#include "model/verdict.h"
#include "policy/glob.h"
#include "policy/question.h"

enum selector_kind {
	SELECT_HOSTS,
	SELECT_PORTS,
	SELECT_METHODS,
	SELECT_PATHS,
	SELECT_REPOSITORIES,
	SELECT_REFS,
	SELECT_CREDENTIALS,
	SELECTOR_COUNT,
};

struct selector {
	bool said;
	uint32_t n;
	const char **texts; /* borrowed from the profile's JSON */
	uint32_t *numbers;
	struct glob *globs;
	uint16_t *tokens; /* of all globs */
};

struct rule {
	char id[RULE_ID_MAX];
	enum effect effect;
	enum capability capability;
	struct selector selectors[SELECTOR_COUNT];
};

struct rules {
	struct rule *all; /* by capability, and within one in the order they were written */
	uint32_t n, room;
	uint32_t start[CAPABILITY_COUNT + 1];
};

/* P has to outlive RET. */
int rules_compile(const struct profile *p, struct rules *ret, struct error *err) MUST_CHECK;
void rules_fini(struct rules *r);

/* MATCH_ERROR: the rule looks at something the question does not say. */
enum match { MATCH_NO, MATCH_YES, MATCH_ERROR };
/* *ret_why: a few words on what decided the answer; static. */
enum match rule_match(const struct rule *r, const struct question *q, const char **ret_why);

#endif
