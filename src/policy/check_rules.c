/*
 * `rules` and `protected`. A selector only fits some capabilities; a rule that allows has to say
 * all that its capability has, so that nothing is allowed by leaving something out; and a rule that
 * denies may not be written so that it never applies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/checker.h"
#include "policy/format.h"

#define NET (CAPABILITY_BIT(C_NET_HTTP) | CAPABILITY_BIT(C_NET_CONNECT))
#define REQUESTS (CAPABILITY_BIT(C_NET_HTTP) | CAPABILITY_BIT(C_CREDENTIAL_USE))
#define GITS (CAPABILITY_BIT(C_GIT_FETCH) | CAPABILITY_BIT(C_GIT_PUSH))

/* Which capabilities a selector can look at, and of which an allowing rule has to say it. */
struct selector_row {
	const char *key;
	uint32_t applies;
	uint32_t needed;
};
static const struct selector_row SELECTORS[] = {
	{"hosts", NET | CAPABILITY_BIT(C_CREDENTIAL_USE), NET | CAPABILITY_BIT(C_CREDENTIAL_USE)},
	{"ports", NET | CAPABILITY_BIT(C_CREDENTIAL_USE), NET | CAPABILITY_BIT(C_CREDENTIAL_USE)},
	{"methods", REQUESTS, REQUESTS},
	{"paths", REQUESTS | CAPABILITY_BIT(C_WORKSPACE_ACCEPT), REQUESTS},
	{"repositories", GITS, GITS},
	{"refs", CAPABILITY_BIT(C_GIT_PUSH), CAPABILITY_BIT(C_GIT_PUSH)},
	{"credentials", CAPABILITY_BIT(C_CREDENTIAL_USE), CAPABILITY_BIT(C_CREDENTIAL_USE)},
};

static int
check_rule_paths(struct checker *c, const char *list, size_t i, const json_t *rule,
		 enum field_format format, struct error *err)
{
	struct error why = {0};
	size_t k;
	json_t *p;

	json_array_foreach(
		json_object_get(rule, "paths"), k,
		p) if (format_check(format, json_string_value(p), json_string_length(p), &why) <
		       0) return checker_error(c, checker_path("spec.%s.%zu.paths", list, i), err,
					       "paths: %s", why.text);
	return 0;
}

static int
check_rule(struct checker *c, const char *list, size_t i, const json_t *rule, struct error *err)
{
	const char *name = checker_text(rule, "capability");
	bool allows = strcmp(checker_text(rule, "effect"), "allow") == 0;
	enum capability cap = C_EXEC;

	if (!capability_find(name, strlen(name), &cap))
		return error_set(err, -EINVAL, "a rule about no capability");
	if (allows && !checker_has(c, cap))
		return checker_error(
			c, checker_path("spec.%s.%zu.capability", list, i), err,
			"%s: found a rule that allows %s, which is not among capabilities", list,
			name);
	for (size_t k = 0; k < ARRAY_LEN(SELECTORS); k++) {
		const struct selector_row *s = &SELECTORS[k];
		const json_t *v = json_object_get(rule, s->key);
		struct checker_path where = checker_path("spec.%s.%zu.%s", list, i, s->key);

		if (v == NULL && allows && (s->needed & CAPABILITY_BIT(cap)) != 0)
			return checker_error(
				c, where, err,
				"%s: '%s' is missing; a rule that allows %s has to say it", list,
				s->key, name);
		if (v != NULL && (s->applies & CAPABILITY_BIT(cap)) == 0)
			return checker_error(c, where, err,
					     "%s: found %s in a rule about %s, which has none",
					     list, s->key, name);
		if (v != NULL && json_array_size(v) == 0 && !allows)
			return checker_error(
				c, where, err,
				"%s: found an empty list of %s, so that the rule would never "
				"apply; leave the key out to mean all of them",
				list, s->key);
	}
	return check_rule_paths(c, list, i, rule,
				cap == C_WORKSPACE_ACCEPT ? FORMAT_TREE_GLOB : FORMAT_URL_GLOB,
				err);
}

struct id {
	const char *text;
	struct yaml_position at;
};

static int
id_compare(const void *a, const void *b)
{
	const struct id *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	if (r != 0)
		return r;
	return x->at.line != y->at.line ? (x->at.line < y->at.line ? -1 : 1)
					: (x->at.column < y->at.column ? -1 : 1);
}

static void
gather_ids(struct checker *c, const char *a, const char *b, struct id *ids, size_t *n)
{
	const struct yaml_node *list = yaml_get(yaml_get(yaml_root(c->y), "spec"), a);
	const struct yaml_node *e;

	if (b != NULL)
		list = yaml_get(list, b);
	for (e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		const struct yaml_node *id = yaml_get(e, "id");

		if (id != NULL)
			ids[(*n)++] = (struct id){id->text, id->at};
	}
}

/* A verdict names rules by id, so the three lists that have ids share one space of them. */
static int
check_ids(struct checker *c, struct error *err)
{
	size_t n = json_array_size(checker_get(c, "network", "egress")) +
		   json_array_size(checker_get(c, "protected", NULL)) +
		   json_array_size(checker_get(c, "rules", NULL));
	struct id *ids = calloc(n + 1, sizeof(*ids));
	size_t got = 0;
	int r = 0;

	if (ids == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	gather_ids(c, "network", "egress", ids, &got);
	gather_ids(c, "protected", NULL, ids, &got);
	gather_ids(c, "rules", NULL, ids, &got);
	qsort(ids, got, sizeof(*ids), id_compare);
	for (size_t i = 1; i < got && r == 0; i++)
		if (strcmp(ids[i - 1].text, ids[i].text) == 0)
			r = yaml_error(c->y, ids[i].at, err,
				       "id: found '%s' a second time; the first is at %u:%u",
				       ids[i].text, ids[i - 1].at.line, ids[i - 1].at.column);
	free(ids);
	return r;
}

int
check_rules(struct checker *c, struct error *err)
{
	static const char *const LISTS[] = {"protected", "rules"};
	size_t i;
	json_t *e;

	for (size_t k = 0; k < ARRAY_LEN(LISTS); k++)
		json_array_foreach(checker_get(c, LISTS[k], NULL), i, e)
		{
			int r = check_rule(c, LISTS[k], i, e, err);

			if (r < 0)
				return r;
		}
	return check_ids(c, err);
}
