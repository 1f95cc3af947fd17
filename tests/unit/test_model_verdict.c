/* Names both ways, a verdict that starts as a denial, and how two verdicts meet. */
#include "unit.h"

#include <string.h>

#include "base/json.h"
#include "model/verdict.h"

static void
names(void **state)
{
	enum capability c;
	enum reason r;

	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		const char *name = capability_name((enum capability)i);

		assert_true(capability_find(name, strlen(name), &c));
		assert_int_equal(c, i);
		assert_false(capability_find(name, strlen(name) - 1, &c));
	}
	for (int i = 0; i < REASON_COUNT; i++) {
		assert_true(reason_find(reason_code((enum reason)i), &r));
		assert_int_equal(r, i);
		assert_true(strlen(reason_sentence((enum reason)i)) > 0);
	}
	assert_int_equal(REASON_COUNT, 23);
	assert_false(capability_find("Exec", 4, &c));
	assert_false(capability_find("", 0, &c));
	assert_false(reason_find("Allowed", &r));
	assert_string_equal(capability_name(CAPABILITY_COUNT), "unknown");
	assert_string_equal(reason_code(REASON_COUNT), "internal");
	assert_false(capability_implemented(CAPABILITY_COUNT));
	assert_true(capability_implemented(C_EXEC));
	assert_false(capability_implemented(C_NET_HTTP));
	assert_string_equal(effect_name((enum effect)7), "deny");
}

static void
starts_as_denial(void **state)
{
	struct verdict v;

	memset(&v, 0xff, sizeof(v));
	verdict_init(&v);
	assert_int_equal(v.effect, EFFECT_DENY);
	assert_int_equal(v.reason, R_INTERNAL);
	assert_int_equal(v.n_rules, 0);
	assert_string_equal(v.detail, "");
}

static void
bounded(void **state)
{
	char longer[1024];
	struct verdict v;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	verdict_deny(&v, R_BUSY, longer, "%s", longer);
	assert_int_equal(strlen(v.rules[0]), RULE_ID_MAX - 1);
	assert_int_equal(strlen(v.detail), VERDICT_DETAIL_MAX - 1);
	for (int i = 0; i < 3 * VERDICT_RULES_MAX; i++)
		verdict_add_rule(&v, "r");
	assert_int_equal(v.n_rules, VERDICT_RULES_MAX);
	verdict_deny(&v, R_BUSY, NULL, "again");
	assert_int_equal(v.n_rules, 0);
}

static struct verdict
made(enum effect effect, const char *rule)
{
	struct verdict v;

	verdict_init(&v);
	v.effect = effect;
	v.reason = effect == EFFECT_ALLOW ? R_ALLOWED : R_RULE_DENIED;
	verdict_add_rule(&v, rule);
	return v;
}

static void
meeting(void **state)
{
	for (int i = 0; i < 9; i++) {
		enum effect x = (enum effect)(i / 3), y = (enum effect)(i % 3);
		struct verdict a = made(x, "a"), b = made(y, "b");

		verdict_meet(&a, &b);
		assert_int_equal(a.effect, x < y ? x : y);
		assert_string_equal(a.rules[0], y < x ? "b" : "a");
		assert_int_equal(a.n_rules, x == EFFECT_ALLOW && y == EFFECT_ALLOW ? 2 : 1);
	}
}

static void
written(void **state)
{
	struct verdict v;
	CLEANUP(json_decrefp) json_t *doc = NULL;

	verdict_deny(&v, R_INVALID_PATH, "builtin/cwd", "a \x1b[31m and \xff and %s", "\xe2\x82");
	verdict_next(&v, "one\ntwo");
	doc = verdict_json(&v, "op_0123456789abcdef");
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "verdict")), "deny");
	assert_string_equal(json_string_value(json_object_get(doc, "reason")), "invalid-path");
	assert_string_equal(json_string_value(json_object_get(doc, "rule")), "builtin/cwd");
	assert_string_equal(json_string_value(json_object_get(doc, "detail")),
			    "a \\x1b[31m and \\xff and \\xe2\\x82");
	assert_string_equal(json_string_value(json_object_get(doc, "operation")),
			    "op_0123456789abcdef");
	assert_int_equal(json_array_size(json_object_get(doc, "next")), 2);
	json_decref(doc);
	verdict_init(&v);
	doc = verdict_json(&v, NULL);
	assert_null(json_object_get(doc, "operation"));
	assert_string_equal(json_string_value(json_object_get(doc, "detail")),
			    reason_sentence(R_INTERNAL));
	assert_int_equal(json_array_size(json_object_get(doc, "next")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),   cmocka_unit_test(starts_as_denial),
		cmocka_unit_test(bounded), cmocka_unit_test(meeting),
		cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
