/*
 * Decisions on operations as the authority makes them: what binds them, what the box's facts do to
 * them, that nothing is allocated, and that the same question put to `why` has the same answer.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/decide.h"

#define UID 1000u

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static size_t allocations;

void *
__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return __real_realloc(p, size);
}

struct fixture {
	struct policy *policy;
	struct workflow self;
	struct operation *op; /* large */
};

static void
fresh(struct fixture *f, enum capability c)
{
	struct operation *op = f->op;
	const struct profile *p = policy_profile(f->policy);

	memset(op, 0, sizeof(*op));
	op->capability = c;
	(void)snprintf(op->op, sizeof(op->op), "op_0123456789abcdef");
	(void)snprintf(op->session, sizeof(op->session), "s_1");
	(void)snprintf(op->identity.name, sizeof(op->identity.name), "self/agent");
	(void)snprintf(op->identity.kind, sizeof(op->identity.kind), "agent");
	op->identity.uid = UID;
	(void)snprintf(op->workflow, sizeof(op->workflow), "self");
	(void)snprintf(op->profile_name, sizeof(op->profile_name), "%s", p->name);
	memcpy(op->profile_digest, p->digest, sizeof(op->profile_digest));
	op->mode = p->workspace_mode;
	op->timeout_ms = p->timeout_ms;
	op->facts.args_count = 1;
	op->facts.args_bytes = 40;
	(void)snprintf(op->facts.argv0, sizeof(op->facts.argv0), "make");
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = {0};

	f->op = calloc(1, sizeof(*f->op));
	if (policy_shipped(0, &f->policy, &err) < 0 || workflow_find("", UID, &f->self, &err) < 0)
		return -1;
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	policy_free(f->policy);
	free(f->op);
	free(f);
	return 0;
}

static void
denied(struct fixture *f, enum reason reason, const char *rule)
{
	struct verdict v;

	memset(&v, 0xff, sizeof(v));
	policy_decide(f->policy, &f->self, f->op, &v);
	if (v.effect != EFFECT_DENY || v.reason != reason || strcmp(v.rules[0], rule) != 0)
		fail_msg("%s, %s by %s and not %s by %s: %s", effect_name(v.effect),
			 reason_code(v.reason), v.n_rules > 0 ? v.rules[0] : "-",
			 reason_code(reason), rule, v.detail);
	assert_true(v.detail[0] != '\0');
}

static void
allowed(struct fixture *f)
{
	struct verdict v;

	memset(&v, 0xff, sizeof(v));
	policy_decide(f->policy, &f->self, f->op, &v);
	if (v.effect != EFFECT_ALLOW || v.reason != R_ALLOWED)
		fail_msg("%s: %s", reason_code(v.reason), v.detail);
	assert_int_equal(v.n_rules, 2);
	assert_string_equal(v.rules[0], "profile/capabilities");
	assert_string_equal(v.rules[1], "self/workspace");
}

static void
allows(void **state)
{
	static const enum capability CAPS[] = {C_EXEC, C_WORKSPACE_READ, C_WORKSPACE_WRITE,
					       C_WORKSPACE_ACCEPT};

	for (size_t i = 0; i < ARRAY_LEN(CAPS); i++) {
		fresh(*state, CAPS[i]);
		allowed(*state);
	}
}

static void
binding(void **state)
{
	struct fixture *f = *state;

	fresh(f, C_EXEC);
	f->op->profile_digest[31] ^= 1;
	denied(f, R_PROFILE_MISMATCH, "builtin/profile");
	fresh(f, C_EXEC);
	(void)snprintf(f->op->profile_name, sizeof(f->op->profile_name), "build");
	denied(f, R_PROFILE_MISMATCH, "builtin/profile");
	fresh(f, C_EXEC);
	(void)snprintf(f->op->workflow, sizeof(f->op->workflow), "other");
	denied(f, R_NOT_AUTHORIZED, "builtin/workflow");
	fresh(f, C_EXEC);
	f->op->identity.uid = 0;
	denied(f, R_IDENTITY_MISMATCH, "self/identity");
	fresh(f, C_EXEC);
	(void)snprintf(f->op->identity.name, sizeof(f->op->identity.name), "bob");
	denied(f, R_IDENTITY_MISMATCH, "self/identity");
	fresh(f, C_EXEC);
	f->op->mode = WORKSPACE_DIRECT;
	denied(f, R_CONFLICTING_CONSTRAINTS, "builtin/workspace-mode");
	fresh(f, C_EXEC);
	f->self.capabilities &= ~CAPABILITY_BIT(C_EXEC);
	denied(f, R_NOT_AUTHORIZED, "self/capabilities");
	f->self.capabilities |= CAPABILITY_BIT(C_EXEC);
	fresh(f, C_NET_HTTP);
	denied(f, R_DEFAULT_DENY, "profile/capabilities");
	fresh(f, (enum capability)CAPABILITY_COUNT);
	denied(f, R_UNKNOWN_CAPABILITY, "builtin/capability");
	fresh(f, (enum capability) - 1);
	denied(f, R_UNKNOWN_CAPABILITY, "builtin/capability");
}

