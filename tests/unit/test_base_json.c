#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

static json_t *
must_read(const char *text)
{
	struct error err = {0};
	json_t *v = NULL;

	if (json_read(text, strlen(text), &v, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return v;
}

static void
reading_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"{}x",
		"{} {}",
		"[1,]",
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}",
		"{\"o\":{\"a\":1,\"a\":1}}",
		"1.0",
		"[1.5]",
		"[1e3]",
		"[1E0]",
		"[-0.0]",
		"01",
		"+1",
		"NaN",
		"Infinity",
		"{\"a\":9007199254740992}",
		"[-9007199254740992]",
		"[9223372036854775808]",
		"[99999999999999999999999]",
		"\"\\u0000\"",
		"{\"\\u0000\":1}",
		"\"\\ud800\"",
		"\"\\udc00\"",
		"\"\\ud800\\ud800\"",
		"\"\x01\"",
		"\"\n\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xe0\x80\xaf\"",
		"\"\xff\"",
		"\"\xe2\x82\"",
		"'a'",
		"{a:1}",
		"// c\n1",
		"tru",
		"\xef\xbb\xbf{}",
	};
	struct error err = {0};
	json_t *v = NULL;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_fails(-EINVAL, &err, json_read(bad[i], strlen(bad[i]), &v, &err));
		assert_null(v);
	}
	/* Bytes after NUL are bytes all the same. */
	assert_fails(-EINVAL, &err, json_read("{}\0", 3, &v, &err));
	assert_fails(-EINVAL, &err, json_read("\"a\0b\"", 5, &v, &err));
	assert_fails(-EINVAL, &err, json_read(NULL, 0, &v, &err));
}

static void
integers_to_the_limit(void **state)
{
	CLEANUP(json_decrefp) json_t *v = must_read("[9007199254740991,-9007199254740991,-0,0]");

	assert_true(json_integer_value(json_array_get(v, 0)) == JSON_INT_MAX);
	assert_true(json_integer_value(json_array_get(v, 1)) == -JSON_INT_MAX);
}

static void
nested(char *out, unsigned int depth, const char *open, const char *close)
{
	*out = '\0';
	for (unsigned int i = 0; i < depth; i++)
		strcat(out, open);
	if (open[0] == '{')
		strcat(out, "1");
	for (unsigned int i = 0; i < depth; i++)
		strcat(out, close);
}

static void
depth_to_the_limit(void **state)
{
	char text[20000];
	struct error err = {0};
	json_t *v = NULL;

	nested(text, JSON_DEPTH_MAX, "[", "]");
	json_decref(must_read(text));
	nested(text, JSON_DEPTH_MAX + 1, "[", "]");
	assert_fails(-EINVAL, &err, json_read(text, strlen(text), &v, &err));
	nested(text, JSON_DEPTH_MAX, "{\"a\":", "}");
	json_decref(must_read(text));
	nested(text, JSON_DEPTH_MAX + 1, "{\"a\":", "}");
	assert_fails(-EINVAL, &err, json_read(text, strlen(text), &v, &err));
	/* Deep enough to end a recursive reader's stack. */
	memset(text, '[', sizeof(text));
	assert_fails(-EINVAL, &err, json_read(text, sizeof(text), &v, &err));
}

