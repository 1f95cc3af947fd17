/*
 * Names come from the two .def files, so that a constant without a name cannot exist. A verdict is
 * a denial from its first moment and only becomes something else by being written over whole.
 */
#include "model/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

struct capability_row {
	const char *name;
	bool implemented;
};
static const struct capability_row CAPABILITIES[] = {
#define CAPABILITY(constant, text, here) [constant] = {text, (here) != 0},
#include "model/capability.def"
#undef CAPABILITY
};
_Static_assert(ARRAY_LEN(CAPABILITIES) == CAPABILITY_COUNT, "a row for each capability");
_Static_assert(CAPABILITY_COUNT <= 32, "CAPABILITY_BIT fits a uint32_t");

struct reason_row {
	const char *code;
	const char *sentence;
};
static const struct reason_row REASONS[] = {
#define REASON(constant, code_text, sentence_text) [constant] = {code_text, sentence_text},
#include "model/reason.def"
#undef REASON
};
_Static_assert(ARRAY_LEN(REASONS) == REASON_COUNT, "a row for each reason");

const char *
capability_name(enum capability c)
{
	return (unsigned int)c < CAPABILITY_COUNT ? CAPABILITIES[c].name : "unknown";
}

bool
capability_implemented(enum capability c)
{
	return (unsigned int)c < CAPABILITY_COUNT && CAPABILITIES[c].implemented;
}

bool
capability_find(const char *name, size_t len, enum capability *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(CAPABILITIES); i++) {
		if (strlen(CAPABILITIES[i].name) != len ||
		    memcmp(CAPABILITIES[i].name, name, len) != 0)
			continue;
		*ret = (enum capability)i;
		return true;
	}
	return false;
}

const char *
reason_code(enum reason r)
{
	return REASONS[(unsigned int)r < REASON_COUNT ? r : R_INTERNAL].code;
}

const char *
reason_sentence(enum reason r)
{
	return REASONS[(unsigned int)r < REASON_COUNT ? r : R_INTERNAL].sentence;
}

bool
reason_find(const char *code, enum reason *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(REASONS); i++) {
		if (strcmp(REASONS[i].code, code) != 0)
			continue;
		*ret = (enum reason)i;
		return true;
	}
	return false;
}

const char *
effect_name(enum effect e)
{
	static const char *const NAMES[] = {"deny", "escalate", "allow"};

	return (unsigned int)e < ARRAY_LEN(NAMES) ? NAMES[e] : NAMES[EFFECT_DENY];
}

void
verdict_init(struct verdict *v)
{
	*v = (struct verdict){.effect = EFFECT_DENY, .reason = R_INTERNAL};
}

void
verdict_deny(struct verdict *v, enum reason r, const char *rule, const char *fmt, ...)
{
	va_list ap;

	verdict_init(v);
	v->reason = r;
	if (rule != NULL && rule[0] != '\0')
		verdict_add_rule(v, rule);
	va_start(ap, fmt);
	(void)vsnprintf(v->detail, sizeof(v->detail), fmt, ap);
	va_end(ap);
}

void
verdict_next(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(v->next, sizeof(v->next), fmt, ap);
	va_end(ap);
}

void
verdict_add_rule(struct verdict *v, const char *rule)
{
	size_t len = strnlen(rule, RULE_ID_MAX - 1);

	if (v->n_rules >= VERDICT_RULES_MAX)
		return;
	memcpy(v->rules[v->n_rules], rule, len);
	v->rules[v->n_rules][len] = '\0';
	v->n_rules++;
}

void
verdict_meet(struct verdict *a, const struct verdict *b)
{
	if (b->effect < a->effect) {
		*a = *b;
		return;
	}
	if (a->effect != EFFECT_ALLOW || b->effect != EFFECT_ALLOW)
		return;
	for (uint32_t i = 0; i < b->n_rules && i < VERDICT_RULES_MAX; i++)
		verdict_add_rule(a, b->rules[i]);
}

/* TEXT escaped for a terminal; what vsnprintf cut in the middle of a character is escaped too. */
static json_t *
escaped(const char *text, size_t len)
{
	struct buf b;
	json_t *ret = NULL;

	buf_init(&b, 4 * VERDICT_DETAIL_MAX + 4);
	text_escape(text, len, &b);
	if (!b.failed)
		ret = json_stringn(b.data, b.len);
	buf_fini(&b);
	return ret;
}

/* NEXT holds one thing to do a line. */
static json_t *
next_list(const char *next)
{
	json_t *list = json_array();

	while (list != NULL && next[0] != '\0') {
		size_t len = strcspn(next, "\n");

		if (len > 0 && json_array_append_new(list, escaped(next, len)) < 0) {
			json_decref(list);
			return NULL;
		}
		next += len + (next[len] == '\n');
	}
	return list;
}

json_t *
verdict_json(const struct verdict *v, const char *op)
{
	const char *detail = v->detail[0] != '\0' ? v->detail : reason_sentence(v->reason);
	json_t *ret = json_object();
	int r;

	if (ret == NULL)
		return NULL;
	/* The _new setters fail on a NULL value and drop the reference otherwise. */
	r = json_object_set_new(ret, "verdict", json_string(effect_name(v->effect)));
	r |= json_object_set_new(ret, "reason", json_string(reason_code(v->reason)));
	r |= json_object_set_new(ret, "rule", json_string(v->n_rules > 0 ? v->rules[0] : ""));
	r |= json_object_set_new(ret, "detail", escaped(detail, strlen(detail)));
	if (op != NULL)
		r |= json_object_set_new(ret, "operation", json_string(op));
	r |= json_object_set_new(ret, "next", next_list(v->next));
	if (r != 0) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}
