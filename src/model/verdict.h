/*
 * Capabilities, reason codes and the verdict: plain data. A verdict starts as a denial with
 * R_INTERNAL (verdict_init), so that a forgotten path denies.
 */
#ifndef LOOM_MODEL_VERDICT_H
#define LOOM_MODEL_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

enum capability {
#define CAPABILITY(constant, name, implemented) constant,
#include "model/capability.def"
#undef CAPABILITY
	CAPABILITY_COUNT,
};
#define CAPABILITY_BIT(c) (UINT32_C(1) << (c))

const char *capability_name(enum capability c);
bool capability_implemented(enum capability c);
/* false: no such name. Exact, case-sensitive. */
bool capability_find(const char *name, size_t len, enum capability *ret);

enum reason {
#define REASON(constant, code, sentence) constant,
#include "model/reason.def"
#undef REASON
	REASON_COUNT,
};
const char *reason_code(enum reason r);
const char *reason_sentence(enum reason r);
bool reason_find(const char *code, enum reason *ret);

enum effect { EFFECT_DENY = 0, EFFECT_ESCALATE = 1, EFFECT_ALLOW = 2 };
const char *effect_name(enum effect e); /* "deny", "escalate", "allow" */

#define VERDICT_RULES_MAX 8
#define RULE_ID_MAX 64
#define VERDICT_DETAIL_MAX 256
#define VERDICT_NEXT_MAX 256

struct verdict {
	enum effect effect;
	enum reason reason;
	uint32_t n_rules;                          /* rules that decided, in order */
	char rules[VERDICT_RULES_MAX][RULE_ID_MAX];
	char detail[VERDICT_DETAIL_MAX];           /* one sentence; escaped when printed */
	char next[VERDICT_NEXT_MAX];               /* what the caller can do; may be empty */
};

void verdict_init(struct verdict *v);
void verdict_deny(struct verdict *v, enum reason r, const char *rule, const char *fmt, ...)
	PRINTF(4, 5);
void verdict_next(struct verdict *v, const char *fmt, ...) PRINTF(2, 3);
void verdict_add_rule(struct verdict *v, const char *rule);
/* The weaker of two (deny < escalate < allow): A becomes it; its rules are kept, of both if allowed. */
void verdict_meet(struct verdict *a, const struct verdict *b);
/* {"verdict","reason","rule","detail","operation","next":[…]}; OP may be NULL. NULL: no memory. */
json_t *verdict_json(const struct verdict *v, const char *op) MUST_CHECK;

#endif
