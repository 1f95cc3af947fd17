/* loom-ledger itself, by a peer that behaves and by peers that do not. */
#include "ledger_process.h"

#include <time.h>

#include "base/json.h"
#include "ledger/outbox.h"
#include "ledger/record.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

static void
one_run(void **state)
{
	CLEANUP(buf_fini) struct buf intent = {0}, outcome = {0}, blob = {0};
	uint8_t digest[SHA256_LEN], mac[SHA256_LEN];
	struct msg_ledger_entry entry;
	struct msg_ledger_blob_is is;
	struct msg_ledger_head_is head;
	struct msg_ledger_proof proof;
	struct receipt receipt;
	struct tree_head signed_head;
	struct vkey vkey;
	struct process p;
	struct place place;
	struct entry e;
	int fd;

	place_init(&place);
	process_start(&p, &place);
	buf_init(&intent, ENTRY_MAX);
	buf_init(&outcome, ENTRY_MAX);
	fd = fixture_intent(1, &intent, digest);
	assert_ok(CHANNEL_SEND_FDS(&p.authority, append, NULL, &fd, 1, .tag = 5,
				   .kind = ENTRY_INTENT,
				   .entry = wire_bytes_of(intent.data, intent.len)));
	process_recv(&p, MSG_appended);
	assert_int_equal(process_receipt(&p, &receipt), 5);
	assert_ok(receipt_check(fixture_key, &receipt, intent.data, intent.len, NULL));
	/* It is open, and said to be. */
	assert_ok(CHANNEL_SEND(&p.authority, ledger_open, NULL, .tag = 6));
	process_recv(&p, MSG_ledger_entry);
	assert_ok(msg_ledger_entry_decode(p.packet.body, p.packet.len, &entry, NULL));
	assert_true(entry.tag == 6 && entry.index == 0 && entry.last == 1);
	assert_int_equal(entry.entry.len, intent.len);
	/* A forged outcome is refused and the true one is taken. */
	fixture_outcome(1, 0, digest, fixture_key, &outcome, mac);
	mac[3] ^= 1;
	for (int i = 0; i < 2; i++) {
		assert_ok(CHANNEL_SEND(&p.authority, append, NULL, .tag = 7, .kind = ENTRY_OUTCOME,
				       .entry = wire_bytes_of(outcome.data, outcome.len),
				       .mac = wire_bytes_of(mac, sizeof(mac))));
		process_recv(&p, i == 0 ? MSG_ledger_failed : MSG_appended);
		mac[3] ^= 1;
	}
	assert_ok(CHANNEL_SEND(&p.authority, ledger_open, NULL, .tag = 8));
	process_recv(&p, MSG_ledger_entry);
	assert_ok(msg_ledger_entry_decode(p.packet.body, p.packet.len, &entry, NULL));
	assert_true(entry.tag == 8 && entry.entry.len == 0 && entry.last == 1);
	/* Reading: both, then what is not there. */
	assert_ok(CHANNEL_SEND(&p.authority, ledger_read, NULL, .tag = 9, .index = 0, .count = 10));
	for (uint32_t i = 0; i < 2; i++) {
		process_recv(&p, MSG_ledger_entry);
		assert_ok(msg_ledger_entry_decode(p.packet.body, p.packet.len, &entry, NULL));
		assert_true(entry.tag == 9 && entry.index == i && entry.last == i);
		assert_ok(entry_read(entry.entry.data, entry.entry.len, &e, NULL));
		entry_fini(&e);
	}
	assert_ok(CHANNEL_SEND(&p.authority, ledger_read, NULL, .tag = 10, .index = 2, .count = 1));
	process_recv(&p, MSG_ledger_entry);
	assert_ok(msg_ledger_entry_decode(p.packet.body, p.packet.len, &entry, NULL));
	assert_true(entry.tag == 10 && entry.entry.len == 0 && entry.last == 1);
	/* The blob comes back sealed. */
	assert_ok(entry_read(intent.data, intent.len, &e, NULL));
	assert_ok(CHANNEL_SEND(&p.authority, ledger_blob, NULL, .tag = 11,
			       .digest = wire_bytes_of(e.blobs[0], SHA256_LEN)));
	process_recv(&p, MSG_ledger_blob_is);
	assert_ok(msg_ledger_blob_is_decode(p.packet.body, p.packet.len, &is, NULL));
	buf_init(&blob, RECORD_BLOB_MAX);
	assert_ok(fd_memfd_read(p.packet.fds[0], &blob, NULL));
	assert_int_equal(is.size, blob.len);
	sha256_of(blob.data, blob.len, digest);
	assert_memory_equal(digest, e.blobs[0], SHA256_LEN);
	entry_fini(&e);
	assert_ok(CHANNEL_SEND(&p.authority, ledger_blob, NULL, .tag = 12,
			       .digest = wire_bytes_of(mac, SHA256_LEN)));
	process_recv(&p, MSG_ledger_failed);
	/* Head and proof, checked with what they carry. */
	assert_ok(CHANNEL_SEND(&p.authority, ledger_head, NULL, .tag = 13));
	process_recv(&p, MSG_ledger_head_is);
	assert_ok(msg_ledger_head_is_decode(p.packet.body, p.packet.len, &head, NULL));
	assert_int_equal(head.size, 2);
	assert_ok(vkey_parse(head.vkey.data, head.vkey.len, &vkey, NULL));
	assert_ok(checkpoint_read(head.note.data, head.note.len, &vkey, &signed_head, NULL));
	assert_ok(CHANNEL_SEND(&p.authority, ledger_prove, NULL, .tag = 14, .index = 0));
	process_recv(&p, MSG_ledger_proof);
	assert_ok(msg_ledger_proof_decode(p.packet.body, p.packet.len, &proof, NULL));
	assert_true(proof.size == 2 && proof.index == 0 && proof.path.len == SHA256_LEN);
	assert_memory_equal(proof.leaf.data, receipt.leaf, SHA256_LEN);
	assert_ok(proof_check(receipt.leaf, 0, 2, proof.path.data, 1, signed_head.root, NULL));
	assert_ok(CHANNEL_SEND(&p.authority, ledger_prove, NULL, .tag = 15, .index = 2));
	process_recv(&p, MSG_ledger_failed);
	fd_close(fd);
	process_stop(&p);
	assert_verified(fixture_verify(&place, true));
	assert_int_equal(fixture_verify(&place, true).checkpoint.size, 2);
	place_fini(&place);
}

