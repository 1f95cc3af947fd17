/* Starting again after every kind of end. */
#include "ledger_fixture.h"

#include <errno.h>

#include "base/json.h"
#include "ledger/reader.h"
#include "ledger/record.h"

#define SEGMENT "journal/00000000000000000000"
#define BEFORE 3 /* entries before the one that is torn */

/* What a start leaves must verify, and go on. */
static void
assert_goes_on(const struct place *p, uint64_t size)
{
	struct receipt receipt;
	struct ledger *l = fixture_open(p, &fixture_sizes);

	assert_string_equal(ledger_recovered(l), "");
	assert_int_equal(ledger_size(l), size);
	assert_ok(fixture_append_event(l, 99, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(p, true));
}

/* The kind, name and "recovered" fields of entry INDEX. */
static void
assert_recovered_event(struct ledger *l, uint64_t index, int64_t offset, int64_t restored,
		       size_t lost)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	struct entry e;
	int64_t n;
	json_t *list;

	buf_init(&entry, ENTRY_MAX);
	assert_ok(ledger_entry(l, index, &entry, NULL));
	assert_ok(entry_read(entry.data, entry.len, &e, NULL));
	assert_string_equal(e.kind, "event");
	assert_string_equal(e.event, "recovered");
	assert_ok(json_get_int(e.json, "offset", 0, INT32_MAX, &n, NULL));
	assert_int_equal(n, offset);
	assert_ok(json_get_int(e.json, "restored", 0, INT32_MAX, &n, NULL));
	assert_int_equal(n, restored);
	assert_ok(json_get_array(e.json, "lost", &list, NULL));
	assert_int_equal(json_array_size(list), lost);
	entry_fini(&e);
}

