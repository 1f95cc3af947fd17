#include "ledger_fixture.h"

#include <errno.h>

#include "ledger/record.h"

/* Stage ENTRY as KIND; nothing is committed. */
static int
stage(struct ledger *l, uint32_t kind, const struct buf *entry, const void *mac, const int *fds,
      size_t n, struct error *err)
{
	const struct ledger_append a = {
		.kind = kind,
		.entry = entry->data,
		.len = entry->len,
		.mac = mac,
		.blobs = fds,
		.n_blobs = n,
	};

	return ledger_stage(l, &a, err);
}

static void
receipt_holds(void **state)
{
	CLEANUP(buf_fini) struct buf entry = {0}, got = {0}, note = {0};
	CLEANUP(ledger_freep) struct ledger *l = NULL;
	uint8_t digest[SHA256_LEN], data[RECEIPT_LEN];
	struct ledger_append a = {.kind = ENTRY_INTENT, .n_blobs = 1};
	struct receipt receipt, again;
	struct tree_head head;
	struct error err = {0};
	struct place p;
	int fd;

	place_init(&p);
	buf_init(&entry, ENTRY_MAX);
	buf_init(&got, ENTRY_MAX);
	buf_init(&note, CHECKPOINT_NOTE_MAX);
	l = fixture_open(&p, &fixture_sizes);
	fd = fixture_intent(1, &entry, digest);
	a.entry = entry.data;
	a.len = entry.len;
	a.blobs = &fd;
	assert_ok(ledger_stage(l, &a, NULL));
	assert_int_equal(ledger_size(l), 0);
	assert_int_equal(ledger_staged(l), 1);
	assert_ok(ledger_commit(l, &receipt, NULL));
	assert_int_equal(ledger_size(l), 1);
	receipt_encode(&receipt, data);
	assert_ok(receipt_decode(data, sizeof(data), &again, NULL));
	assert_ok(receipt_check(fixture_key, &again, entry.data, entry.len, NULL));
	assert_int_equal(again.index, 0);
	assert_int_equal(again.tree_size, 1);
	assert_memory_equal(again.digest, digest, sizeof(digest));
	head = (struct tree_head){.size = again.tree_size};
	memcpy(head.root, again.root, sizeof(head.root));
	assert_ok(checkpoint_signature_check(ledger_vkey(l), &head, again.signature, NULL));
	ledger_head(l, &head, &note);
	assert_ok(checkpoint_read(note.data, note.len, ledger_vkey(l), &head, NULL));
	assert_memory_equal(head.root, receipt.root, sizeof(head.root));
	assert_ok(ledger_entry(l, 0, &got, NULL));
	assert_int_equal(got.len, entry.len);
	assert_memory_equal(got.data, entry.data, got.len);
	assert_fails(-ENOENT, &err, ledger_entry(l, 1, &got, &err));
	fd_close(fd);
	place_fini(&p);
}

