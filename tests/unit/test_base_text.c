#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void
hex_both_ways(void **state)
{
	const uint8_t data[] = {0x00, 0x0f, 0xa5, 0xff};
	uint8_t back[4] = {1, 2, 3, 4};
	char text[9];

	hex_encode(data, 4, text);
	assert_string_equal(text, "000fa5ff");
	assert_ok(hex_decode(text, back, 4));
	assert_memory_equal(back, data, 4);
	hex_encode(data, 0, text);
	assert_string_equal(text, "");
	assert_ok(hex_decode("", back, 0));
}

static void
hex_refuses(void **state)
{
	static const char *const bad[] = {"",	       "000fa5f",  "000fa5ff0", "000FA5FF",
					  "000fa5fg",  " 00fa5ff", "0x0fa5ff",	"000fa5f\n",
					  "000fa5ff ", "000fa5/:", "000fa5`@"};
	uint8_t out[4] = {9, 9, 9, 9};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(hex_decode(bad[i], out, 4), -EINVAL);
	assert_int_equal(out[0], 9);
}

/* RFC 4648, section 10. */
static void
base64_vectors(void **state)
{
	static const char *const table[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfb", "//77"},
		{"\xfb\xef\xbe", "++++"},
	};
	struct buf b;

	buf_init(&b, 100);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *raw = table[i][0], *text = table[i][1];

		buf_reset(&b);
		base64_encode(raw, strlen(raw), &b);
		assert_string_equal(b.data, text);
		buf_reset(&b);
		assert_ok(base64_decode(text, strlen(text), &b));
		assert_string_equal(b.data, raw);
	}
	buf_fini(&b);
}

static void
base64_refuses_other_spellings(void **state)
{
	static const char *const bad[] = {
		"Z",	 "Zg",	  "Zg=",      "Zh==",	  "Zm9=",     "Zm8",	  "====",
		"=",	 "Z===",  "Zg==Zg==", "Zm9vYg=",  "Zm9v\n",   "Zm9v====", "Zm-_",
		" Zg==", "Zg= =", "Z=g=",     "Zm9v Zg=", "Zm9vZm9!",
	};
	struct buf b;

	buf_init(&b, 100);
	buf_str(&b, "kept");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &b), -EINVAL);
		assert_string_equal(b.data, "kept");
	}
	assert_int_equal(base64_decode("Zg=\0", 4, &b), -EINVAL);
	assert_int_equal(base64_decode("\0\0\0\0", 4, &b), -EINVAL);
	assert_ok(buf_check(&b, NULL));
	buf_fini(&b);
}

static void
base64_stops_at_the_maximum(void **state)
{
	struct buf b;

	buf_init(&b, 5);
	assert_ok(base64_decode("Zm9vYmFy", 8, &b));
	assert_int_equal(buf_check(&b, NULL), -EMSGSIZE);
	buf_fini(&b);
}

