/*
 * From bytes to a policy, in one direction: YAML tree, effective document, checks over both,
 * canonical bytes, sealed profile, compiled rules, tests. The sealed profile is read back from the
 * canonical bytes, by the reader that the box uses, so that no other form of it ever decides.
 */
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/check.h"
#include "policy/checker.h"
#include "policy/decide.h"
#include "policy/read.h"
#include "policy/shipped.h"

void
policy_free(struct policy *p)
{
	if (p == NULL)
		return;
	rules_fini(&p->rules);
	profile_free(p->profile);
	free(p);
}

void
policy_freep(struct policy **p)
{
	policy_free(*p);
	*p = NULL;
}

const struct profile *
policy_profile(const struct policy *p)
{
	return p->profile;
}

int
policy_load_canonical(const void *data, size_t len, struct policy **ret, struct error *err)
{
	CLEANUP(policy_freep) struct policy *p = calloc(1, sizeof(*p));
	int r;

	if (p == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = profile_read_canonical(data, len, &p->profile, err);
	if (r == 0)
		r = rules_compile(p->profile, &p->rules, err);
	if (r == 0)
		*ret = TAKE_PTR(p);
	return r;
}

/* ---- tests of a profile ---------------------------------------------------------------------- */

static int
test_failed(const struct yaml *y, size_t i, const struct verdict *v, const json_t *test,
	    struct error *err)
{
	const struct yaml_node *list = yaml_get(yaml_get(yaml_root(y), "spec"), "tests");
	const struct yaml_node *node = yaml_at(list, i);
	const json_t *reason = json_object_get(test, "reason");

	return yaml_error(y, yaml_where(node != NULL ? node : yaml_root(y)), err,
			  "tests: found the verdict %s (%s, by %s) and not %s%s%s: %s",
			  effect_name(v->effect), reason_code(v->reason),
			  v->n_rules > 0 ? v->rules[0] : "no rule", checker_text(test, "expect"),
			  reason != NULL ? ", " : "", checker_text(test, "reason"), v->detail);
}

static int
run_tests(const struct policy *p, const struct yaml *y, struct error *err)
{
	const json_t *tests = json_object_get(json_object_get(p->profile->json, "spec"), "tests");
	struct workflow self;
	size_t i;
	json_t *test;
	int r = workflow_find(WORKFLOW_SELF, 0, &self, err);

	if (r < 0)
		return r;
	json_array_foreach(tests, i, test)
	{
		const char *reason = json_string_value(json_object_get(test, "reason"));
		struct asked a;
		struct inquiry q = {.policy = p, .workflow = &self, .question = &a.q};
		struct verdict v;
		struct error why = {0};

		if (question_from_request(json_object_get(test, "request"), &a, &why) < 0)
			verdict_deny(&v, R_INVALID_REQUEST, "builtin/request", "%s", why.text);
		else
			evaluate(&q, false, NULL, &v);
		if (strcmp(effect_name(v.effect), checker_text(test, "expect")) != 0 ||
		    (reason != NULL && strcmp(reason_code(v.reason), reason) != 0))
			return test_failed(y, i, &v, test, err);
	}
	return 0;
}

/* ---- loading -----------------------------------------------------------------------------------
 */

static int
seal(const json_t *doc, struct policy **ret, struct error *err)
{
	struct buf b;
	int r;

	buf_init(&b, PROFILE_CANONICAL_MAX);
	r = json_write_canonical(doc, &b, err);
	if (r == 0)
		r = buf_check(&b, err);
	if (r == 0)
		r = policy_load_canonical(b.data, b.len, ret, err);
	buf_fini(&b);
	return r;
}

static int
load(const struct policy_source *src, bool shipped, struct policy **ret, struct error *err)
{
	CLEANUP(yaml_freep) struct yaml *y = NULL;
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(policy_freep) struct policy *p = NULL;
	const struct yaml_node *name;
	int r = yaml_read(src->data, src->len, src->file, &y, err);

	if (r == 0)
		r = read_value(y, yaml_root(y), &PROFILE_FIELDS, &doc, err);
	if (r < 0)
		return r;
	name = yaml_get(yaml_get(yaml_root(y), "metadata"), "name");
	if (!shipped && name != NULL && policy_is_shipped(name->text))
		return yaml_error(y, name->at, err,
				  "name: found '%s', which is a shipped profile; "
				  "a profile of your own needs another name",
				  name->text);
	r = check_profile(y, doc, src, err);
	if (r == 0)
		r = seal(doc, &p, err);
	if (r == 0)
		r = run_tests(p, y, err);
	if (r < 0)
		return r;
	p->profile->shipped = shipped;
	*ret = TAKE_PTR(p);
	return 0;
}

int
policy_load(const struct policy_source *src, struct policy **ret, struct error *err)
{
	return load(src, false, ret, err);
}

size_t
policy_shipped_count(void)
{
	return SHIPPED_COUNT;
}

const char *
policy_shipped_name(size_t i)
{
	return i < SHIPPED_COUNT ? SHIPPED[i].name : NULL;
}

const char *
policy_shipped_text(size_t i, size_t *ret_len)
{
	if (i >= SHIPPED_COUNT)
		return NULL;
	*ret_len = SHIPPED[i].len;
	return SHIPPED[i].text;
}

bool
policy_is_shipped(const char *name)
{
	for (size_t i = 0; i < SHIPPED_COUNT; i++)
		if (strcmp(SHIPPED[i].name, name) == 0)
			return true;
	return false;
}

int
policy_shipped(size_t i, struct policy **ret, struct error *err)
{
	struct policy_source src;

	if (i >= SHIPPED_COUNT)
		return error_set(err, -ENOENT, "there are %zu shipped profiles", SHIPPED_COUNT);
	src = (struct policy_source){
		.file = SHIPPED[i].name, .data = SHIPPED[i].text, .len = SHIPPED[i].len};
	return load(&src, true, ret, err);
}