static void
canonical_text(void **state)
{
	static const char *const table[][2] = {
		{" { \"b\" : 1 , \"a\" : [ ] } ", "{\"a\":[],\"b\":1}"},
		{"[true,false,null,{}]", "[true,false,null,{}]"},
		{"[-0,0,-1,9007199254740991]", "[0,0,-1,9007199254740991]"},
		{"\"\\u0061\\/\"", "\"a/\""},
		/* RFC 8785 3.2.2.2: short forms, then lower-case hex; nothing else is escaped. */
		{"\"\\b\\t\\n\\f\\r\\\"\\\\\"", "\"\\b\\t\\n\\f\\r\\\"\\\\\""},
		{"\"\\u0008\\u0009\\u000a\\u000c\\u000d\"", "\"\\b\\t\\n\\f\\r\""},
		{"\"\\u000B\\u001F\\u0001\"", "\"\\u000b\\u001f\\u0001\""},
		{"\"\\u007f\\u0080\\u2028\"", "\"\x7f\xc2\x80\xe2\x80\xa8\""},
		{"\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"",
		 "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\""},
		{"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
		/* Keys by bytes: shorter first, digits before letters, upper before lower. */
		{"{\"b\":1,\"a\":2,\"ab\":3,\"\":4,\"B\":5,\"10\":6,\"2\":7,\"\\n\":8}",
		 "{\"\":4,\"\\n\":8,\"10\":6,\"2\":7,\"B\":5,\"a\":2,\"ab\":3,\"b\":1}"},
		{"{\"a\":{\"z\":1,\"y\":[{\"d\":1,\"c\":2}]}}",
		 "{\"a\":{\"y\":[{\"c\":2,\"d\":1}],\"z\":1}}"},
		{"\"x\"", "\"x\""},
	};
	struct buf b;

	buf_init(&b, 1000);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		CLEANUP(json_decrefp) json_t *v = must_read(table[i][0]);
		CLEANUP(json_decrefp) json_t *again = NULL;
		const char *want = table[i][1];

		buf_reset(&b);
		assert_ok(json_write_canonical(v, &b, NULL));
		assert_string_equal(b.data, want);
		assert_ok(json_read_canonical(want, strlen(want), &again, NULL));
		assert_true(json_equal(v, again));
	}
	buf_fini(&b);
}

static void
only_canonical_is_canonical(void **state)
{
	static const char *const bad[] = {
		" {}",
		"{} ",
		"{}\n",
		"[1, 2]",
		"{\"b\":1,\"a\":2}",
		"[-0]",
		"\"\\u0061\"",
		"\"\\/\"",
		"\"\\u000A\"",
		"\"\\u000B\"",
		"\"\\u00e9\"",
		"{\"\xc3\xa9\":1}",
	};
	struct error err = {0};
	json_t *v = NULL;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_fails(-EBADMSG, &err, json_read_canonical(bad[i], strlen(bad[i]), &v, &err));
		assert_null(v);
	}
	assert_fails(-EINVAL, &err, json_read_canonical("[1.0]", 5, &v, &err));
}

/* V is taken. */
static void
both_writers_refuse(json_t *v)
{
	struct error err = {0};
	uint8_t digest[SHA256_LEN];
	struct buf b;

	assert_non_null(v);
	buf_init(&b, 10000);
	buf_str(&b, "kept");
	assert_fails(-EINVAL, &err, json_write_canonical(v, &b, &err));
	assert_string_equal(b.data, "kept");
	assert_fails(-EINVAL, &err, json_digest("test", v, digest, &err));
	buf_fini(&b);
	json_decref(v);
}

static void
writing_refuses(void **state)
{
	json_t *deep = json_array();
	struct buf b;

	both_writers_refuse(json_real(1.0));
	both_writers_refuse(json_pack("[i, f]", 1, 1.5));
	both_writers_refuse(json_integer(JSON_INT_MAX + 1));
	both_writers_refuse(json_integer(-JSON_INT_MAX - 1));
	both_writers_refuse(json_integer(INT64_MIN));
	both_writers_refuse(json_pack("{s: i}", "\xc3\xa9", 1));
	both_writers_refuse(json_string_nocheck("\xff"));
	both_writers_refuse(json_string_nocheck("\xed\xa0\x80"));
	both_writers_refuse(json_stringn("a\0b", 3));
	for (unsigned int i = 0; i < JSON_DEPTH_MAX; i++) {
		json_t *outer = json_array();

		assert_int_equal(json_array_append_new(outer, deep), 0);
		deep = outer;
	}
	both_writers_refuse(deep);
	buf_init(&b, 10);
	assert_int_equal(json_write_canonical(NULL, &b, NULL), -EINVAL);
	buf_fini(&b);
}