/* ---- peers that break the protocol */

static void
send_raw(struct process *p, const void *data, size_t len, int fd)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(p->authority.fd, &msg, MSG_NOSIGNAL), len);
}

/* A packet as the channel makes it, with any type and body. */
static void
send_packet(struct process *p, uint32_t type, const struct buf *body, int fd)
{
	CLEANUP(buf_fini) struct buf packet = {0};

	buf_init(&packet, 2 * WIRE_BODY_MAX);
	wire_put_u32(&packet, 0x4c4f4f4d);
	wire_put_u32(&packet, type);
	wire_put_u32(&packet, (uint32_t)body->len);
	buf_add(&packet, body->data, body->len);
	assert_ok(buf_check(&packet, NULL));
	send_raw(p, packet.data, packet.len, fd);
}

static void
append_body(struct buf *body, uint32_t kind, size_t mac_len)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	static const uint8_t mac[64];
	struct msg_append m = {.tag = 1, .kind = kind};

	buf_init(&entry, ENTRY_MAX);
	fixture_event("started", 1, &entry);
	m.entry = wire_bytes_of(entry.data, entry.len);
	m.mac = wire_bytes_of(mac, mac_len);
	msg_append_encode(&m, body);
}

enum breach {
	BREACH_GARBAGE,
	BREACH_SHORT_HEADER,
	BREACH_UNKNOWN_TYPE,
	BREACH_READY,      /* a message of another sender */
	BREACH_APPENDED,   /* one of the ledger's own */
	BREACH_STOP,       /* loomd's, on the authority's channel */
	BREACH_TRAILING,
	BREACH_CUT,
	BREACH_KIND_0,
	BREACH_KIND_4,
	BREACH_MAC,
	BREACH_STRAY_FD,
	BREACH_DIGEST,
	BREACH_OVERSIZE,
	BREACH_EMPTY_BODY,
	BREACH_COUNT,
};