struct program {
	const char *argv0; /* as the box escapes it */
	const char *rule;  /* NULL: allowed */
};
static const struct program PROGRAMS[] = {
	{"", "builtin/argv-empty"},
	{"a\\x0ab", "builtin/argv-control"},
	{"a\\x1b[0m", "builtin/argv-control"},
	{"a\\x7f", "builtin/argv-control"},
	{"a\\xc2\\x85", "builtin/argv-control"},
	{"a\\xff", NULL}, /* not UTF-8, and a file's name all the same */
	{"a\\x85", NULL},
	{"a\\\\x0a", NULL}, /* a backslash, not an escape */
	{"a\\", "builtin/argv-empty"},
	{"a\\x0", "builtin/argv-empty"},
	{"a\\n", "builtin/argv-empty"},
	{"a\\xZZ", "builtin/argv-empty"},
	{"/pr\\x6fc/self/exe", "builtin/argv-proc"}, /* undone before it is judged */
	{"///proc/self/exe", "builtin/argv-proc"},
	{"/./././proc", "builtin/argv-proc"},
	{"/..//proc/1", "builtin/argv-proc"},
	{"/a/b/../../proc/1", "builtin/argv-proc"},
	{"../../../../proc/1/exe", "builtin/argv-proc"},
	{"a/../../proc/1/exe", "builtin/argv-proc"},
	{"/dev/fd/0", "builtin/argv-proc"},
	{"/dev//./fd/0", "builtin/argv-proc"},
	{"/dev/stdout", "builtin/argv-proc"},
	{"../dev/stderr", "builtin/argv-proc"},
	{"/devices/fd", NULL},
	{"/home/proc", NULL},
	{"proc/x", NULL},
	{"./dev/fd/0", NULL},
	{"/dev/null", NULL},
	{"--bind", NULL},
	{"-", NULL},
	{"/usr/bin/env", NULL},
};

static void
programs(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(PROGRAMS); i++) {
		fresh(f, C_EXEC);
		(void)snprintf(f->op->facts.argv0, sizeof(f->op->facts.argv0), "%s",
			       PROGRAMS[i].argv0);
		if (PROGRAMS[i].rule != NULL)
			denied(f, R_INVALID_ARGUMENT, PROGRAMS[i].rule);
		else
			allowed(f);
	}
	fresh(f, C_EXEC);
	memset(f->op->facts.argv0, 'a', PATH_BYTES_MAX - 1);
	allowed(f);
	memset(f->op->facts.argv0, 'a', PATH_BYTES_MAX);
	denied(f, R_INVALID_ARGUMENT, "builtin/argv-empty");
	memset(f->op->facts.argv0, 'a', sizeof(f->op->facts.argv0)); /* no NUL */
	denied(f, R_INVALID_ARGUMENT, "builtin/argv-empty");
}

static void
bounds(void **state)
{
	struct fixture *f = *state;

	fresh(f, C_EXEC);
	f->op->facts.args_count = ARGS_COUNT_MAX;
	f->op->facts.args_bytes = ARGS_BLOB_MAX;
	allowed(f);
	f->op->facts.args_count++;
	denied(f, R_LIMIT_EXCEEDED, "builtin/args-count");
	fresh(f, C_EXEC);
	f->op->facts.args_bytes = ARGS_BLOB_MAX + 1;
	denied(f, R_LIMIT_EXCEEDED, "builtin/args-bytes");
	fresh(f, C_EXEC);
	f->op->facts.args_count = 0;
	denied(f, R_INVALID_ARGUMENT, "builtin/argv-empty");
	fresh(f, C_EXEC);
	f->op->timeout_ms++;
	denied(f, R_LIMIT_EXCEEDED, "builtin/timeout");
	f->op->timeout_ms = 0;
	denied(f, R_LIMIT_EXCEEDED, "builtin/timeout");
	f->op->timeout_ms = UINT64_MAX;
	denied(f, R_LIMIT_EXCEEDED, "builtin/timeout");
	fresh(f, C_EXEC);
	f->op->facts.n_env = ENV_COUNT_MAX;
	for (uint32_t i = 0; i < ENV_COUNT_MAX; i++)
		(void)snprintf(f->op->facts.env[i].name, ENV_NAME_MAX, "V%u", i);
	allowed(f);
	f->op->facts.env[ENV_COUNT_MAX - 1].name[0] = '=';
	denied(f, R_INVALID_ARGUMENT, "builtin/env-names");
	f->op->facts.n_env = ENV_COUNT_MAX + 1;
	denied(f, R_LIMIT_EXCEEDED, "builtin/env-count");
	f->op->facts.n_env = UINT32_MAX;
	denied(f, R_LIMIT_EXCEEDED, "builtin/env-count");
}

