/*
 * An authority in this process with the test as its loomd, ledger, box and api, and as its clients.
 * Nothing runs by itself: fake_pump lets the authority's loop do what there is to do, and the test
 * reads and writes the other ends of the channels, one message at a time.
 */
#ifndef LOOM_TESTS_AUTHORITY_FAKE_H
#define LOOM_TESTS_AUTHORITY_FAKE_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "authority/authority.h"
#include "authority/run.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/entry.h"
#include "model/receipt.h"
#include "model/result.h"
#include "wire/channel.h"

#define FAKE_VKEY "loom.test/0+00000000+AAAA"
#define FAKE_BOOT "boot-1"
#define FAKE_ARGS_LEN (ARGS_SALT_LEN + 5)

struct fake_entry {
	enum entry_kind kind;
	uint64_t index; /* once it is recorded */
	char *bytes;
	size_t len;
	struct entry read;
};

struct fake {
	struct authority a;
	struct channel loomd, ledger, box, api; /* the test's ends */
	struct packet packet;
	char dir[64]; /* of the socket, the views, the configuration */
	int config;   /* its descriptor, or -1 */
	bool ended;   /* the authority's loop has ended */
	int status;
	struct fake_entry entries[256];
	size_t n_entries;
	uint64_t tags[64];  /* appends that are not answered, in order */
	size_t pending[64]; /* which entry each is */
	size_t n_tags;
	uint64_t size; /* entries that are recorded */
};

struct fake_client {
	struct channel channel;
	int args;
};

struct fake_spec {
	uint32_t uid; /* whom it serves; 0xffffffff: us */
	uint64_t idle_ms;
	uint64_t size;	  /* entries the ledger says it has */
	const char *kept; /* what the box says it keeps; NULL: [] */
	bool config;	  /* make a configuration directory */
	bool no_start;	  /* leave the questions of the start unanswered */
};

/* ---- the loop */

static inline void
fake_pump(struct fake *f)
{
	for (int i = 0; i < 10000 && !f->ended; i++) {
		int r = sd_event_run(f->a.hub.loop, 0);

		assert_true(r >= 0);
		if (sd_event_get_state(f->a.hub.loop) == SD_EVENT_FINISHED) {
			f->ended = true;
			assert_true(sd_event_get_exit_code(f->a.hub.loop, &f->status) >= 0);
			return;
		}
		if (r == 0)
			return;
	}
}

/* Let time pass: the loop runs until it has ended or MS are over. */
static inline void
fake_wait(struct fake *f, uint64_t ms)
{
	uint64_t until = clock_boot_ms() + ms;

	while (!f->ended && clock_boot_ms() < until) {
		assert_true(sd_event_run(f->a.hub.loop, 5000) >= 0);
		fake_pump(f);
	}
}

static inline bool
channel_has(struct channel *c)
{
	char byte;

	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) >= 0;
}

/* The next message on C, which must be of TYPE; in f->packet. */
static inline void
fake_expect(struct fake *f, struct channel *c, enum message_type type)
{
	struct error err = {0};
	int r;

	fake_pump(f);
	r = channel_recv(c, &f->packet, &err);
	if (r != 1)
		fail_msg("no message where %#x is due: %d %s", (unsigned int)type, r, err.text);
	assert_int_equal(f->packet.type, type);
}

static inline void
fake_expect_nothing(struct fake *f, struct channel *c)
{
	fake_pump(f);
	if (channel_has(c)) {
		struct error err = {0};
		int r = channel_recv(c, &f->packet, &err);

		fail_msg("message %#x where none is due (%d)", f->packet.type, r);
	}
}

/* The other end has closed C. */
static inline void
fake_expect_closed(struct fake *f, struct channel *c)
{
	struct error err = {0};

	fake_pump(f);
	assert_int_equal(channel_recv(c, &f->packet, &err), 0);
}

static inline void
channel_unblock(struct channel *c)
{
	assert_true(fcntl(c->fd, F_SETFL, O_NONBLOCK) == 0);
}

/* ---- the ledger */

