#include "unit.h"

#include <errno.h>
#include <string.h>

#include "wire/codec.h"

static struct wire_in
reader(const void *bytes, size_t len)
{
	return (struct wire_in){.p = bytes, .left = len};
}

static void
integers_are_big_endian(void **state)
{
	struct wire_in in;
	struct buf b;

	buf_init(&b, 100);
	wire_put_u32(&b, 0x01020304);
	wire_put_u64(&b, 0x05060708090a0b0c);
	wire_put_i32(&b, -2);
	assert_int_equal(b.len, 16);
	assert_memory_equal(b.data, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xff\xff\xff\xfe", 16);
	in = reader(b.data, b.len);
	assert_int_equal(wire_get_u32(&in), 0x01020304);
	assert_true(wire_get_u64(&in) == 0x05060708090a0b0c);
	assert_int_equal(wire_get_i32(&in), -2);
	assert_int_equal(in.left, 0);
	assert_false(in.bad);
	buf_fini(&b);
}

static void
bad_stays_bad(void **state)
{
	struct wire_in in = reader("\0\0\0\1\0\0\0\2", 7);

	assert_int_equal(wire_get_u32(&in), 1);
	assert_int_equal(wire_get_u32(&in), 0);
	assert_true(in.bad);
	/* Three bytes are left, but no field of any size is given out any more. */
	assert_int_equal(wire_get_bytes(&in).len, 0);
	assert_non_null(wire_get_text(&in).data);
	assert_true(wire_get_u64(&in) == 0);
	assert_true(in.bad);
	in = reader("\0\0\0\1\0\0\0", 7);
	assert_true(wire_get_u64(&in) == 0);
	assert_true(in.bad);
	in = reader(NULL, 0);
	assert_int_equal(wire_get_i32(&in), 0);
	assert_true(in.bad);
}

static void
lengths_larger_than_the_body(void **state)
{
	static const char *const heads[] = {"\0\0\0\4",	  "\0\0\1\0",	      "\x7f\xff\xff\xff",
					    "\x80\0\0\0", "\xff\xff\xff\xff", "\xff\xff\xff\xfc"};
	char body[7] = {0, 0, 0, 0, 'a', 'b', 'c'};
	struct wire_in in;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		memcpy(body, heads[i], 4);
		in = reader(body, sizeof(body));
		assert_int_equal(wire_get_bytes(&in).len, 0);
		assert_true(in.bad);
		in = reader(body, sizeof(body));
		assert_int_equal(wire_get_text(&in).len, 0);
		assert_true(in.bad);
	}
	memcpy(body, "\0\0\0\3", 4);
	in = reader(body, sizeof(body));
	assert_true(wire_text_eq(wire_get_text(&in), "abc"));
	assert_false(in.bad);
}

static void
text_is_utf8_without_nul(void **state)
{
	static const struct {
		const char *body;
		size_t len;
	} bad[] = {
		{"\0\0\0\1\0", 5},	 {"\0\0\0\3a\0b", 7},	      {"\0\0\0\1\xff", 5},
		{"\0\0\0\2\xc0\x80", 6}, {"\0\0\0\3\xed\xa0\x80", 7}, {"\0\0\0\2\xe2\x82", 6},
	};
	struct wire_in in;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		in = reader(bad[i].body, bad[i].len);
		assert_int_equal(wire_get_text(&in).len, 0);
		assert_true(in.bad);
		/* The same content is fine as bytes. */
		in = reader(bad[i].body, bad[i].len);
		assert_int_equal(wire_get_bytes(&in).len, bad[i].len - 4);
		assert_false(in.bad);
	}
}

static void
bad_text_is_not_sent(void **state)
{
	struct buf b;

	buf_init(&b, 100);
	wire_put_text(&b, wire_text_of("\xff"));
	assert_true(b.failed);
	buf_reset(&b);
	wire_put_text(&b, (struct wire_text){.data = "a\0", .len = 2});
	assert_true(b.failed);
	buf_reset(&b);
	wire_put_bytes(&b, wire_bytes_of("a\0\xff", 3));
	wire_put_text(&b, (struct wire_text){0});
	wire_put_bytes(&b, (struct wire_bytes){0});
	assert_ok(buf_check(&b, NULL));
	assert_int_equal(b.len, 15);
	buf_fini(&b);
}

static void
views(void **state)
{
	char out[4] = "?";

	assert_int_equal(wire_text_of(NULL).len, 0);
	assert_non_null(wire_text_of(NULL).data);
	assert_true(wire_text_eq(wire_text_of("abc"), "abc"));
	assert_false(wire_text_eq(wire_text_of("abc"), "ab"));
	assert_false(wire_text_eq(wire_text_of("ab"), "abc"));
	assert_true(wire_text_eq((struct wire_text){0}, ""));
	assert_ok(wire_text_copy(wire_text_of("abc"), out, 4));
	assert_string_equal(out, "abc");
	assert_int_equal(wire_text_copy(wire_text_of("abcd"), out, 4), -EMSGSIZE);
	assert_int_equal(wire_text_copy(wire_text_of(""), out, 0), -EMSGSIZE);
	assert_string_equal(out, "abc");
	assert_ok(wire_text_copy((struct wire_text){0}, out, 4));
	assert_string_equal(out, "");
	/* A length that does not fit 32 bits must not come out small. */
	assert_int_equal(wire_len((size_t)UINT32_MAX + 3), UINT32_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_big_endian),
		cmocka_unit_test(bad_stays_bad),
		cmocka_unit_test(lengths_larger_than_the_body),
		cmocka_unit_test(text_is_utf8_without_nul),
		cmocka_unit_test(bad_text_is_not_sent),
		cmocka_unit_test(views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
