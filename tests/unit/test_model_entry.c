#include "ledger_fixture.h"

#include <errno.h>

#include "base/json.h"

static struct operation op;
static struct verdict verdict;

static void
prepare(void)
{
	fixture_operation(&op, 7);
	memset(op.facts.args_sha256, 0x5a, sizeof(op.facts.args_sha256));
	verdict_init(&verdict);
	verdict.effect = EFFECT_ALLOW;
	verdict.reason = R_ALLOWED;
	verdict_add_rule(&verdict, "profile-exec");
}

static void
intent_reads_back(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct entry e;

	prepare();
	buf_init(&out, ENTRY_MAX);
	assert_ok(entry_intent(&op, &verdict, 1764476184123, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_string_equal(e.kind, "intent");
	assert_string_equal(e.op, "op_0000000000000007");
	assert_string_equal(e.session, "s_7");
	assert_null(e.event);
	assert_true(e.has_digest && e.intent == UINT64_MAX && e.n_blobs == 1);
	assert_string_equal(json_string_value(json_object_get(e.json, "time")),
			    "2025-11-30T04:16:24.123Z");
	assert_memory_equal(e.blobs[0], op.facts.args_sha256, SHA256_LEN);
	entry_fini(&e);
}

/* What is not allowed is no intent, and what is allowed is no denial. */
static void
verdicts_fit(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};

	prepare();
	buf_init(&out, ENTRY_MAX);
	verdict.effect = EFFECT_ESCALATE;
	assert_fails(-EINVAL, &err, entry_intent(&op, &verdict, 1, &out, &err));
	verdict_init(&verdict);
	assert_fails(-EINVAL, &err, entry_intent(&op, &verdict, 1, &out, &err));
	assert_ok(entry_denied(&op, &verdict, 1, &out, NULL));
	verdict.effect = EFFECT_ALLOW;
	assert_fails(-EINVAL, &err, entry_denied(&op, &verdict, 1, &out, &err));
}

/* What is said at the top is what the operation says: a view cannot be shown something else. */
static void
top_and_operation_agree(void **state)
{
	static const struct {
		const char *key, *value;
	} edits[] = {
		{"op", "\"op_0000000000000008\""},
		{"session", "\"s_8\""},
		{"identity", "{\"kind\":\"agent\",\"name\":\"self/agent\",\"owner\":\"root\",\"uid\":1}"},
		{"profile", "{\"digest\":\"00\",\"name\":\"default\"}"},
		{"workflow", "\"other\""},
		{"capability", "\"workspace.read\""},
		{"verdict", "\"deny\""},
		{"reason", "\"default-deny\""},
		{"rules", "[1]"},
		{"rules", "{}"},
		{"blobs", "[]"},
		{"blobs", "[\"0000000000000000000000000000000000000000000000000000000000000000\"]"},
		{"digest", "\"0000000000000000000000000000000000000000000000000000000000000000\""},
		{"time", "\"2025-11-30 04:16:24.123Z\""},
		{"time", "0"},
		{"v", "2"},
		{"v", "true"},
		{"kind", "\"outcome\""},
		{"kind", "\"Intent\""},
		{"more", "1"},
	};
	CLEANUP(buf_fini) struct buf out = {0};

	prepare();
	buf_init(&out, ENTRY_MAX);
	assert_ok(entry_intent(&op, &verdict, 1, &out, NULL));
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		CLEANUP(json_decrefp) json_t *v = NULL;
		CLEANUP(buf_fini) struct buf text = {0};
		struct error err = {0};
		struct entry e;
		json_t *value;

		assert_ok(json_read(out.data, out.len, &v, NULL));
		assert_ok(json_read(edits[i].value, strlen(edits[i].value), &value, NULL));
		assert_int_equal(json_object_set_new(v, edits[i].key, value), 0);
		buf_init(&text, ENTRY_MAX);
		assert_ok(json_write_canonical(v, &text, NULL));
		if (entry_read(text.data, text.len, &e, &err) == 0)
			fail_msg("%s may be %s", edits[i].key, edits[i].value);
		assert_int_equal(strncmp(err.text, "entry: ", 7), 0);
		if (strcmp(edits[i].key, "more") == 0)
			continue;
		/* And without it. */
		assert_int_equal(json_object_del(v, edits[i].key), 0);
		buf_reset(&text);
		assert_ok(json_write_canonical(v, &text, NULL));
		assert_true(entry_read(text.data, text.len, &e, NULL) < 0);
	}
}

