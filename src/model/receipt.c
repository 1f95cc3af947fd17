/*
 * Fixed sizes and big-endian numbers, so that what the MAC covers can be read in one way only. The
 * MAC is judged before anything else in a receipt is looked at.
 */
#include "model/receipt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The NUL belongs to both: no domain is a prefix of another. */
static const char RECEIPT_DOMAIN[] = "loom-receipt-v1";
static const char OUTCOME_DOMAIN[] = "loom-outcome-v1";

#define RECEIPT_MACED_LEN (RECEIPT_LEN - 32)

static uint8_t *
put_u64(uint8_t *p, uint64_t v)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		*p++ = (uint8_t)(v >> shift);
	return p;
}

static uint8_t *
put_bytes(uint8_t *p, const uint8_t *data, size_t len)
{
	memcpy(p, data, len);
	return p + len;
}

static const uint8_t *
get_u64(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | *p++;
	*ret = v;
	return p;
}

static const uint8_t *
get_bytes(const uint8_t *p, uint8_t *out, size_t len)
{
	memcpy(out, p, len);
	return p + len;
}

/* What the MAC covers, which is also how a receipt starts on the wire. */
static void
receipt_fields(const struct receipt *r, uint8_t out[RECEIPT_MACED_LEN])
{
	uint8_t *p = out;

	p = put_u64(p, r->index);
	p = put_bytes(p, r->leaf, sizeof(r->leaf));
	p = put_bytes(p, r->digest, sizeof(r->digest));
	p = put_u64(p, r->tree_size);
	p = put_bytes(p, r->root, sizeof(r->root));
	(void)put_bytes(p, r->signature, sizeof(r->signature));
}

void
leaf_hash(const void *entry, size_t len, uint8_t ret[32])
{
	CLEANUP(sha256_freep) struct sha256 *h = sha256_new();

	/* As in base/hash.h: a hash that cannot be made has no safe value. */
	if (h == NULL)
		abort();
	sha256_add(h, "", 1);
	sha256_add(h, entry, len);
	sha256_end(h, ret);
}

void
receipt_mac(const uint8_t key[RECEIPT_KEY_LEN], const struct receipt *r, uint8_t ret_mac[32])
{
	uint8_t fields[RECEIPT_MACED_LEN];
	const struct hash_part parts[] = {
		{RECEIPT_DOMAIN, sizeof(RECEIPT_DOMAIN)},
		{fields, sizeof(fields)},
	};

	receipt_fields(r, fields);
	hmac_sha256(key, RECEIPT_KEY_LEN, parts, ARRAY_LEN(parts), ret_mac);
}

void
receipt_encode(const struct receipt *r, uint8_t out[RECEIPT_LEN])
{
	receipt_fields(r, out);
	(void)put_bytes(out + RECEIPT_MACED_LEN, r->mac, sizeof(r->mac));
}

int
receipt_decode(const void *data, size_t len, struct receipt *ret, struct error *err)
{
	const uint8_t *p = data;

	if (len != RECEIPT_LEN)
		return error_set(err, -EBADMSG, "a receipt of %zu bytes, not %d", len, RECEIPT_LEN);
	p = get_u64(p, &ret->index);
	p = get_bytes(p, ret->leaf, sizeof(ret->leaf));
	p = get_bytes(p, ret->digest, sizeof(ret->digest));
	p = get_u64(p, &ret->tree_size);
	p = get_bytes(p, ret->root, sizeof(ret->root));
	p = get_bytes(p, ret->signature, sizeof(ret->signature));
	(void)get_bytes(p, ret->mac, sizeof(ret->mac));
	return 0;
}

int
receipt_check(const uint8_t key[RECEIPT_KEY_LEN], const struct receipt *r, const void *entry,
	      size_t entry_len, struct error *err)
{
	uint8_t mac[32], leaf[32];

	receipt_mac(key, r, mac);
	if (!bytes_equal_ct(mac, r->mac, sizeof(mac)))
		return error_set(err, -EBADMSG, "the receipt's MAC is not the ledger's");
	leaf_hash(entry, entry_len, leaf);
	if (!bytes_equal_ct(leaf, r->leaf, sizeof(leaf)))
		return error_set(err, -EBADMSG, "the receipt is for another entry");
	if (r->index >= r->tree_size)
		return error_set(err, -EBADMSG, "the receipt's tree head does not cover its entry");
	return 0;
}

void
outcome_mac(const uint8_t key[RECEIPT_KEY_LEN], uint64_t intent, const uint8_t digest[32],
	    const void *result, size_t len, uint8_t ret_mac[32])
{
	uint8_t index[8];
	const struct hash_part parts[] = {
		{OUTCOME_DOMAIN, sizeof(OUTCOME_DOMAIN)},
		{index, sizeof(index)},
		{digest, 32},
		{result, len},
	};

	(void)put_u64(index, intent);
	hmac_sha256(key, RECEIPT_KEY_LEN, parts, ARRAY_LEN(parts), ret_mac);
}
