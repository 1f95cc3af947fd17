/* One spelling for each name. */
#include "unit.h"

#include <string.h>

#include "model/ids.h"

static void
operations(void **state)
{
	static const char *const BAD[] = {"",
					  "op_",
					  "op_0123456789abcde",
					  "op_0123456789abcdef0",
					  "op_0123456789ABCDEF",
					  "OP_0123456789abcdef",
					  "op_0123456789abcdeg",
					  " op_0123456789abcdef"};
	char a[OP_ID_MAX], b[OP_ID_MAX];
	struct error err = {0};

	assert_ok(op_id_new(a, &err));
	assert_ok(op_id_new(b, &err));
	assert_true(op_id_valid(a));
	assert_int_equal(strlen(a), OP_ID_LEN);
	assert_string_not_equal(a, b);
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(op_id_valid(BAD[i]));
}

static void
sessions(void **state)
{
	static const char *const BAD[] = {
		"",    "s_", "s_-1", "s_01", "s_1x", "S_1", "1", "s_+1", "s_18446744073709551616",
		"s_ 1"};
	static const uint64_t NUMBERS[] = {0, 1, 12, UINT64_MAX};
	char s[SESSION_ID_MAX];
	uint64_t n = 7;

	for (size_t i = 0; i < ARRAY_LEN(NUMBERS); i++) {
		session_id_print(NUMBERS[i], s);
		assert_true(session_id_parse(s, &n));
		assert_true(n == NUMBERS[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(session_id_parse(BAD[i], &n));
}

static void
names(void **state)
{
	static const char *const GOOD[] = {"a", "0", "python-ci", "a.b_c-d", "self", "s", "op"};
	static const char *const BAD[] = {"",	 "A",	".a", "-a",  "_a",  "a/b",
					  "a b", "a\n", "ä",  "s_1", "s_x", "op_0123456789abcdef",
					  "op_", ".."};
	char most[NAME_MAX_LEN + 2];

	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_true(name_valid(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(name_valid(BAD[i]));
	memset(most, 'a', sizeof(most));
	most[NAME_MAX_LEN + 1] = '\0';
	assert_false(name_valid(most));
	most[NAME_MAX_LEN] = '\0';
	assert_true(name_valid(most));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test(sessions),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
