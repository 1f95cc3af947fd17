/*
 * What is denied whatever a profile says: one row a check. A row looks at one thing and fails with
 * one reason. The order of the table is the order in which reasons count when several fail.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "model/field.h"
#include "policy/decide.h"

#define EXEC CAPABILITY_BIT(C_EXEC)
#define ACCEPT CAPABILITY_BIT(C_WORKSPACE_ACCEPT)
#define WORKSPACE                                                                                  \
	(EXEC | CAPABILITY_BIT(C_WORKSPACE_READ) | CAPABILITY_BIT(C_WORKSPACE_WRITE) | ACCEPT)
#define ANY (CAPABILITY_BIT(CAPABILITY_COUNT) - 1)
#define OUTSIDE (ANY & ~WORKSPACE)

#define FAIL(detail, ...)                                                                          \
	({                                                                                         \
		(void)snprintf((detail), CHECK_DETAIL_MAX, __VA_ARGS__);                           \
		CHECK_FAIL;                                                                        \
	})

static const struct profile *
profile_of(const struct inquiry *q)
{
	return q->policy->profile;
}

/* ---- binding ------------------------------------------------------------------------------- */

static enum check_result
check_profile_bound(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const struct operation *op = q->operation;

	if (op == NULL)
		return CHECK_SKIP;
	if (strcmp(op->profile_name, profile_of(q)->name) != 0)
		return FAIL(detail, "the operation is bound to the profile '%.64s', not to '%s'",
			    op->profile_name, profile_of(q)->name);
	if (memcmp(op->profile_digest, profile_of(q)->digest, sizeof(op->profile_digest)) != 0)
		return FAIL(detail,
			    "the profile '%s' is not what it was when the operation was "
			    "bound to it",
			    op->profile_name);
	return CHECK_PASS;
}

static enum check_result
check_workflow_bound(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const char *named = q->operation != NULL ? q->operation->workflow : q->question->workflow;

	if (named == NULL)
		return CHECK_SKIP;
	if (strcmp(named, q->workflow->name) != 0)
		return FAIL(detail, "it is asked for under the workflow '%.64s', and this is '%s'",
			    named, q->workflow->name);
	return CHECK_PASS;
}

static enum check_result
check_identity(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (q->operation == NULL)
		return CHECK_SKIP;
	if (q->operation->identity.uid != q->workflow->uid)
		return FAIL(detail, "uid %" PRIu32 " asks under the workflow of uid %" PRIu32,
			    q->operation->identity.uid, q->workflow->uid);
	if (strcmp(q->operation->identity.name, SELF_IDENTITY) != 0)
		return FAIL(detail, "'%.64s' asks under a workflow for '%s'",
			    q->operation->identity.name, SELF_IDENTITY);
	return CHECK_PASS;
}

static enum check_result
check_configured(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	enum capability c = q->question->capability;

	if ((profile_of(q)->capabilities & CAPABILITY_BIT(c)) == 0)
		return FAIL(detail, "the profile '%s' does not have the capability %s",
			    profile_of(q)->name, capability_name(c));
	return CHECK_PASS;
}

static enum check_result
check_granted(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	enum capability c = q->question->capability;

	if ((q->workflow->capabilities & CAPABILITY_BIT(c)) == 0)
		return FAIL(detail, "the workflow '%s' does not grant the capability %s",
			    q->workflow->name, capability_name(c));
	return CHECK_PASS;
}

static enum check_result
check_mode_bound(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (!q->question->has_mode)
		return CHECK_SKIP;
	if (q->question->mode != profile_of(q)->workspace_mode)
		return FAIL(detail, "the workspace would be %s, and the profile says %s",
			    workspace_mode_name(q->question->mode),
			    workspace_mode_name(profile_of(q)->workspace_mode));
	return CHECK_PASS;
}

/* ---- commands ------------------------------------------------------------------------------- */

static enum check_result
check_argv_empty(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const struct question *a = q->question;

	if (!a->has_command)
		return CHECK_SKIP;
	if (a->argv0_wrong != NULL)
		return FAIL(detail, "the program cannot be read: %s", a->argv0_wrong);
	if (a->argv0_len == 0 || a->args_count == 0)
		return FAIL(detail, "there is no program to start");
	return CHECK_PASS;
}

static enum check_result
check_argv_control(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const struct question *a = q->question;

	if (!a->has_command || a->argv0_wrong != NULL)
		return CHECK_SKIP;
	for (size_t i = 0; i < a->argv0_len;) {
		uint32_t c = (uint8_t)a->argv0[i];
		size_t n = utf8_next(a->argv0 + i, a->argv0_len - i, &c);

		/* A byte that is not UTF-8 is a file's name all the same. */
		if (utf8_is_control(c) && (n > 0 || c < 0x80))
			return FAIL(detail,
				    "the program's name has a control character at byte %zu", i);
		i += n > 0 ? n : 1;
	}
	return CHECK_PASS;
}