/* A ledger of BEFORE published entries and an intent with a blob that is not published. */
static void
unpublished(struct place *p, uint64_t *ret_from, uint64_t *ret_to)
{
	struct receipt receipt;
	struct ledger *l;

	place_init(p);
	l = fixture_open(p, &fixture_sizes);
	for (uint64_t i = 0; i < BEFORE; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	assert_ok(fixture_append_intent(l, 7, &receipt, NULL, NULL));
	ledger_free(l);
	{
		CLEANUP(fd_closep) int fd = openat(p->dirfd, SEGMENT, O_RDONLY);
		struct reader reader;
		const uint8_t *entry;
		struct record r;

		assert_ok(reader_init(&reader, fd, SEGMENT_ALIGN, NULL));
		for (int i = 0; i <= BEFORE; i++)
			assert_int_equal(reader_next(&reader, &r, &entry, NULL), 1);
		*ret_from = reader.at;
		*ret_to = reader.next;
		reader_fini(&reader);
	}
}

static void
assert_torn_at(struct place *p, uint64_t from)
{
	struct ledger_report report = fixture_verify(p, false);
	struct ledger *l;

	assert_false(report.verified);
	assert_int_equal(report.bad_index, BEFORE);
	assert_int_equal(report.bad_segment, 0);
	assert_int_equal(report.bad_offset, from);
	l = fixture_open(p, &fixture_sizes);
	assert_int_equal(ledger_size(l), BEFORE + 1);
	assert_non_null(strstr(ledger_recovered(l), "was torn at offset"));
	assert_recovered_event(l, BEFORE, (int64_t)from, 0, 0);
	ledger_free(l);
	assert_goes_on(p, BEFORE + 1);
	report = fixture_verify(p, false);
	assert_int_equal(report.recovered, 1);
}

/*
 * For every k the last record without its last k bytes: the file ends there, or zeros follow, or
 * garbage does. What the verifier says, what a start does, and that it goes on.
 */
static void
torn_at_every_byte(void **state)
{
	static const char garbage[] = "{\"v\":1,\"kind\":\"event\",\"garbage\":true}";
	uint64_t from, to;
	struct place p;
	uint8_t *good, *torn;
	size_t len;

	unpublished(&p, &from, &to);
	len = file_read(&p, SEGMENT, &good);
	place_fini(&p);
	torn = malloc(len);
	for (uint64_t cut = from; cut < to; cut++) {
		for (int how = 0; how < 3; how++) {
			/* A fresh one each time, so that each start is the first. */
			unpublished(&p, &from, &to);
			free(good);
			assert_int_equal(file_read(&p, SEGMENT, &good), len);
			memcpy(torn, good, len);
			memset(torn + cut, 0, len - cut);
			if (how == 2)
				memcpy(torn + cut, garbage, sizeof(garbage));
			file_write(&p, SEGMENT, torn, how == 0 ? cut : len);
			if (memcmp(torn + from, good + from, to - from) == 0) {
				/* Only padding was cut, or nothing: it is complete. */
				if (how == 1)
					assert_goes_on(&p, BEFORE + 1);
			} else if (cut > from || how == 2) {
				assert_torn_at(&p, from);
			} else {
				/* Not a byte of it is there: it was never begun. */
				assert_goes_on(&p, BEFORE);
			}
			place_fini(&p);
		}
		/* Each byte of the header and the ends; the rest is alike. */
		if (cut > from + 150 && cut + 90 < to)
			cut += 40;
	}
	free(good);
	free(torn);
}

/* Damage before the last batch is no crash: the ledger does not start, and changes nothing. */
static void
damage_in_the_middle(void **state)
{
	struct ledger *l = NULL;
	struct error err = {0};
	struct place p;
	uint8_t *data, *after;
	uint64_t from, to;
	size_t len;

	unpublished(&p, &from, &to);
	len = file_read(&p, SEGMENT, &data);
	for (uint64_t off = SEGMENT_ALIGN; off < from; off += 11) {
		data[off] ^= 4;
		file_write(&p, SEGMENT, data, len);
		assert_fails_saying(-EBADMSG, "offset", &err,
				    ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
		assert_int_equal(file_read(&p, SEGMENT, &after), len);
		assert_memory_equal(data, after, len);
		free(after);
		data[off] ^= 4;
	}
	free(data);
	place_fini(&p);
}

/* The record before the last batch removed: what follows is not the entry that comes next. */
static void
gap_in_the_middle(void **state)
{
	struct ledger *l = NULL;
	struct error err = {0};
	struct place p;
	uint8_t *data;
	uint64_t from, to;
	size_t len, shift;

	unpublished(&p, &from, &to);
	len = file_read(&p, SEGMENT, &data);
	shift = (size_t)(from - SEGMENT_ALIGN) / BEFORE;
	memmove(data + from - shift, data + from, (size_t)(to - from));
	memset(data + to - shift, 0, shift);
	file_write(&p, SEGMENT, data, len);
	assert_fails(-EBADMSG, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	free(data);
	place_fini(&p);
}

/* Three entries in one batch that is not published. */
static void
one_batch(struct place *p, uint64_t offsets[4])
{
	CLEANUP(buf_fini) struct buf entry = {0};
	CLEANUP(fd_closep) int fd = -1;
	struct receipt receipts[3];
	const uint8_t *bytes;
	struct reader reader;
	struct ledger *l;
	struct record r;

	place_init(p);
	buf_init(&entry, ENTRY_MAX);
	l = fixture_open(p, &fixture_sizes);
	for (uint64_t i = 0; i < 3; i++) {
		struct ledger_append a = {.kind = ENTRY_EVENT};

		fixture_event("started", i, &entry);
		a.entry = entry.data;
		a.len = entry.len;
		assert_ok(ledger_stage(l, &a, NULL));
	}
	assert_ok(ledger_commit(l, receipts, NULL));
	assert_int_equal(receipts[0].tree_size, 3);
	ledger_free(l);
	fd = openat(p->dirfd, SEGMENT, O_RDONLY);
	assert_ok(reader_init(&reader, fd, SEGMENT_ALIGN, NULL));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(reader_next(&reader, &r, &bytes, NULL), 1);
		assert_int_equal(r.batch, 0);
		offsets[i] = reader.at;
	}
	offsets[3] = reader.next;
	reader_fini(&reader);
}

/*
 * A batch of which the first, or the middle, did not reach the disk: never answered for, so it may
 * go, but each complete record of it is named in the event.
 */
static void
torn_batch(void **state)
{
	for (int torn = 0; torn < 3; torn++) {
		for (int how = 0; how < 2; how++) {
			uint64_t at[4];
			struct ledger *l;
			struct place p;
			uint8_t *data;
			size_t len;

			one_batch(&p, at);
			len = file_read(&p, SEGMENT, &data);
			if (how == 0)
				memset(data + at[torn], 0, (size_t)(at[torn + 1] - at[torn]));
			else
				data[at[torn] + 110] ^= 1;
			file_write(&p, SEGMENT, data, len);
			l = fixture_open(&p, &fixture_sizes);
			/* The last one zeroed is a batch of two as far as anybody can tell. */
			if (torn == 2 && how == 0) {
				assert_int_equal(ledger_size(l), 2);
				assert_string_equal(ledger_recovered(l), "");
			} else {
				assert_int_equal(ledger_size(l), (uint64_t)torn + 1);
				assert_recovered_event(l, (uint64_t)torn, (int64_t)at[torn], 0,
						       (size_t)(2 - torn));
			}
			ledger_free(l);
			assert_goes_on(&p, torn == 2 && how == 0 ? 2 : (uint64_t)torn + 1);
			free(data);
			place_fini(&p);
		}
	}
}

/* What a checkpoint covers is put back out of the bundles, byte for byte. */
static void
signed_entries_come_back(void **state)
{
	for (int how = 0; how < 3; how++) {
		CLEANUP(buf_fini) struct buf before = {0}, after = {0};
		uint8_t digest[SHA256_LEN];
		struct ledger_report report;
		struct receipt receipt;
		struct ledger *l;
		struct place p;
		uint8_t *data;
		uint64_t tail;
		size_t len;

		place_init(&p);
		buf_init(&before, ENTRY_MAX);
		buf_init(&after, ENTRY_MAX);
		l = fixture_open(&p, &fixture_sizes);
		for (uint64_t i = 0; i < 5; i++)
			assert_ok(fixture_append_event(l, i, &receipt, NULL));
		assert_ok(fixture_append_intent(l, 6, &receipt, digest, NULL));
		assert_ok(fixture_append_intent(l, 7, &receipt, NULL, NULL));
		assert_ok(fixture_append_outcome(l, 6, 5, digest, &receipt, NULL));
		assert_ok(ledger_entry(l, 7, &before, NULL));
		fixture_settle(l);
		ledger_free(l);
		len = file_read(&p, SEGMENT, &data);
		for (tail = len; data[tail - 1] == 0;)
			tail--;
		/* One byte of the last; the last as if never written; four of them gone. */
		if (how == 0)
			data[tail - 8] ^= 1;
		else if (how == 1)
			memset(data + tail - 300, 0, 300);
		else
			memset(data + SEGMENT_ALIGN + 400, 0, len - SEGMENT_ALIGN - 400);
		file_write(&p, SEGMENT, data, len);
		free(data);
		report = fixture_verify(&p, false);
		assert_false(report.verified);
		l = fixture_open(&p, &fixture_sizes);
		assert_int_equal(ledger_size(l), 9);
		assert_non_null(strstr(ledger_recovered(l), "were put back"));
		assert_ok(ledger_entry(l, 7, &after, NULL));
		assert_int_equal(before.len, after.len);
		assert_memory_equal(before.data, after.data, before.len);
		/* Open is what was open: 7 is, 6 has ended. */
		{
			uint64_t index;

			assert_true(ledger_open_intent(l, 0, &index));
			assert_int_equal(index, 6);
			assert_false(ledger_open_intent(l, 1, &index));
		}
		ledger_free(l);
		assert_goes_on(&p, 9);
		place_fini(&p);
	}
}

/* When the bundles are gone too there is nothing to put back: no start, no new history. */
static void
signed_entries_are_never_dropped(void **state)
{
	struct ledger *l = NULL;
	struct error err = {0};
	struct receipt receipt;
	struct place p;
	uint8_t *data;
	size_t len;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 5; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	len = file_read(&p, SEGMENT, &data);
	memset(data + SEGMENT_ALIGN + 400, 0, len - SEGMENT_ALIGN - 400);
	file_write(&p, SEGMENT, data, len);
	assert_ok(unlinkat(p.dirfd, "tile/entries/000.p/5", 0));
	assert_fails(-ENOENT, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	/* Nor are they made up. */
	file_write(&p, "tile/entries/000.p/5", "\0\2{}\0\2{}\0\2{}\0\2{}\0\2{}", 20);
	assert_fails(-EBADMSG, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	assert_ok(unlinkat(p.dirfd, SEGMENT, 0));
	assert_fails(-EBADMSG, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	free(data);
	place_fini(&p);
}

/* A tree that contradicts the signed one is not continued. */
static void
another_tree(void **state)
{
	struct ledger *l = NULL;
	struct error err = {0};
	struct receipt receipt;
	struct place p;
	uint8_t *note;
	size_t len;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 5; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	len = file_read(&p, "checkpoint", &note);
	assert_ok(unlinkat(p.dirfd, SEGMENT, 0));
	/* Without it nothing starts; only the key makes another. */
	assert_ok(unlinkat(p.dirfd, "checkpoint", 0));
	assert_int_equal(ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, NULL), -EBADMSG);
	fixture_rewind(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 8; i++)
		assert_ok(fixture_append_event(l, i + 100, &receipt, NULL));
	ledger_free(l);
	file_write(&p, "checkpoint", note, len);
	assert_fails_saying(-EBADMSG, "not the one that was signed", &err,
			    ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	/* Nor is a checkpoint believed that is not ours. */
	note[len - 10] ^= 1;
	file_write(&p, "checkpoint", note, len);
	assert_fails(-EBADMSG, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	free(note);
	place_fini(&p);
}

/* A head that was begun in the spare when the process ended is not taken for zeros. */
static void
spare_that_was_begun(void **state)
{
	struct receipt receipt;
	struct ledger *l;
	struct place p;
	uint8_t *data;
	size_t len;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 500; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	len = file_read(&p, "journal/spare", &data);
	data[4090] = 1;
	file_write(&p, "journal/spare", data, len);
	file_write(&p, "journal/spare.new", data, 100);
	file_write(&p, "journal/reserve", "x", 1);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 500; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(&p, false));
	free(data);
	place_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torn_at_every_byte),
		cmocka_unit_test(damage_in_the_middle),
		cmocka_unit_test(gap_in_the_middle),
		cmocka_unit_test(torn_batch),
		cmocka_unit_test(signed_entries_come_back),
		cmocka_unit_test(signed_entries_are_never_dropped),
		cmocka_unit_test(another_tree),
		cmocka_unit_test(spare_that_was_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