static void
utf8_forms(void **state)
{
	static const char *const good[] = {
		"",
		"a",
		"\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x41",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xe0\xa0",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x90\x80",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff",
		"ok\xffok",
		"\xe2\x82\xc2\xa9",
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(utf8_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
	assert_true(utf8_valid("a\0b", 3));
}

/* Every scalar value, encoded here by the book, is one character and nothing else is. */
static void
utf8_every_character(void **state)
{
	for (uint32_t c = 0; c <= 0x10ffff + 1; c++) {
		uint8_t b[4];
		uint32_t got = 0;
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);

		b[0] = (uint8_t)(n == 1	  ? c
				 : n == 2 ? 0xc0 | c >> 6
				 : n == 3 ? 0xe0 | c >> 12
					  : 0xf0 | c >> 18);
		for (size_t i = 1; i < n; i++)
			b[i] = (uint8_t)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
		assert_int_equal(utf8_next(b, n, &got), valid ? n : 0);
		if (valid)
			assert_int_equal(got, c);
		if (n > 1)
			assert_int_equal(utf8_next(b, n - 1, &got), 0);
	}
}

static void
escape_for_terminals(void **state)
{
	static const char *const table[][2] = {
		{"plain \xc3\xa9 \xe2\x82\xac", "plain \xc3\xa9 \xe2\x82\xac"},
		{"a\\b", "a\\\\b"},
		{"a\nb\t\r", "a\\x0ab\\x09\\x0d"},
		{"\x1b[2J", "\\x1b[2J"},
		{"\x7f", "\\x7f"},
		{"\xc2\x9b"
		 "31m",
		 "\\xc2\\x9b31m"},
		{"\xc2\xa0", "\xc2\xa0"},
		{"\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae"},
		{"\xe2\x80\xa9\xe2\x80\xa8", "\\xe2\\x80\\xa9\\xe2\\x80\\xa8"},
		{"\xe2\x80\xaf", "\xe2\x80\xaf"},
		{"\xe2\x81\xa5\xe2\x81\xa6", "\xe2\x81\xa5\\xe2\\x81\\xa6"},
		{"\xe2\x81\xa9\xe2\x81\xaa", "\\xe2\\x81\\xa9\xe2\x81\xaa"},
		{"\xff\xfe", "\\xff\\xfe"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xc0\xaf", "\\xc0\\xaf"},
	};
	struct buf b;

	buf_init(&b, 100);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		buf_reset(&b);
		text_escape(table[i][0], strlen(table[i][0]), &b);
		assert_string_equal(b.data, table[i][1]);
	}
	buf_reset(&b);
	text_escape("a\0b", 3, &b);
	assert_string_equal(b.data, "a\\x00b");
	buf_fini(&b);
}

static void
durations(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ms;
	} table[] = {
		{"10s", 0, 10000},
		{"5m", 0, 300000},
		{"2h", 0, 7200000},
		{"400d", 0, 34560000000},
		{"0s", 0, 0},
		{"18446744073709551s", 0, 18446744073709551000U},
		{"18446744073709552s", -ERANGE, 0},
		{"99999999999999999999s", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"10", -EINVAL, 0},
		{"10 s", -EINVAL, 0},
		{" 10s", -EINVAL, 0},
		{"10s ", -EINVAL, 0},
		{"+10s", -EINVAL, 0},
		{"-10s", -EINVAL, 0},
		{"010s", -EINVAL, 0},
		{"1.5h", -EINVAL, 0},
		{"10S", -EINVAL, 0},
		{"10ms", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint64_t ms = 77;

		assert_int_equal(duration_parse(table[i].text, &ms), table[i].r);
		assert_int_equal(ms, table[i].r == 0 ? table[i].ms : 77);
	}
}

static void
sizes(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t bytes;
	} table[] = {
		{"512", 0, 512},
		{"0", 0, 0},
		{"64KiB", 0, 65536},
		{"2GiB", 0, 2147483648},
		{"1TiB", 0, 1099511627776},
		{"16777215TiB", 0, 18446742974197923840U},
		{"16777216TiB", -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"KiB", -EINVAL, 0},
		{"1kib", -EINVAL, 0},
		{"1K", -EINVAL, 0},
		{"1KB", -EINVAL, 0},
		{"1 KiB", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"00", -EINVAL, 0},
		{"-1", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint64_t bytes = 77;

		assert_int_equal(size_parse(table[i].text, &bytes), table[i].r);
		assert_int_equal(bytes, table[i].r == 0 ? table[i].bytes : 77);
	}
}

static void
decimals(void **state)
{
	uint64_t v = 77;

	assert_ok(decimal_parse("0", 0, &v));
	assert_int_equal(v, 0);
	assert_ok(decimal_parse("65535", 65535, &v));
	assert_int_equal(v, 65535);
	assert_int_equal(decimal_parse("65536", 65535, &v), -ERANGE);
	assert_ok(decimal_parse("18446744073709551615", UINT64_MAX, &v));
	assert_true(v == UINT64_MAX);
	assert_int_equal(decimal_parse("18446744073709551616", UINT64_MAX, &v), -ERANGE);
	assert_int_equal(decimal_parse("", 9, &v), -EINVAL);
	assert_int_equal(decimal_parse("1 ", 9, &v), -EINVAL);
	assert_int_equal(decimal_parse("01", 9, &v), -EINVAL);
	assert_int_equal(decimal_parse("+1", 9, &v), -EINVAL);
	assert_int_equal(decimal_parse("1\xd9\xa1", 9, &v), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hex_both_ways),
		cmocka_unit_test(hex_refuses),
		cmocka_unit_test(base64_vectors),
		cmocka_unit_test(base64_refuses_other_spellings),
		cmocka_unit_test(base64_stops_at_the_maximum),
		cmocka_unit_test(utf8_forms),
		cmocka_unit_test(utf8_every_character),
		cmocka_unit_test(escape_for_terminals),
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes),
		cmocka_unit_test(decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