/* Every way to claim an outcome that is not one. */
static void
outcomes_that_are_refused(void **state)
{
	CLEANUP(buf_fini) struct buf entry = {0}, other = {0};
	CLEANUP(ledger_freep) struct ledger *l = NULL;
	uint8_t digest[SHA256_LEN], second[SHA256_LEN], mac[SHA256_LEN], wrong[SHA256_LEN];
	static const uint8_t other_key[RECEIPT_KEY_LEN] = "another key";
	struct receipt receipt;
	struct error err = {0};
	struct place p;

	place_init(&p);
	buf_init(&entry, ENTRY_MAX);
	buf_init(&other, ENTRY_MAX);
	l = fixture_open(&p, &fixture_sizes);
	assert_ok(fixture_append_intent(l, 1, &receipt, digest, NULL));
	assert_ok(fixture_append_intent(l, 2, &receipt, second, NULL));
	/* Without a MAC, with somebody else's, for another intent, with another digest. */
	fixture_outcome(1, 0, digest, fixture_key, &entry, mac);
	assert_fails(-EINVAL, &err, stage(l, ENTRY_OUTCOME, &entry, NULL, NULL, 0, &err));
	for (size_t i = 0; i < sizeof(mac); i++) {
		memcpy(wrong, mac, sizeof(mac));
		wrong[i] ^= 1;
		assert_fails(-EPERM, &err, stage(l, ENTRY_OUTCOME, &entry, wrong, NULL, 0, &err));
	}
	fixture_outcome(1, 0, digest, other_key, &other, wrong);
	assert_fails(-EPERM, &err, stage(l, ENTRY_OUTCOME, &other, wrong, NULL, 0, &err));
	fixture_outcome(1, 0, second, fixture_key, &other, wrong);
	assert_fails(-EBADMSG, &err, stage(l, ENTRY_OUTCOME, &other, wrong, NULL, 0, &err));
	fixture_outcome(1, 1, digest, fixture_key, &other, wrong);
	assert_fails(-EBADMSG, &err, stage(l, ENTRY_OUTCOME, &other, wrong, NULL, 0, &err));
	fixture_outcome(1, 7, digest, fixture_key, &other, wrong);
	assert_fails(-ENOENT, &err, stage(l, ENTRY_OUTCOME, &other, wrong, NULL, 0, &err));
	/* The result of one under the MAC of another. */
	fixture_outcome(2, 1, second, fixture_key, &other, wrong);
	assert_fails(-EPERM, &err, stage(l, ENTRY_OUTCOME, &entry, wrong, NULL, 0, &err));
	/* Sent as what it is not. */
	assert_fails(-EINVAL, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	assert_fails(-EINVAL, &err, stage(l, ENTRY_INTENT, &entry, mac, NULL, 0, &err));
	/* The control: the same one, as it should be. Then twice in a batch, then again. */
	assert_ok(stage(l, ENTRY_OUTCOME, &entry, mac, NULL, 0, NULL));
	assert_fails(-EEXIST, &err, stage(l, ENTRY_OUTCOME, &entry, mac, NULL, 0, &err));
	assert_ok(ledger_commit(l, &receipt, NULL));
	assert_fails(-ENOENT, &err, stage(l, ENTRY_OUTCOME, &entry, mac, NULL, 0, &err));
	assert_int_equal(receipt.index, 2);
	for (size_t i = 0; i < sizeof(receipt.digest); i++)
		assert_int_equal(receipt.digest[i], 0);
	/* An outcome is no intent that one could end. */
	fixture_outcome(1, 2, digest, fixture_key, &other, wrong);
	assert_fails(-ENOENT, &err, stage(l, ENTRY_OUTCOME, &other, wrong, NULL, 0, &err));
	place_fini(&p);
}

static void
intents_that_are_refused(void **state)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	CLEANUP(ledger_freep) struct ledger *l = NULL;
	uint8_t mac[SHA256_LEN] = {0};
	struct receipt receipts[2];
	struct error err = {0};
	struct place p;
	int fd, other, open_fd, two[2];

	place_init(&p);
	buf_init(&entry, ENTRY_MAX);
	l = fixture_open(&p, &fixture_sizes);
	other = fixture_intent(2, &entry, NULL);
	fd = fixture_intent(1, &entry, NULL);
	/* Blobs: none, another, one too many, one that is not sealed, no memfd at all. */
	assert_fails(-EINVAL, &err, stage(l, ENTRY_INTENT, &entry, NULL, NULL, 0, &err));
	assert_fails(-EBADMSG, &err, stage(l, ENTRY_INTENT, &entry, NULL, &other, 1, &err));
	two[0] = fd;
	two[1] = fd;
	assert_fails(-EINVAL, &err, stage(l, ENTRY_INTENT, &entry, NULL, two, 2, &err));
	open_fd = openat(p.dirfd, "vkey", O_RDONLY);
	assert_true(open_fd >= 0);
	assert_fails(-EPERM, &err, stage(l, ENTRY_INTENT, &entry, NULL, &open_fd, 1, &err));
	assert_fails(-EINVAL, &err, stage(l, ENTRY_INTENT, &entry, mac, &fd, 1, &err));
	/* Every byte of it is judged: none can be turned without one of the checks saying so. */
	for (size_t i = 0; i < entry.len; i++) {
		entry.data[i] ^= 1;
		if (stage(l, ENTRY_INTENT, &entry, NULL, &fd, 1, NULL) == 0) {
			/* What no digest covers is the time and the ids of rules. */
			const char *time = strstr(entry.data, "\"time\":\"") + 8;
			const char *rules = strstr(entry.data, "\"rules\":[\"") + 10;
			const char *at = entry.data + i;
			bool uncovered = (at >= time && at < time + 24) ||
					 (at >= rules && at < rules + strlen("profile-exec"));

			if (!uncovered)
				fail_msg("byte %zu was not judged: %s", i, entry.data);
			ledger_free(l);
			l = fixture_open(&p, &fixture_sizes);
		}
		entry.data[i] ^= 1;
	}
	/* The control, and it twice in one batch, and again while it is open. */
	assert_ok(stage(l, ENTRY_INTENT, &entry, NULL, &fd, 1, NULL));
	assert_fails(-EEXIST, &err, stage(l, ENTRY_INTENT, &entry, NULL, &fd, 1, &err));
	assert_ok(ledger_commit(l, receipts, NULL));
	assert_fails(-EEXIST, &err, stage(l, ENTRY_INTENT, &entry, NULL, &fd, 1, &err));
	fd_close(fd);
	fd_close(other);
	fd_close(open_fd);
	place_fini(&p);
}

