#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "model/receipt.h"

static const uint8_t key[RECEIPT_KEY_LEN] = "key";
static const char entry[] = "{\"kind\":\"intent\"}";

static struct receipt
receipt_of(void)
{
	struct receipt r = {.index = 0x0102030405060708, .tree_size = 0x1112131415161718};

	leaf_hash(entry, sizeof(entry) - 1, r.leaf);
	memset(r.digest, 0xd1, sizeof(r.digest));
	memset(r.root, 0x80, sizeof(r.root));
	memset(r.signature, 0x51, sizeof(r.signature));
	receipt_mac(key, &r, r.mac);
	return r;
}

static void
leaf_is_rfc6962(void **state)
{
	uint8_t leaf[32];
	char hex[65];

	leaf_hash("", 0, leaf);
	hex_encode(leaf, sizeof(leaf), hex);
	assert_string_equal(hex,
			    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
	leaf_hash("L123456", 7, leaf);
	hex_encode(leaf, sizeof(leaf), hex);
	assert_string_equal(hex,
			    "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56");
}

static void
encoding_is_fixed(void **state)
{
	struct receipt r = receipt_of(), again;
	uint8_t data[RECEIPT_LEN];
	struct error err = {0};

	receipt_encode(&r, data);
	/* Big endian, in the order of the header. */
	assert_memory_equal(data, "\1\2\3\4\5\6\7\10", 8);
	assert_int_equal(data[8 + 32], 0xd1);
	assert_memory_equal(data + 72, "\x11\x12\x13\x14\x15\x16\x17\x18", 8);
	assert_int_equal(data[80], 0x80);
	assert_int_equal(data[112], 0x51);
	assert_memory_equal(data + 176, r.mac, 32);
	assert_ok(receipt_decode(data, sizeof(data), &again, NULL));
	assert_memory_equal(&r, &again, sizeof(r));
	assert_fails(-EBADMSG, &err, receipt_decode(data, sizeof(data) - 1, &again, &err));
	assert_fails(-EBADMSG, &err, receipt_decode(data, 0, &again, &err));
}

/* The bytes under the MACs, put together by hand from what the header says. */
static void
macs_are_as_documented(void **state)
{
	struct receipt r = receipt_of();
	uint8_t fields[16 + RECEIPT_LEN - 32], want[32], mac[32], message[16 + 8 + 32 + 2];
	uint8_t encoded[RECEIPT_LEN];
	const struct hash_part receipt_part = {fields, sizeof(fields)};
	const struct hash_part outcome_part = {message, sizeof(message)};

	receipt_encode(&r, encoded);
	memcpy(fields, "loom-receipt-v1", 16);
	memcpy(fields + 16, encoded, RECEIPT_LEN - 32);
	hmac_sha256(key, sizeof(key), &receipt_part, 1, want);
	assert_memory_equal(want, r.mac, sizeof(want));
	memcpy(message, "loom-outcome-v1", 16);
	memcpy(message + 16, "\0\0\0\0\0\0\1\2", 8);
	memcpy(message + 24, r.digest, 32);
	memcpy(message + 56, "{}", 2);
	hmac_sha256(key, sizeof(key), &outcome_part, 1, want);
	outcome_mac(key, 258, r.digest, "{}", 2, mac);
	assert_memory_equal(want, mac, sizeof(want));
}

static void
check_refuses_every_change(void **state)
{
	struct receipt r = receipt_of(), bad;
	uint8_t data[RECEIPT_LEN], other[RECEIPT_KEY_LEN] = "another";
	struct error err = {0};

	assert_ok(receipt_check(key, &r, entry, sizeof(entry) - 1, NULL));
	receipt_encode(&r, data);
	for (size_t i = 0; i < 8 * sizeof(data); i++) {
		data[i / 8] = (uint8_t)(data[i / 8] ^ 1 << i % 8);
		assert_ok(receipt_decode(data, sizeof(data), &bad, NULL));
		assert_fails(-EBADMSG, &err,
			     receipt_check(key, &bad, entry, sizeof(entry) - 1, &err));
		data[i / 8] = (uint8_t)(data[i / 8] ^ 1 << i % 8);
	}
	assert_fails(-EBADMSG, &err, receipt_check(other, &r, entry, sizeof(entry) - 1, &err));
	assert_fails(-EBADMSG, &err, receipt_check(key, &r, entry, sizeof(entry) - 2, &err));
	assert_fails(-EBADMSG, &err, receipt_check(key, &r, "{\"kind\":\"intenT\"}", 17, &err));
	/* Under a right MAC still: a head that does not cover it. */
	r.tree_size = r.index;
	receipt_mac(key, &r, r.mac);
	assert_fails(-EBADMSG, &err, receipt_check(key, &r, entry, sizeof(entry) - 1, &err));
}

/* Nothing that makes an outcome's MAC makes a receipt's, and the other way round. */
static void
domains_are_apart(void **state)
{
	struct receipt r = receipt_of();
	uint8_t encoded[RECEIPT_LEN], mac[32];

	receipt_encode(&r, encoded);
	outcome_mac(key, r.index, encoded + 8, encoded + 40, RECEIPT_LEN - 32 - 40, mac);
	assert_memory_not_equal(mac, r.mac, sizeof(mac));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_is_rfc6962),
		cmocka_unit_test(encoding_is_fixed),
		cmocka_unit_test(macs_are_as_documented),
		cmocka_unit_test(check_refuses_every_change),
		cmocka_unit_test(domains_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
