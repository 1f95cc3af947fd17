/*
 * A list of checks, each a function over the effective document, in the order in which a reader
 * would want to hear of them. Effective lists that are not sorted have the order of the file, so an
 * index leads back to a position; for what is sorted or was left out, the nearest thing above it in
 * the file is named.
 */
#include "policy/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/checker.h"

const json_t *
checker_get(const struct checker *c, const char *a, const char *b)
{
	const json_t *v = json_object_get(c->spec, a);

	return b != NULL ? json_object_get(v, b) : v;
}

const char *
checker_text(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s != NULL ? s : "";
}

/* Down the file, as far as it goes; a list is walked from its start, which errors can afford. */
static struct yaml_position
checker_spot(const struct checker *c, const char *path)
{
	const struct yaml_node *node = yaml_root(c->y), *next;

	while (*path != '\0') {
		char key[64];
		size_t len = strcspn(path, ".");

		(void)snprintf(key, sizeof(key), "%.*s", (int)len, path);
		next = node->kind == YAML_LIST ? yaml_at(node, (size_t)strtoul(key, NULL, 10))
					       : yaml_get(node, key);
		if (next == NULL)
			break;
		node = next;
		path += len + (path[len] == '.');
	}
	return yaml_where(node);
}

struct checker_path
checker_path(const char *fmt, ...)
{
	struct checker_path ret;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret.text, sizeof(ret.text), fmt, ap);
	va_end(ap);
	return ret;
}

int
checker_error(const struct checker *c, struct checker_path where, struct error *err,
	      const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return yaml_error(c->y, checker_spot(c, where.text), err, "%s", text);
}

bool
checker_has(const struct checker *c, enum capability cap)
{
	return (c->capabilities & CAPABILITY_BIT(cap)) != 0;
}

/* ---- capabilities and what they need --------------------------------------------------------- */

static bool
any_egress(const struct checker *c, const char *tls)
{
	size_t i;
	json_t *e;

	json_array_foreach(checker_get(c, "network", "egress"), i,
			   e) if (strcmp(checker_text(e, "tls"), tls) == 0) return true;
	return false;
}

static bool
any_git(const struct checker *c, bool push)
{
	size_t i;
	json_t *e;

	json_array_foreach(checker_get(c, "git", NULL), i,
			   e) if (push ? json_object_get(e, "push") != NULL
				       : strcmp(checker_text(e, "fetch"), "allow") ==
						  0) return true;
	return false;
}

static bool
needs_read(const struct checker *c)
{
	return checker_has(c, C_WORKSPACE_READ);
}

static bool
needs_write(const struct checker *c)
{
	return checker_has(c, C_WORKSPACE_WRITE);
}

static bool
needs_inspect(const struct checker *c)
{
	return any_egress(c, "inspect");
}

static bool
needs_passthrough(const struct checker *c)
{
	return any_egress(c, "passthrough");
}

static bool
needs_fetch(const struct checker *c)
{
	return any_git(c, false);
}

static bool
needs_push(const struct checker *c)
{
	return any_git(c, true);
}

static bool
needs_credential(const struct checker *c)
{
	return json_array_size(checker_get(c, "credentials", NULL)) > 0;
}

struct need {
	enum capability capability;
	bool (*met)(const struct checker *c);
	const char *what;
};
static const struct need NEEDS[] = {
	{C_EXEC, needs_read, "the capability workspace.read, because a command sees the workspace"},
	{C_WORKSPACE_WRITE, needs_read, "the capability workspace.read"},
	{C_WORKSPACE_ACCEPT, needs_write,
	 "the capability workspace.write; without it there are no changes to accept"},
	{C_NET_HTTP, needs_inspect, "an entry in network.egress with tls: inspect"},
	{C_NET_CONNECT, needs_passthrough, "an entry in network.egress with tls: passthrough"},
	{C_GIT_FETCH, needs_fetch, "an entry in git with fetch: allow"},
	{C_GIT_PUSH, needs_push, "an entry in git with push"},
	{C_CREDENTIAL_USE, needs_credential, "an entry in credentials"},
};

static int
check_capabilities(struct checker *c, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(NEEDS); i++)
		if (checker_has(c, NEEDS[i].capability) && !NEEDS[i].met(c))
			return checker_error(c, checker_path("spec.capabilities"), err,
					     "capabilities: found %s, which needs %s",
					     capability_name(NEEDS[i].capability), NEEDS[i].what);
	return 0;
}

/* ---- filesystem ------------------------------------------------------------------------------ */