static void
event_of(const char *name, const char *key, uint64_t n, struct buf *entry)
{
	CLEANUP(json_decrefp) json_t *fields = json_pack("{s:I}", key, (json_int_t)n);

	buf_reset(entry);
	assert_ok(entry_event(name, fields, 1, entry, NULL));
}

static void
events(void **state)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	CLEANUP(ledger_freep) struct ledger *l = NULL;
	uint8_t digest[SHA256_LEN], mac[SHA256_LEN] = {0};
	struct receipt receipt;
	struct error err = {0};
	uint64_t index;
	struct place p;

	place_init(&p);
	buf_init(&entry, ENTRY_MAX);
	l = fixture_open(&p, &fixture_sizes);
	assert_ok(fixture_append_intent(l, 1, &receipt, digest, NULL));
	/* Its performer may live: the authority cannot close it. */
	event_of("indeterminate", "intent", 0, &entry);
	assert_fails(-EPERM, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	event_of("recovered", "n", 0, &entry);
	assert_fails(-EPERM, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	event_of("started", "n", 0, &entry);
	assert_fails(-EINVAL, &err, stage(l, ENTRY_EVENT, &entry, mac, NULL, 0, &err));
	assert_ok(stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, NULL));
	assert_ok(ledger_commit(l, &receipt, NULL));
	ledger_freep(&l);
	/* After a start it is what remains to be said, once. */
	l = fixture_open(&p, &fixture_sizes);
	assert_true(ledger_open_intent(l, 0, &index));
	assert_int_equal(index, 0);
	assert_false(ledger_open_intent(l, 1, &index));
	event_of("indeterminate", "intent", 1, &entry);
	assert_fails(-ENOENT, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	event_of("indeterminate", "intent", 0, &entry);
	assert_ok(stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, NULL));
	assert_fails(-EEXIST, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	assert_ok(ledger_commit(l, &receipt, NULL));
	assert_fails(-ENOENT, &err, stage(l, ENTRY_EVENT, &entry, NULL, NULL, 0, &err));
	assert_false(ledger_open_intent(l, 0, &index));
	assert_fails(-ENOENT, &err,
		     fixture_append_outcome(l, 1, 0, digest, &receipt, &err));
	fixture_settle(l);
	assert_verified(fixture_verify(&p, true));
	place_fini(&p);
}

/* A longer history across segments and tiles: everything in it can be read and proved. */
static void
history(void **state)
{
	enum { OPERATIONS = 400 };
	CLEANUP(buf_fini) struct buf entry = {0}, note = {0};
	struct tree_head head;
	struct ledger *l;
	uint8_t digest[SHA256_LEN];
	struct ledger_report report;
	struct receipt receipt;
	struct place p;

	place_init(&p);
	buf_init(&entry, ENTRY_MAX);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < OPERATIONS; i++) {
		assert_ok(fixture_append_intent(l, i, &receipt, digest, NULL));
		assert_int_equal(receipt.index, 2 * i);
		assert_ok(fixture_append_outcome(l, i, 2 * i, digest, &receipt, NULL));
		if (i % 3 == 0)
			assert_ok(ledger_follow(l, NULL));
		if (i % 50 == 49)
			fixture_settle(l);
		if (i % 90 == 89) {
			ledger_free(l);
			l = fixture_open(&p, &fixture_sizes);
			assert_string_equal(ledger_recovered(l), "");
			assert_int_equal(ledger_size(l), 2 * i + 2);
		}
	}
	buf_init(&note, CHECKPOINT_NOTE_MAX);
	ledger_head(l, &head, &note);
	for (uint64_t i = 0; i < 2 * OPERATIONS; i++) {
		uint8_t leaf[SHA256_LEN], path[PROOF_PATH_MAX][SHA256_LEN];
		struct entry e;
		size_t n;

		buf_reset(&entry);
		assert_ok(ledger_entry(l, i, &entry, NULL));
		assert_ok(entry_read(entry.data, entry.len, &e, NULL));
		assert_string_equal(e.kind, i % 2 == 0 ? "intent" : "outcome");
		assert_int_equal(op_number(e.op), i / 2);
		if (i % 2 == 0) {
			CLEANUP(buf_fini) struct buf blob = {0};

			buf_init(&blob, RECORD_BLOB_MAX);
			assert_ok(ledger_blob(l, e.blobs[0], &blob, NULL));
			assert_int_equal(strtoull(blob.data, NULL, 10), i / 2);
		}
		entry_fini(&e);
		leaf_hash(entry.data, entry.len, leaf);
		assert_ok(ledger_prove(l, i, digest, path, &n, NULL));
		assert_memory_equal(leaf, digest, sizeof(leaf));
		assert_ok(proof_check(leaf, i, head.size, path, n, head.root, NULL));
	}
	fixture_settle(l);
	for (int deep = 0; deep < 2; deep++) {
		report = fixture_verify(&p, deep);
		assert_verified(report);
		assert_int_equal(report.entries, 2 * OPERATIONS);
		assert_int_equal(report.checkpoint.size, 2 * OPERATIONS);
		assert_int_equal(report.intents, OPERATIONS);
		assert_int_equal(report.outcomes, OPERATIONS);
		assert_int_equal(report.blobs, OPERATIONS);
		assert_int_equal(report.blobs_erased, 0);
		assert_int_equal(report.open, 0);
	}
	ledger_free(l);
	place_fini(&p);
}

