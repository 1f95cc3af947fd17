/* plan.h, grant.h (the window of indexes), idrange.h (accounts): pure parts of the box. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "box/filter.h"
#include "box/grant.h"
#include "box/idrange.h"
#include "box/plan.h"

static struct operation op;
static struct profile profile;
static struct plan plan;

static int
setup(void **state)
{
	memset(&op, 0, sizeof(op));
	memset(&profile, 0, sizeof(profile));
	op.capability = C_EXEC;
	op.timeout_ms = 1000;
	(void)snprintf(op.session, sizeof(op.session), "s_12");
	op.facts.args_count = 1;
	op.facts.args_bytes = 40;
	(void)snprintf(profile.root, sizeof(profile.root), "host");
	(void)snprintf(profile.workspace_at, sizeof(profile.workspace_at), "/workspace");
	profile.memory = 1u << 30;
	profile.pids = 10;
	profile.cpu_milli = 1000;
	profile.open_files = 100;
	profile.tmp_max = 1u << 20;
	profile.timeout_ms = 1000;
	return 0;
}

static const char *
env_of(const char *name)
{
	const char *pair = plan_env(&plan);
	size_t len = strlen(name);

	for (uint32_t i = 0; i < plan.n_env; i++, pair += strlen(pair) + 1)
		if (strncmp(pair, name, len) == 0 && pair[len] == '=')
			return pair + len + 1;
	return NULL;
}

static void
set_env(const char *name, const char *value)
{
	struct profile_env *e = &profile.env[profile.n_env++];

	(void)snprintf(e->name, sizeof(e->name), "%s", name);
	(void)snprintf(e->value, sizeof(e->value), "%s", value);
}

static void
a_plan_is_flat_and_says_what_the_record_says(void **state)
{
	struct failure f = {0};

	(void)snprintf(op.facts.cwd, sizeof(op.facts.cwd), "a/b");
	op.facts.workspace.uid = 7;
	op.facts.workspace.ino = 99;
	assert_ok(plan_derive(&op, &profile, "/src/app", "", &plan, &f));
	assert_true(plan_valid(&plan, plan.size));
	assert_string_equal(plan_workspace_at(&plan), "/workspace");
	assert_string_equal(plan_cwd(&plan), "a/b");
	assert_int_equal(plan.owner_uid, 7);
	assert_int_equal(plan.ino, 99);
	assert_int_equal(plan.limits.memory, profile.memory);
	assert_string_equal(env_of("LOOM_SESSION"), "s_12");
	assert_string_equal(env_of("HOME"), "/tmp/home");
	assert_string_equal(env_of("TERM"), "dumb");
}

static void
a_terminal_has_the_client_s_name_if_it_is_one(void **state)
{
	char longest[PLAN_TERM_MAX + 2];
	const struct {
		const char *term, *want;
	} terms[] = {
		{"xterm-256color", "xterm-256color"},
		{"vt100+4bsd.A_z", "vt100+4bsd.A_z"},
		{longest + 1, longest + 1},
		{longest, "dumb"},
		{"", "dumb"},
		{"x/../y", "dumb"},
		{"x y", "dumb"},
		{"x\n", "dumb"},
		{"x\xff", "dumb"},
	};
	struct failure f = {0};

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	op.tty = true;
	for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
		assert_ok(plan_derive(&op, &profile, "/w", terms[i].term, &plan, &f));
		assert_string_equal(env_of("TERM"), terms[i].want);
	}
	op.tty = false;
	assert_ok(plan_derive(&op, &profile, "/w", "xterm", &plan, &f));
	assert_string_equal(env_of("TERM"), "dumb");
}

static void
a_profile_s_variables_replace_ours_and_the_last_of_a_name_wins(void **state)
{
	struct failure f = {0};

	op.tty = true;
	set_env("HOME", "/elsewhere");
	set_env("X", "first");
	set_env("X", "second");
	set_env("LOOM_SESSION", "a lie");
	assert_ok(plan_derive(&op, &profile, "/w", "xterm-256color", &plan, &f));
	assert_string_equal(env_of("HOME"), "/elsewhere");
	assert_string_equal(env_of("X"), "second");
	assert_string_equal(env_of("TERM"), "xterm-256color");
	assert_true(plan_valid(&plan, plan.size));
}

static void
what_this_box_cannot_do_is_no_plan(void **state)
{
	const struct {
		const char *at, *host;
		enum reason reason;
	} places[] = {
		{"host", "/usr/src/x", R_CONFLICTING_CONSTRAINTS},
		{"host", "/etc/x", R_CONFLICTING_CONSTRAINTS},
		{"host", "/tmp", R_CONFLICTING_CONSTRAINTS},
		{"host", "/tmp/home", R_CONFLICTING_CONSTRAINTS},
		{"host", "/dev/shm/x", R_CONFLICTING_CONSTRAINTS},
		{"host", "/", R_INVALID_PATH},
		{"host", "relative", R_INVALID_PATH},
	};
	struct failure f = {0};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		f = (struct failure){0};
		(void)snprintf(profile.workspace_at, sizeof(profile.workspace_at), "%s",
			       places[i].at);
		assert_true(plan_derive(&op, &profile, places[i].host, "", &plan, &f) < 0);
		assert_int_equal(f.reason, places[i].reason);
	}
	f = (struct failure){0};
	assert_ok(plan_derive(&op, &profile, "/home/me/x", "", &plan, &f));
	assert_ok(plan_derive(&op, &profile, "/tmp/x", "", &plan, &f));
	profile.runtime = RUNTIME_GVISOR;
	assert_true(plan_derive(&op, &profile, "/home/me/x", "", &plan, &f) < 0);
	assert_int_equal(f.reason, R_RUNTIME_UNAVAILABLE);
	profile.runtime = RUNTIME_NAMESPACES;
	profile.workspace_max = 1;
	f = (struct failure){0};
	assert_true(plan_derive(&op, &profile, "/home/me/x", "", &plan, &f) < 0);
	assert_int_equal(f.reason, R_CAPABILITY_UNAVAILABLE);
	profile.workspace_max = 0;
	op.mode = WORKSPACE_DIRECT;
	f = (struct failure){0};
	assert_true(plan_derive(&op, &profile, "/home/me/x", "", &plan, &f) < 0);
	assert_int_equal(f.reason, R_PROFILE_MISMATCH);
	op.mode = WORKSPACE_OVERLAY;
	op.timeout_ms = 1001;
	f = (struct failure){0};
	assert_true(plan_derive(&op, &profile, "/home/me/x", "", &plan, &f) < 0);
	assert_int_equal(f.reason, R_LIMIT_EXCEEDED);
}

static void
a_damaged_plan_is_noticed(void **state)
{
	struct failure f = {0};
	struct plan good;

	assert_ok(plan_derive(&op, &profile, "/w", "", &plan, &f));
	good = plan;
	assert_false(plan_valid(&plan, plan.size - 1u));
	assert_false(plan_valid(&plan, PLAN_FIXED));
	plan.n_env++;
	assert_false(plan_valid(&plan, plan.size));
	plan = good;
	plan.mode = 9;
	assert_false(plan_valid(&plan, plan.size));
	plan = good;
	plan.strings[plan.strings_len - 1] = 'x';
	assert_false(plan_valid(&plan, plan.size));
	plan = good;
	memset(plan.session, 'x', sizeof(plan.session));
	assert_false(plan_valid(&plan, plan.size));
}

static void
an_index_is_taken_once_within_the_window_and_never_before_it(void **state)
{
	static struct seen_indexes s;

	assert_true(seen_take(&s, 5));
	assert_false(seen_take(&s, 5));
	assert_true(seen_take(&s, 7));
	assert_true(seen_take(&s, 6));
	assert_false(seen_take(&s, 6));
	assert_true(seen_take(&s, 0));
	assert_true(seen_take(&s, SEEN_WINDOW + 3));
	assert_false(seen_take(&s, 3)); /* too old to know */
	assert_true(seen_take(&s, 4));
	assert_false(seen_take(&s, 5));
	/* The place that 7 had in the window belongs to another now. */
	assert_true(seen_take(&s, SEEN_WINDOW + 7));
	assert_false(seen_take(&s, 7));
	assert_true(seen_take(&s, SEEN_WINDOW + 6));
	assert_true(seen_take(&s, UINT64_C(1) << 60));
	assert_false(seen_take(&s, SEEN_WINDOW + 8));
	assert_true(seen_take(&s, (UINT64_C(1) << 60) - 1));
}

