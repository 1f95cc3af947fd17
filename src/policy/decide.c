/*
 * Everything is looked at, whatever came out before, so that an explanation is whole and takes the
 * same way as a decision. What counts is kept as it comes: the first failed check, the ids of the
 * rules that deny, escalate and allow. Only then is the verdict made, in one place.
 */
#include "policy/decide.h"

#include <stdio.h>
#include <string.h>

struct tally {
	const struct builtin *failed, *unavailable; /* the first of each */
	char failed_detail[CHECK_DETAIL_MAX];
	char unavailable_detail[CHECK_DETAIL_MAX];
	const struct rule *broken; /* could not be evaluated */
	const char *broken_why;
	struct verdict by[3]; /* only the rules, by effect */
};

static void
tell(const struct watcher *w, const char *rule, enum effect effect, bool matched, const char *why)
{
	if (w != NULL)
		w->saw(w->user, rule, effect, matched, why);
}

static void
run_checks(const struct inquiry *q, enum stage stage, const struct watcher *w, struct tally *t)
{
	for (const struct builtin *b = BUILTINS; b->id != NULL; b++) {
		char detail[CHECK_DETAIL_MAX] = "";
		enum check_result r;

		if (b->stage != stage ||
		    (b->capabilities & CAPABILITY_BIT(q->question->capability)) == 0)
			continue;
		r = b->check(q, detail);
		if (r == CHECK_SKIP)
			continue;
		tell(w, b->id, EFFECT_DENY, r == CHECK_FAIL, r == CHECK_FAIL ? detail : b->about);
		if (r == CHECK_PASS)
			continue;
		if (stage == STAGE_HERE && t->unavailable == NULL) {
			t->unavailable = b;
			memcpy(t->unavailable_detail, detail, sizeof(detail));
		} else if (stage != STAGE_HERE && t->failed == NULL) {
			t->failed = b;
			memcpy(t->failed_detail, detail, sizeof(detail));
		}
	}
}

static void
run_rules(const struct inquiry *q, const struct watcher *w, struct tally *t)
{
	const struct rules *rs = &q->policy->rules;
	enum capability c = q->question->capability;

	if (!question_is_particular(q->question))
		return;
	for (uint32_t i = rs->start[c]; i < rs->start[c + 1]; i++) {
		const struct rule *r = &rs->all[i];
		const char *why;
		enum match m = rule_match(r, q->question, &why);

		tell(w, r->id, m == MATCH_ERROR ? EFFECT_DENY : r->effect, m != MATCH_NO, why);
		if (m == MATCH_NO)
			continue;
		if (m == MATCH_ERROR && t->broken == NULL) {
			t->broken = r;
			t->broken_why = why;
		}
		verdict_add_rule(&t->by[m == MATCH_ERROR ? EFFECT_DENY : r->effect], r->id);
	}
}

static void
deny_by_rules(const struct tally *t, struct verdict *ret)
{
	if (t->broken != NULL)
		verdict_deny(ret, R_INVALID_REQUEST, NULL, "the rule '%s' cannot be evaluated: %s",
			     t->broken->id, t->broken_why);
	else
		verdict_deny(ret, R_RULE_DENIED, NULL, "the rule '%s' of the profile denies it",
			     t->by[EFFECT_DENY].rules[0]);
	for (uint32_t i = 0; i < t->by[EFFECT_DENY].n_rules; i++)
		verdict_add_rule(ret, t->by[EFFECT_DENY].rules[i]);
}

static void
deny_by_check(const struct builtin *b, const char *detail, struct verdict *ret)
{
	verdict_deny(ret, b->reason, b->id, "%s", detail);
	if (b->next != NULL)
		verdict_next(ret, "%s", b->next);
}

static void
grant(const struct tally *t, enum effect effect, enum reason reason, struct verdict *ret)
{
	*ret = t->by[effect];
	ret->effect = effect;
	ret->reason = reason;
}

static void
conclude(const struct inquiry *q, const struct tally *t, struct verdict *ret)
{
	bool wanted = t->by[EFFECT_ALLOW].n_rules > 0 || t->by[EFFECT_ESCALATE].n_rules > 0;

	if (t->failed != NULL) {
		deny_by_check(t->failed, t->failed_detail, ret);
	} else if (t->by[EFFECT_DENY].n_rules > 0) {
		deny_by_rules(t, ret);
	} else if (!wanted && (t->unavailable == NULL || question_is_particular(q->question))) {
		verdict_deny(ret, R_DEFAULT_DENY, "builtin/default",
			     "no rule of the profile '%s' allows it", q->policy->profile->name);
	} else if (t->unavailable != NULL) {
		deny_by_check(t->unavailable, t->unavailable_detail, ret);
	} else if (t->by[EFFECT_ESCALATE].n_rules > 0) {
		grant(t, EFFECT_ESCALATE, R_APPROVAL_REQUIRED, ret);
		(void)snprintf(ret->detail, sizeof(ret->detail),
			       "the rule '%s' of the profile wants a person to approve it",
			       ret->rules[0]);
		verdict_next(ret, "nobody can approve it in this version; use a profile without "
				  "that rule");
	} else {
		grant(t, EFFECT_ALLOW, R_ALLOWED, ret);
		(void)snprintf(ret->detail, sizeof(ret->detail), "'%s' allows it under '%s'",
			       ret->rules[0], q->workflow->name);
	}
}

/* The workflow's own word, for what happens in a workspace: self has no list of them. */
static void
run_workspace(const struct inquiry *q, const struct watcher *w, struct tally *t)
{
	if (q->question->capability > C_WORKSPACE_ACCEPT)
		return;
	tell(w, "self/workspace", EFFECT_ALLOW, true, "any workspace its user could open");
	if (t->by[EFFECT_ALLOW].n_rules > 0)
		verdict_add_rule(&t->by[EFFECT_ALLOW], "self/workspace");
}

void
evaluate(const struct inquiry *q, bool here, const struct watcher *w, struct verdict *ret)
{
	struct tally t = {0};

	verdict_init(ret);
	if ((unsigned int)q->question->capability >= CAPABILITY_COUNT) {
		verdict_deny(ret, R_UNKNOWN_CAPABILITY, "builtin/capability",
			     "there is no capability number %u", q->question->capability);
		return;
	}
	run_checks(q, STAGE_BIND, w, &t);
	run_checks(q, STAGE_SHAPE, w, &t);
	run_rules(q, w, &t);
	run_workspace(q, w, &t);
	if (here)
		run_checks(q, STAGE_HERE, w, &t);
	conclude(q, &t, ret);
}

void
policy_decide(const struct policy *p, const struct workflow *w, const struct operation *op,
	      struct verdict *ret)
{
	struct asked a;
	struct inquiry q = {.policy = p, .workflow = w, .question = &a.q, .operation = op};

	question_from_operation(op, &a);
	evaluate(&q, true, NULL, ret);
}
