/* A profile to its canonical bytes and back, and what those bytes may not say. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/profile.h"

static struct profile *
example(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->name, sizeof(p->name), "x");
	(void)snprintf(p->root, sizeof(p->root), "host");
	(void)snprintf(p->workspace_at, sizeof(p->workspace_at), "/workspace");
	p->capabilities = CAPABILITY_BIT(C_EXEC) | CAPABILITY_BIT(C_WORKSPACE_READ);
	p->tmp_max = 1 << 20;
	p->cpu_milli = 1500;
	p->memory = 1 << 30;
	p->pids = 64;
	p->open_files = 256;
	p->timeout_ms = 60000;
	p->output = 4096;
	p->n_mounts = 2;
	(void)snprintf(p->mounts[0].host, PROFILE_PATH_MAX, "/opt/b");
	(void)snprintf(p->mounts[0].at, PROFILE_PATH_MAX, "/opt/z");
	(void)snprintf(p->mounts[1].host, PROFILE_PATH_MAX, "/opt/a");
	(void)snprintf(p->mounts[1].at, PROFILE_PATH_MAX, "/opt/y");
	p->n_env = 1;
	(void)snprintf(p->env[0].name, sizeof(p->env[0].name), "LANG");
	(void)snprintf(p->env[0].value, sizeof(p->env[0].value), "C.UTF-8");
	p->debug_ptrace = true;
	return p;
}

static void
there_and_back(void **state)
{
	CLEANUP(profile_freep) struct profile *p = example(), *q = NULL;
	struct error err = {0};
	struct buf b;

	assert_ok(profile_seal(p, NULL, &err));
	buf_init(&b, PROFILE_CANONICAL_MAX);
	assert_ok(profile_write_canonical(p, &b, &err));
	assert_ok(profile_read_canonical(b.data, b.len, &q, &err));
	assert_memory_equal(p->digest, q->digest, sizeof(p->digest));
	assert_string_equal(q->name, "x");
	assert_int_equal(q->capabilities, p->capabilities);
	assert_int_equal(q->cpu_milli, 1500);
	assert_true(q->memory == p->memory && q->timeout_ms == 60000 && q->output == 4096);
	assert_int_equal(q->n_mounts, 2);
	assert_string_equal(q->mounts[0].at, "/opt/y"); /* sorted */
	assert_string_equal(q->mounts[0].host, "/opt/a");
	assert_int_equal(q->n_env, 1);
	assert_string_equal(q->env[0].value, "C.UTF-8");
	assert_true(q->debug_ptrace);
	assert_true(q->workspace_max == 0);
	assert_false(q->shipped);
	buf_fini(&b);
}

static void
digest_follows_content(void **state)
{
	CLEANUP(profile_freep) struct profile *p = example();
	CLEANUP(json_decrefp)
	json_t *extra = json_pack("{s:{s:I}}", "audit", "retention", (json_int_t)86400000);
	struct error err = {0};
	uint8_t one[32], two[32];

	assert_ok(profile_seal(p, NULL, &err));
	memcpy(one, p->digest, sizeof(one));
	p->pids++;
	assert_ok(profile_seal(p, NULL, &err));
	memcpy(two, p->digest, sizeof(two));
	assert_memory_not_equal(one, two, sizeof(one));
	assert_ok(profile_seal(p, extra, &err));
	assert_memory_not_equal(p->digest, two, sizeof(two));
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(p->json, "spec"), "audit"), "retention")),
		86400000);
	json_object_set_new(extra, "audit", json_pack("{s:i}", "retention", 1));
	assert_fails(-ERANGE, &err, profile_seal(p, extra, &err));
}