static void
outcome_reads_back(void **state)
{
	static const char result[] = "{\"a\":[1,\"\\n\"]}";
	CLEANUP(buf_fini) struct buf out = {0}, again = {0};
	uint8_t digest[SHA256_LEN] = {9};
	struct error err = {0};
	struct entry e;

	buf_init(&out, ENTRY_MAX);
	buf_init(&again, ENTRY_MAX);
	assert_ok(entry_outcome("op_0000000000000007", "s_7", 12, digest, result,
				sizeof(result) - 1, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_string_equal(e.kind, "outcome");
	assert_int_equal(e.intent, 12);
	assert_memory_equal(e.digest, digest, sizeof(digest));
	/* The performer's bytes come out again: its MAC is over them. */
	assert_ok(json_write_canonical(json_object_get(e.json, "result"), &again, NULL));
	assert_string_equal(again.data, result);
	entry_fini(&e);
	assert_fails(-EBADMSG, &err,
		     entry_outcome("op_0000000000000007", "s_7", 12, digest, "{ }", 3, 1, &out,
				   &err));
}

static void
events_read_back(void **state)
{
	CLEANUP(json_decrefp) json_t *fields = json_pack("{s:s, s:I}", "session", "s_9", "intent",
							 (json_int_t)4);
	CLEANUP(json_decrefp) json_t *reserved = json_pack("{s:s}", "kind", "intent");
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};
	struct entry e;

	buf_init(&out, ENTRY_MAX);
	assert_ok(entry_event("indeterminate", fields, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_string_equal(e.event, "indeterminate");
	assert_string_equal(e.session, "s_9");
	assert_int_equal(e.intent, 4);
	entry_fini(&e);
	buf_reset(&out);
	assert_ok(entry_event("started", fields, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_true(e.intent == UINT64_MAX && e.op == NULL && !e.has_digest && e.n_blobs == 0);
	entry_fini(&e);
	buf_reset(&out);
	assert_ok(entry_event("indeterminate", NULL, 1, &out, NULL));
	assert_fails(-ENOENT, &err, entry_read(out.data, out.len, &e, &err));
	buf_reset(&out);
	assert_ok(entry_event("Not A Name", NULL, 1, &out, NULL));
	assert_fails(-EINVAL, &err, entry_read(out.data, out.len, &e, &err));
	assert_fails(-EINVAL, &err, entry_event("started", reserved, 1, &out, &err));
}

/* Nothing is known but that it was denied; everything is; and more than fits. */
static void
denials(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	static struct operation empty;
	struct entry e;

	buf_init(&out, ENTRY_MAX);
	verdict_init(&verdict);
	verdict_deny(&verdict, R_INVALID_REQUEST, NULL, "no");
	memset(&empty, 0, sizeof(empty));
	assert_ok(entry_denied(&empty, &verdict, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_string_equal(e.event, "denied");
	assert_null(e.op);
	assert_null(json_object_get(e.json, "identity"));
	assert_null(json_object_get(json_object_get(e.json, "operation"), "args"));
	assert_string_equal(json_string_value(json_object_get(e.json, "reason")),
			    "invalid-request");
	entry_fini(&e);
	prepare();
	verdict_init(&verdict);
	buf_reset(&out);
	assert_ok(entry_denied(&op, &verdict, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_string_equal(e.op, op.op);
	assert_non_null(json_object_get(json_object_get(e.json, "operation"), "args"));
	assert_false(e.has_digest);
	entry_fini(&e);
	/* 256 variables with long names do not fit: the denial does. */
	op.facts.n_env = ENV_COUNT_MAX;
	for (int i = 0; i < ENV_COUNT_MAX; i++)
		(void)snprintf(op.facts.env[i].name, sizeof(op.facts.env[i].name), "A%0120d", i);
	memset(op.facts.cwd, 'x', 4000);
	memset(op.facts.workspace.path + 1, 'x', 16000);
	buf_reset(&out);
	assert_ok(entry_denied(&op, &verdict, 1, &out, NULL));
	assert_ok(entry_read(out.data, out.len, &e, NULL));
	assert_null(json_object_get(e.json, "operation"));
	assert_string_equal(e.op, op.op);
	entry_fini(&e);
}

static void
too_large(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};
	struct entry e;

	prepare();
	buf_init(&out, 4 * ENTRY_MAX);
	op.facts.n_env = ENV_COUNT_MAX;
	for (int i = 0; i < ENV_COUNT_MAX; i++)
		(void)snprintf(op.facts.env[i].name, sizeof(op.facts.env[i].name), "A%0120d", i);
	memset(op.facts.workspace.path + 1, 'x', 16000);
	assert_fails(-EMSGSIZE, &err, entry_intent(&op, &verdict, 1, &out, &err));
	buf_reset(&out);
	buf_str(&out, "{\"x\":\"");
	while (out.len <= ENTRY_MAX)
		buf_char(&out, 'x');
	assert_fails(-EMSGSIZE, &err, entry_read(out.data, out.len, &e, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intent_reads_back),
		cmocka_unit_test(verdicts_fit),
		cmocka_unit_test(top_and_operation_agree),
		cmocka_unit_test(outcome_reads_back),
		cmocka_unit_test(events_read_back),
		cmocka_unit_test(denials),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
