/*
 * Offsets are written out once, by a cursor that both directions move in the same order. Decoding
 * checks bounds before it believes a length, and the CRC before it believes anything else.
 */
#include "ledger/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ledger/crc32c.h"
#include "wire/message.h"

#define RECORD_MAGIC 0x4c524543U /* "LREC" */
#define RECORD_VERSION 1
#define RECORD_CRC_AT 12
#define RECORD_PROBE_BYTES 16 /* magic to CRC: enough to know the header's length */

#define SEGMENT_MAGIC 0x4c4f4f4d53454731ULL /* "LOOMSEG1" */
#define SEGMENT_FIXED_BYTES 48
#define SEGMENT_FLAG_RESERVE 1U

static uint8_t *
put_u32(uint8_t *p, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*p++ = (uint8_t)(v >> shift);
	return p;
}

static uint8_t *
put_u64(uint8_t *p, uint64_t v)
{
	return put_u32(put_u32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static uint8_t *
put_hash(uint8_t *p, const uint8_t hash[SHA256_LEN])
{
	memcpy(p, hash, SHA256_LEN);
	return p + SHA256_LEN;
}

static const uint8_t *
get_u32(const uint8_t *p, uint32_t *ret)
{
	*ret = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return p + 4;
}

static const uint8_t *
get_u64(const uint8_t *p, uint64_t *ret)
{
	uint32_t high, low;

	p = get_u32(get_u32(p, &high), &low);
	*ret = (uint64_t)high << 32 | low;
	return p;
}

static const uint8_t *
get_hash(const uint8_t *p, uint8_t ret[SHA256_LEN])
{
	memcpy(ret, p, SHA256_LEN);
	return p + SHA256_LEN;
}

static bool
all_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

size_t
record_header_len(const struct record *r)
{
	return RECORD_FIXED_BYTES + (size_t)r->n_blobs * RECORD_BLOB_BYTES;
}

size_t
record_blobs_len(const struct record *r)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_blobs; i++)
		n += r->blobs[i].len;
	return n;
}

