/*
 * The profile was checked before: what is compiled here has its types and formats. Compiled rules
 * are sorted by capability (counting, so that the written order stays), and a decision only looks
 * at the ones about its own.
 */
#include "policy/rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 100000

/* ---- compiling ----------------------------------------------------------------------------- */

static int
selector_globs(struct selector *s, const json_t *list, struct error *err)
{
	size_t total = 0, i;
	json_t *v;

	json_array_foreach(list, i, v) total += json_string_length(v);
	s->globs = calloc(s->n + 1, sizeof(*s->globs));
	s->tokens = calloc(total + 1, sizeof(*s->tokens));
	if (s->globs == NULL || s->tokens == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	total = 0;
	json_array_foreach(list, i, v)
	{
		int n = glob_compile(json_string_value(v), json_string_length(v),
				     s->tokens + total);

		if (n < 0)
			return error_set(err, -EINVAL, "a pattern that is none");
		s->globs[i] = (struct glob){.n = (uint32_t)n, .tokens = s->tokens + total};
		total += (size_t)n;
	}
	return 0;
}

static int
selector_texts(struct selector *s, const json_t *list, struct error *err)
{
	size_t i;
	json_t *v;

	s->texts = calloc(s->n + 1, sizeof(*s->texts));
	if (s->texts == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	json_array_foreach(list, i, v) s->texts[i] = json_string_value(v);
	return 0;
}

static int
selector_numbers(struct selector *s, const json_t *list, struct error *err)
{
	size_t i;
	json_t *v;

	s->numbers = calloc(s->n + 1, sizeof(*s->numbers));
	if (s->numbers == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	json_array_foreach(list, i, v) s->numbers[i] = (uint32_t)json_integer_value(v);
	return 0;
}

struct selector_type {
	const char *key;
	int (*compile)(struct selector *s, const json_t *list, struct error *err);
	enum match (*match)(const struct selector *s, const struct rule *r,
			    const struct question *q);
	const char *no; /* when it does not match */
	const char *unsaid;
};

static enum match match_hosts(const struct selector *, const struct rule *,
			      const struct question *);
static enum match match_ports(const struct selector *, const struct rule *,
			      const struct question *);
static enum match match_methods(const struct selector *, const struct rule *,
				const struct question *);
static enum match match_paths(const struct selector *, const struct rule *,
			      const struct question *);
static enum match match_repositories(const struct selector *, const struct rule *,
				     const struct question *);
static enum match match_refs(const struct selector *, const struct rule *, const struct question *);
static enum match match_credentials(const struct selector *, const struct rule *,
				    const struct question *);

static const struct selector_type TYPES[SELECTOR_COUNT] = {
	[SELECT_HOSTS] = {"hosts", selector_texts, match_hosts, "another host", "no host was said"},
	[SELECT_PORTS] = {"ports", selector_numbers, match_ports, "another port",
			  "no port was said"},
	[SELECT_METHODS] = {"methods", selector_texts, match_methods, "another method",
			    "no method was said"},
	[SELECT_PATHS] = {"paths", selector_globs, match_paths, "another path", "no path was said"},
	[SELECT_REPOSITORIES] = {"repositories", selector_texts, match_repositories,
				 "another repository", "no repository was said"},
	[SELECT_REFS] = {"refs", selector_globs, match_refs, "another ref", "no ref was said"},
	[SELECT_CREDENTIALS] = {"credentials", selector_texts, match_credentials,
				"another credential", "no credential was said"},
};

static int
selector_set(struct rule *r, enum selector_kind kind, const json_t *list, struct error *err)
{
	struct selector *s = &r->selectors[kind];

	s->said = true;
	s->n = (uint32_t)json_array_size(list);
	return TYPES[kind].compile(s, list, err);
}

static struct rule *
rule_add(struct rules *rs, enum effect effect, enum capability cap, struct error *err)
{
	struct rule *r;

	if (rs->n == rs->room) {
		uint32_t room = rs->room > 0 ? rs->room * 2 : 16;

		r = rs->n < RULES_MAX ? reallocarray(rs->all, room, sizeof(*r)) : NULL;
		if (r == NULL) {
			(void)error_set(err, -ENOMEM, "out of memory for %u rules", rs->n);
			return NULL;
		}
		rs->all = r;
		rs->room = room;
	}
	r = &rs->all[rs->n++];
	*r = (struct rule){.effect = effect, .capability = cap};
	return r;
}

/* A rule with the selectors that OBJ has. */
static int
rule_from(struct rules *rs, enum effect effect, enum capability cap, const char *id,
	  const json_t *obj, struct error *err)
{
	struct rule *r = rule_add(rs, effect, cap, err);

	if (r == NULL)
		return -ENOMEM;
	(void)snprintf(r->id, sizeof(r->id), "%s", id);
	for (int k = 0; k < SELECTOR_COUNT; k++) {
		const json_t *list = json_object_get(obj, TYPES[k].key);
		int e = list != NULL ? selector_set(r, (enum selector_kind)k, list, err) : 0;

		if (e < 0)
			return e;
	}
	return 0;
}

static const char *
text_of(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s != NULL ? s : "";
}

static int
compile_capabilities(struct rules *rs, const struct profile *p, struct error *err)
{
	static const enum capability PLAIN[] = {C_EXEC, C_WORKSPACE_READ, C_WORKSPACE_WRITE,
						C_WORKSPACE_ACCEPT};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(PLAIN) && r == 0; i++)
		if ((p->capabilities & CAPABILITY_BIT(PLAIN[i])) != 0)
			r = rule_from(rs, EFFECT_ALLOW, PLAIN[i], "profile/capabilities", NULL,
				      err);
	return r;
}

static int
compile_egress(struct rules *rs, const json_t *spec, struct error *err)
{
	size_t i;
	json_t *e;
	int r = 0;

	json_array_foreach(json_object_get(json_object_get(spec, "network"), "egress"), i, e)
	{
		bool inspect = strcmp(text_of(e, "tls"), "inspect") == 0;

		r = rule_from(rs, EFFECT_ALLOW, inspect ? C_NET_HTTP : C_NET_CONNECT,
			      text_of(e, "id"), e, err);
		if (r < 0)
			break;
	}
	return r;
}

/* KEY with the one text VALUE. */
static int
one_text(struct rules *rs, enum selector_kind kind, json_t *value, struct error *err)
{
	json_t *list = json_pack("[O]", value);
	int r;

	if (list == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = selector_set(&rs->all[rs->n - 1], kind, list, err);
	json_decref(list); /* the text itself stays the profile's */
	return r;
}

static int
compile_git(struct rules *rs, const json_t *spec, struct error *err)
{
	size_t i;
	json_t *e;
	int r = 0;

	json_array_foreach(json_object_get(spec, "git"), i, e)
	{
		json_t *repository = json_object_get(e, "repository");
		const json_t *push = json_object_get(e, "push");
		char id[RULE_ID_MAX];

		(void)snprintf(id, sizeof(id), "profile/git-%zu", i);
		if (strcmp(text_of(e, "fetch"), "allow") == 0) {
			r = rule_from(rs, EFFECT_ALLOW, C_GIT_FETCH, id, NULL, err);
			if (r == 0)
				r = one_text(rs, SELECT_REPOSITORIES, repository, err);
		}
		if (r == 0 && push != NULL) {
			r = rule_from(rs, EFFECT_ALLOW, C_GIT_PUSH, id, push, err);
			if (r == 0)
				r = one_text(rs, SELECT_REPOSITORIES, repository, err);
		}
		if (r < 0)
			break;
	}
	return r;
}

static int
compile_credentials(struct rules *rs, const json_t *spec, struct error *err)
{
	size_t i, j;
	json_t *e, *to;
	int r;

	json_array_foreach(json_object_get(spec, "credentials"), i, e)
		json_array_foreach(json_object_get(e, "to"), j, to)
	{
		char id[RULE_ID_MAX];

		(void)snprintf(id, sizeof(id), "credential/%s", text_of(e, "name"));
		r = rule_from(rs, EFFECT_ALLOW, C_CREDENTIAL_USE, id, to, err);
		if (r == 0)
			r = one_text(rs, SELECT_CREDENTIALS, json_object_get(e, "name"), err);
		if (r == 0)
			r = one_text(rs, SELECT_HOSTS, json_object_get(to, "host"), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
compile_written(struct rules *rs, const json_t *list, struct error *err)
{
	size_t i;
	json_t *e;
	int r = 0;

	json_array_foreach(list, i, e)
	{
		const char *cap_name = text_of(e, "capability"), *effect = text_of(e, "effect");
		enum effect what = EFFECT_ESCALATE; /* `protected` has no effect of its own */
		enum capability cap = C_EXEC;

		if (!capability_find(cap_name, strlen(cap_name), &cap))
			return error_set(err, -EINVAL, "a rule about no capability");
		if (strcmp(effect, effect_name(EFFECT_DENY)) == 0)
			what = EFFECT_DENY;
		else if (strcmp(effect, effect_name(EFFECT_ALLOW)) == 0)
			what = EFFECT_ALLOW;
		r = rule_from(rs, what, cap, text_of(e, "id"), e, err);
		if (r < 0)
			break;
	}
	return r;
}

static int
sort_by_capability(struct rules *rs, struct error *err)
{
	struct rule *sorted = calloc(rs->n + 1, sizeof(*sorted));
	uint32_t next[CAPABILITY_COUNT];

	if (sorted == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < rs->n; i++)
		rs->start[rs->all[i].capability + 1]++;
	for (uint32_t c = 0; c < CAPABILITY_COUNT; c++) {
		rs->start[c + 1] += rs->start[c];
		next[c] = rs->start[c];
	}
	for (uint32_t i = 0; i < rs->n; i++)
		sorted[next[rs->all[i].capability]++] = rs->all[i];
	free(rs->all);
	rs->all = sorted;
	rs->room = rs->n;
	return 0;
}

int
rules_compile(const struct profile *p, struct rules *ret, struct error *err)
{
	const json_t *spec = json_object_get(p->json, "spec");
	struct rules rs = {0};
	int r = compile_capabilities(&rs, p, err);

	if (r == 0)
		r = compile_egress(&rs, spec, err);
	if (r == 0)
		r = compile_git(&rs, spec, err);
	if (r == 0)
		r = compile_credentials(&rs, spec, err);
	if (r == 0)
		r = compile_written(&rs, json_object_get(spec, "protected"), err);
	if (r == 0)
		r = compile_written(&rs, json_object_get(spec, "rules"), err);
	if (r == 0)
		r = sort_by_capability(&rs, err);
	if (r < 0) {
		rules_fini(&rs);
		return r;
	}
	*ret = rs;
	return 0;
}

void
rules_fini(struct rules *rs)
{
	for (uint32_t i = 0; i < rs->n; i++)
		for (int k = 0; k < SELECTOR_COUNT; k++) {
			struct selector *s = &rs->all[i].selectors[k];

			free(s->texts);
			free(s->numbers);
			free(s->globs);
			free(s->tokens);
		}
	free(rs->all);
	*rs = (struct rules){0};
}

/* ---- matching ------------------------------------------------------------------------------ */

static enum match
match_text(const struct selector *s, const char *text)
{
	if (text == NULL)
		return MATCH_ERROR;
	for (uint32_t i = 0; i < s->n; i++)
		if (strcmp(s->texts[i], text) == 0)
			return MATCH_YES;
	return MATCH_NO;
}

static enum match
match_glob(const struct selector *s, const char *text)
{
	size_t len;

	if (text == NULL)
		return MATCH_ERROR;
	len = strlen(text);
	for (uint32_t i = 0; i < s->n; i++)
		if (glob_match(&s->globs[i], text, len))
			return MATCH_YES;
	return MATCH_NO;
}

static enum match
match_hosts(const struct selector *s, const struct rule *r, const struct question *q)
{
	if (q->host == NULL)
		return MATCH_ERROR;
	for (uint32_t i = 0; i < s->n; i++)
		if (host_pattern_match(s->texts[i], q->host))
			return MATCH_YES;
	return MATCH_NO;
}

static enum match
match_ports(const struct selector *s, const struct rule *r, const struct question *q)
{
	if (q->port == 0)
		return MATCH_ERROR;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->numbers[i] == q->port)
			return MATCH_YES;
	return MATCH_NO;
}

static enum match
match_methods(const struct selector *s, const struct rule *r, const struct question *q)
{
	return match_text(s, q->method);
}

/*
 * Many paths at once: one that is denied or protected is enough, and all have to be allowed.
 * Nothing selected is everything, which no list of allowed paths covers and every other list
 * touches.
 */
static enum match
match_accepted(const struct selector *s, const struct rule *r, const struct question *q)
{
	bool all = r->effect == EFFECT_ALLOW;
	size_t n = question_paths(q);

	if (n == 0)
		return all ? MATCH_NO : MATCH_YES;
	for (size_t i = 0; i < n; i++) {
		enum match m = match_glob(s, question_path(q, i));

		if (m == MATCH_ERROR || (m == MATCH_YES) != all)
			return m;
	}
	return all ? MATCH_YES : MATCH_NO;
}

static enum match
match_paths(const struct selector *s, const struct rule *r, const struct question *q)
{
	return r->capability == C_WORKSPACE_ACCEPT ? match_accepted(s, r, q)
						   : match_glob(s, q->path);
}

static enum match
match_repositories(const struct selector *s, const struct rule *r, const struct question *q)
{
	return match_text(s, q->repository);
}

static enum match
match_refs(const struct selector *s, const struct rule *r, const struct question *q)
{
	return match_glob(s, q->ref);
}

static enum match
match_credentials(const struct selector *s, const struct rule *r, const struct question *q)
{
	return match_text(s, q->credential);
}

enum match
rule_match(const struct rule *r, const struct question *q, const char **ret_why)
{
	enum match ret = MATCH_YES;

	*ret_why = "it applies";
	for (int k = 0; k < SELECTOR_COUNT; k++) {
		enum match m;

		if (!r->selectors[k].said)
			continue;
		m = TYPES[k].match(&r->selectors[k], r, q);
		if (m == MATCH_NO) {
			*ret_why = TYPES[k].no;
			return MATCH_NO;
		}
		/* Not said, but perhaps it is about something else anyway. */
		if (m == MATCH_ERROR && ret == MATCH_YES) {
			*ret_why = TYPES[k].unsaid;
			ret = MATCH_ERROR;
		}
	}
	return ret;
}