static void
ids_of_accounts_are_found(void **state)
{
	const char *passwd = "root:x:0:0::/:/bin/sh\nweird:x:2000000100:1::/:/bin/sh\n";
	const char *subuid = "me:100000:65536\nyou:1999999999:2\n";

	assert_true(idrange_meets(passwd, 2, false, 2000000000u, 2000065535u));
	assert_false(idrange_meets(passwd, 2, false, 2000000101u, 2000065535u));
	assert_true(idrange_meets(subuid, 1, true, 2000000000u, 2000065535u));
	assert_false(idrange_meets(subuid, 1, true, 2000000001u, 2000065535u));
	assert_false(idrange_meets("", 2, false, 0, UINT32_MAX));
	assert_false(idrange_meets("short\nx:y\n", 2, false, 0, UINT32_MAX));
}

static void
session_ids_come_back_late(void **state)
{
	struct idrange r;
	uint32_t first, id;

	idrange_init(&r);
	assert_int_equal(idrange_take(&r), 0); /* no block, no id */
	r.lock = 1;
	r.first = IDRANGE_BASE;
	first = idrange_take(&r);
	assert_int_equal(first, IDRANGE_BASE);
	idrange_give(&r, first);
	assert_int_not_equal(idrange_take(&r), first);
	for (uint32_t i = 0; i < IDRANGE_BLOCK - 1; i++)
		assert_true(idrange_take(&r) >= IDRANGE_BASE);
	assert_int_equal(idrange_take(&r), 0);
	idrange_give(&r, first + 77);
	id = idrange_take(&r);
	assert_int_equal(id, first + 77);
	idrange_give(&r, 5); /* none of ours */
	assert_int_equal(idrange_take(&r), 0);
}

