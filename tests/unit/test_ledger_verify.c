/* What was changed on disk behind the ledger's back, and where ledger_verify says it was. */
#include "ledger_fixture.h"

#include <errno.h>

#include "ledger/reader.h"
#include "ledger/record.h"

#define ENTRIES 12
#define SEGMENT "journal/00000000000000000000"

/* Where the records of a segment are. */
struct layout {
	uint64_t offset[ENTRIES + 1]; /* [ENTRIES]: the end */
};

static void
layout_read(const struct place *p, struct layout *ret)
{
	CLEANUP(fd_closep) int fd = openat(p->dirfd, SEGMENT, O_RDONLY);
	struct reader reader;
	const uint8_t *entry;
	struct record r;

	assert_ok(reader_init(&reader, fd, SEGMENT_ALIGN, NULL));
	for (size_t i = 0; i < ENTRIES; i++) {
		assert_int_equal(reader_next(&reader, &r, &entry, NULL), 1);
		ret->offset[i] = reader.at;
	}
	ret->offset[ENTRIES] = reader.next;
	reader_fini(&reader);
}

/* Six operations, one after the other, published; then the ledger is closed. */
static void
small_ledger(struct place *p)
{
	struct ledger *l;

	place_init(p);
	l = fixture_open(p, &fixture_sizes);
	for (uint64_t i = 0; i < ENTRIES / 2; i++) {
		uint8_t digest[SHA256_LEN];
		struct receipt receipt;

		assert_ok(fixture_append_intent(l, i, &receipt, digest, NULL));
		assert_ok(fixture_append_outcome(l, i, 2 * i, digest, &receipt, NULL));
	}
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(p, true));
}

static void
assert_bad_at(const struct place *p, uint64_t index, uint64_t offset)
{
	struct ledger_report report = fixture_verify(p, false);

	assert_false(report.verified);
	if (report.bad_index != index || report.bad_offset != offset)
		fail_msg("at entry %lld offset %lld, not %lld and %lld: %s",
			 (long long)report.bad_index, (long long)report.bad_offset,
			 (long long)index, (long long)offset, report.what);
	assert_true(report.what[0] != '\0');
	assert_int_equal(report.bad_segment, 0);
}

/* One byte, anywhere in the records, is named by its entry and offset. */
static void
one_byte(void **state)
{
	struct layout at;
	struct place p;
	uint8_t *good;
	size_t len;

	small_ledger(&p);
	layout_read(&p, &at);
	len = file_read(&p, SEGMENT, &good);
	for (size_t i = 0; i < ENTRIES; i++) {
		for (uint64_t off = at.offset[i]; off < at.offset[i + 1]; off += 61) {
			good[off] ^= 0x20;
			file_write(&p, SEGMENT, good, len);
			/* The end of the log may be in the middle now: then it is too early. */
			assert_bad_at(&p, i, at.offset[i]);
			good[off] ^= 0x20;
		}
		i += i > 2 && i < ENTRIES - 3;
	}
	/* In the head, and behind the end. */
	for (uint64_t off = 0; off < at.offset[0]; off += 409) {
		good[off] ^= 0x20;
		file_write(&p, SEGMENT, good, len);
		assert_false(fixture_verify(&p, false).verified);
		good[off] ^= 0x20;
	}
	good[len - 1] = 1;
	file_write(&p, SEGMENT, good, len);
	assert_bad_at(&p, ENTRIES, at.offset[ENTRIES]);
	free(good);
	place_fini(&p);
}

/* Records moved about: the bytes of each are right, their place is not. */
static void
moved_records(void **state)
{
	static const struct {
		unsigned int order[ENTRIES + 1];
		unsigned int n;
		unsigned int bad; /* the place where it is first wrong */
	} cases[] = {
		{{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}, 11, 3},       /* one removed */
		{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 11, 0},       /* the first */
		{{0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10, 11}, 12, 6},    /* two swapped */
		{{0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 13, 4}, /* one copied */
		{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0}, 13, 12}, /* one put behind */
		{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 11, 11},       /* the last removed */
	};
	struct layout at;
	struct place p;
	uint8_t *good, *bad;
	size_t len;

	small_ledger(&p);
	layout_read(&p, &at);
	len = file_read(&p, SEGMENT, &good);
	bad = malloc(len);
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		uint64_t off = at.offset[0], where = 0;

		memset(bad, 0, len);
		memcpy(bad, good, off);
		for (unsigned int i = 0; i < cases[c].n; i++) {
			unsigned int from = cases[c].order[i];
			size_t n = (size_t)(at.offset[from + 1] - at.offset[from]);

			if (i == cases[c].bad)
				where = off;
			memcpy(bad + off, good + at.offset[from], n);
			off += n;
		}
		if (cases[c].bad == cases[c].n)
			where = off;
		file_write(&p, SEGMENT, bad, len);
		assert_bad_at(&p, cases[c].bad, where);
	}
	free(good);
	free(bad);
	place_fini(&p);
}