static void
writing_stops_at_the_maximum(void **state)
{
	CLEANUP(json_decrefp) json_t *v = must_read("[1,2,3]");
	struct error err = {0};
	struct buf b;

	buf_init(&b, 7);
	assert_ok(json_write_canonical(v, &b, &err));
	buf_fini(&b);
	buf_init(&b, 6);
	assert_fails(-EMSGSIZE, &err, json_write_canonical(v, &b, &err));
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static void
digest_is_over_the_described_bytes(void **state)
{
	static const char want_bytes[] = "dom\0"
					 "o\0\0\0\2"
					 "s\0\0\0\1a"
					 "a\0\0\0\4tfn"
					 "i\xff\xff\xff\xff\xff\xff\xff\xfe"
					 "s\0\0\0\2bc"
					 "s\0\0\0\3xyz";
	CLEANUP(json_decrefp) json_t *v = must_read("{\"bc\":\"xyz\",\"a\":[true,false,null,-2]}");
	uint8_t got[SHA256_LEN], want[SHA256_LEN];

	sha256_of(want_bytes, sizeof(want_bytes) - 1, want);
	assert_ok(json_digest("dom", v, got, NULL));
	assert_memory_equal(got, want, SHA256_LEN);
}

static void
different_values_have_different_digests(void **state)
{
	static const char *const table[] = {
		"{}",	      "[]",	   "[[]]",     "[[],[]]",	"[{}]",
		"\"\"",	      "0",	   "1",	       "true",		"false",
		"null",	      "\"0\"",	   "\"t\"",    "[1]",		"[\"1\"]",
		"[1,2]",      "[[1],2]",   "[[1,2]]",  "{\"a\":1}",	"{\"a\":\"1\"}",
		"{\"a\":{}}", "[\"a\",1]", "[\"ab\"]", "[\"a\",\"b\"]", "-1",
		"256",
	};
	uint8_t digests[ARRAY_LEN(table)][SHA256_LEN], other[SHA256_LEN];

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		CLEANUP(json_decrefp) json_t *v = must_read(table[i]);

		assert_ok(json_digest("a", v, digests[i], NULL));
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(digests[i], digests[k], SHA256_LEN);
		assert_ok(json_digest("b", v, other, NULL));
		assert_memory_not_equal(digests[i], other, SHA256_LEN);
	}
}

static void
typed_members(void **state)
{
	CLEANUP(json_decrefp)
	json_t *v = must_read("{\"t\":\"x\",\"i\":5,\"b\":true,\"o\":{},\"a\":[]}");
	struct error err = {0};
	const char *text = "untouched";
	int64_t i = 77;
	bool b = false;
	json_t *o = NULL, *a = NULL;

	assert_ok(json_get_text(v, "t", &text, &err));
	assert_string_equal(text, "x");
	assert_ok(json_get_int(v, "i", 5, 5, &i, &err));
	assert_int_equal(i, 5);
	assert_ok(json_get_bool(v, "b", &b, &err));
	assert_true(b);
	assert_ok(json_get_object(v, "o", &o, &err));
	assert_non_null(o);
	assert_ok(json_get_array(v, "a", &a, &err));
	assert_non_null(a);

	assert_fails(-ENOENT, &err, json_get_text(v, "none", &text, &err));
	assert_fails(-ENOENT, &err, json_get_int(v, "none", 0, 9, &i, &err));
	assert_fails(-ENOENT, &err, json_get_bool(v, "none", &b, &err));
	assert_fails(-ENOENT, &err, json_get_object(v, "none", &o, &err));
	assert_fails(-ENOENT, &err, json_get_array(v, "none", &a, &err));
	assert_fails(-EINVAL, &err, json_get_text(v, "i", &text, &err));
	assert_fails(-EINVAL, &err, json_get_int(v, "t", 0, 9, &i, &err));
	assert_fails(-ERANGE, &err, json_get_int(v, "i", 6, 9, &i, &err));
	assert_fails(-ERANGE, &err, json_get_int(v, "i", 0, 4, &i, &err));
	assert_fails(-EINVAL, &err, json_get_bool(v, "i", &b, &err));
	assert_fails(-EINVAL, &err, json_get_object(v, "a", &o, &err));
	assert_fails(-EINVAL, &err, json_get_array(v, "o", &a, &err));
	assert_fails(-EINVAL, &err, json_get_text(a, "t", &text, &err));
	assert_fails(-EINVAL, &err, json_get_text(NULL, "t", &text, &err));
	assert_string_equal(text, "x");
	assert_int_equal(i, 5);
}