static void
what_a_crash_would_start_on_the_host_decides_the_limit_of_cores(void **state)
{
	static const struct {
		const char *pattern;
		uint64_t limit;
	} cases[] = {
		{"core", 0},
		{"/var/crash/core.%p\n", 0},
		{"", 0},
		{"\n", 0},
		{"a|b", 0},
		{"|/usr/share/apport/apport -p%p\n", 1},
		{"|/usr/lib/systemd/systemd-coredump %P %u\n", 1},
	};
	struct failure f = {0};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		memset(&plan, 0, sizeof(plan));
		assert_ok(plan_core_pattern(&plan, cases[i].pattern, &f));
		assert_int_equal(plan_core_limit(&plan), cases[i].limit);
		assert_int_equal(plan_filter(&plan) & FILTER_CORE,
				 cases[i].limit != 0 ? FILTER_CORE : 0);
	}
	assert_true(plan_core_pattern(&plan, "@/run/core.sock\n", &f) < 0);
	assert_int_equal(f.reason, R_CAPABILITY_UNAVAILABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_plan_is_flat_and_says_what_the_record_says, setup),
		cmocka_unit_test_setup(
			a_profile_s_variables_replace_ours_and_the_last_of_a_name_wins, setup),
		cmocka_unit_test_setup(a_terminal_has_the_client_s_name_if_it_is_one, setup),
		cmocka_unit_test_setup(what_this_box_cannot_do_is_no_plan, setup),
		cmocka_unit_test_setup(a_damaged_plan_is_noticed, setup),
		cmocka_unit_test(what_a_crash_would_start_on_the_host_decides_the_limit_of_cores),
		cmocka_unit_test(an_index_is_taken_once_within_the_window_and_never_before_it),
		cmocka_unit_test(ids_of_accounts_are_found),
		cmocka_unit_test(session_ids_come_back_late),
	};

	return cmocka_run_group_tests_name("box_plan", tests, NULL, NULL);
}