/* An entry edited by somebody who also mends every plain hash on the way: only the key is missing. */
static void
rewritten_history(void **state)
{
	struct ledger_report report;
	struct place p, q;
	uint8_t *data, *note, *good_note;
	size_t len, note_len, good_len;

	small_ledger(&p);
	small_ledger(&q);
	good_len = file_read(&p, "checkpoint", &good_note);
	/* The other ledger's history under this one's key and checkpoint. */
	len = file_read(&q, SEGMENT, &data);
	file_write(&p, SEGMENT, data, len);
	report = fixture_verify(&p, false);
	assert_false(report.verified);
	assert_non_null(strstr(report.what, "another key"));
	/* And under its own checkpoint: not signed by this key. */
	note_len = file_read(&q, "checkpoint", &note);
	file_write(&p, "checkpoint", note, note_len);
	report = fixture_verify(&p, false);
	assert_false(report.verified);
	assert_int_equal(report.bad_index, LEDGER_NOWHERE);
	assert_false(report.has_checkpoint);
	/* Nothing signed at all. */
	assert_ok(unlinkat(p.dirfd, "checkpoint", 0));
	report = fixture_verify(&p, false);
	assert_false(report.verified);
	assert_string_equal(report.what, "there is no checkpoint");
	free(data);
	free(note);
	free(good_note);
	(void)good_len;
	place_fini(&p);
	place_fini(&q);
}

/* Records made anew with right checksums and indexes, so that only the signed root can tell. */
static void
forged_with_right_checksums(void **state)
{
	struct ledger_report report;
	struct ledger *l = NULL;
	struct place p;
	uint8_t *note, *tile;
	size_t note_len, tile_len;

	small_ledger(&p);
	note_len = file_read(&p, "checkpoint", &note);
	tile_len = file_read(&p, "tile/0/000.p/12", &tile);
	/* The ledger's own code writes the forgery; its key stays. */
	assert_ok(unlinkat(p.dirfd, SEGMENT, 0));
	/* Without it nothing starts; only the key makes another. */
	assert_ok(unlinkat(p.dirfd, "checkpoint", 0));
	assert_int_equal(ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, NULL), -EBADMSG);
	fixture_rewind(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < ENTRIES / 2; i++) {
		uint8_t digest[SHA256_LEN];
		struct receipt receipt;

		assert_ok(fixture_append_intent(l, i + (i == 4), &receipt, digest, NULL));
		assert_ok(fixture_append_outcome(l, i + (i == 4), 2 * i, digest, &receipt, NULL));
	}
	fixture_settle(l);
	ledger_free(l);
	/* With its own checkpoint it is a ledger: that is what the key beside it is worth. */
	assert_verified(fixture_verify(&p, false));
	file_write(&p, "checkpoint", note, note_len);
	report = fixture_verify(&p, false);
	assert_false(report.verified);
	file_write(&p, "tile/0/000.p/12", tile, tile_len);
	report = fixture_verify(&p, false);
	assert_false(report.verified);
	assert_true(report.has_checkpoint);
	free(note);
	free(tile);
	place_fini(&p);
}

/* The tiles that others read are held against the journal. */
static void
tiles(void **state)
{
	static const struct {
		const char *name;
		size_t at;
	} cases[] = {
		{"tile/0/000", 5 * 32 + 3},      {"tile/0/001.p/44", 43 * 32}, {"tile/1/000.p/1", 0},
		{"tile/entries/000", 1000},      {"tile/entries/000", 0},
		{"tile/entries/001.p/44", 2000},
	};
	struct receipt receipt;
	struct ledger *l;
	struct place p;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 300; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(&p, false));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ledger_report report;
		uint8_t *data;
		size_t len = file_read(&p, cases[i].name, &data);

		assert_true(cases[i].at < len);
		data[cases[i].at] ^= 1;
		file_write(&p, cases[i].name, data, len);
		report = fixture_verify(&p, false);
		assert_false(report.verified);
		assert_non_null(strstr(report.what, cases[i].name));
		/* Cut, and gone. */
		data[cases[i].at] ^= 1;
		file_write(&p, cases[i].name, data, len - 1);
		assert_false(fixture_verify(&p, false).verified);
		assert_ok(unlinkat(p.dirfd, cases[i].name, 0));
		assert_false(fixture_verify(&p, false).verified);
		file_write(&p, cases[i].name, data, len);
		assert_verified(fixture_verify(&p, false));
		free(data);
	}
	place_fini(&p);
}

