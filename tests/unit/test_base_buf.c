#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

static void
starts_empty_and_terminated(void **state)
{
	struct buf b;

	buf_init(&b, 10);
	assert_non_null(b.data);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	assert_ok(buf_check(&b, NULL));
	buf_fini(&b);
	buf_fini(&b);
	assert_null(b.data);
	b = (struct buf){0};
	buf_fini(&b);
}

static void
appends(void **state)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_add(&b, "a\0b", 3);
	buf_char(&b, 'c');
	buf_str(&b, "de");
	buf_fmt(&b, "%d-%s", 42, "x");
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "a\0bcde42-x", 11);
	buf_cut(&b, 20);
	assert_int_equal(b.len, 10);
	buf_cut(&b, 1);
	assert_string_equal(b.data, "a");
	buf_fini(&b);
}

static void
exactly_the_maximum_fits(void **state)
{
	struct error err = {0};
	struct buf b;

	buf_init(&b, 5);
	buf_str(&b, "12345");
	assert_ok(buf_check(&b, &err));
	assert_string_equal(b.data, "12345");
	assert_true(b.cap <= 6);
	buf_char(&b, '6');
	assert_fails(-EMSGSIZE, &err, buf_check(&b, &err));
	assert_string_equal(b.data, "12345");
	/* Failed stays failed, even for what would fit. */
	buf_cut(&b, 0);
	buf_char(&b, 'x');
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_check(&b, NULL), -EMSGSIZE);
	buf_reset(&b);
	buf_char(&b, 'x');
	assert_ok(buf_check(&b, NULL));
	assert_string_equal(b.data, "x");
	buf_fini(&b);
}

static void
partial_additions_do_not_happen(void **state)
{
	struct buf b;

	buf_init(&b, 4);
	buf_fmt(&b, "%s", "12345");
	assert_true(b.failed);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	buf_fini(&b);
	buf_init(&b, 4);
	buf_str(&b, "123");
	buf_str(&b, "45");
	assert_string_equal(b.data, "123");
	assert_true(b.failed);
	buf_fini(&b);
}

static void
a_maximum_of_zero_takes_nothing(void **state)
{
	struct buf b;

	buf_init(&b, 0);
	assert_string_equal(b.data, "");
	buf_fmt(&b, "%s", "");
	assert_ok(buf_check(&b, NULL));
	buf_char(&b, 'x');
	assert_int_equal(buf_check(&b, NULL), -EMSGSIZE);
	buf_fini(&b);
	/* A zeroed buffer has a maximum of zero. */
	b = (struct buf){0};
	buf_char(&b, 'x');
	assert_true(b.failed);
	buf_fini(&b);
}

static void
grows_byte_by_byte_to_the_maximum(void **state)
{
	struct buf b;

	buf_init(&b, 70000);
	for (unsigned int i = 0; i < 70000; i++) {
		buf_char(&b, (char)('a' + i % 26));
		assert_int_equal(b.data[b.len], '\0');
	}
	assert_ok(buf_check(&b, NULL));
	assert_true(b.cap <= 70001);
	for (unsigned int i = 0; i < 70000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buf_fini(&b);
}

static void
sizes_do_not_wrap(void **state)
{
	struct buf b;

	buf_init(&b, SIZE_MAX);
	buf_char(&b, 'x');
	buf_add(&b, "", SIZE_MAX);
	assert_int_equal(buf_check(&b, NULL), -EMSGSIZE);
	assert_int_equal(b.len, 1);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty_and_terminated),
		cmocka_unit_test(appends),
		cmocka_unit_test(exactly_the_maximum_fits),
		cmocka_unit_test(partial_additions_do_not_happen),
		cmocka_unit_test(a_maximum_of_zero_takes_nothing),
		cmocka_unit_test(grows_byte_by_byte_to_the_maximum),
		cmocka_unit_test(sizes_do_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