static void
breach(struct process *p, enum breach what)
{
	CLEANUP(buf_fini) struct buf body = {0};
	static const char garbage[64] = "GET / HTTP/1.1\r\n\r\n";
	uint32_t type = MSG_append;
	int fd = -1;

	buf_init(&body, 2 * WIRE_BODY_MAX);
	switch (what) {
	case BREACH_GARBAGE:
		send_raw(p, garbage, sizeof(garbage), -1);
		return;
	case BREACH_SHORT_HEADER:
		send_raw(p, "LOOM", 4, -1);
		return;
	case BREACH_UNKNOWN_TYPE:
		type = 0x7777;
		break;
	case BREACH_READY:
		type = MSG_ready;
		wire_put_u32(&body, 1);
		break;
	case BREACH_APPENDED:
		type = MSG_appended;
		wire_put_u64(&body, 1);
		wire_put_u32(&body, 0);
		break;
	case BREACH_STOP:
		type = MSG_stop;
		wire_put_u32(&body, 1);
		break;
	case BREACH_TRAILING:
		append_body(&body, ENTRY_EVENT, 0);
		buf_char(&body, 'x');
		break;
	case BREACH_CUT:
		append_body(&body, ENTRY_EVENT, 0);
		buf_cut(&body, body.len - 5);
		break;
	case BREACH_KIND_0:
		append_body(&body, 0, 0);
		break;
	case BREACH_KIND_4:
		append_body(&body, 4, 0);
		break;
	case BREACH_MAC:
		append_body(&body, ENTRY_EVENT, 31);
		break;
	case BREACH_STRAY_FD:
		type = MSG_ledger_head;
		wire_put_u64(&body, 1);
		fd = p->loomd.fd;
		break;
	case BREACH_DIGEST:
		type = MSG_ledger_blob;
		wire_put_u64(&body, 1);
		wire_put_bytes(&body, wire_bytes_of(garbage, 16));
		break;
	case BREACH_OVERSIZE:
		type = MSG_ledger_head;
		for (int i = 0; i < 100; i++)
			wire_put_u64(&body, 1);
		break;
	case BREACH_EMPTY_BODY:
	case BREACH_COUNT:
		break;
	}
	send_packet(p, type, &body, fd);
}

/* Each breach is the end of the process, and harms nothing that was recorded. */
static void
breaches_are_fatal(void **state)
{
	struct place place;

	place_init(&place);
	for (int what = 0; what < BREACH_COUNT; what++) {
		struct receipt receipt;
		struct process p;
		int status;

		process_start(&p, &place);
		assert_ok(process_send_event(&p, 1, NULL));
		process_recv(&p, MSG_appended);
		(void)process_receipt(&p, &receipt);
		assert_int_equal(receipt.index, what);
		breach(&p, (enum breach)what);
		status = process_wait(&p);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 125)
			fail_msg("breach %d: status %#x", what, (unsigned int)status);
	}
	assert_verified(fixture_verify(&place, false));
	assert_int_equal(fixture_verify(&place, false).entries, BREACH_COUNT);
	place_fini(&place);
}

