#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/scan.h"

static bool
accepts(const char *text, size_t len)
{
	struct scan_entry e;

	return scan_object(text, len, &e, NULL) == 0;
}

/* The reader this one must agree with. */
static bool
canonical_object(const char *text, size_t len)
{
	CLEANUP(json_decrefp) json_t *v = NULL;

	return json_read_canonical(text, len, &v, NULL) == 0 && json_is_object(v);
}

static void
assert_agree(const char *text, size_t len)
{
	if (accepts(text, len) != canonical_object(text, len))
		fail_msg("they disagree (scan says %d) about: %.*s", accepts(text, len), (int)len,
			 text);
}

static const char *const GOOD[] = {
	"{}",
	"{\"\":0}",
	"{\"a\":1,\"b\":[],\"c\":{},\"d\":[1,-2,\"x\",true,false,null,{\"y\":{}}]}",
	"{\"a\":9007199254740991,\"b\":-9007199254740991,\"c\":0}",
	"{\"\\b\":1,\"\\t\":2,\"\\n\":3,\"\\u001f\":4,\"!\":5,\"\\\"\":6,\"[\":7,\"\\\\\":8,\"]\":9}",
	"{\"s\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\u0001\\u000b\\f\\r\x7f/\"}",
	"{\"long\":\"0123456789abcdefghijklmnopqrstuvwxyz0123456789\\\"abcdefghijk\"}",
};

static const char *const BAD[] = {
	"",
	"{",
	"}",
	"[]",
	"1",
	"\"x\"",
	"null",
	"{} ",
	" {}",
	"{ }",
	"{\"a\" :1}",
	"{\"a\":1 }",
	"{\"b\":1,\"a\":2}",
	"{\"a\":1,\"a\":2}",
	"{\"\\\"\":1,\"!\":5}",
	"{\"a\":01}",
	"{\"a\":-0}",
	"{\"a\":-}",
	"{\"a\":1.0}",
	"{\"a\":1e3}",
	"{\"a\":9007199254740992}",
	"{\"a\":-9007199254740992}",
	"{\"a\":99999999999999999999999999}",
	"{\"a\":+1}",
	"{\"a\":}",
	"{\"a\":1,}",
	"{,}",
	"{\"a\"}",
	"{a:1}",
	"{\"a\":[1,]}",
	"{\"a\":[,1]}",
	"{\"a\":[1 ,2]}",
	"{\"a\":[1}",
	"{\"a\":{]}",
	"{\"a\":\"\\/\"}",
	"{\"a\":\"\\u0041\"}",
	"{\"a\":\"\\u0000\"}",
	"{\"a\":\"\\u0008\"}",
	"{\"a\":\"\\u000A\"}",
	"{\"a\":\"\\u001F\"}",
	"{\"a\":\"\\u000c\"}",
	"{\"a\":\"\\u000d\"}",
	"{\"a\":\"\\u0020\"}",
	"{\"a\":\"\\ud83d\\ude00\"}",
	"{\"a\":\"\\x\"}",
	"{\"a\":\"\\u00\"}",
	"{\"a\":\"\\\"}",
	"{\"a\":\"\n\"}",
	"{\"a\":\"\xff\"}",
	"{\"a\":\"\xc0\x80\"}",
	"{\"a\":\"\xed\xa0\x80\"}",
	"{\"a\":\"\xe2\x82\"}",
	"{\"\xc3\xa9\":1}",
	"{\"a\":tru}",
	"{\"a\":nullx}",
	"{\"a\":True}",
};

static void
same_as_the_reader(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
		if (!accepts(GOOD[i], strlen(GOOD[i])))
			fail_msg("refused: %s", GOOD[i]);
		assert_agree(GOOD[i], strlen(GOOD[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		if (accepts(BAD[i], strlen(BAD[i])))
			fail_msg("accepted: %s", BAD[i]);
		assert_agree(BAD[i], strlen(BAD[i]));
	}
	/* A NUL in the middle, and nothing behind the last byte is looked at. */
	assert_false(accepts("{\"a\":\"\0\"}", 9));
	assert_agree("{\"a\":\"\0\"}", 9);
	assert_true(accepts("{\"a\":1}x", 7));
}

static void
same_at_every_cut_and_flip(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
		size_t len = strlen(GOOD[i]);
		char copy[256];

		assert_true(len < sizeof(copy));
		for (size_t at = 0; at < len; at++) {
			assert_agree(GOOD[i], at);
			memcpy(copy, GOOD[i], len);
			for (int byte = 0; byte < 256; byte++) {
				copy[at] = (char)byte;
				assert_agree(copy, len);
			}
		}
	}
}

static void
depth(void **state)
{
	char text[256];

	for (unsigned int n = JSON_DEPTH_MAX - 2; n < JSON_DEPTH_MAX + 3; n++) {
		size_t len = 0;

		len += (size_t)snprintf(text, sizeof(text), "{\"a\":");
		for (unsigned int i = 1; i < n; i++)
			text[len++] = '[';
		for (unsigned int i = 1; i < n; i++)
			text[len++] = ']';
		text[len++] = '}';
		assert_int_equal(accepts(text, len), n <= JSON_DEPTH_MAX);
		assert_agree(text, len);
	}
}

static void
members(void **state)
{
	static const char text[] =
		"{\"blobs\":[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
		"\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"],"
		"\"digest\":\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\","
		"\"event\":\"started\",\"inner\":{\"kind\":\"no\",\"op\":\"op_0000000000000000\"},"
		"\"intent\":12345,\"kind\":\"intent\",\"op\":\"op_0123456789abcdef\",\"v\":1}";
	uint8_t hashes[ENTRY_BLOBS_MAX][SHA256_LEN], hash[SHA256_LEN];
	struct scan_entry e;
	uint64_t n;
	uint32_t count;

	assert_ok(scan_object(text, strlen(text), &e, NULL));
	assert_true(scan_is(e.kind, "intent"));
	assert_false(scan_is(e.kind, "inten"));
	assert_false(scan_is(e.kind, "intents"));
	assert_true(scan_is(e.event, "started"));
	assert_ok(scan_u64(e.v, &n));
	assert_int_equal(n, 1);
	assert_ok(scan_u64(e.intent, &n));
	assert_int_equal(n, 12345);
	assert_ok(scan_op(e.op, &n));
	assert_true(n == 0x0123456789abcdefULL);
	assert_int_equal(scan_op(e.kind, &n), -EBADMSG);
	assert_ok(scan_hash(e.digest, hash));
	assert_int_equal(hash[31], 0xcc);
	assert_int_equal(scan_hash(e.op, hash), -EBADMSG);
	assert_ok(scan_hashes(e.blobs, hashes, &count));
	assert_int_equal(count, 2);
	assert_int_equal(hashes[1][0], 0xbb);
	assert_int_equal(scan_hashes(e.v, hashes, &count), -EBADMSG);
	assert_ok(scan_hashes((struct scan_span){0}, hashes, &count));
	assert_int_equal(count, 0);
	assert_ok(scan_object("{\"blobs\":[]}", 12, &e, NULL));
	assert_ok(scan_hashes(e.blobs, hashes, &count));
	assert_int_equal(count, 0);
	assert_ok(scan_object("{\"blobs\":[1]}", 13, &e, NULL));
	assert_int_equal(scan_hashes(e.blobs, hashes, &count), -EBADMSG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_the_reader),
		cmocka_unit_test(same_at_every_cut_and_flip),
		cmocka_unit_test(depth),
		cmocka_unit_test(members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