/* Take one append off the channel; it is valid until the end, and not answered yet. */
static inline struct fake_entry *
ledger_take_any(struct fake *f)
{
	struct fake_entry *e = &f->entries[f->n_entries];
	struct msg_append m;
	struct error err = {0};

	assert_true(f->n_entries < 256 && f->n_tags < 64);
	fake_expect(f, &f->ledger, MSG_append);
	assert_ok(msg_append_decode(f->packet.body, f->packet.len, &m, &err));
	e->kind = (enum entry_kind)m.kind;
	e->len = m.entry.len;
	e->bytes = malloc(e->len + 1);
	assert_non_null(e->bytes);
	memcpy(e->bytes, m.entry.data, e->len);
	if (entry_read(e->bytes, e->len, &e->read, &err) < 0)
		fail_msg("entry: %s: %.*s", err.text, (int)e->len, e->bytes);
	/* Each blob that the entry names comes along, in order. */
	assert_int_equal(f->packet.n_fds, e->read.n_blobs);
	for (size_t i = 0; i < e->read.n_blobs; i++) {
		CLEANUP(buf_fini) struct buf blob;
		uint8_t digest[32];

		buf_init(&blob, ARGS_BLOB_MAX);
		assert_ok(fd_memfd_read(f->packet.fds[i], &blob, &err));
		sha256_of(blob.data, blob.len, digest);
		assert_memory_equal(digest, e->read.blobs[i], 32);
	}
	f->tags[f->n_tags] = m.tag;
	f->pending[f->n_tags] = f->n_entries;
	f->n_tags++;
	f->n_entries++;
	return e;
}

static inline struct fake_entry *
ledger_take(struct fake *f, enum entry_kind kind)
{
	struct fake_entry *e = ledger_take_any(f);

	assert_int_equal(e->kind, kind);
	return e;
}

static inline void
ledger_untag(struct fake *f, size_t at)
{
	f->n_tags--;
	memmove(&f->tags[at], &f->tags[at + 1], (f->n_tags - at) * sizeof(f->tags[0]));
	memmove(&f->pending[at], &f->pending[at + 1], (f->n_tags - at) * sizeof(f->pending[0]));
}

/* A receipt for entry number AT as the ledger would give it. */
static inline void
receipt_for(struct fake *f, size_t at, struct receipt *r)
{
	const struct fake_entry *e = &f->entries[at];

	*r = (struct receipt){.index = e->index, .tree_size = e->index + 1};
	leaf_hash(e->bytes, e->len, r->leaf);
	if (e->kind == ENTRY_INTENT)
		memcpy(r->digest, e->read.digest, 32);
}

static inline void
ledger_send_receipt(struct fake *f, uint64_t tag, const struct receipt *r)
{
	uint8_t bytes[RECEIPT_LEN];
	struct error err = {0};

	receipt_encode(r, bytes);
	assert_ok(CHANNEL_SEND(&f->ledger, appended, &err, .tag = tag,
			       .receipt = wire_bytes_of(bytes, sizeof(bytes))));
	fake_pump(f);
}

/* Answer the oldest append that waits: it is on disk. */
static inline void
ledger_accept(struct fake *f)
{
	struct receipt r;
	uint64_t tag = f->tags[0];

	assert_true(f->n_tags > 0);
	f->entries[f->pending[0]].index = f->size++;
	receipt_for(f, f->pending[0], &r);
	ledger_untag(f, 0);
	ledger_send_receipt(f, tag, &r);
}

static inline void
ledger_refuse(struct fake *f, int code, const char *why)
{
	uint64_t tag = f->tags[0];
	struct error err = {0};

	assert_true(f->n_tags > 0);
	ledger_untag(f, 0);
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_failed, &err, .tag = tag, .code = code,
			       .detail = wire_text_of(why)));
	fake_pump(f);
}

/* Take an append of KIND and answer it. */
static inline struct fake_entry *
ledger_record(struct fake *f, enum entry_kind kind)
{
	struct fake_entry *e = ledger_take(f, kind);

	ledger_accept(f);
	return e;
}

static inline const char *
entry_text(const struct fake_entry *e, const char *key)
{
	const char *s = json_string_value(json_object_get(e->read.json, key));

	return s != NULL ? s : "";
}

static inline void
expect_event(struct fake *f, const char *event)
{
	struct fake_entry *e = ledger_record(f, ENTRY_EVENT);

	assert_string_equal(e->read.event, event);
}

/* ---- the box */

