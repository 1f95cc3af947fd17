/*
 * A run needs several capabilities at once: to execute, to read the workspace, and to write it
 * unless it is mounted read-only. Each is judged by the one evaluator and the verdicts are met, so
 * the weakest decides and all rules that allowed are named.
 */
#include <stdio.h>
#include <string.h>

#include "authority/authority.h"
#include "authority/run.h"
#include "base/json.h"

static void
copy_text(char *out, size_t cap, const char *text)
{
	(void)snprintf(out, cap, "%s", text);
}

void
run_operation(const struct run *r, struct operation *op)
{
	const struct settings *s = &r->authority->settings;

	op->capability = C_EXEC;
	op->identity = (struct identity){.kind = "agent", .name = SELF_IDENTITY, .uid = r->uid};
	/* The owner is a name we know only for the user whom we serve. */
	if (r->uid == s->uid)
		copy_text(op->identity.owner, sizeof(op->identity.owner), s->owner);
	copy_text(op->op, sizeof(op->op), r->op);
	copy_text(op->session, sizeof(op->session), r->session_id);
	copy_text(op->workflow, sizeof(op->workflow), r->workflow.name);
	copy_text(op->profile_name, sizeof(op->profile_name), r->profile_name);
	memset(op->profile_digest, 0, sizeof(op->profile_digest));
	op->mode = WORKSPACE_OVERLAY;
	if (r->slot != NULL) {
		memcpy(op->profile_digest, r->slot->profile->digest, sizeof(op->profile_digest));
		op->mode = r->slot->profile->workspace_mode;
	}
	op->fresh = !r->continues;
	/* A number that no record can hold is denied; the record then has the largest it can. */
	op->timeout_ms = r->timeout_ms < JSON_INT_MAX ? r->timeout_ms : JSON_INT_MAX;
	op->tty = (r->flags & RUN_TTY) != 0;
	memset(op->manifest, 0, sizeof(op->manifest));
	op->paths = NULL;
}

/* The capabilities of a run are mostly allowed by the same rules: each is named once. */
static void
rules_once(struct verdict *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_rules; i++) {
		uint32_t k = 0;

		while (k < n && strcmp(v->rules[k], v->rules[i]) != 0)
			k++;
		if (k < n)
			continue;
		if (n != i)
			memcpy(v->rules[n], v->rules[i], sizeof(v->rules[n]));
		n++;
	}
	v->n_rules = n;
}

void
run_decide(const struct run *r, struct operation *op, struct verdict *ret)
{
	static const enum capability needed[] = {C_EXEC, C_WORKSPACE_READ, C_WORKSPACE_WRITE};
	size_t n = op->mode == WORKSPACE_READ_ONLY ? 2 : 3;
	struct verdict one;

	for (size_t i = 0; i < n; i++) {
		op->capability = needed[i];
		policy_decide(r->slot->policy, &r->workflow, op, &one);
		if (i == 0)
			*ret = one;
		else
			verdict_meet(ret, &one);
		rules_once(ret);
	}
	op->capability = C_EXEC;
}