struct spoil {
	const char *from, *to;
};
/* Each makes canonical bytes that say something that may not be said. */
static const struct spoil SPOILS[] = {
	{"\"pids\":64", "\"pids\":0"},
	{"\"pids\":64", "\"pids\":4294967360"},
	{"\"pids\":64", "\"pids\":-64"},
	{"\"pids\":64", "\"pids\":\"64\""},
	{"\"pids\":64", "\"pids\":64.0"},
	{"\"pids\":64", "\"pidz\":64"},
	{"\"pids\":64,", ""},
	{"\"cpu\":1500", "\"cpu\":1500,\"cpu\":1500"},
	{"\"mode\":\"overlay\"", "\"mode\":\"Overlay\""},
	{"\"mode\":\"overlay\"", "\"max\":1048576,\"mode\":\"direct\""},
	{"\"root\":\"host\"", "\"root\":\"/\""},
	{"[\"exec\",\"workspace.read\"]", "[\"workspace.read\",\"exec\"]"},
	{"[\"exec\",\"workspace.read\"]", "[\"exec\",\"exec\"]"},
	{"[\"exec\",\"workspace.read\"]", "[\"exec\",\"root\"]"},
	{"[\"exec\",\"workspace.read\"]", "{}"},
	{"\"host\":\"/opt/a\"", "\"host\":\"/\""},
	{"\"host\":\"/opt/a\"", "\"host\":\"/home\""},
	{"\"host\":\"/opt/a\"", "\"host\":\"/opt/../etc\""},
	{"\"at\":\"/opt/y\"", "\"at\":\"/opt/z/y\""},
	{"\"at\":\"/opt/y\"", "\"at\":\"/opt/zz\""},
	{"\"at\":\"/opt/y\"", "\"at\":\"/usr/y\""},
	{"\"LANG\"", "\"LA NG\""},
	{"\"name\":\"x\"", "\"name\":\"X\""},
	{"\"kind\":\"Profile\"", "\"kind\":\"Workflow\""},
	{"\"debug\":\"ptrace\"", "\"debug\":true"},
	{"\"runtime\":\"namespaces\"", "\"runtime\":\"none\""},
	{"\"network\":{\"egress\":[]}", "\"network\":{\"egress\":[{}]}"},
	{"\"network\":{\"egress\":[]}", "\"network\":null"},
	{"{\"apiVersion\"", " {\"apiVersion\""},
	{"\"tests\":[]}}", "\"tests\":[]}} "},
	{"\"tests\":[]}}", "\"tests\":[]}}{}"},
	{"\"tests\":[]}}", ""},
};

static void
spoiled(void **state)
{
	CLEANUP(profile_freep) struct profile *p = example(), *q = NULL;
	struct error err = {0};
	struct buf b, bad;

	assert_ok(profile_seal(p, NULL, &err));
	buf_init(&b, PROFILE_CANONICAL_MAX);
	buf_init(&bad, PROFILE_CANONICAL_MAX);
	assert_ok(profile_write_canonical(p, &b, &err));
	for (size_t i = 0; i < ARRAY_LEN(SPOILS); i++) {
		char *at = strstr(b.data, SPOILS[i].from);

		if (at == NULL)
			fail_msg("'%s' is not in it", SPOILS[i].from);
		buf_reset(&bad);
		buf_add(&bad, b.data, (size_t)(at - b.data));
		buf_str(&bad, SPOILS[i].to);
		buf_str(&bad, at + strlen(SPOILS[i].from));
		if (profile_read_canonical(bad.data, bad.len, &q, &err) == 0)
			fail_msg("'%s' is taken", SPOILS[i].to);
		assert_null(q);
		assert_true(err.text[0] != '\0');
		err = (struct error){0};
	}
	buf_fini(&bad);
	buf_fini(&b);
}

static void
large(void **state)
{
	char *bytes = calloc(1, PROFILE_CANONICAL_MAX + 1);
	struct profile *p = NULL;
	struct error err = {0};

	assert_non_null(bytes);
	assert_fails(-EMSGSIZE, &err,
		     profile_read_canonical(bytes, PROFILE_CANONICAL_MAX + 1, &p, &err));
	free(bytes);
}

static void
unsealable(void **state)
{
	CLEANUP(profile_freep) struct profile *p = example();
	struct error err = {0};
	struct buf b;

	buf_init(&b, 16);
	assert_fails(-EINVAL, &err, profile_write_canonical(p, &b, &err));
	buf_fini(&b);
	p->n_mounts = PROFILE_MOUNTS_MAX + 1;
	assert_fails(-ERANGE, &err, profile_seal(p, NULL, &err));
	p->n_mounts = 0;
	p->runtime = (enum runtime)9;
	assert_fails(-ERANGE, &err, profile_seal(p, NULL, &err));
	p->runtime = RUNTIME_NAMESPACES;
	memset(p->name, 'a', sizeof(p->name)); /* no NUL anywhere */
	assert_true(profile_seal(p, NULL, &err) < 0);
}

static void
words(void **state)
{
	enum workspace_mode m;

	for (int i = 0; i < 3; i++) {
		assert_true(workspace_mode_find(workspace_mode_name((enum workspace_mode)i), &m));
		assert_int_equal(m, i);
	}
	assert_false(workspace_mode_find("Overlay", &m));
	assert_string_equal(workspace_mode_name((enum workspace_mode)9), "unknown");
	assert_string_equal(runtime_name(RUNTIME_GVISOR), "gvisor");
	assert_string_equal(runtime_name((enum runtime)9), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(digest_follows_content),
		cmocka_unit_test(spoiled),	  cmocka_unit_test(large),
		cmocka_unit_test(unsealable),	  cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