static inline uint64_t
box_expect_examine(struct fake *f, size_t n_fds)
{
	struct msg_examine m;
	struct error err = {0};

	fake_expect(f, &f->box, MSG_examine);
	assert_int_equal(f->packet.n_fds, n_fds);
	assert_ok(msg_examine_decode(f->packet.body, f->packet.len, &m, &err));
	return m.ticket;
}

static inline void
fake_facts(struct exec_facts *x, const char *path, uint64_t ino)
{
	uint8_t args[FAKE_ARGS_LEN] = {0};

	*x = (struct exec_facts){.args_count = 1, .args_bytes = sizeof(args)};
	memcpy(args + ARGS_SALT_LEN, "true", 5);
	sha256_of(args, sizeof(args), x->args_sha256);
	(void)snprintf(x->argv0, sizeof(x->argv0), "true");
	(void)snprintf(x->workspace.path, sizeof(x->workspace.path), "%s", path);
	(void)snprintf(x->workspace.fs, sizeof(x->workspace.fs), "ext4");
	x->workspace.dev_major = 254;
	x->workspace.ino = ino;
}

static inline void
box_send_facts(struct fake *f, uint64_t ticket, enum reason reason, const char *detail,
	       const struct exec_facts *x)
{
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};

	buf_init(&text, WIRE_BODY_MAX);
	if (x != NULL)
		assert_ok(exec_facts_write(x, &text, &err));
	assert_ok(CHANNEL_SEND(&f->box, facts, &err, .ticket = ticket, .reason = reason,
			       .detail = wire_text_of(detail),
			       .facts = wire_bytes_of(text.data, text.len)));
	fake_pump(f);
}

/* The box finds nothing against it: workspace PATH with inode INO. */
static inline void
box_send_good_facts(struct fake *f, uint64_t ticket, const char *path, uint64_t ino)
{
	struct exec_facts *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	fake_facts(x, path, ino);
	box_send_facts(f, ticket, R_ALLOWED, "", x);
	free(x);
}

/* The grant under TICKET, which must be of entry number AT and carry its receipt. */
static inline void
box_expect_grant(struct fake *f, uint64_t ticket, size_t at)
{
	CLEANUP(buf_fini) struct buf profile;
	struct receipt got, due;
	struct msg_grant m;
	struct error err = {0};
	char hex[65];
	uint8_t digest[32];

	fake_expect(f, &f->box, MSG_grant);
	assert_ok(msg_grant_decode(f->packet.body, f->packet.len, &m, &err));
	if (ticket != 0)
		assert_int_equal(m.ticket, ticket);
	assert_int_equal(m.entry.len, f->entries[at].len);
	assert_memory_equal(m.entry.data, f->entries[at].bytes, m.entry.len);
	assert_ok(receipt_decode(m.receipt.data, m.receipt.len, &got, &err));
	receipt_for(f, at, &due);
	assert_memory_equal(&got, &due, sizeof(got));
	buf_init(&profile, PROFILE_CANONICAL_MAX);
	assert_ok(fd_memfd_read(f->packet.fds[0], &profile, &err));
	sha256_of(profile.data, profile.len, digest);
	hex_encode(digest, 32, hex);
	assert_string_equal(
		hex, json_string_value(json_object_get(
			     json_object_get(f->entries[at].read.json, "profile"), "digest")));
}

static inline void
box_send_started(struct fake *f, uint64_t ticket)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->box, started, &err, .ticket = ticket));
	fake_pump(f);
}

static inline void
box_send_result(struct fake *f, uint64_t ticket, const struct exec_result *x)
{
	CLEANUP(buf_fini) struct buf text;
	static const uint8_t mac[32];
	struct error err = {0};

	buf_init(&text, ENTRY_MAX);
	assert_ok(exec_result_write(x, &text, &err));
	assert_ok(CHANNEL_SEND(&f->box, outcome, &err, .ticket = ticket,
			       .result = wire_bytes_of(text.data, text.len),
			       .mac = wire_bytes_of(mac, sizeof(mac))));
	fake_pump(f);
}

/* It ran and ended with STATUS, and CHANGES are kept. */
static inline void
box_send_outcome(struct fake *f, uint64_t ticket, int status, uint64_t changes)
{
	struct exec_result x = {.status = RESULT_DONE,
				.reason = R_ALLOWED,
				.exit_kind = EXIT_STATUS,
				.exit_value = status,
				.changes = changes,
				.kept = changes > 0};

	box_send_result(f, ticket, &x);
}

