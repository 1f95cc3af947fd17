/*
 * A file that claims to be a segment, a head, a note or a key. Reading ends, never beyond the file,
 * gives out only records that are true to themselves, and what is accepted is written back as it
 * was.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/checkpoint.h"
#include "ledger/journal.h"
#include "ledger/reader.h"
#include "ledger/record.h"
#include "ledger/tiles.h"
#include "model/receipt.h"

static int
file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;

	/* One for all inputs: making one each takes longer than reading it. */
	if (fd < 0)
		fd = memfd_create("segment", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
	FUZZ_CHECK(fd_pwrite_all(fd, data, size, 0, NULL) == 0);
	return fd;
}

static void
record_again(const struct record *rec, const uint8_t *entry, const uint8_t *at)
{
	uint8_t header[RECORD_HEADER_MAX], leaf[SHA256_LEN];

	leaf_hash(entry, rec->entry_len, leaf);
	FUZZ_CHECK(memcmp(leaf, rec->leaf, sizeof(leaf)) == 0);
	record_encode(rec, header);
	FUZZ_CHECK(memcmp(header, at, record_header_len(rec)) == 0);
}

static void
records(const uint8_t *data, size_t size)
{
	enum blob_state states[ENTRY_BLOBS_MAX];
	static struct reader reader;
	const uint8_t *entry;
	struct record rec;
	uint64_t before = 0;
	int fd = file_of(data, size), r;

	if (reader.window == NULL)
		FUZZ_CHECK(reader_init(&reader, fd, 0, NULL) == 0);
	reader_seek(&reader, fd, 0);
	while ((r = reader_next(&reader, &rec, &entry, NULL)) == 1) {
		FUZZ_CHECK(reader.at == before && reader.next > before && reader.next <= size);
		record_again(&rec, entry, data + reader.at);
		FUZZ_CHECK(reader_blobs(&reader, &rec, states, NULL) == 0);
		before = reader.next;
	}
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
}

static void
segment(const uint8_t *data, size_t size)
{
	static struct openset open;
	struct segment_head head;
	uint8_t *again;
	size_t len;

	if (journal_head_read(file_of(data, size), &head, &open, &len, NULL) < 0)
		return;
	FUZZ_CHECK(len <= size && len == segment_head_len(&head, &open));
	again = malloc(len);
	segment_head_encode(&head, &open, again);
	/* Padding between the content and the checksum is under it, but may be anything. */
	FUZZ_CHECK(memcmp(again, data, 48) == 0);
	free(again);
}

static void
texts(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf b = {0};
	/* RFC 8032, 7.1, test 2. */
	static const struct vkey other = {
		.name = "loom.invalid/0000000000000000",
		.key = {0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a,
			0xa7, 0x4d, 0x1b, 0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4,
			0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c},
	};
	struct tree_head head;
	struct receipt receipt;
	uint8_t encoded[RECEIPT_LEN];
	const void *entry;
	struct vkey k;
	size_t len;

	buf_init(&b, size + 64);
	if (vkey_parse((const char *)data, size, &k, NULL) == 0) {
		vkey_print(&k, &b);
		FUZZ_CHECK(b.len == size || b.len + 1 == size);
		FUZZ_CHECK(memcmp(b.data, data, b.len) == 0);
	}
	/* Nobody has signed a note of that name with it. */
	FUZZ_CHECK(checkpoint_read(data, size, &other, &head, NULL) < 0);
	if (receipt_decode(data, size, &receipt, NULL) == 0) {
		receipt_encode(&receipt, encoded);
		FUZZ_CHECK(memcmp(encoded, data, size) == 0);
	}
	buf_reset(&b);
	buf_add(&b, data, size);
	for (unsigned int i = 0; i < TILE_WIDTH; i++)
		if (tile_bundle_entry(&b, i, &entry, &len, NULL) == 0)
			FUZZ_CHECK((const char *)entry + len <= b.data + b.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		records(data + 1, size - 1);
		break;
	case 1:
		segment(data + 1, size - 1);
		break;
	default:
		texts(data + 1, size - 1);
		break;
	}
	return 0;
}
