/*
 * The one evaluator. Checks come in three stages around the rules of the profile:
 *
 *   BIND   is this request bound to this profile and workflow, and is it a capability of both?
 *   SHAPE  is what is asked for well-formed and within the limits?
 *   (rules)
 *   HERE   can this build and machine do it? Left out when a profile's `tests:` are run, because a
 *          profile is right or wrong wherever it is read.
 */
#ifndef LOOM_POLICY_DECIDE_H
#define LOOM_POLICY_DECIDE_H

#include <stdbool.h>

#include "model/operation.h"
#include "model/verdict.h"
#include "policy/policy.h"
#include "policy/question.h"
#include "policy/rule.h"

struct policy {
	struct profile *profile;
	struct rules rules;
};

enum stage { STAGE_BIND, STAGE_SHAPE, STAGE_HERE };

struct inquiry {
	const struct policy *policy;
	const struct workflow *workflow;
	const struct question *question;
	const struct operation *operation; /* NULL: a request that is only asked about */
};

/* CHECK_SKIP: it does not apply. */
enum check_result { CHECK_SKIP, CHECK_PASS, CHECK_FAIL };

#define CHECK_DETAIL_MAX 192

struct builtin {
	const char *id;
	enum stage stage;
	uint32_t capabilities; /* CAPABILITY_BIT()s it is about */
	enum reason reason;    /* of the denial when it fails */
	/* DETAIL gets a sentence when it fails. */
	enum check_result (*check)(const struct inquiry *q, char detail[CHECK_DETAIL_MAX]);
	const char *about; /* what passing it means */
	const char *next;  /* what to do when it fails; NULL: nothing */
};
/* In the order in which their reasons count; ends with a NULL id. */
extern const struct builtin BUILTINS[];

/* Told of everything that is looked at. EFFECT: what the rule does when it matches. */
struct watcher {
	void (*saw)(void *user, const char *rule, enum effect effect, bool matched,
		    const char *why);
	void *user;
};

/* Allocates nothing itself. WATCHER may be NULL. */
void evaluate(const struct inquiry *q, bool here, const struct watcher *watcher,
	      struct verdict *ret);

#endif