static inline void
box_expect_ticket(struct fake *f, enum message_type type, uint64_t ticket)
{
	fake_expect(f, &f->box, type);
	/* Every message to the box begins with its ticket. */
	assert_true(f->packet.len >= 8);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(((const uint8_t *)f->packet.body)[i],
				 (uint8_t)(ticket >> (56 - 8 * i)));
}

static inline void
box_send_doc(struct fake *f, uint64_t ticket, int status, bool last, const char *part)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->box, box_doc, &err, .ticket = ticket, .status = status,
			       .last = last, .part = wire_bytes_of(part, strlen(part))));
	fake_pump(f);
}

/* ---- clients */

static inline void
socket_address(const struct fake *f, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", f->dir, name);
}

static inline int
fake_listen(const struct fake *f, const char *name, int type)
{
	struct sockaddr_un addr;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	socket_address(f, name, &addr);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

static inline int
fake_connect(const struct fake *f, const char *name, int type)
{
	struct sockaddr_un addr;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	socket_address(f, name, &addr);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		(void)close(fd);
		return -errno;
	}
	return fd;
}

static inline void
client_open(struct fake *f, struct fake_client *c)
{
	uint8_t args[FAKE_ARGS_LEN] = {0};
	struct error err = {0};
	int fd = fake_connect(f, "cli.sock", SOCK_SEQPACKET);

	assert_true(fd >= 0);
	channel_init(&c->channel, fd, P_CLIENT, P_AUTHORITY, S_RUNNING);
	channel_unblock(&c->channel);
	memcpy(args + ARGS_SALT_LEN, "true", 5);
	c->args = fd_memfd_sealed("args", args, sizeof(args), &err);
	assert_true(c->args >= 0);
	fake_pump(f);
}

static inline void
client_close(struct fake *f, struct fake_client *c)
{
	channel_close(&c->channel);
	fd_closep(&c->args);
	fake_pump(f);
}

struct fake_run {
	const char *profile, *workflow, *session;
	uint64_t timeout_ms;
	uint32_t flags;
	uint32_t version;
};

static inline void
client_run(struct fake *f, struct fake_client *c, const struct fake_run *in)
{
	int workspace = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fds[] = {workspace, 0, 1, 2, c->args, c->args};
	size_t n = (in->flags & RUN_ENV) != 0 ? 6 : 5;
	struct error err = {0};

	assert_true(workspace >= 0);
	assert_ok(CHANNEL_SEND_FDS(
		&c->channel, run, &err, fds, n,
		.version = in->version != 0 ? in->version : WIRE_VERSION, .flags = in->flags,
		.profile = wire_text_of(in->profile), .workflow = wire_text_of(in->workflow),
		.session = wire_text_of(in->session), .timeout_ms = in->timeout_ms, .rows = 24,
		.columns = 80, .cwd = wire_bytes_of("", 0)));
	(void)close(workspace);
	fake_pump(f);
}

/* run_done, decoded; its texts stay in f->packet. */
static inline struct msg_run_done
client_done(struct fake *f, struct fake_client *c)
{
	struct msg_run_done m;
	struct error err = {0};

	fake_expect(f, &c->channel, MSG_run_done);
	assert_ok(msg_run_done_decode(f->packet.body, f->packet.len, &m, &err));
	return m;
}

static inline void
text_is(struct wire_text t, const char *s)
{
	if (!wire_text_eq(t, s))
		fail_msg("\"%.*s\" is not \"%s\"", (int)t.len, t.data, s);
}

/* The client is told that it was denied for REASON. */
static inline void
client_denied_traced(struct fake *f, struct fake_client *c, const char *reason, bool traced)
{
	struct msg_run_done m = client_done(f, c);
	CLEANUP(json_decrefp) json_t *report = NULL;
	struct error err = {0};

	text_is(m.reason, reason);
	assert_int_equal(m.effect, EFFECT_DENY);
	assert_int_equal(m.exit_kind, EXIT_NONE);
	assert_int_equal(m.traced, traced);
	assert_ok(json_read(m.report.data, m.report.len, &report, &err));
	assert_string_equal(json_string_value(json_object_get(report, "trace")),
			    traced ? "verified" : "unverified");
}