static void
text_with_nul_is_no_text(void **state)
{
	CLEANUP(json_decrefp) json_t *v = json_pack("{s: s#}", "t", "a\0b", 3);
	const char *text = NULL;

	assert_int_equal(json_get_text(v, "t", &text, NULL), -EINVAL);
	assert_null(text);
}

static void
only_known_keys(void **state)
{
	CLEANUP(json_decrefp) json_t *v = must_read("{\"a\":1,\"b\":2}");
	CLEANUP(json_decrefp) json_t *list = must_read("[]");
	const char *const both[] = {"b", "c", "a", NULL};
	const char *const one[] = {"a", NULL};
	struct error err = {0};

	assert_ok(json_only_keys(v, both, &err));
	assert_int_equal(json_only_keys(v, one, &err), -EINVAL);
	assert_string_equal(err.text, "unknown key b");
	assert_fails(-EINVAL, &err, json_only_keys(list, one, &err));
	assert_fails(-EINVAL, &err, json_only_keys(NULL, one, &err));
}

/* The inverse, which only a test needs. */
static size_t
unescape(const char *s, uint8_t *out)
{
	size_t n = 0;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] == 'x') {
			char two[3] = {s[2], s[3], '\0'};

			assert_ok(hex_decode(two, &out[n++], 1));
			s += 4;
		} else if (s[0] == '\\') {
			assert_int_equal(s[1], '\\');
			out[n++] = '\\';
			s += 2;
		} else {
			out[n++] = (uint8_t)*s++;
		}
	}
	return n;
}

static void
escaped_is_reversible(void **state)
{
	uint8_t all[512], back[512];
	json_t *v;

	for (unsigned int i = 0; i < 256; i++) {
		all[2 * i] = (uint8_t)i;
		all[2 * i + 1] = i % 3 == 0 ? '\\' : 'x';
	}
	v = json_escaped(all, sizeof(all));
	assert_non_null(v);
	assert_true(utf8_valid(json_string_value(v), json_string_length(v)));
	assert_int_equal(unescape(json_string_value(v), back), sizeof(all));
	assert_memory_equal(back, all, sizeof(all));
	json_decref(v);
	v = json_escaped("a\\x41\xc3\xa9\xff\n\xc2\x85\xe2\x80\xae", 14);
	assert_string_equal(json_string_value(v),
			    "a\\\\x41\xc3\xa9\\xff\\x0a\\xc2\\x85\xe2\x80\xae");
	json_decref(v);
	v = json_escaped("", 0);
	assert_string_equal(json_string_value(v), "");
	json_decref(v);
	v = json_escaped(NULL, 0);
	assert_string_equal(json_string_value(v), "");
	json_decref(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_refuses),
		cmocka_unit_test(integers_to_the_limit),
		cmocka_unit_test(depth_to_the_limit),
		cmocka_unit_test(canonical_text),
		cmocka_unit_test(only_canonical_is_canonical),
		cmocka_unit_test(writing_refuses),
		cmocka_unit_test(writing_stops_at_the_maximum),
		cmocka_unit_test(digest_is_over_the_described_bytes),
		cmocka_unit_test(different_values_have_different_digests),
		cmocka_unit_test(typed_members),
		cmocka_unit_test(text_with_nul_is_no_text),
		cmocka_unit_test(only_known_keys),
		cmocka_unit_test(escaped_is_reversible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
