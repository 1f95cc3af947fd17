#include "ledger_fixture.h"

#include <errno.h>

#include "ledger/crc32c.h"
#include "ledger/reader.h"
#include "ledger/record.h"

static void
crc_vectors(void **state)
{
	static const char digits[] = "123456789";
	uint8_t bytes[32];

	/* RFC 3720, B.4. */
	assert_true(crc32c(0, digits, 9) == 0xe3069283U);
	memset(bytes, 0, sizeof(bytes));
	assert_true(crc32c(0, bytes, sizeof(bytes)) == 0x8a9136aaU);
	memset(bytes, 0xff, sizeof(bytes));
	assert_true(crc32c(0, bytes, sizeof(bytes)) == 0x62a8ab43U);
	/* In pieces of every length it is the same. */
	for (size_t i = 0; i <= 9; i++)
		assert_true(crc32c(crc32c(0, digits, i), digits + i, 9 - i) == 0xe3069283U);
}

static struct record
record_of(uint32_t n_blobs)
{
	struct record r = {
		.kind = ENTRY_INTENT,
		.index = 77,
		.batch = 70,
		.ref = 0x0123456789abcdefULL,
		.entry_len = 13,
		.n_blobs = n_blobs,
	};

	memset(r.digest, 0xd1, sizeof(r.digest));
	leaf_hash("thirteen char", 13, r.leaf);
	for (uint32_t i = 0; i < n_blobs; i++) {
		r.blobs[i].len = 5 + i;
		sha256_of("blobblobb", 5 + i, r.blobs[i].sha256);
	}
	return r;
}

static void
record_round_trip(void **state)
{
	for (uint32_t n = 0; n <= ENTRY_BLOBS_MAX; n++) {
		struct record r = record_of(n), got = {0};
		uint8_t data[RECORD_HEADER_MAX + 1];
		size_t len = record_header_len(&r), need;

		record_encode(&r, data);
		assert_int_equal(len, 104 + 36 * n);
		assert_int_equal(record_len(&r) % RECORD_ALIGN, 0);
		assert_int_equal(record_decode(data, len, &got, &need), RECORD_OK);
		assert_memory_equal(&r, &got, sizeof(r));
		for (size_t i = 0; i < len; i++) {
			assert_int_equal(record_decode(data, i, &got, &need), RECORD_SHORT);
			assert_true(need > i);
			for (int bit = 0; bit < 8; bit++) {
				data[i] = (uint8_t)(data[i] ^ 1 << bit);
				assert_true(record_decode(data, len, &got, &need) != RECORD_OK);
				data[i] = (uint8_t)(data[i] ^ 1 << bit);
			}
		}
	}
}

/* A header whose CRC is right and whose bounds are not, as an attacker would make it. */
static void
record_out_of_bounds(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} edits[] = {{5, 0}, {5, 4}, {8, 1}, {9, 1}, {24, 0x7f}};
	struct record r = record_of(0), got;
	size_t need;

	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		uint8_t data[RECORD_HEADER_MAX];
		uint32_t crc;

		record_encode(&r, data);
		data[edits[i].offset] = edits[i].value;
		memset(data + 12, 0, 4);
		crc = crc32c(0, data, record_header_len(&r));
		for (int k = 0; k < 4; k++)
			data[12 + k] = (uint8_t)(crc >> (24 - 8 * k));
		assert_int_equal(record_decode(data, record_header_len(&r), &got, &need),
				 RECORD_BAD);
	}
	r = record_of(1);
	r.blobs[0].len = RECORD_BLOB_MAX + 1;
	{
		uint8_t data[RECORD_HEADER_MAX];

		record_encode(&r, data);
		assert_int_equal(record_decode(data, sizeof(data), &got, &need), RECORD_BAD);
	}
}

static void
segment_head_round_trip(void **state)
{
	struct segment_head s = {.bytes = 4096 * 5, .key_id = 7, .reserve = true}, got;
	struct openset open, back;
	uint8_t *data;
	struct error err = {0};
	size_t len;

	openset_init(&open);
	openset_init(&back);
	s.frontier.size = 0x8000000000000005ULL;
	memset(s.frontier.hash[0], 1, SHA256_LEN);
	memset(s.frontier.hash[2], 2, SHA256_LEN);
	memset(s.frontier.hash[63], 3, SHA256_LEN);
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(openset_room(&open));
		openset_add(&open, 10 * i, i, s.frontier.hash[63]);
	}
	len = segment_head_len(&s, &open);
	assert_int_equal(len % SEGMENT_ALIGN, 0);
	data = malloc(len);
	segment_head_encode(&s, &open, data);
	assert_int_equal(segment_head_peek(data), len);
	assert_ok(segment_head_decode(data, len, &got, &back, NULL));
	assert_memory_equal(&s, &got, sizeof(s));
	assert_int_equal(back.n, 100);
	assert_int_equal(back.items[99].index, 990);
	for (size_t i = 0; i < len; i += 7) {
		data[i] ^= 0x10;
		assert_fails(-EBADMSG, &err, segment_head_decode(data, len, &got, &back, &err));
		data[i] ^= 0x10;
	}
	assert_fails(-EBADMSG, &err,
		     segment_head_decode(data, len - SEGMENT_ALIGN, &got, &back, &err));
	free(data);
	openset_fini(&open);
	openset_fini(&back);
}