/* What the disk had when the tiles were lost is made again, to the byte. */
static void
tiles_are_made_again(void **state)
{
	static const char *const names[] = {"tile/0/000", "tile/entries/000", "tile/0/001.p/44",
					    "tile/entries/001.p/44", "tile/1/000.p/1"};
	uint8_t *before[ARRAY_LEN(names)], *after;
	size_t len[ARRAY_LEN(names)];
	struct receipt receipt;
	struct ledger *l;
	struct place p;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 300; i++)
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		len[i] = file_read(&p, names[i], &before[i]);
		assert_ok(unlinkat(p.dirfd, names[i], 0));
	}
	l = fixture_open(&p, &fixture_sizes);
	/* Nothing new to publish is no reason to leave them away. */
	assert_ok(fixture_append_event(l, 300, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(file_read(&p, names[i], &after), len[i]);
		assert_memory_equal(before[i], after, len[i]);
		free(after);
	}
	assert_verified(fixture_verify(&p, false));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		free(before[i]);
	place_fini(&p);
}

/* So is the index of blobs. */
static void
blob_index_is_made_again(void **state)
{
	CLEANUP(buf_fini) struct buf blob = {0};
	uint8_t digests[3][SHA256_LEN];
	struct receipt receipt;
	struct ledger *l;
	struct place p;

	place_init(&p);
	buf_init(&blob, RECORD_BLOB_MAX);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 3; i++) {
		CLEANUP(buf_fini) struct buf entry = {0};
		struct entry e;

		assert_ok(fixture_append_intent(l, i, &receipt, NULL, NULL));
		for (uint64_t k = 0; k < 150; k++)
			assert_ok(fixture_append_event(l, k, &receipt, NULL));
		buf_init(&entry, ENTRY_MAX);
		assert_ok(ledger_entry(l, 151 * i, &entry, NULL));
		assert_ok(entry_read(entry.data, entry.len, &e, NULL));
		memcpy(digests[i], e.blobs[0], SHA256_LEN);
		entry_fini(&e);
		assert_ok(ledger_follow(l, NULL));
	}
	fixture_settle(l);
	ledger_free(l);
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "blob/%02x", digests[i][0]);
		(void)unlinkat(p.dirfd, name, 0);
	}
	/* Emptied it is an index that says nothing; gone it is made again. */
	l = fixture_open(&p, &fixture_sizes);
	assert_int_equal(ledger_blob(l, digests[0], &blob, NULL), -ENOENT);
	ledger_free(l);
	assert_ok(unlinkat(p.dirfd, "blob", AT_REMOVEDIR));
	l = fixture_open(&p, &fixture_sizes);
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		buf_reset(&blob);
		assert_ok(ledger_blob(l, digests[i], &blob, NULL));
		assert_int_equal(strtoull(blob.data, NULL, 10), i);
	}
	assert_ok(fixture_append_event(l, 1, &receipt, NULL));
	fixture_settle(l);
	ledger_free(l);
	assert_verified(fixture_verify(&p, true));
	place_fini(&p);
}

