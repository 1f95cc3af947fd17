#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/operation.h"

static struct operation op;

static struct operation *
operation_of(enum capability capability)
{
	memset(&op, 0, sizeof(op));
	op.capability = capability;
	(void)snprintf(op.op, sizeof(op.op), "op_0123456789abcdef");
	(void)snprintf(op.session, sizeof(op.session), "s_12");
	op.identity = (struct identity){"self/agent", "agent", "root", UINT32_MAX};
	(void)snprintf(op.workflow, sizeof(op.workflow), "self");
	(void)snprintf(op.profile_name, sizeof(op.profile_name), "default");
	memset(op.profile_digest, 0xab, sizeof(op.profile_digest));
	op.mode = WORKSPACE_DIRECT;
	op.timeout_ms = 1800000;
	op.facts.workspace = (struct workspace_facts){.path = "/src/app \\xff",
						      .dev_major = UINT32_MAX,
						      .dev_minor = 1,
						      .ino = UINT64_MAX,
						      .uid = 1000,
						      .gid = 1000,
						      .fs = "ext4"};
	op.facts.args_count = 2;
	op.facts.args_bytes = 77;
	memset(op.facts.args_sha256, 0xcd, sizeof(op.facts.args_sha256));
	op.facts.n_env = 2;
	op.facts.env[0] = (struct env_fact){.name = "PATH", .length = 5, .hmac = {1}};
	op.facts.env[1] = (struct env_fact){.name = "_x9"};
	(void)snprintf(op.facts.cwd, sizeof(op.facts.cwd), "a/\xff\\b");
	return &op;
}

static void
assert_same_json(const json_t *a, const json_t *b)
{
	CLEANUP(buf_fini) struct buf x = {0}, y = {0};

	buf_init(&x, 1 << 20);
	buf_init(&y, 1 << 20);
	assert_ok(json_write_canonical(a, &x, NULL));
	assert_ok(json_write_canonical(b, &y, NULL));
	assert_string_equal(x.data, y.data);
}

static void
round_trip_of_each(void **state)
{
	static const enum capability all[] = {C_EXEC, C_WORKSPACE_READ, C_WORKSPACE_WRITE,
					      C_WORKSPACE_ACCEPT};
	static struct operation got;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CLEANUP(json_decrefp) json_t *v = NULL;
		CLEANUP(json_decrefp) json_t *again = NULL;

		(void)operation_of(all[i]);
		if (all[i] == C_WORKSPACE_ACCEPT)
			op.paths = json_pack("[s]", "a/b");
		v = operation_json(&op, NULL);
		assert_non_null(v);
		assert_ok(operation_read(v, &got, NULL));
		again = operation_json(&got, NULL);
		assert_same_json(v, again);
		assert_int_equal(json_object_get(v, "args") != NULL, all[i] == C_EXEC);
		operation_fini(&got);
		operation_fini(&op);
	}
}

/* The document of the header, word for word. */
static void
document_of_exec(void **state)
{
	CLEANUP(json_decrefp) json_t *v = operation_json(operation_of(C_EXEC), NULL);
	CLEANUP(buf_fini) struct buf text = {0};
	uint8_t digest[SHA256_LEN];
	char hex[65];

	buf_init(&text, 1 << 16);
	assert_ok(json_write_canonical(v, &text, NULL));
	assert_string_equal(
		text.data,
		"{\"args\":{\"bytes\":77,\"count\":2,\"sha256\":"
		"\"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd\"},"
		"\"capability\":\"exec\",\"cwd\":\"a/\\\\xff\\\\\\\\b\",\"env\":["
		"{\"hmac\":\"0100000000000000000000000000000000000000000000000000000000000000\","
		"\"length\":5,\"name\":\"PATH\"},"
		"{\"hmac\":\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"length\":0,\"name\":\"_x9\"}],"
		"\"identity\":{\"kind\":\"agent\",\"name\":\"self/agent\",\"owner\":\"root\","
		"\"uid\":4294967295},\"op\":\"op_0123456789abcdef\",\"profile\":{\"digest\":"
		"\"abababababababababababababababababababababababababababababababab\","
		"\"name\":\"default\"},\"resource\":{\"workspace\":{\"dev\":\"4294967295:1\","
		"\"fs\":\"ext4\",\"gid\":1000,\"ino\":\"18446744073709551615\",\"mode\":\"direct\","
		"\"new\":false,\"path\":\"/src/app \\\\xff\",\"uid\":1000}},\"session\":\"s_12\","
		"\"timeoutMs\":1800000,\"tty\":false,\"workflow\":\"self\"}");
	assert_ok(operation_digest(v, digest, NULL));
	assert_ok(json_digest("loom-operation-v1", v, digest, NULL));
	hex_encode(digest, sizeof(digest), hex);
	assert_int_equal(strlen(hex), 64);
}

