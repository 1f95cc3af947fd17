/*
 * Decision tables: a folder a case, with profile.yaml (absent: the shipped profile that expect.json
 * names), request.json (absent: only loading is looked at) and expect.json, which has one of
 *
 *   {"load":"error","at":"6:18","says":["part of the message",…]}
 *   {"load":"ok","effective":{…what the effective form must have, other keys are free…}}
 *   {"verdict":"deny","reason":"…","rule":"…","says":["part of the detail",…]}
 *
 * Whatever loads has to come back from its canonical bytes with the same digest. Every comparison
 * is made a second time against an expectation turned around, which has to fail. Prints TAP.
 *
 * Usage: runner FOLDER-OF-CASES
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

#define FILE_MAX (4 * 1024 * 1024)

struct file {
	char *data;
	size_t len;
};

struct outcome {
	char wrong[512]; /* empty: as expected */
};

static void PRINTF(2, 3) wrong(struct outcome *o, const char *fmt, ...)
{
	va_list ap;

	if (o->wrong[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(o->wrong, sizeof(o->wrong), fmt, ap);
	va_end(ap);
}

/* Whole; exactly as long as it is, so that a sanitizer sees a read past its end. */
static bool
file_read(const char *dir, const char *name, struct file *ret)
{
	char path[1024], *all = malloc(FILE_MAX);
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (f == NULL || all == NULL) {
		free(all);
		if (f != NULL)
			fclose(f);
		return false;
	}
	ret->len = fread(all, 1, FILE_MAX, f);
	fclose(f);
	ret->data = realloc(all, ret->len > 0 ? ret->len : 1);
	return ret->data != NULL;
}

static const char *
text_of(const json_t *v, const char *key)
{
	const char *s = json_string_value(json_object_get(v, key));

	return s != NULL ? s : "";
}

static void
check_says(const json_t *expect, const char *text, struct outcome *o)
{
	size_t i;
	json_t *part;

	json_array_foreach(json_object_get(expect, "says"), i,
			   part) if (strstr(text, json_string_value(part)) == NULL)
		wrong(o, "'%s' does not say '%s'", text, json_string_value(part));
}

/* All that WANT has, GOT has. */
static bool
contains(const json_t *got, const json_t *want)
{
	const char *key;
	json_t *v;

	if (!json_is_object(want))
		return json_equal(got, want);
	json_object_foreach((json_t *)want, key,
			    v) if (!contains(json_object_get(got, key), v)) return false;
	return true;
}

static void
check_error(const json_t *expect, const struct error *err, struct outcome *o)
{
	char at[128];

	if (strcmp(text_of(expect, "load"), "error") != 0) {
		wrong(o, "does not load: %s", err->text);
		return;
	}
	(void)snprintf(at, sizeof(at), "profile.yaml:%s: ", text_of(expect, "at"));
	if (strncmp(err->text, at, strlen(at)) != 0)
		wrong(o, "the error is not at %s: %s", text_of(expect, "at"), err->text);
	check_says(expect, err->text, o);
}

static void
check_canonical(const struct policy *p, struct outcome *o)
{
	const struct profile *profile = policy_profile(p);
	struct policy *again = NULL;
	struct error err = {0};
	struct buf b;

	buf_init(&b, PROFILE_CANONICAL_MAX);
	if (profile_write_canonical(profile, &b, &err) < 0 ||
	    policy_load_canonical(b.data, b.len, &again, &err) < 0)
		wrong(o, "its canonical form does not load: %s", err.text);
	else if (memcmp(policy_profile(again)->digest, profile->digest, 32) != 0)
		wrong(o, "its canonical form has another digest");
	policy_free(again);
	buf_fini(&b);
}

static void
check_verdict(const json_t *expect, const json_t *answer, struct outcome *o)
{
	static const char *const KEYS[] = {"verdict", "reason", "rule"};

	for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
		const json_t *want = json_object_get(expect, KEYS[i]);

		if (want != NULL && !json_equal(want, json_object_get(answer, KEYS[i])))
			wrong(o, "%s is '%s': %s", KEYS[i], text_of(answer, KEYS[i]),
			      text_of(answer, "detail"));
	}
	if (json_object_get(expect, "verdict") == NULL)
		wrong(o, "expect.json has no verdict");
	if (json_array_size(json_object_get(answer, "considered")) == 0)
		wrong(o, "nothing was considered");
	check_says(expect, text_of(answer, "detail"), o);
}

static void
ask(const struct policy *p, const struct file *request, const json_t *expect, const json_t *turned,
    struct outcome *o, struct outcome *control)
{
	struct workflow self;
	struct error err = {0};
	struct buf b;
	json_t *answer = NULL;

	buf_init(&b, FILE_MAX);
	if (workflow_find(WORKFLOW_SELF, 1000, &self, &err) < 0 ||
	    policy_why(p, &self, request->data, request->len, &b, &err) < 0)
		wrong(o, "no answer: %s", err.text);
	else
		answer = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	if (answer == NULL)
		wrong(o, "the answer is no JSON");
	check_verdict(expect, answer, o);
	check_verdict(turned, answer, control);
	json_decref(answer);
	buf_fini(&b);
}

/* The opposite of EXPECT. */
static json_t *
turn(const json_t *expect)
{
	json_t *t = json_deep_copy(expect);

	if (json_object_get(t, "verdict") != NULL)
		json_object_set_new(
			t, "verdict",
			json_string(strcmp(text_of(t, "verdict"), "deny") == 0 ? "allow" : "deny"));
	if (json_object_get(t, "load") != NULL)
		json_object_set_new(
			t, "load",
			json_string(strcmp(text_of(t, "load"), "ok") == 0 ? "error" : "ok"));
	return t;
}

static int
load(const char *dir, const json_t *expect, struct policy **ret, struct error *err)
{
	struct policy_source src = {.file = "profile.yaml"};
	struct file f = {0};
	int r;

	for (size_t i = 0; policy_shipped_name(i) != NULL; i++)
		if (strcmp(policy_shipped_name(i), text_of(expect, "profile")) == 0)
			return policy_shipped(i, ret, err);
	if (!file_read(dir, "profile.yaml", &f))
		return error_set(err, -ENOENT, "there is no profile.yaml");
	src.data = f.data;
	src.len = f.len;
	r = policy_load(&src, ret, err);
	free(f.data);
	return r;
}

static void
run_loaded(const char *dir, const struct policy *p, const json_t *expect, const json_t *turned,
	   struct outcome *o, struct outcome *control)
{
	const json_t *effective = json_object_get(expect, "effective");
	struct file request = {0};

	check_canonical(p, o);
	if (strcmp(text_of(expect, "load"), "error") == 0)
		wrong(o, "it loads");
	if (strcmp(text_of(turned, "load"), "error") == 0)
		wrong(control, "it loads");
	if (effective != NULL && !contains(policy_profile(p)->json, effective))
		wrong(o, "the effective form is another");
	if (file_read(dir, "request.json", &request))
		ask(p, &request, expect, turned, o, control);
	else if (json_object_get(expect, "verdict") != NULL)
		wrong(o, "there is no request.json");
	free(request.data);
}

static void
run_case(const char *dir, struct outcome *o)
{
	struct outcome control = {0};
	struct policy *p = NULL;
	struct error err = {0};
	struct file f = {0};
	json_t *expect = NULL, *turned = NULL;

	if (file_read(dir, "expect.json", &f))
		expect = json_loadb(f.data, f.len, JSON_REJECT_DUPLICATES, NULL);
	free(f.data);
	if (expect == NULL) {
		wrong(o, "expect.json cannot be read");
		return;
	}
	turned = turn(expect);
	if (load(dir, expect, &p, &err) == 0) {
		run_loaded(dir, p, expect, turned, o, &control);
	} else {
		check_error(expect, &err, o);
		check_error(turned, &err, &control);
	}
	if (control.wrong[0] == '\0')
		wrong(o, "the opposite passes too");
	policy_free(p);
	json_decref(expect);
	json_decref(turned);
}

static int
is_case(const struct dirent *d)
{
	return d->d_type == DT_DIR && d->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
	struct dirent **cases;
	int n, failed = 0;

	if (argc != 2 || (n = scandir(argv[1], &cases, is_case, alphasort)) <= 0) {
		fprintf(stderr, "usage: runner FOLDER-OF-CASES\n");
		return 2;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		struct outcome o = {0};
		char dir[1024];

		(void)snprintf(dir, sizeof(dir), "%s/%s", argv[1], cases[i]->d_name);
		run_case(dir, &o);
		failed += o.wrong[0] != '\0';
		printf("%s %d - %s\n", o.wrong[0] != '\0' ? "not ok" : "ok", i + 1,
		       cases[i]->d_name);
		if (o.wrong[0] != '\0')
			printf("# %s\n", o.wrong);
		free(cases[i]);
	}
	free(cases);
	return failed > 0;
}
