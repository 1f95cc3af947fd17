#include "unit.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"

static void
text_of_known_moments(void **state)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} table[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{951782399999, "2000-02-28T23:59:59.999Z"},
		{951782400000, "2000-02-29T00:00:00.000Z"},
		{951868800000, "2000-03-01T00:00:00.000Z"},
		{1796012184123, "2026-11-30T04:16:24.123Z"},
		{4107542399000, "2100-02-28T23:59:59.000Z"},
		{4107542400000, "2100-03-01T00:00:00.000Z"},
		{253402300799999, "9999-12-31T23:59:59.999Z"},
		{253402300800000, "9999-12-31T23:59:59.999Z"},
		{UINT64_MAX, "9999-12-31T23:59:59.999Z"},
	};
	char out[CLOCK_TEXT_MAX];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		clock_text(table[i].ms, out);
		assert_string_equal(out, table[i].text);
	}
}

/* Every day of eight centuries against the C library. */
static void
text_agrees_with_gmtime(void **state)
{
	for (int64_t day = 0; day < 292200; day++) {
		char out[CLOCK_TEXT_MAX], want[CLOCK_TEXT_MAX];
		time_t t = (time_t)(day * 86400 + day % 86400);
		struct tm tm;

		assert_non_null(gmtime_r(&t, &tm));
		assert_true(strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.007Z", &tm) > 0);
		clock_text((uint64_t)t * 1000 + 7, out);
		assert_string_equal(out, want);
	}
}

static void
clocks_go_forward(void **state)
{
	uint64_t boot = clock_boot_ms();

	assert_true(clock_boot_ms() >= boot);
	assert_true(clock_wall_ms() > 1700000000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_known_moments),
		cmocka_unit_test(text_agrees_with_gmtime),
		cmocka_unit_test(clocks_go_forward),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