/* Every member that is changed changes the digest; every member that is missing is missed. */
static void
mutate(const json_t *whole, json_t *at)
{
	static struct operation got;
	uint8_t before[SHA256_LEN], after[SHA256_LEN];
	const char *keys[32];
	size_t n = 0;
	const char *key;
	json_t *value;

	assert_ok(operation_digest(whole, before, NULL));
	json_object_foreach(at, key, value)
	{
		assert_true(n < ARRAY_LEN(keys));
		keys[n++] = strdup(key);
	}
	for (size_t i = 0; i < n; i++) {
		json_t *kept = json_incref(json_object_get(at, keys[i]));
		struct error err = {0};

		assert_int_equal(json_object_set_new(at, keys[i], json_string("?")), 0);
		assert_ok(operation_digest(whole, after, NULL));
		assert_memory_not_equal(before, after, sizeof(before));
		assert_int_equal(json_object_del(at, keys[i]), 0);
		if (operation_read(whole, &got, &err) == 0)
			fail_msg("read without %s", keys[i]);
		assert_int_equal(json_object_set(at, keys[i], kept), 0);
		if (json_is_object(kept))
			mutate(whole, kept);
		json_decref(kept);
		free((void *)(uintptr_t)keys[i]);
	}
	assert_int_equal(json_object_set_new(at, "unknown", json_true()), 0);
	assert_true(operation_read(whole, &got, NULL) < 0);
	assert_int_equal(json_object_del(at, "unknown"), 0);
	assert_ok(operation_read(whole, &got, NULL));
	operation_fini(&got);
}

static void
every_member_counts(void **state)
{
	CLEANUP(json_decrefp) json_t *exec = operation_json(operation_of(C_EXEC), NULL);
	CLEANUP(json_decrefp) json_t *accept = operation_json(operation_of(C_WORKSPACE_ACCEPT),
							       NULL);

	mutate(exec, exec);
	mutate(accept, accept);
}

/* One field at a time out of bounds: not written, and so not read. */
static void
out_of_bounds(void **state)
{
	struct error err = {0};

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		(void)operation_of(C_EXEC);                                                        \
		change;                                                                            \
		err = (struct error){0};                                                           \
		assert_null(operation_json(&op, &err));                                            \
		assert_true(err.code == -EINVAL || err.code == -ERANGE);                           \
	} while (0)
	REFUSED(op.capability = C_NET_HTTP);
	REFUSED(op.capability = CAPABILITY_COUNT);
	REFUSED(op.op[3] = 'X');
	REFUSED(op.session[0] = 'x');
	REFUSED(op.workflow[0] = '\0');
	REFUSED(op.profile_name[0] = '/');
	REFUSED(op.identity.name[0] = '\0');
	REFUSED(op.identity.name[0] = '\n');
	REFUSED(op.identity.kind[0] = 'x');
	REFUSED(op.identity.owner[0] = '\0');
	REFUSED((void)snprintf(op.identity.kind, sizeof(op.identity.kind), "person"));
	REFUSED(op.mode = (enum workspace_mode)9);
	REFUSED(op.facts.workspace.path[0] = 'x');
	REFUSED(op.facts.workspace.path[3] = '\x1b');
	REFUSED(op.facts.workspace.fs[0] = '\0');
	REFUSED(op.facts.args_count = 0);
	REFUSED(op.facts.args_count = ARGS_COUNT_MAX + 1);
	REFUSED(op.facts.args_bytes = ARGS_BLOB_MAX + 1);
	REFUSED(op.facts.n_env = ENV_COUNT_MAX + 1);
	REFUSED(op.facts.env[0].name[0] = '9');
	REFUSED(op.facts.env[0].name[1] = '=');
	REFUSED(op.facts.env[0].name[0] = '\0');
	REFUSED(op.facts.env[1] = op.facts.env[0]);
	REFUSED(op.facts.env[0].length = ENV_BLOB_MAX + 1);
	REFUSED((void)snprintf(op.facts.cwd, sizeof(op.facts.cwd), "../x"));
	REFUSED((void)snprintf(op.facts.cwd, sizeof(op.facts.cwd), "a//b"));
	REFUSED((void)snprintf(op.facts.cwd, sizeof(op.facts.cwd), "/a"));
	REFUSED(op.timeout_ms = (uint64_t)JSON_INT_MAX + 1);
#undef REFUSED
	(void)operation_of(C_EXEC);
	(void)snprintf(op.identity.kind, sizeof(op.identity.kind), "person");
	op.identity.owner[0] = '\0';
	{
		CLEANUP(json_decrefp) json_t *v = operation_json(&op, NULL);

		assert_non_null(v);
	}
}

static void
facts_round_trip(void **state)
{
	static struct exec_facts got;
	CLEANUP(buf_fini) struct buf text = {0}, again = {0};

	(void)operation_of(C_EXEC);
	(void)snprintf(op.facts.argv0, sizeof(op.facts.argv0), "/bin/\\xff");
	buf_init(&text, 65536);
	buf_init(&again, 65536);
	assert_ok(exec_facts_write(&op.facts, &text, NULL));
	assert_ok(exec_facts_read(text.data, text.len, &got, NULL));
	assert_memory_equal(&got, &op.facts, sizeof(got));
	assert_ok(exec_facts_write(&got, &again, NULL));
	assert_string_equal(text.data, again.data);
	for (size_t i = 0; i < text.len; i++)
		assert_true(exec_facts_read(text.data, i, &got, NULL) < 0);
}

/* Escaped in another way than ours: the same path would have two spellings in the record. */
static void
one_spelling_only(void **state)
{
	static const char *const bad[] = {"\\x61", "\\", "\\xf", "\\xFF", "\\y", "a\\x00b", "\x1b"};
	static struct operation got;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(json_decrefp) json_t *v = operation_json(operation_of(C_EXEC), NULL);
		struct error err = {0};

		assert_int_equal(json_object_set_new(v, "cwd", json_string(bad[i])), 0);
		assert_fails(-EINVAL, &err, operation_read(v, &got, &err));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip_of_each),
		cmocka_unit_test(document_of_exec),
		cmocka_unit_test(every_member_counts),
		cmocka_unit_test(out_of_bounds),
		cmocka_unit_test(facts_round_trip),
		cmocka_unit_test(one_spelling_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