/* A whole segment gone, first, middle or last. */
static void
segments(void **state)
{
	uint64_t *list;
	size_t n;
	struct receipt receipt;
	struct ledger *l;
	struct place p;
	int dir;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 1500; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(&p, false));
	dir = openat(p.dirfd, "journal", O_RDONLY | O_DIRECTORY);
	assert_ok(journal_list(dir, &list, &n, NULL));
	assert_true(n >= 3);
	for (size_t i = 0; i < n; i++) {
		struct ledger_report report;
		char name[SEGMENT_NAME_LEN + 1];

		segment_name(list[i], name);
		assert_ok(renameat(dir, name, p.dirfd, "away"));
		report = fixture_verify(&p, false);
		assert_false(report.verified);
		if (i > 0)
			assert_int_equal(report.bad_index, list[i]);
		assert_ok(renameat(p.dirfd, "away", dir, name));
	}
	assert_verified(fixture_verify(&p, false));
	free(list);
	fd_close(dir);
	place_fini(&p);
}

/* A blob can be erased; it cannot be changed. */
static void
blobs(void **state)
{
	static const uint8_t zeros[64];
	struct ledger_report report;
	struct layout at;
	struct place p;
	uint8_t *data;
	size_t len;

	small_ledger(&p);
	layout_read(&p, &at);
	len = file_read(&p, SEGMENT, &data);
	/* The arguments of the third operation, just before its record's padding. */
	for (uint64_t off = at.offset[5]; off-- > at.offset[4];) {
		if (memcmp(data + off, "printf", 6) == 0) {
			memcpy(data + off, "rm -rf", 6);
			file_write(&p, SEGMENT, data, len);
			assert_bad_at(&p, 4, at.offset[4]);
			memcpy(data + off - 32, zeros, sizeof(zeros));
			break;
		}
	}
	file_write(&p, SEGMENT, data, len);
	report = fixture_verify(&p, true);
	assert_verified(report);
	assert_int_equal(report.blobs_erased, 1);
	free(data);
	place_fini(&p);
}

static void
nothing_there(void **state)
{
	const struct ledger_verify_options options = {0};
	struct ledger_report report;
	struct error err = {0};
	struct ledger *l;
	struct place p;

	place_init(&p);
	assert_fails(-ENOENT, &err, ledger_verify(p.dirfd, &options, &report, &err));
	l = fixture_open(&p, &fixture_sizes);
	/* A new ledger is one, while it is open and after. */
	assert_verified(fixture_verify(&p, true));
	ledger_free(l);
	report = fixture_verify(&p, true);
	assert_verified(report);
	assert_int_equal(report.entries, 0);
	place_fini(&p);
}

static void
another_key(void **state)
{
	struct ledger_verify_options options = {0};
	struct ledger_report report;
	struct place p, q;

	small_ledger(&p);
	small_ledger(&q);
	report = fixture_verify(&q, false);
	options.vkey = &report.vkey;
	{
		struct vkey other = report.vkey;

		options.vkey = &other;
		assert_ok(ledger_verify(q.dirfd, &options, &report, NULL));
		assert_true(report.verified);
		assert_ok(ledger_verify(p.dirfd, &options, &report, NULL));
		assert_false(report.verified);
	}
	place_fini(&p);
	place_fini(&q);
}

static void
iteration(void **state)
{
	struct ledger_iter *it = NULL;
	const void *entry;
	struct place p;
	uint64_t index, count;
	size_t len;

	small_ledger(&p);
	assert_ok(ledger_count(p.dirfd, &count, NULL));
	assert_int_equal(count, ENTRIES);
	for (uint64_t from = 0; from < ENTRIES + 2; from++) {
		assert_ok(ledger_iter_open(p.dirfd, from, &it, NULL));
		for (uint64_t want = from; want < ENTRIES; want++) {
			assert_int_equal(ledger_iter_next(it, &index, &entry, &len, NULL), 1);
			assert_int_equal(index, want);
			assert_int_equal(((const char *)entry)[0], '{');
		}
		assert_int_equal(ledger_iter_next(it, &index, &entry, &len, NULL), 0);
		ledger_iter_freep(&it);
	}
	place_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_byte),
		cmocka_unit_test(moved_records),
		cmocka_unit_test(rewritten_history),
		cmocka_unit_test(forged_with_right_checksums),
		cmocka_unit_test(tiles),
		cmocka_unit_test(segments),
		cmocka_unit_test(blobs),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(another_key),
		cmocka_unit_test(iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