struct component {
	const char *text;
	size_t len;
};

static bool
component_is(const struct component *c, const char *word)
{
	return strlen(word) == c->len && memcmp(c->text, word, c->len) == 0;
}

static bool
component_starts(const struct component *c, const char *word)
{
	return strlen(word) <= c->len && memcmp(c->text, word, strlen(word)) == 0;
}

/* The next component that is neither empty nor "."; false at the end. */
static bool
component_next(const char **path, struct component *ret)
{
	const char *p = *path;

	do {
		p += strspn(p, "/");
		ret->text = p;
		ret->len = strcspn(p, "/");
		p += ret->len;
	} while (component_is(ret, "."));
	*path = p;
	return ret->len > 0;
}

/*
 * Programs that the kernel hands out of a process or a descriptor rather than out of the file
 * system: /proc/self/exe, /proc/1/root/…, /dev/fd/3. Where "/" is, is only known of an absolute
 * path; behind ".." it may be anywhere.
 */
static enum check_result
check_argv_proc(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const struct question *a = q->question;
	const char *rest = a->argv0;
	bool may_be_top;
	struct component c;

	if (!a->has_command || a->argv0_wrong != NULL || a->argv0_len == 0)
		return CHECK_SKIP;
	may_be_top = rest[0] == '/';
	while (component_next(&rest, &c)) {
		bool found = false;

		if (component_is(&c, "..")) {
			may_be_top = true;
			continue;
		}
		if (may_be_top && component_is(&c, "dev")) {
			const char *after = rest;

			found = component_next(&after, &c) &&
				(component_is(&c, "fd") || component_starts(&c, "std"));
		} else if (may_be_top) {
			found = component_is(&c, "proc");
		}
		if (found)
			return FAIL(detail, "the program is named by a path into /proc or /dev, "
					    "which would start something else than a file");
		may_be_top = false;
	}
	return CHECK_PASS;
}

static enum check_result
check_args_count(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (!q->question->has_command)
		return CHECK_SKIP;
	if (q->question->args_count > ARGS_COUNT_MAX)
		return FAIL(detail, "%" PRIu64 " arguments; at most %d may be",
			    q->question->args_count, ARGS_COUNT_MAX);
	return CHECK_PASS;
}

static enum check_result
check_args_bytes(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (!q->question->has_command)
		return CHECK_SKIP;
	if (q->question->args_bytes > ARGS_BLOB_MAX)
		return FAIL(detail, "%" PRIu64 " bytes of arguments; at most %d may be",
			    q->question->args_bytes, ARGS_BLOB_MAX);
	return CHECK_PASS;
}

static enum check_result
check_env_count(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (q->question->n_env > ENV_COUNT_MAX)
		return FAIL(detail, "%" PRIu32 " variables; at most %d may be", q->question->n_env,
			    ENV_COUNT_MAX);
	return CHECK_PASS;
}

static enum check_result
check_env_names(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	for (uint32_t i = 0; i < q->question->n_env && i < ENV_COUNT_MAX; i++) {
		const char *name = q->question->env[i];

		if (name == NULL || strlen(name) > ENV_NAME_MAX ||
		    !variable_name_valid(name, strlen(name)))
			return FAIL(detail,
				    "variable %" PRIu32 " has no valid name: letters, digits "
				    "and '_', not a digit first, at most %d of them",
				    i + 1, ENV_NAME_MAX);
	}
	return CHECK_PASS;
}

static enum check_result
check_cwd(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const char *cwd = q->question->cwd;
	char normal[PATH_BYTES_MAX];
	struct error why = {0};

	if (cwd == NULL)
		return CHECK_SKIP;
	if (strnlen(cwd, PATH_BYTES_MAX) == PATH_BYTES_MAX ||
	    path_relative(cwd, strlen(cwd), true, normal, &why) < 0)
		return FAIL(detail,
			    "the working directory is not a path beneath the workspace: "
			    "%.100s",
			    why.text);
	/* An operation holds the one spelling; a person may write another. */
	if (q->operation != NULL && strcmp(normal, cwd) != 0)
		return FAIL(detail, "the working directory is not in its plain spelling");
	return CHECK_PASS;
}

