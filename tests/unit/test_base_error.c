#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void
first_cause_wins(void **state)
{
	struct error err = {0};

	assert_int_equal(error_set(&err, -EPERM, "first %d", 1), -EPERM);
	assert_int_equal(error_set(&err, -EIO, "second"), -EIO);
	assert_int_equal(error_sys(&err, -EIO, "third"), -EIO);
	assert_int_equal(err.code, -EPERM);
	assert_string_equal(err.text, "first 1");
}

static void
null_error_only_returns(void **state)
{
	assert_int_equal(error_set(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(error_sys(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(error_prefix(NULL, "x"), -EIO);
}

static void
success_codes_become_failures(void **state)
{
	struct error err = {0};

	assert_int_equal(error_set(NULL, 0, "x"), -EIO);
	assert_int_equal(error_set(&err, 5, "x"), -EIO);
	assert_int_equal(err.code, -EIO);
	err = (struct error){0};
	assert_int_equal(error_prefix(&err, "x"), -EIO);
	assert_int_equal(err.code, -EIO);
}

static void
sys_appends_the_reason(void **state)
{
	struct error err = {0};

	assert_int_equal(error_sys(&err, -ENOENT, "open %s", "/x"), -ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
	err = (struct error){0};
	assert_int_equal(error_sys(&err, -4000, "odd"), -4000);
	assert_string_equal(err.text, "odd: error 4000");
}

static void
prefix_puts_context_first(void **state)
{
	struct error err = {0};

	(void)error_set(&err, -EINVAL, "bad");
	assert_int_equal(error_prefix(&err, "line %d", 7), -EINVAL);
	assert_string_equal(err.text, "line 7: bad");
}

static void
text_is_bounded(void **state)
{
	char big[2 * ERROR_TEXT_MAX];
	struct error err = {0};

	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	(void)error_set(&err, -EINVAL, "%s", big);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	(void)error_prefix(&err, "%s", "p");
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	assert_memory_equal(err.text, "p: aaa", 6);
	(void)error_prefix(&err, "%s", big);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	err = (struct error){0};
	(void)error_sys(&err, -EINVAL, "%s", big);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_cause_wins),
		cmocka_unit_test(null_error_only_returns),
		cmocka_unit_test(success_codes_become_failures),
		cmocka_unit_test(sys_appends_the_reason),
		cmocka_unit_test(prefix_puts_context_first),
		cmocka_unit_test(text_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