static int
check_workspace(struct checker *c, struct error *err)
{
	const json_t *w = checker_get(c, "filesystem", "workspace");
	const char *mode = checker_text(w, "mode");
	bool overlay = strcmp(mode, "overlay") == 0, read_only = strcmp(mode, "read-only") == 0;

	if (!overlay && json_object_get(w, "max") != NULL)
		return checker_error(
			c, checker_path("spec.filesystem.workspace.max"), err,
			"workspace: found max with mode: %s; only an overlay can be bounded", mode);
	if (!overlay && checker_has(c, C_WORKSPACE_ACCEPT))
		return checker_error(c, checker_path("spec.filesystem.workspace.mode"), err,
				     "workspace: found mode: %s with the capability "
				     "workspace.accept; only an overlay has changes to accept",
				     mode);
	if (read_only && checker_has(c, C_WORKSPACE_WRITE))
		return checker_error(c, checker_path("spec.filesystem.workspace.mode"), err,
				     "workspace: found mode: read-only with the capability "
				     "workspace.write; leave one of them out");
	if (!read_only && checker_has(c, C_EXEC) && !checker_has(c, C_WORKSPACE_WRITE))
		return checker_error(
			c, checker_path("spec.filesystem.workspace.mode"), err,
			"workspace: mode: %s lets commands write, and the capability "
			"workspace.write is not there; add it, or write mode: read-only",
			mode);
	return 0;
}

static int
check_place(struct checker *c, const struct yaml_node *host, struct error *err)
{
	for (size_t i = 0; host != NULL && i < c->src->n_places; i++) {
		const char *place = c->src->places[i];

		if (!path_is_beneath(host->text, place) && !path_is_beneath(place, host->text))
			continue;
		return yaml_error(
			c->y, host->at, err,
			"host: found '%s'; it is, holds or lies in '%s', which no sandbox may see",
			field_show(host->text, host->len).text,
			field_show(place, strlen(place)).text);
	}
	return 0;
}

static int
check_mounts(struct checker *c, struct error *err)
{
	const struct yaml_node *fs = yaml_get(yaml_get(yaml_root(c->y), "spec"), "filesystem");
	const struct yaml_node *lists[] = {
		yaml_get(fs, "readOnly"),
		yaml_get(yaml_get(yaml_root(c->y), "spec"), "caches"),
	};
	const struct yaml_node *seen[64];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct yaml_node *m = lists[i] != NULL ? lists[i]->first : NULL;

		for (; m != NULL; m = m->next) {
			const struct yaml_node *at = yaml_get(m, "at");
			int r = check_place(c, yaml_get(m, "host"), err);

			if (r < 0)
				return r;
			for (size_t j = 0; j < n; j++)
				if (path_is_beneath(at->text, seen[j]->text) ||
				    path_is_beneath(seen[j]->text, at->text))
					return yaml_error(
						c->y, at->at, err,
						"at: found '%s', which overlaps '%s' at %u:%u",
						field_show(at->text, at->len).text,
						field_show(seen[j]->text, seen[j]->len).text,
						seen[j]->at.line, seen[j]->at.column);
			if (n == ARRAY_LEN(seen))
				return yaml_error(c->y, at->at, err, "found too many mounts");
			seen[n++] = at;
		}
	}
	return 0;
}

static int
check_env(struct checker *c, struct error *err)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)checker_get(c, "env", NULL), key,
			    v) if (strncmp(key, "LOOM_", 5) ==
				   0) return checker_error(c, checker_path("spec.env.%s", key), err,
							   "env: found '%s'; names that start with "
							   "LOOM_ are set by Loom",
							   key);
	return 0;
}

/* ---- the rest
 * -------------------------------------------------------------------------------------- */

static int
check_approvals(struct checker *c, struct error *err)
{
	const json_t *approvers = checker_get(c, "approvals", "approvers");
	size_t people = json_array_size(approvers), i;
	json_int_t quorum = json_integer_value(checker_get(c, "approvals", "quorum"));
	json_t *a;

	json_array_foreach(approvers, i,
			   a) if (strncmp(json_string_value(a), "group:", 6) ==
				  0) return 0; /* how many are in a group is not known here */
	if (people > 0 && (size_t)quorum > people)
		return checker_error(c, checker_path("spec.approvals.quorum"), err,
				     "approvals: found a quorum of %d and %zu approvers",
				     (int)quorum, people);
	return 0;
}

int
check_profile(const struct yaml *y, const json_t *doc, const struct policy_source *src,
	      struct error *err)
{
	static int (*const CHECKS[])(struct checker *, struct error *) = {
		check_workspace,   check_mounts, check_env,   check_egress,    check_capabilities,
		check_credentials, check_git,	 check_rules, check_approvals,
	};
	struct checker c = {.y = y, .doc = doc, .spec = json_object_get(doc, "spec"), .src = src};
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(c.spec, "capabilities"), i, v)
	{
		enum capability cap = C_EXEC;

		if (capability_find(json_string_value(v), json_string_length(v), &cap))
			c.capabilities |= CAPABILITY_BIT(cap);
	}
	for (i = 0; i < ARRAY_LEN(CHECKS); i++) {
		int r = CHECKS[i](&c, err);

		if (r < 0)
			return r;
	}
	return 0;
}