/* However many entries there are, what is kept for those without a full tile does not grow. */
static void
only_two_partial_tiles_stay(void **state)
{
	struct receipt receipt;
	struct ledger *l;
	struct place p;
	size_t n = 0;
	char name[64];

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	for (uint64_t i = 0; i < 40; i++) {
		assert_ok(fixture_append_event(l, i, &receipt, NULL));
		fixture_settle(l);
	}
	for (unsigned int w = 1; w < 256; w++) {
		(void)snprintf(name, sizeof(name), "tile/entries/000.p/%u", w);
		n += faccessat(p.dirfd, name, F_OK, 0) == 0;
	}
	assert_int_equal(n, 2);
	ledger_free(l);
	place_fini(&p);
}

static void
one_writer_only(void **state)
{
	struct ledger *l, *other = NULL;
	struct error err = {0};
	struct place p;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	assert_fails(-EBUSY, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &other, &err));
	ledger_free(l);
	l = fixture_open(&p, &fixture_sizes);
	ledger_free(l);
	place_fini(&p);
}

/* The key: made once, closed to others, never replaced. */
static void
keys(void **state)
{
	struct ledger *l = NULL;
	struct error err = {0};
	uint8_t *key, *vkey, *again;
	size_t len, key_len;
	struct stat st;
	struct place p;

	place_init(&p);
	l = fixture_open(&p, &fixture_sizes);
	ledger_free(l);
	assert_ok(fstatat(p.dirfd, "key", &st, 0));
	assert_int_equal(st.st_mode & 07777, 0600);
	key_len = file_read(&p, "key", &key);
	assert_int_equal(key_len, SIGNING_KEY_LEN);
	len = file_read(&p, "vkey", &vkey);
	/* A lost verifier key is written again, the same. */
	assert_ok(unlinkat(p.dirfd, "vkey", 0));
	l = fixture_open(&p, &fixture_sizes);
	ledger_free(l);
	assert_int_equal(file_read(&p, "vkey", &again), len);
	assert_memory_equal(vkey, again, len);
	l = NULL;
	/* Open to others, cut, another, a link, gone: none of them starts. */
	assert_ok(fchmodat(p.dirfd, "key", 0640, 0));
	assert_fails(-EPERM, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	assert_ok(fchmodat(p.dirfd, "key", 0600, 0));
	file_write(&p, "key", key, key_len - 1);
	assert_fails(-ENODATA, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	key[0] ^= 1;
	file_write(&p, "key", key, key_len);
	assert_fails(-EBADMSG, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	key[0] ^= 1;
	assert_ok(unlinkat(p.dirfd, "key", 0));
	assert_fails(-ENOKEY, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	file_write(&p, "key.away", key, key_len);
	assert_ok(symlinkat("key.away", p.dirfd, "key"));
	assert_fails(-ELOOP, &err, ledger_open(p.dirfd, fixture_key, &fixture_sizes, &l, &err));
	assert_ok(unlinkat(p.dirfd, "key", 0));
	file_write(&p, "key", key, key_len);
	l = fixture_open(&p, &fixture_sizes);
	ledger_free(l);
	free(key);
	free(vkey);
	free(again);
	place_fini(&p);
}

/* While it is open somebody touches the file: the next append says so, and so do all after it. */
static void
meddling(void **state)
{
	static const char name[] = "journal/00000000000000000000";

	for (int how = 0; how < 8; how++) {
		struct receipt receipt;
		struct error err = {0};
		struct ledger *l;
		struct place p;
		int fd;

		place_init(&p);
		l = fixture_open(&p, &fixture_sizes);
		assert_ok(fixture_append_event(l, 1, &receipt, NULL));
		fd = openat(p.dirfd, name, O_RDWR);
		assert_true(fd >= 0);
		switch (how) {
		case 0:
			assert_ok(unlinkat(p.dirfd, name, 0));
			break;
		case 1:
			assert_ok(unlinkat(p.dirfd, name, 0));
			assert_ok(symlinkat("/dev/null", p.dirfd, name));
			break;
		case 2:
			assert_ok(renameat(p.dirfd, name, p.dirfd, "elsewhere"));
			file_write(&p, name, "", 0);
			break;
		case 3:
			assert_ok(fchmod(fd, 0644));
			break;
		case 4:
			assert_ok(linkat(p.dirfd, name, p.dirfd, "another", 0));
			break;
		case 5:
			assert_ok(ftruncate(fd, 8192));
			break;
		case 6: /* a second writer, at the end */
			assert_ok(fd_pwrite_all(fd, "x", 1, 4096 + 512, NULL));
			break;
		case 7: /* history is changed in place */
			(void)usleep(20000);
			assert_ok(fd_pwrite_all(fd, "x", 1, 4096 + 120, NULL));
			break;
		}
		for (int i = 0; i < 3; i++)
			assert_fails(-ESTALE, &err, fixture_append_event(l, 2, &receipt, &err));
		assert_int_equal(ledger_size(l), 1);
		fd_close(fd);
		ledger_free(l);
		place_fini(&p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receipt_holds),
		cmocka_unit_test(outcomes_that_are_refused),
		cmocka_unit_test(intents_that_are_refused),
		cmocka_unit_test(events),
		cmocka_unit_test(history),
		cmocka_unit_test(tiles_are_made_again),
		cmocka_unit_test(blob_index_is_made_again),
		cmocka_unit_test(only_two_partial_tiles_stay),
		cmocka_unit_test(one_writer_only),
		cmocka_unit_test(keys),
		cmocka_unit_test(meddling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