/* Told, and not recorded. */
static inline void
client_denied(struct fake *f, struct fake_client *c, const char *reason)
{
	client_denied_traced(f, c, reason, false);
}

/* The denial is recorded first, then told. */
static inline void
client_denied_recorded(struct fake *f, struct fake_client *c, const char *reason)
{
	struct fake_entry *e;

	fake_expect_nothing(f, &c->channel);
	e = ledger_take(f, ENTRY_EVENT);
	assert_string_equal(e->read.event, "denied");
	assert_string_equal(entry_text(e, "reason"), reason);
	fake_expect_nothing(f, &c->channel);
	ledger_accept(f);
	client_denied_traced(f, c, reason, true);
}

/* A whole document, put together; owned by the caller. *RET_STATUS as in its parts. */
static inline json_t *
client_doc(struct fake *f, struct fake_client *c, int *ret_status)
{
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};
	json_t *doc = NULL;
	struct msg_doc m;

	buf_init(&text, 32 * 1024 * 1024);
	do {
		fake_expect(f, &c->channel, MSG_doc);
		assert_ok(msg_doc_decode(f->packet.body, f->packet.len, &m, &err));
		buf_add(&text, m.part.data, m.part.len);
	} while (m.last == 0);
	*ret_status = m.status;
	if (json_read(text.data, text.len, &doc, &err) < 0)
		fail_msg("document: %s: %.200s", err.text, text.data);
	return doc;
}

static inline void
client_doc_denied(struct fake *f, struct fake_client *c, const char *reason)
{
	int status = 0;
	json_t *doc = client_doc(f, c, &status);

	assert_true(status < 0);
	assert_string_equal(json_string_value(json_object_get(doc, "verdict")), "deny");
	assert_string_equal(json_string_value(json_object_get(doc, "reason")), reason);
	json_decref(doc);
}

static inline void
client_query(struct fake *f, struct fake_client *c, enum query what, const char *id, uint32_t limit)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&c->channel, query, &err, .version = WIRE_VERSION, .what = what,
			       .id = wire_text_of(id), .arg = wire_bytes_of("", 0),
			       .limit = limit));
	fake_pump(f);
}

static inline void
client_act(struct fake *f, struct fake_client *c, enum session_verb verb, const char *session,
	   const void *paths, size_t len)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&c->channel, session_act, &err, .version = WIRE_VERSION,
			       .verb = verb, .session = wire_text_of(session),
			       .paths = wire_bytes_of(paths, len)));
	fake_pump(f);
}

/* A run from the request to `started`. Returns the ticket. The profile's event comes with the
 * first. */
static inline uint64_t
run_to_started(struct fake *f, struct fake_client *c, const struct fake_run *in, const char *path,
	       uint64_t ino)
{
	uint64_t ticket;
	size_t at;

	client_run(f, c, in);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, path, ino);
	while (ledger_take_any(f)->kind != ENTRY_INTENT)
		ledger_accept(f);
	at = f->n_entries - 1;
	ledger_accept(f);
	box_expect_grant(f, ticket, at);
	box_send_started(f, ticket);
	fake_expect(f, &c->channel, MSG_run_started);
	return ticket;
}

/* A whole run. */
static inline void
run_whole(struct fake *f, struct fake_client *c, const struct fake_run *in, const char *path,
	  uint64_t ino, uint64_t changes)
{
	uint64_t ticket = run_to_started(f, c, in, path, ino);

	box_send_outcome(f, ticket, 0, changes);
	(void)ledger_record(f, ENTRY_OUTCOME);
	assert_int_equal(client_done(f, c).traced, 1);
}

/* ---- the whole */

static inline void
answer_head(struct fake *f, uint64_t size)
{
	struct msg_ledger_head m;
	struct error err = {0};

	fake_expect(f, &f->ledger, MSG_ledger_head);
	assert_ok(msg_ledger_head_decode(f->packet.body, f->packet.len, &m, &err));
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_head_is, &err, .tag = m.tag, .size = size,
			       .note = wire_text_of("note\n"), .vkey = wire_text_of(FAKE_VKEY)));
}