static enum check_result
check_timeout(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	uint64_t asked = q->question->timeout_ms, most = profile_of(q)->timeout_ms;

	if (!q->question->has_timeout)
		return CHECK_SKIP;
	if (asked == 0)
		return FAIL(detail, "a timeout of nothing");
	if (asked > most)
		return FAIL(detail,
			    "a timeout of %" PRIu64 " ms; the profile '%s' allows %" PRIu64 " ms",
			    asked, profile_of(q)->name, most);
	return CHECK_PASS;
}

/* ---- the workspace ----------------------------------------------------------------------------
 */

static enum check_result
check_accept_mode(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (profile_of(q)->workspace_mode != WORKSPACE_OVERLAY)
		return FAIL(detail, "the workspace is %s, so there is nothing to accept",
			    workspace_mode_name(profile_of(q)->workspace_mode));
	return CHECK_PASS;
}

static enum check_result
check_paths(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	size_t n = question_paths(q->question);

	if (q->question->paths != NULL && !json_is_array(q->question->paths))
		return FAIL(detail, "the paths are no list");
	for (size_t i = 0; i < n; i++) {
		const char *path = question_path(q->question, i);
		char normal[PATH_BYTES_MAX];

		if (path == NULL || path_relative(path, strlen(path), true, normal, NULL) < 0 ||
		    (q->operation != NULL &&
		     strcmp(normal[0] != '\0' ? normal : ".", path) != 0))
			return FAIL(detail, "path %zu is not a plain path beneath the workspace",
				    i + 1);
	}
	return n > 0 ? CHECK_PASS : CHECK_SKIP;
}

/* ---- outside ------------------------------------------------------------------------------------
 */

struct needed {
	uint32_t capabilities;
	const char *name;
	size_t offset; /* of the pointer in struct question that has to be there */
};
#define REQUEST (CAPABILITY_BIT(C_NET_HTTP) | CAPABILITY_BIT(C_CREDENTIAL_USE))
#define GIT (CAPABILITY_BIT(C_GIT_FETCH) | CAPABILITY_BIT(C_GIT_PUSH))
static const struct needed NEEDED[] = {
	{REQUEST | CAPABILITY_BIT(C_NET_CONNECT), "host", offsetof(struct question, host)},
	{REQUEST, "path", offsetof(struct question, path)},
	{REQUEST, "method", offsetof(struct question, method)},
	{CAPABILITY_BIT(C_CREDENTIAL_USE), "credential", offsetof(struct question, credential)},
	{GIT, "repository", offsetof(struct question, repository)},
	{CAPABILITY_BIT(C_GIT_PUSH), "ref", offsetof(struct question, ref)},
};

static enum check_result
check_request(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const struct question *a = q->question;

	if (!question_is_particular(a))
		return CHECK_SKIP;
	for (size_t i = 0; i < ARRAY_LEN(NEEDED); i++) {
		const char *value;

		if ((NEEDED[i].capabilities & CAPABILITY_BIT(a->capability)) == 0)
			continue;
		memcpy(&value, (const char *)a + NEEDED[i].offset, sizeof(value));
		if (value == NULL)
			return FAIL(detail, "%s needs to be told the %s",
				    capability_name(a->capability), NEEDED[i].name);
	}
	return CHECK_PASS;
}

/* ---- here ---------------------------------------------------------------------------------------
 */

static enum check_result
check_runtime(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (profile_of(q)->runtime != RUNTIME_NAMESPACES)
		return FAIL(detail,
			    "the profile '%s' requires the runtime %s, which this build does "
			    "not have",
			    profile_of(q)->name, runtime_name(profile_of(q)->runtime));
	return CHECK_PASS;
}

static enum check_result
check_implemented(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (!capability_implemented(q->question->capability))
		return FAIL(detail, "this build has no broker for %s",
			    capability_name(q->question->capability));
	return CHECK_PASS;
}

/* An operation that this build has no fields for cannot have been described whole. */
static enum check_result
check_described(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (q->operation == NULL)
		return CHECK_SKIP;
	return FAIL(detail, "an operation cannot describe %s in this build",
		    capability_name(q->question->capability));
}

static enum check_result
check_root(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (strcmp(profile_of(q)->root, "host") != 0)
		return FAIL(detail,
			    "the profile '%s' requires an image as its root, which this "
			    "build does not have",
			    profile_of(q)->name);
	return CHECK_PASS;
}

static enum check_result
check_workspace_max(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	if (profile_of(q)->workspace_max != 0)
		return FAIL(detail,
			    "the profile '%s' bounds the workspace (filesystem.workspace.max),"
			    " which this build cannot hold",
			    profile_of(q)->name);
	return CHECK_PASS;
}

static enum check_result
check_caches(const struct inquiry *q, char detail[CHECK_DETAIL_MAX])
{
	const json_t *spec = json_object_get(profile_of(q)->json, "spec");

	if (json_array_size(json_object_get(spec, "caches")) > 0)
		return FAIL(detail, "the profile '%s' has caches, which this build does not keep",
			    profile_of(q)->name);
	return CHECK_PASS;
}

