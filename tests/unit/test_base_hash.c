#include "unit.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static void
assert_hex(const uint8_t digest[SHA256_LEN], const char *want)
{
	char text[2 * SHA256_LEN + 1];

	hex_encode(digest, SHA256_LEN, text);
	assert_string_equal(text, want);
}

static void
sha256_vectors(void **state)
{
	CLEANUP(sha256_freep) struct sha256 *h = NULL;
	uint8_t d[SHA256_LEN];

	sha256_of("", 0, d);
	assert_hex(d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_of(NULL, 0, d);
	assert_hex(d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_of("abc", 3, d);
	assert_hex(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	h = sha256_new();
	assert_non_null(h);
	for (int i = 0; i < 1000000; i++)
		sha256_add(h, "a", 1);
	sha256_end(h, d);
	assert_hex(d, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	/* It starts over. */
	sha256_add(h, "abc", 3);
	sha256_end(h, d);
	assert_hex(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_free(NULL);
}

/* RFC 4231, cases 1, 2 and 6, the message cut in parts. */
static void
hmac_vectors(void **state)
{
	uint8_t key[131], d[SHA256_LEN];
	const struct hash_part one[] = {{"Hi ", 3}, {"", 0}, {NULL, 0}, {"There", 5}};
	const struct hash_part two[] = {{"what do ya want for nothing?", 28}};
	const struct hash_part six[] = {
		{"Test Using Larger Than Block-Size Key - Hash Key First", 54}};

	memset(key, 0x0b, 20);
	hmac_sha256(key, 20, one, 4, d);
	assert_hex(d, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	hmac_sha256((const uint8_t *)"Jefe", 4, two, 1, d);
	assert_hex(d, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	hmac_sha256(key, sizeof(key), six, 1, d);
	assert_hex(d, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	hmac_sha256(NULL, 0, NULL, 0, d);
	assert_hex(d, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void
equal_in_constant_time(void **state)
{
	assert_true(bytes_equal_ct("abc", "abc", 3));
	assert_false(bytes_equal_ct("abc", "abd", 3));
	assert_false(bytes_equal_ct("abc", "xbc", 3));
	assert_true(bytes_equal_ct(NULL, NULL, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_vectors),
		cmocka_unit_test(hmac_vectors),
		cmocka_unit_test(equal_in_constant_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
