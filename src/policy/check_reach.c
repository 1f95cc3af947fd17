/*
 * The parts of a profile that reach outside: egress, credentials, git. What one of them names in
 * another has to be there, and no host may be treated in two ways.
 */
#include <string.h>

#include "policy/checker.h"
#include "policy/target.h"

#define HOSTS_MAX 4096 /* in all of egress: overlaps are looked for pair by pair */

static int
check_egress_entry(struct checker *c, size_t i, const json_t *e, struct error *err)
{
	static const char *const KEYS[] = {"methods", "paths"};
	bool inspect = strcmp(checker_text(e, "tls"), "inspect") == 0;

	for (size_t k = 0; k < ARRAY_LEN(KEYS); k++) {
		bool there = json_object_get(e, KEYS[k]) != NULL;

		if (inspect && !there)
			return checker_error(c, checker_path("spec.network.egress.%zu", i), err,
					     "egress: '%s' is missing; with tls: inspect it says "
					     "what may be asked for, as in %s",
					     KEYS[k], k == 0 ? "[GET, HEAD]" : "[\"/**\"]");
		if (!inspect && there)
			return checker_error(
				c, checker_path("spec.network.egress.%zu.%s", i, KEYS[k]), err,
				"egress: found %s with tls: passthrough, which cannot see them",
				KEYS[k]);
	}
	return 0;
}

/* Could one host match both? Wider than the truth for two stars, never narrower. */
static bool
hosts_overlap(const char *a, const char *b)
{
	bool a_wild = a[0] == '*', b_wild = b[0] == '*';
	size_t a_len, b_len;

	if (!a_wild || !b_wild)
		return a_wild ? host_pattern_match(a, b) : host_pattern_match(b, a);
	a = strchr(a, '.');
	b = strchr(b, '.');
	a_len = strlen(a);
	b_len = strlen(b);
	return a_len >= b_len ? strcmp(a + a_len - b_len, b) == 0
			      : strcmp(b + b_len - a_len, a) == 0;
}

static bool
ports_overlap(const json_t *a, const json_t *b)
{
	size_t i, j;
	json_t *x, *y;

	json_array_foreach(json_object_get(a, "ports"), i, x) json_array_foreach(
		json_object_get(b, "ports"), j,
		y) if (json_integer_value(x) == json_integer_value(y)) return true;
	return false;
}

static int
check_tls_pair(struct checker *c, size_t i, const json_t *a, const json_t *b, struct error *err)
{
	size_t x, y;
	json_t *p, *q;

	json_array_foreach(json_object_get(a, "hosts"), x, p) json_array_foreach(
		json_object_get(b, "hosts"), y,
		q) if (hosts_overlap(json_string_value(p), json_string_value(q)) &&
		       ports_overlap(a, b)) return checker_error(c,
								 checker_path(
									 "spec.network.egress.%zu",
									 i),
								 err,
								 "egress: '%s' and '%s' share '%s' "
								 "and treat its TLS differently",
								 checker_text(a, "id"),
								 checker_text(b, "id"),
								 json_string_value(p));
	return 0;
}

int
check_egress(struct checker *c, struct error *err)
{
	const json_t *egress = checker_get(c, "network", "egress");
	size_t i, hosts = 0;
	json_t *e;
	int r = 0;

	json_array_foreach(egress, i, e)
	{
		hosts += json_array_size(json_object_get(e, "hosts"));
		r = check_egress_entry(c, i, e, err);
		if (r < 0)
			return r;
	}
	if (hosts > HOSTS_MAX)
		return checker_error(c, checker_path("spec.network.egress"), err,
				     "egress: found %zu hosts; at most %d may be", hosts,
				     HOSTS_MAX);
	json_array_foreach(egress, i, e) for (size_t j = 0; j < i && r == 0; j++)
	{
		const json_t *before = json_array_get(egress, j);

		if (strcmp(checker_text(e, "tls"), checker_text(before, "tls")) != 0)
			r = check_tls_pair(c, i, e, before, err);
	}
	return r;
}

/* ---- credentials, git
 * ---------------------------------------------------------------------------- */

static bool
known_credential(const struct checker *c, const char *name)
{
	size_t i;
	json_t *e;

	json_array_foreach(checker_get(c, "credentials", NULL), i,
			   e) if (strcmp(checker_text(e, "name"), name) == 0) return true;
	return false;
}

static int
check_lists_unique(struct checker *c, const char *list, const char *key, struct error *err)
{
	const json_t *all = checker_get(c, list, NULL);
	size_t i;
	json_t *e;

	json_array_foreach(
		all, i,
		e) for (size_t j = 0; j < i;
			j++) if (strcmp(checker_text(e, key),
					checker_text(json_array_get(all, j), key)) ==
				 0) return checker_error(c,
							 checker_path("spec.%s.%zu.%s", list, i,
								      key),
							 err, "%s: found the %s '%s' a second time",
							 list, key,
							 field_show(checker_text(e, key),
								    strlen(checker_text(e, key)))
								 .text);
	return 0;
}

int
check_credentials(struct checker *c, struct error *err)
{
	size_t i;
	json_t *e;

	json_array_foreach(checker_get(c, "credentials", NULL), i, e)
	{
		const json_t *lease = json_object_get(e, "lease");
		const json_t *command = json_object_get(json_object_get(e, "source"), "command");

		if (json_integer_value(json_object_get(lease, "ttl")) >
		    json_integer_value(json_object_get(lease, "maxTtl")))
			return checker_error(c, checker_path("spec.credentials.%zu.lease", i), err,
					     "lease: ttl is longer than maxTtl");
		if (command != NULL && json_string_value(json_array_get(command, 0))[0] != '/')
			return checker_error(
				c, checker_path("spec.credentials.%zu.source.command", i), err,
				"command: found a relative program; name it from / on");
	}
	return check_lists_unique(c, "credentials", "name", err);
}

int
check_git(struct checker *c, struct error *err)
{
	size_t i;
	json_t *e;

	json_array_foreach(checker_get(c, "git", NULL), i, e)
	{
		const char *credential = checker_text(e, "credential");

		if (credential[0] != '\0' && !known_credential(c, credential))
			return checker_error(
				c, checker_path("spec.git.%zu.credential", i), err,
				"git: found the credential '%s', which is not among credentials",
				credential);
		if (strcmp(checker_text(e, "fetch"), "deny") == 0 &&
		    json_object_get(e, "push") == NULL)
			return checker_error(
				c, checker_path("spec.git.%zu", i), err,
				"git: found a repository with neither fetch: allow nor push");
	}
	return check_lists_unique(c, "git", "repository", err);
}