/* The same packets as a control: well formed, they are answered. */
static void
well_formed_is_not_fatal(void **state)
{
	CLEANUP(buf_fini) struct buf body = {0};
	struct process p;
	struct place place;

	place_init(&place);
	process_start(&p, &place);
	buf_init(&body, WIRE_BODY_MAX);
	append_body(&body, ENTRY_EVENT, 0);
	send_packet(&p, MSG_append, &body, -1);
	process_recv(&p, MSG_appended);
	/* Refused, not fatal: of another kind, and with a MAC. */
	buf_reset(&body);
	append_body(&body, ENTRY_INTENT, 0);
	send_packet(&p, MSG_append, &body, -1);
	process_recv(&p, MSG_ledger_failed);
	buf_reset(&body);
	append_body(&body, ENTRY_EVENT, 32);
	send_packet(&p, MSG_append, &body, -1);
	process_recv(&p, MSG_ledger_failed);
	process_stop(&p);
	place_fini(&place);
}

static void
peers_that_leave(void **state)
{
	struct process p;
	struct place place;
	int status;

	place_init(&place);
	/* With an append on its way: it is recorded all the same. */
	process_start(&p, &place);
	assert_ok(process_send_event(&p, 1, NULL));
	channel_close(&p.authority);
	status = process_wait(&p);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(fixture_verify(&place, false).checkpoint.size, 1);
	process_start(&p, &place);
	channel_close(&p.loomd);
	status = process_wait(&p);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	process_start(&p, &place);
	assert_ok(kill(p.pid, SIGTERM));
	status = process_wait(&p);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_verified(fixture_verify(&place, false));
	place_fini(&place);
}

/* ---- many, fast, and dying */

static uint64_t
random_below(uint64_t n)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % n;
}

static void
assert_entry_is(struct process *p, uint64_t index, uint64_t n)
{
	struct msg_ledger_entry m;
	struct entry e;
	int64_t got = -1;

	assert_ok(CHANNEL_SEND(&p->authority, ledger_read, NULL, .tag = 1, .index = index,
			       .count = 1));
	process_recv(p, MSG_ledger_entry);
	assert_ok(msg_ledger_entry_decode(p->packet.body, p->packet.len, &m, NULL));
	assert_int_equal(m.index, index);
	assert_ok(entry_read(m.entry.data, m.entry.len, &e, NULL));
	assert_ok(json_get_int(e.json, "n", 0, INT64_MAX, &got, NULL));
	assert_int_equal(got, (int64_t)n);
	entry_fini(&e);
}

/* Killed in the middle of appends, again and again: whatever was answered for is there. */
static void
killed_while_appending(void **state)
{
	enum { ROUNDS = 50, WINDOW = 48 };
	static uint64_t acked[200000];
	uint64_t n_acked = 0, next = 0;
	struct place place;

	unit_skip_under_valgrind();
	/* On a disk, if /tmp is one: the sync is part of it. */
	(void)snprintf(place.path, sizeof(place.path), "/tmp/loom-ledger-XXXXXX");
	assert_non_null(mkdtemp(place.path));
	place.dirfd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(acked, 0xff, sizeof(acked));
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t due = 20 + random_below(400), in_flight = 0, answered = 0;
		struct process p;

		process_start(&p, &place);
		/* A few of what came before, and the newest one. */
		for (int i = 0; i < 8 && n_acked > 0; i++) {
			uint64_t index = i == 0 ? n_acked - 1 : random_below(n_acked);

			if (acked[index] != UINT64_MAX)
				assert_entry_is(&p, index, acked[index]);
		}
		while (answered < due) {
			struct receipt receipt;
			uint64_t tag;

			for (; in_flight < WINDOW; in_flight++)
				assert_ok(process_send_event(&p, next++, NULL));
			process_recv(&p, MSG_appended);
			tag = process_receipt(&p, &receipt);
			in_flight--;
			answered++;
			assert_true(receipt.index < ARRAY_LEN(acked));
			assert_true(acked[receipt.index] == UINT64_MAX);
			acked[receipt.index] = tag;
			if (receipt.index >= n_acked)
				n_acked = receipt.index + 1;
		}
		process_kill(&p);
	}
	{
		struct ledger_report report;
		struct process p;

		process_start(&p, &place);
		for (uint64_t i = 0; i < n_acked; i++)
			if (acked[i] != UINT64_MAX)
				assert_entry_is(&p, i, acked[i]);
		process_stop(&p);
		report = fixture_verify(&place, true);
		assert_verified(report);
		assert_true(report.entries >= n_acked);
	}
	place_fini(&place);
}