size_t
record_len(const struct record *r)
{
	size_t n = record_header_len(r) + r->entry_len + record_blobs_len(r);

	return (n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

void
record_encode(const struct record *r, uint8_t *out)
{
	uint8_t *p = out;

	p = put_u32(p, RECORD_MAGIC);
	*p++ = RECORD_VERSION;
	*p++ = (uint8_t)r->kind;
	*p++ = (uint8_t)r->n_blobs;
	*p++ = 0;
	p = put_u32(p, r->entry_len);
	p = put_u32(p, 0);
	p = put_u64(p, r->index);
	p = put_u64(p, r->batch);
	p = put_u64(p, r->ref);
	p = put_hash(p, r->digest);
	p = put_hash(p, r->leaf);
	for (uint32_t i = 0; i < r->n_blobs; i++) {
		p = put_u32(p, r->blobs[i].len);
		p = put_hash(p, r->blobs[i].sha256);
	}
	(void)put_u32(out + RECORD_CRC_AT, crc32c(0, out, (size_t)(p - out)));
}

static bool
record_crc_ok(const uint8_t *data, size_t len)
{
	static const uint8_t zeros[4] = {0};
	uint32_t said, crc;

	(void)get_u32(data + RECORD_CRC_AT, &said);
	crc = crc32c(0, data, RECORD_CRC_AT);
	crc = crc32c(crc, zeros, sizeof(zeros));
	crc = crc32c(crc, data + RECORD_PROBE_BYTES, len - RECORD_PROBE_BYTES);
	return crc == said;
}

static bool
record_bounds_ok(const struct record *r)
{
	if (r->kind < ENTRY_INTENT || r->kind > ENTRY_EVENT || r->batch > r->index ||
	    r->entry_len == 0 || r->entry_len > ENTRY_MAX)
		return false;
	for (uint32_t i = 0; i < r->n_blobs; i++)
		if (r->blobs[i].len > RECORD_BLOB_MAX)
			return false;
	return true;
}

enum record_state
record_decode(const void *data, size_t len, struct record *ret, size_t *ret_need)
{
	const uint8_t *p = data;
	struct record r = {0};
	uint32_t magic, crc;
	size_t need;

	*ret_need = RECORD_PROBE_BYTES;
	if (len < RECORD_PROBE_BYTES)
		return RECORD_SHORT;
	if (all_zero(p, RECORD_PROBE_BYTES))
		return RECORD_END;
	p = get_u32(p, &magic);
	r.kind = p[1];
	r.n_blobs = p[2];
	if (magic != RECORD_MAGIC || p[0] != RECORD_VERSION || p[3] != 0 ||
	    r.n_blobs > ENTRY_BLOBS_MAX)
		return RECORD_BAD;
	p = get_u32(get_u32(p + 4, &r.entry_len), &crc);
	need = record_header_len(&r);
	*ret_need = need;
	if (len < need)
		return RECORD_SHORT;
	if (!record_crc_ok(data, need))
		return RECORD_BAD;
	p = get_u64(get_u64(get_u64(p, &r.index), &r.batch), &r.ref);
	p = get_hash(get_hash(p, r.digest), r.leaf);
	for (uint32_t i = 0; i < r.n_blobs; i++)
		p = get_hash(get_u32(p, &r.blobs[i].len), r.blobs[i].sha256);
	if (!record_bounds_ok(&r))
		return RECORD_BAD;
	*ret = r;
	return RECORD_OK;
}

/* ---- the head of a segment */

static size_t
head_content_len(uint64_t size, size_t n_open)
{
	return SEGMENT_FIXED_BYTES + (size_t)__builtin_popcountll(size) * SHA256_LEN +
	       n_open * OPENSET_ITEM_BYTES;
}

static size_t
head_padded_len(size_t content)
{
	return (content + SHA256_LEN + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
}

size_t
segment_head_len(const struct segment_head *s, const struct openset *open)
{
	return head_padded_len(head_content_len(s->frontier.size, open->n));
}

void
segment_head_encode(const struct segment_head *s, const struct openset *open, uint8_t *out)
{
	size_t len = segment_head_len(s, open);
	uint8_t *p = out;

	memset(out, 0, len);
	p = put_u64(p, SEGMENT_MAGIC);
	p = put_u32(p, (uint32_t)len);
	p = put_u32(p, s->key_id);
	p = put_u64(p, s->frontier.size);
	p = put_u64(p, s->bytes);
	p = put_u64(p, open->n);
	p = put_u64(p, s->reserve ? SEGMENT_FLAG_RESERVE : 0);
	for (unsigned int k = 0; k < MERKLE_LEVELS; k++)
		if ((s->frontier.size >> k & 1) != 0)
			p = put_hash(p, s->frontier.hash[k]);
	for (size_t i = 0; i < open->n; i++) {
		p = put_u64(put_u64(p, open->items[i].index), open->items[i].op);
		p = put_hash(p, open->items[i].digest);
	}
	sha256_of(out, len - SHA256_LEN, out + len - SHA256_LEN);
}

size_t
segment_head_peek(const void *data)
{
	uint64_t magic;
	uint32_t len;

	(void)get_u32(get_u64(data, &magic), &len);
	if (magic != SEGMENT_MAGIC || len == 0 || len % SEGMENT_ALIGN != 0 ||
	    len > SEGMENT_HEAD_MAX)
		return 0;
	return len;
}

/* The open intents, which must be in order and older than the segment. */
static int
head_open_decode(const uint8_t *p, uint64_t n, uint64_t size, struct openset *open,
		 struct error *err)
{
	uint64_t least = 0;

	open->n = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t index, op;

		p = get_u64(get_u64(p, &index), &op);
		if (index < least || index >= size)
			return error_set(err, -EBADMSG,
					 "segment: its open intents are out of order");
		if (!openset_room(open))
			return error_set(err, -ENOMEM, "out of memory");
		openset_add(open, index, op, p);
		p += SHA256_LEN;
		least = index + 1;
	}
	return 0;
}

int
segment_head_decode(const void *data, size_t len, struct segment_head *ret, struct openset *open,
		    struct error *err)
{
	const uint8_t *p = data;
	struct segment_head s = {0};
	uint8_t digest[SHA256_LEN];
	uint64_t magic, n_open, flags;
	uint32_t said;
	int r;

	if (len < SEGMENT_ALIGN || segment_head_peek(data) != len)
		return error_set(err, -EBADMSG, "segment: it does not begin as one");
	sha256_of(data, len - SHA256_LEN, digest);
	if (memcmp(digest, p + len - SHA256_LEN, sizeof(digest)) != 0)
		return error_set(err, -EBADMSG, "segment: its head does not fit its checksum");
	p = get_u32(get_u32(get_u64(p, &magic), &said), &s.key_id);
	p = get_u64(get_u64(get_u64(p, &s.frontier.size), &s.bytes), &n_open);
	p = get_u64(p, &flags);
	s.reserve = flags == SEGMENT_FLAG_RESERVE;
	if (n_open > OPENSET_MAX || (flags != 0 && !s.reserve) ||
	    head_padded_len(head_content_len(s.frontier.size, (size_t)n_open)) != len)
		return error_set(err, -EBADMSG,
				 "segment: its head has another length than it says");
	for (unsigned int k = 0; k < MERKLE_LEVELS; k++)
		if ((s.frontier.size >> k & 1) != 0)
			p = get_hash(p, s.frontier.hash[k]);
	r = head_open_decode(p, n_open, s.frontier.size, open, err);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

void
segment_name(uint64_t first, char out[SEGMENT_NAME_LEN + 1])
{
	(void)snprintf(out, SEGMENT_NAME_LEN + 1, "%020llu", (unsigned long long)first);
}

bool
segment_name_parse(const char *name, uint64_t *ret_first)
{
	uint64_t v = 0;

	if (strlen(name) != SEGMENT_NAME_LEN)
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	*ret_first = v;
	return true;
}
