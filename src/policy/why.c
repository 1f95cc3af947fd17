/*
 * Explanations are made by watching the evaluator, never by a second one. The request is read like
 * any configuration; a capability that does not exist is looked for first, because that is a reason
 * of its own.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/decide.h"
#include "policy/read.h"

struct explanation {
	json_t *considered;
	bool no_memory;
};

static json_t *
text_value(const char *text)
{
	struct buf b;
	json_t *ret = NULL;

	buf_init(&b, 8192);
	text_escape(text, strlen(text), &b);
	if (!b.failed)
		ret = json_stringn(b.data, b.len);
	buf_fini(&b);
	return ret;
}

static void
saw(void *user, const char *rule, enum effect effect, bool matched, const char *why)
{
	struct explanation *x = user;
	json_t *row =
		json_pack("{s:o,s:s,s:b,s:o}", "rule", text_value(rule), "effect",
			  effect_name(effect), "matched", (int)matched, "why", text_value(why));

	if (row == NULL || json_array_append_new(x->considered, row) < 0)
		x->no_memory = true;
}

/* A capability that is no capability: what was meant? */
static bool
unknown_capability(const struct yaml *y, struct verdict *v)
{
	const struct yaml_node *n = yaml_get(yaml_root(y), "capability");
	const char *names[CAPABILITY_COUNT + 1] = {NULL};
	char hint[READ_HINT_MAX];
	enum capability c;

	if (n == NULL || n->kind != YAML_SCALAR || capability_find(n->text, n->len, &c))
		return false;
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		names[i] = capability_name((enum capability)i);
	read_hint(n->text, n->len, names, hint);
	verdict_deny(v, R_UNKNOWN_CAPABILITY, "builtin/capability", "there is no capability '%s'%s",
		     field_show(n->text, n->len).text, hint);
	return true;
}

/* Read the request and decide it. -ENOMEM, or 0 with a verdict. */
static int
decide_request(const struct policy *p, const struct workflow *w, const void *request, size_t len,
	       struct explanation *x, json_t **ret_request, struct verdict *ret, struct error *err)
{
	CLEANUP(yaml_freep) struct yaml *y = NULL;
	struct watcher watcher = {.saw = saw, .user = x};
	struct error why = {0};
	struct asked a;
	struct inquiry q = {.policy = p, .workflow = w, .question = &a.q};
	int r = yaml_read(request, len, "request", &y, &why);

	if (r == 0 && unknown_capability(y, ret)) {
		saw(x, "builtin/capability", EFFECT_DENY, true, ret->detail);
		return 0;
	}
	if (r == 0)
		r = read_value(y, yaml_root(y), &REQUEST_FIELDS, ret_request, &why);
	if (r == 0)
		r = question_from_request(*ret_request, &a, &why);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (r == 0) {
		evaluate(&q, true, &watcher, ret);
	} else {
		verdict_deny(ret, R_INVALID_REQUEST, "builtin/request", "%s", why.text);
		saw(x, "builtin/request", EFFECT_DENY, true, why.text);
	}
	return 0;
}

static json_t *
rules_value(const struct verdict *v)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list != NULL && i < v->n_rules; i++)
		if (json_array_append_new(list, text_value(v->rules[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int
write_answer(const struct policy *p, const struct workflow *w, const json_t *request,
	     const struct verdict *v, json_t *considered, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *doc = verdict_json(v, NULL);
	const json_t *capability = json_object_get(request, "capability");
	char digest[2 * SHA256_LEN + 1];
	int r = doc != NULL ? 0 : -1;

	hex_encode(p->profile->digest, SHA256_LEN, digest);
	if (r == 0 && capability != NULL)
		r = json_object_set(doc, "capability", (json_t *)capability);
	if (r == 0)
		r = json_object_set_new(
			doc, "profile",
			json_pack("{s:s,s:s}", "digest", digest, "name", p->profile->name));
	if (r == 0)
		r = json_object_set_new(doc, "workflow", json_string(w->name));
	if (r == 0)
		r = json_object_set_new(doc, "rules", rules_value(v));
	if (r == 0)
		r = json_object_set(doc, "considered", considered);
	if (r != 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = json_write_canonical(doc, out, err);
	return r < 0 ? r : buf_check(out, err);
}

int
policy_why(const struct policy *p, const struct workflow *w, const void *request, size_t len,
	   struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *considered = json_array(), *read = NULL;
	struct explanation x = {.considered = considered, .no_memory = considered == NULL};
	struct verdict v;
	int r = 0;

	verdict_init(&v);
	if (!x.no_memory)
		r = decide_request(p, w, request, len, &x, &read, &v, err);
	if (r == 0 && x.no_memory)
		r = error_set(err, -ENOMEM, "out of memory");
	return r < 0 ? r : write_answer(p, w, read, &v, considered, out, err);
}