/* An answer that nobody takes holds back nothing but itself. */
static void
slow_reader(void **state)
{
	enum { ENTRIES = 3000, READS = 40 };
	uint64_t entries = 0, receipts = 0, lasts = 0, proofs = 0;
	struct process p;
	struct place place;

	unit_skip_under_valgrind();
	place_init(&place);
	process_start(&p, &place);
	for (uint64_t i = 0; i < ENTRIES; i++) {
		assert_ok(process_send_event(&p, i, NULL));
		process_recv(&p, MSG_appended);
	}
	/* More than any buffer holds, and in between what must not wait for it. */
	for (uint64_t i = 0; i < READS; i++) {
		assert_ok(CHANNEL_SEND(&p.authority, ledger_read, NULL, .tag = i, .index = 0,
				       .count = ENTRIES));
		assert_ok(process_send_event(&p, i, NULL));
		assert_ok(CHANNEL_SEND(&p.authority, ledger_prove, NULL, .tag = i, .index = i));
	}
	while (lasts < READS || receipts < READS || proofs < READS) {
		struct msg_ledger_entry m;

		assert_int_equal(channel_recv(&p.authority, &p.packet, NULL), 1);
		if (p.packet.type == MSG_appended)
			receipts++;
		if (p.packet.type == MSG_ledger_proof)
			proofs++;
		if (p.packet.type != MSG_ledger_entry)
			continue;
		assert_ok(msg_ledger_entry_decode(p.packet.body, p.packet.len, &m, NULL));
		assert_int_equal(m.tag, lasts);
		entries++;
		lasts += m.last;
		/* The first answers may lie in the socket's buffer before the last question does. */
		if (lasts == READS / 2 && m.last == 1)
			assert_int_equal(receipts, READS);
	}
	assert_true(entries >= (uint64_t)READS * ENTRIES);
	/* Too many questions at a time are a peer that floods. */
	for (uint64_t i = 0; i < 4 * OUTBOX_JOBS_MAX; i++)
		if (CHANNEL_SEND(&p.authority, ledger_read, NULL, .tag = i, .count = ENTRIES) < 0)
			break;
	{
		int status = process_wait(&p);

		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 125);
	}
	assert_verified(fixture_verify(&place, false));
	place_fini(&place);
}