/* The tag of the question for open intents, left to the test to answer. */
static inline uint64_t
take_open(struct fake *f)
{
	struct msg_ledger_open m;
	struct error err = {0};

	fake_expect(f, &f->ledger, MSG_ledger_open);
	assert_ok(msg_ledger_open_decode(f->packet.body, f->packet.len, &m, &err));
	return m.tag;
}

static inline void
answer_open_none(struct fake *f, uint64_t tag)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = tag, .last = 1,
			       .entry = wire_bytes_of("", 0)));
}

static inline uint64_t
take_kept(struct fake *f)
{
	struct msg_box_kept m;
	struct error err = {0};

	fake_expect(f, &f->box, MSG_box_kept);
	assert_ok(msg_box_kept_decode(f->packet.body, f->packet.len, &m, &err));
	return m.ticket;
}

static inline void
expect_ready(struct fake *f)
{
	fake_expect(f, &f->loomd, MSG_ready);
	f->loomd.state = S_OPEN;
}

static inline int
fake_views_dir(const struct fake *f)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/views", f->dir);
	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void
fake_config_dir(struct fake *f)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/config", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/config/profiles", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/config", f->dir);
	f->config = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->config >= 0);
}

static inline void
fake_pair(struct channel *ours, uint32_t self, uint32_t state, int *ret_theirs)
{
	struct error err = {0};
	int fds[2];

	assert_ok(channel_pair(fds, &err));
	channel_init(ours, fds[0], self, P_AUTHORITY, state);
	channel_unblock(ours);
	*ret_theirs = fds[1];
}

static inline struct fake *
fake_new(const struct fake_spec *spec)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct settings settings = {.private_mode = true,
				    .idle_ms = spec->idle_ms,
				    .uid = spec->uid == UINT32_MAX ? geteuid() : spec->uid,
				    .own_group = (gid_t)-1,
				    .owner = "root",
				    .boot = FAKE_BOOT};
	struct handed h = {.config = -1};
	struct error err = {0};

	assert_non_null(f);
	f->config = -1;
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/loom-authority-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_ok(packet_init(&f->packet, &err));
	fake_pair(&f->loomd, P_LOOMD, S_INIT, &h.loomd);
	fake_pair(&f->ledger, P_LEDGER, S_OPEN, &h.ledger);
	fake_pair(&f->box, P_BOX, S_OPEN, &h.box);
	fake_pair(&f->api, P_API, S_OPEN, &h.api);
	h.cli_listen = fake_listen(f, "cli.sock", SOCK_SEQPACKET);
	h.http_listen = fake_listen(f, "loom.sock", SOCK_STREAM);
	h.views = fake_views_dir(f);
	if (spec->config) {
		fake_config_dir(f);
		h.config = fcntl(f->config, F_DUPFD_CLOEXEC, 0);
	}
	assert_ok(authority_init(&f->a, &settings, &h, &err));
	/* loomd's peer is a child that has not said ready. */
	f->loomd.peer = P_AUTHORITY;
	assert_ok(authority_start(&f->a, &err));
	if (spec->no_start)
		return f;
	answer_head(f, spec->size);
	answer_open_none(f, take_open(f));
	box_send_doc(f, take_kept(f), 0, true, spec->kept != NULL ? spec->kept : "[]");
	expect_ready(f);
	return f;
}

static inline int
fake_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static inline void
fake_free(struct fake *f)
{
	authority_fini(&f->a);
	channel_close(&f->loomd);
	channel_close(&f->ledger);
	channel_close(&f->box);
	channel_close(&f->api);
	packet_fini(&f->packet);
	fd_close(f->config);
	for (size_t i = 0; i < f->n_entries; i++) {
		entry_fini(&f->entries[i].read);
		free(f->entries[i].bytes);
	}
	(void)nftw(f->dir, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
}

static inline int
fake_setup(void **state)
{
	*state = fake_new(&(struct fake_spec){.uid = UINT32_MAX});
	return 0;
}

static inline int
fake_teardown(void **state)
{
	fake_free(*state);
	return 0;
}

static inline void
fake_write_file(const struct fake *f, const char *name, const char *text, mode_t mode)
{
	char path[160];
	struct error err = {0};
	int fd;

	(void)snprintf(path, sizeof(path), "%s/config/profiles/%s", f->dir, name);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ok(fd_write_all(fd, text, strlen(text), &err));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

#endif