static void
directories(void **state)
{
	static const char *const BAD[] = {"/", "/etc", "..", "a/..", "a//b", "a/", "./a", "a/./b"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		fresh(f, C_EXEC);
		(void)snprintf(f->op->facts.cwd, sizeof(f->op->facts.cwd), "%s", BAD[i]);
		denied(f, R_INVALID_PATH, "builtin/cwd");
	}
	fresh(f, C_EXEC);
	(void)snprintf(f->op->facts.cwd, sizeof(f->op->facts.cwd), "a/b");
	allowed(f);
	memset(f->op->facts.cwd, 'a', sizeof(f->op->facts.cwd)); /* no NUL */
	denied(f, R_INVALID_PATH, "builtin/cwd");
}

static void
accepting(void **state)
{
	static const char *const BAD[] = {
		"[\"/a\"]", "[\"a\",\"../b\"]", "[\"a//b\"]", "[\"\"]", "[1]", "{}"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		fresh(f, C_WORKSPACE_ACCEPT);
		f->op->paths = json_loads(BAD[i], 0, NULL);
		denied(f, R_INVALID_PATH, "builtin/paths");
		json_decref(f->op->paths);
	}
	fresh(f, C_WORKSPACE_ACCEPT);
	f->op->paths = json_pack("[s,s]", "a/b", "c");
	allowed(f);
	json_decref(f->op->paths);
}

/* More than struct operation can say is never allowed on one, whatever the profile has. */
static void
outside(void **state)
{
	static const char TEXT[] =
		"apiVersion: loom/v1\nkind: Profile\nmetadata: {name: x}\nspec:\n"
		"  capabilities: [net.connect]\n"
		"  network: {egress: [{id: a, hosts: [a.example], tls: passthrough}]}\n"
		"  rules: [{id: r, effect: escalate, capability: net.connect}]\n";
	struct policy_source src = {.file = "x", .data = TEXT, .len = sizeof(TEXT) - 1};
	struct fixture *f = *state;
	struct policy *shipped = f->policy;
	struct error err = {0};

	assert_ok(policy_load(&src, &f->policy, &err));
	fresh(f, C_NET_CONNECT);
	denied(f, R_CAPABILITY_UNAVAILABLE, "builtin/available");
	fresh(f, C_EXEC);
	denied(f, R_DEFAULT_DENY, "profile/capabilities");
	policy_free(f->policy);
	f->policy = shipped;
}

static void
allocates_nothing(void **state)
{
	struct fixture *f = *state;
	struct verdict v;
	size_t before;

	fresh(f, C_EXEC);
	before = allocations;
	assert_true(before > 0); /* the counter counts */
	for (int i = 0; i < 100; i++) {
		policy_decide(f->policy, &f->self, f->op, &v);
		f->op->facts.argv0[0] = (char)i;
		f->op->capability = (enum capability)(i % CAPABILITY_COUNT);
	}
	assert_true(allocations == before);
}