static uint64_t
status_number(pid_t pid, const char *key)
{
	CLEANUP(buf_fini) struct buf text = {0};
	char path[64];
	const char *at;

	buf_init(&text, 65536);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	assert_ok(fd_read_file_at(AT_FDCWD, path, &text, NULL));
	at = strstr(text.data, key);
	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

/* Published, it sleeps; and what it holds does not depend on how much it has recorded. */
static void
idle_and_flat(void **state)
{
	const struct timespec quiet = {.tv_sec = 2}, nap = {.tv_sec = 1};
	uint64_t before, after, rss[2];
	struct process p;
	struct place place;
	uint64_t next = 0;

	unit_skip_under_valgrind();
	place_init(&place);
	process_start(&p, &place);
	for (int part = 0; part < 2; part++) {
		for (uint64_t sent = 0, due = part == 0 ? 3000 : 30000; sent < due;) {
			for (int i = 0; i < 50; i++, sent++)
				assert_ok(process_send_event(&p, next++, NULL));
			for (int i = 0; i < 50; i++)
				process_recv(&p, MSG_appended);
		}
		(void)nanosleep(&quiet, NULL);
		rss[part] = status_number(p.pid, "VmRSS:");
	}
	/* A sanitizer keeps what was freed. */
	if (rss[1] > rss[0] + (SANITIZED ? 1 << 20 : 2048))
		fail_msg("%llu kB, then %llu kB", (unsigned long long)rss[0],
			 (unsigned long long)rss[1]);
	before = status_number(p.pid, "\nvoluntary_ctxt_switches:");
	(void)nanosleep(&nap, NULL);
	after = status_number(p.pid, "\nvoluntary_ctxt_switches:");
	assert_int_equal(before, after);
	process_stop(&p);
	assert_verified(fixture_verify(&place, false));
	place_fini(&place);
}

/* Somebody looks while it writes: never a false alarm. */
static void
verified_while_appending(void **state)
{
	struct process p;
	struct place place;
	uint64_t next = 0;
	pid_t writer;
	int status = 0;

	unit_skip_under_valgrind();
	place_init(&place);
	process_start(&p, &place);
	assert_ok(process_send_event(&p, next++, NULL));
	process_recv(&p, MSG_appended);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		for (int batch = 0; batch < 2000; batch++) {
			for (int i = 0; i < 20; i++)
				if (process_send_event(&p, next++, NULL) < 0)
					_exit(1);
			for (int i = 0; i < 20; i++)
				if (channel_recv(&p.authority, &p.packet, NULL) != 1)
					_exit(1);
			if (batch % 400 == 0)
				(void)usleep(700000);
		}
		_exit(0);
	}
	for (int looks = 0; waitpid(writer, &status, WNOHANG) == 0; looks++) {
		const struct ledger_verify_options options = {.deep = looks % 2 == 0};
		struct ledger_report report;

		assert_ok(ledger_verify(place.dirfd, &options, &report, NULL));
		assert_verified(report);
	}
	assert_int_equal(status, 0);
	process_stop(&p);
	assert_int_equal(fixture_verify(&place, false).checkpoint.size, 40001);
	place_fini(&place);
}

/* The journal is taken away under it: denials, no crash, and no way back without a start. */
static void
journal_taken_away(void **state)
{
	struct process p;
	struct place place;

	place_init(&place);
	process_start(&p, &place);
	assert_ok(process_send_event(&p, 1, NULL));
	process_recv(&p, MSG_appended);
	assert_ok(renameat(place.dirfd, "journal/00000000000000000000", place.dirfd, "away"));
	for (int i = 0; i < 3; i++) {
		struct msg_ledger_failed m;

		assert_ok(process_send_event(&p, 2, NULL));
		process_recv(&p, MSG_ledger_failed);
		assert_ok(msg_ledger_failed_decode(p.packet.body, p.packet.len, &m, NULL));
		assert_int_equal(m.code, -ESTALE);
		if (i == 1)
			assert_ok(renameat(place.dirfd, "away", place.dirfd,
					   "journal/00000000000000000000"));
	}
	/* What was recorded can still be read. */
	assert_entry_is(&p, 0, 1);
	process_stop(&p);
	process_start(&p, &place);
	assert_ok(process_send_event(&p, 3, NULL));
	process_recv(&p, MSG_appended);
	process_stop(&p);
	assert_verified(fixture_verify(&place, false));
	assert_int_equal(fixture_verify(&place, false).entries, 2);
	place_fini(&place);
}

/* Without what loomd gives it, or with a ledger it cannot trust, it does not become ready. */
static void
no_start(void **state)
{
	struct process p;
	struct place place;
	int status;

	place_init(&place);
	process_start(&p, &place);
	process_stop(&p);
	assert_ok(fchmodat(place.dirfd, "key", 0644, 0));
	process_start_quietly(&p, &place);
	assert_int_equal(channel_recv(&p.loomd, &p.packet, NULL), 0);
	status = process_wait(&p);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 125);
	place_fini(&place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run),
		cmocka_unit_test(breaches_are_fatal),
		cmocka_unit_test(well_formed_is_not_fatal),
		cmocka_unit_test(peers_that_leave),
		cmocka_unit_test(journal_taken_away),
		cmocka_unit_test(no_start),
		cmocka_unit_test(killed_while_appending),
		cmocka_unit_test(slow_reader),
		cmocka_unit_test(idle_and_flat),
		cmocka_unit_test(verified_while_appending),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