#define RAISE "put a larger bound into a profile of your own and name it with --profile"
#define OTHER "use a profile without it"

const struct builtin BUILTINS[] = {
	{"builtin/profile", STAGE_BIND, ANY, R_PROFILE_MISMATCH, check_profile_bound,
	 "the operation is bound to this profile", "start a new session"},
	{"builtin/workflow", STAGE_BIND, ANY, R_NOT_AUTHORIZED, check_workflow_bound,
	 "the workflow is the one that was named", NULL},
	{"self/identity", STAGE_BIND, ANY, R_IDENTITY_MISMATCH, check_identity,
	 "the workflow is the requester's", NULL},
	{"profile/capabilities", STAGE_BIND, ANY, R_DEFAULT_DENY, check_configured,
	 "the profile has the capability",
	 "list it under spec.capabilities of a profile of your own and name it with --profile"},
	{"self/capabilities", STAGE_BIND, ANY, R_NOT_AUTHORIZED, check_granted,
	 "the workflow grants the capability", NULL},
	{"builtin/workspace-mode", STAGE_BIND, WORKSPACE, R_CONFLICTING_CONSTRAINTS,
	 check_mode_bound, "the workspace is used as the profile says", NULL},
	{"builtin/argv-empty", STAGE_SHAPE, EXEC, R_INVALID_ARGUMENT, check_argv_empty,
	 "there is a program", "say which program to run, after --"},
	{"builtin/argv-control", STAGE_SHAPE, EXEC, R_INVALID_ARGUMENT, check_argv_control,
	 "the program's name has no control characters", NULL},
	{"builtin/argv-proc", STAGE_SHAPE, EXEC, R_INVALID_ARGUMENT, check_argv_proc,
	 "the program is a file", "name the program by the path of its file"},
	{"builtin/args-count", STAGE_SHAPE, EXEC, R_LIMIT_EXCEEDED, check_args_count,
	 "not too many arguments", "pass long lists in a file"},
	{"builtin/args-bytes", STAGE_SHAPE, EXEC, R_LIMIT_EXCEEDED, check_args_bytes,
	 "the arguments are not too long", "pass long lists in a file"},
	{"builtin/env-count", STAGE_SHAPE, EXEC, R_LIMIT_EXCEEDED, check_env_count,
	 "not too many variables", NULL},
	{"builtin/env-names", STAGE_SHAPE, EXEC, R_INVALID_ARGUMENT, check_env_names,
	 "the variables have valid names", NULL},
	{"builtin/cwd", STAGE_SHAPE, EXEC, R_INVALID_PATH, check_cwd,
	 "the working directory is beneath the workspace", "name a directory of the workspace"},
	{"builtin/timeout", STAGE_SHAPE, EXEC, R_LIMIT_EXCEEDED, check_timeout,
	 "the timeout is within the profile's", RAISE},
	{"builtin/accept-mode", STAGE_SHAPE, ACCEPT, R_CONFLICTING_CONSTRAINTS, check_accept_mode,
	 "changes are kept apart", NULL},
	{"builtin/paths", STAGE_SHAPE, WORKSPACE, R_INVALID_PATH, check_paths,
	 "the paths are beneath the workspace", NULL},
	{"builtin/request", STAGE_SHAPE, OUTSIDE, R_INVALID_REQUEST, check_request,
	 "the request says what it is about", NULL},
	{"builtin/runtime", STAGE_HERE, ANY, R_RUNTIME_UNAVAILABLE, check_runtime,
	 "the runtime is here", "install it, or use a profile with runtime: namespaces"},
	{"builtin/available", STAGE_HERE, ANY, R_CAPABILITY_UNAVAILABLE, check_implemented,
	 "this build can do it", OTHER},
	{"builtin/described", STAGE_HERE, OUTSIDE, R_CAPABILITY_UNAVAILABLE, check_described,
	 "the operation is described whole", NULL},
	{"builtin/root-image", STAGE_HERE, EXEC, R_CAPABILITY_UNAVAILABLE, check_root,
	 "the root is the host's system", "use a profile with filesystem.root: host"},
	{"builtin/workspace-max", STAGE_HERE, EXEC, R_CAPABILITY_UNAVAILABLE, check_workspace_max,
	 "the workspace has no bound to hold", OTHER},
	{"builtin/caches", STAGE_HERE, EXEC, R_CAPABILITY_UNAVAILABLE, check_caches,
	 "there are no caches to keep", OTHER},
	{.id = NULL},
};