/* One evaluator: an operation and the same request in words come to the same. */
static void
why_is_the_same(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(PROGRAMS); i++) {
		CLEANUP(json_decrefp) json_t *request = NULL, *answer = NULL;
		CLEANUP(json_decrefp) json_t *decided = NULL;
		char *text;
		struct verdict v;

		fresh(f, C_EXEC);
		(void)snprintf(f->op->facts.argv0, sizeof(f->op->facts.argv0), "%s",
			       PROGRAMS[i].argv0);
		policy_decide(f->policy, &f->self, f->op, &v);
		decided = verdict_json(&v, NULL);
		request =
			json_pack("{s:s,s:s}", "capability", "exec", "command", PROGRAMS[i].argv0);
		text = json_dumps(request, JSON_COMPACT);
		buf_reset(&b);
		assert_ok(policy_why(f->policy, &f->self, text, strlen(text), &b, &err));
		free(text);
		answer = json_loadb(b.data, b.len, 0, NULL);
		assert_true(json_equal(json_object_get(decided, "verdict"),
				       json_object_get(answer, "verdict")));
		assert_true(json_equal(json_object_get(decided, "reason"),
				       json_object_get(answer, "reason")));
		assert_true(json_equal(json_object_get(decided, "detail"),
				       json_object_get(answer, "detail")));
		assert_true(json_array_size(json_object_get(answer, "considered")) > 5);
	}
	buf_fini(&b);
}

static void
workflows(void **state)
{
	struct workflow w;
	struct error err = {0};

	assert_ok(workflow_find("self", 7, &w, &err));
	assert_int_equal(w.uid, 7);
	assert_int_equal(w.capabilities, (1u << CAPABILITY_COUNT) - 1);
	assert_fails(-ENOENT, &err, workflow_find("Self", 7, &w, &err));
	assert_fails(-ENOENT, &err, workflow_find("other", 7, &w, &err));
}

static void
shipped(void **state)
{
	struct error err = {0};
	size_t len;

	assert_int_equal(policy_shipped_count(), 2);
	assert_string_equal(policy_shipped_name(0), "default");
	assert_string_equal(policy_shipped_name(1), "build");
	assert_null(policy_shipped_name(2));
	assert_null(policy_shipped_text(2, &len));
	assert_true(policy_is_shipped("build"));
	assert_false(policy_is_shipped("builds"));
	for (size_t i = 0; i < policy_shipped_count(); i++) {
		CLEANUP(policy_freep) struct policy *p = NULL;
		const struct profile *profile;

		assert_ok(policy_shipped(i, &p, &err));
		profile = policy_profile(p);
		assert_true(profile->shipped);
		assert_string_equal(profile->name, policy_shipped_name(i));
		assert_int_equal(profile->workspace_mode, WORKSPACE_OVERLAY);
		assert_int_equal(profile->runtime, RUNTIME_NAMESPACES);
		assert_int_equal(profile->capabilities & ~0xfu, 0); /* no network, no git */
		assert_int_equal(profile->n_mounts, 0);
		assert_true(profile->workspace_max == 0);
		assert_false(profile->debug_ptrace);
	}
	{
		struct policy *p = NULL;

		assert_fails(-ENOENT, &err, policy_shipped(2, &p, &err));
	}
}

/* Directories that the caller adds to those that no mount may show. */
static void
places(void **state)
{
	static const char *const PLACES[] = {"/srv/homes", "/opt/loom/state"};
	static const char *const MOUNTS[] = {"/srv", "/srv/homes/a", "/srv/homes", "/opt",
					     "/opt/loom/state/x"};
	struct error err = {0};
	char text[512];
	struct policy *p = NULL;

	for (size_t i = 0; i <= ARRAY_LEN(MOUNTS); i++) {
		struct policy_source src = {
			.file = "x", .data = text, .places = PLACES, .n_places = ARRAY_LEN(PLACES)};

		src.len = (size_t)snprintf(
			text, sizeof(text),
			"apiVersion: loom/v1\nkind: Profile\nmetadata: {name: x}\nspec:\n"
			"  capabilities: []\n"
			"  filesystem: {readOnly: [{host: %s, at: /mnt/x}]}\n",
			i < ARRAY_LEN(MOUNTS) ? MOUNTS[i] : "/srv/homes2");
		if (i == ARRAY_LEN(MOUNTS)) {
			assert_ok(policy_load(&src, &p, &err));
			policy_free(p);
			break;
		}
		assert_fails(-EINVAL, &err, policy_load(&src, &p, &err));
		src.n_places = 0;
		assert_ok(policy_load(&src, &p, &err));
		policy_free(p);
		p = NULL;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allows),	   cmocka_unit_test(binding),
		cmocka_unit_test(programs),	   cmocka_unit_test(bounds),
		cmocka_unit_test(directories),	   cmocka_unit_test(accepting),
		cmocka_unit_test(outside),	   cmocka_unit_test(allocates_nothing),
		cmocka_unit_test(why_is_the_same), cmocka_unit_test(workflows),
		cmocka_unit_test(shipped),	   cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