static void
segment_names(void **state)
{
	char name[SEGMENT_NAME_LEN + 1];
	uint64_t n;

	segment_name(UINT64_MAX, name);
	assert_string_equal(name, "18446744073709551615");
	assert_true(segment_name_parse(name, &n) && n == UINT64_MAX);
	segment_name(12, name);
	assert_string_equal(name, "00000000000000000012");
	assert_false(segment_name_parse("18446744073709551616", &n));
	assert_false(segment_name_parse("0000000000000000012", &n));
	assert_false(segment_name_parse("0000000000000000001x", &n));
	assert_false(segment_name_parse("spare", &n));
}

static void
openset_finds(void **state)
{
	static const uint8_t digest[SHA256_LEN];
	struct openset s;

	openset_init(&s);
	assert_null(openset_find(&s, 0));
	openset_remove(&s, 0);
	for (uint64_t i = 0; i < OPENSET_MAX; i++) {
		assert_true(openset_room(&s));
		openset_add(&s, 3 * i, ~i, digest);
	}
	assert_false(openset_room(&s));
	for (uint64_t i = 0; i < 3 * OPENSET_MAX; i++)
		assert_int_equal(openset_find(&s, i) != NULL, i % 3 == 0);
	assert_true(openset_has_op(&s, ~UINT64_C(5)));
	assert_false(openset_has_op(&s, 5));
	for (uint64_t i = 0; i < OPENSET_MAX; i += 2)
		openset_remove(&s, 3 * i);
	assert_int_equal(s.n, OPENSET_MAX / 2);
	assert_null(openset_find(&s, 6));
	assert_int_equal(openset_find(&s, 9)->op, ~UINT64_C(3));
	assert_true(openset_room(&s));
	assert_int_equal(op_number("op_00000000000000ff"), 255);
	openset_fini(&s);
}

/* Write a journal of some records into FD, and give their offsets. */
static uint64_t
records_write(int fd, uint64_t offsets[3])
{
	static const char entry[] = "thirteen char";
	uint64_t off = 0;

	for (uint32_t i = 0; i < 3; i++) {
		struct record r = record_of(i);
		uint8_t data[4096] = {0};
		size_t at = record_header_len(&r);

		r.index = i;
		r.batch = 0;
		record_encode(&r, data);
		memcpy(data + at, entry, 13);
		at += 13;
		for (uint32_t b = 0; b < i; b++) {
			memcpy(data + at, "blobblobb", 5 + b);
			at += 5 + b;
		}
		assert_ok(fd_pwrite_all(fd, data, record_len(&r), off, NULL));
		offsets[i] = off;
		off += record_len(&r);
	}
	return off;
}

static void
reader_reads(void **state)
{
	CLEANUP(fd_closep) int fd = -1;
	enum blob_state states[ENTRY_BLOBS_MAX];
	uint64_t offsets[3], end, zeros;
	const uint8_t *entry;
	struct reader reader;
	struct record r;
	struct error err = {0};
	uint8_t byte;
	struct place p;

	place_init(&p);
	fd = openat(p.dirfd, "segment", O_RDWR | O_CREAT, 0600);
	end = records_write(fd, offsets);
	assert_ok(reader_init(&reader, fd, 0, NULL));
	/* With the file ending at the last record, and with zeros behind it. */
	for (int zeroed = 0; zeroed < 2; zeroed++) {
		reader_seek(&reader, fd, 0);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(reader_next(&reader, &r, &entry, NULL), 1);
			assert_int_equal(r.index, i);
			assert_memory_equal(entry, "thirteen char", 13);
			assert_ok(reader_blobs(&reader, &r, states, NULL));
			for (uint32_t b = 0; b < i; b++)
				assert_int_equal(states[b], BLOB_OK);
		}
		assert_int_equal(reader_next(&reader, &r, &entry, NULL), 0);
		assert_int_equal(reader.next, end);
		assert_ok(ftruncate(fd, 4096 * 64));
	}
	assert_ok(reader_find_zeros(fd, end, &zeros, NULL));
	assert_int_equal(zeros, end);
	assert_ok(fd_pwrite_all(fd, "x", 1, 4096 * 60, NULL));
	assert_ok(reader_find_zeros(fd, end, &zeros, NULL));
	assert_int_equal(zeros, 4096 * 60 + 1);
	/* A blob erased, and one that was changed. */
	assert_ok(fd_pwrite_all(fd, "\0\0\0\0\0", 5, offsets[2] + 104 + 72 + 13, NULL));
	assert_ok(fd_pwrite_all(fd, "y", 1, offsets[2] + 104 + 72 + 13 + 5, NULL));
	reader_seek(&reader, fd, offsets[2]);
	assert_int_equal(reader_next(&reader, &r, &entry, NULL), 1);
	assert_ok(reader_blobs(&reader, &r, states, NULL));
	assert_int_equal(states[0], BLOB_ERASED);
	assert_int_equal(states[1], BLOB_BAD);
	/* Every byte of header, entry and padding is covered. */
	for (uint64_t off = offsets[0]; off < offsets[1]; off++) {
		assert_ok(fd_pread_exact(fd, &byte, 1, off, NULL));
		byte ^= 0x40;
		assert_ok(fd_pwrite_all(fd, &byte, 1, off, NULL));
		reader_seek(&reader, fd, 0);
		assert_fails(-EBADMSG, &err, reader_next(&reader, &r, &entry, &err));
		assert_int_equal(reader.next, 0);
		byte ^= 0x40;
		assert_ok(fd_pwrite_all(fd, &byte, 1, off, NULL));
	}
	reader_fini(&reader);
	place_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_vectors),
		cmocka_unit_test(record_round_trip),
		cmocka_unit_test(record_out_of_bounds),
		cmocka_unit_test(segment_head_round_trip),
		cmocka_unit_test(segment_names),
		cmocka_unit_test(openset_finds),
		cmocka_unit_test(reader_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
