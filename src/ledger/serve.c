/*
 * Appends are staged while packets come in, and committed together when there are no more, when the
 * batch is full, or when anything else was asked: an answer always reflects all that came before
 * its question.
 */
#include "ledger/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "ledger/record.h"

#define READ_MAX 4096 /* entries in one answer */
#define WAIT_NS 50000
#define PROBE_EVERY 16 /* batches */

static int
answer_failed(struct server *s, uint64_t tag, const struct error *why, struct error *err)
{
	return OUTBOX_SEND(&s->outbox, err, -1, ledger_failed, .tag = tag, .code = why->code,
			   .detail = wire_text_of(why->text));
}

static int
commit(struct server *s, bool *ret_committed, struct error *err)
{
	size_t n = ledger_staged(s->ledger);
	struct error why = {0};
	int failed, r = 0;

	if (n == 0)
		return 0;
	failed = ledger_commit(s->ledger, s->receipts, &why);
	for (size_t i = 0; i < n && r == 0; i++) {
		uint8_t data[RECEIPT_LEN];

		if (failed < 0) {
			r = answer_failed(s, s->tags[i], &why, err);
			continue;
		}
		receipt_encode(&s->receipts[i], data);
		r = OUTBOX_SEND(&s->outbox, err, -1, appended, .tag = s->tags[i],
				.receipt = wire_bytes_of(data, sizeof(data)));
	}
	*ret_committed = true;
	s->usual = n >= s->usual ? n : n + (s->usual - n) / 2;
	return r;
}

/*
 * Those who were just answered ask again within microseconds, a sync takes hundreds: without a
 * short wait for them two halves of the writers would take turns, each waiting for the other's
 * sync. So a batch that is smaller than usual waits a moment, and now and then one that is not, to
 * find out whether more can be usual. One writer alone never waits.
 */
static bool
worth_waiting(struct server *s)
{
	struct pollfd p = {.fd = s->authority.fd, .events = POLLIN};
	const struct timespec moment = {.tv_nsec = WAIT_NS};
	size_t n = ledger_staged(s->ledger);
	bool probe = s->turns % PROBE_EVERY == 0;

	if (n == 0 || n == LEDGER_BATCH_MAX || s->usual < 2 || (n >= s->usual && !probe))
		return false;
	return ppoll(&p, 1, &moment, NULL) > 0;
}

static int
on_append(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	struct ledger_append a = {.blobs = s->packet.fds, .n_blobs = s->packet.n_fds};
	struct msg_append m;
	struct error why = {0};
	int r;

	r = msg_append_decode(body, len, &m, err);
	if (r < 0)
		return r;
	if ((m.mac.len != 0 && m.mac.len != SHA256_LEN) || m.kind < ENTRY_INTENT ||
	    m.kind > ENTRY_EVENT)
		return error_set(err, -EPROTO, "append: kind %u, a MAC of %u bytes", m.kind,
				 m.mac.len);
	a.kind = m.kind;
	a.entry = m.entry.data;
	a.len = m.entry.len;
	a.mac = m.mac.len > 0 ? m.mac.data : NULL;
	r = ledger_stage(s->ledger, &a, &why);
	if (r == -EAGAIN) {
		r = commit(s, ret_committed, err);
		if (r < 0)
			return r;
		r = ledger_stage(s->ledger, &a, &why);
	}
	if (r < 0)
		return answer_failed(s, m.tag, &why, err);
	s->tags[ledger_staged(s->ledger) - 1] = m.tag;
	return 0;
}

static int
on_read(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	struct entries_job job = {0};
	struct msg_ledger_read m;
	int r;

	(void)ret_committed;
	r = msg_ledger_read_decode(body, len, &m, err);
	if (r < 0)
		return r;
	job.tag = m.tag;
	job.first = m.index;
	job.n = m.count < READ_MAX ? m.count : READ_MAX;
	if (m.index >= ledger_size(s->ledger))
		job.n = 0;
	else if (job.n > ledger_size(s->ledger) - m.index)
		job.n = (size_t)(ledger_size(s->ledger) - m.index);
	return outbox_job(&s->outbox, &job, err);
}

static int
on_open(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	struct entries_job job = {0};
	struct msg_ledger_open m;
	uint64_t index;
	int r;

	(void)ret_committed;
	r = msg_ledger_open_decode(body, len, &m, err);
	if (r < 0)
		return r;
	job.tag = m.tag;
	while (ledger_open_intent(s->ledger, job.n, &index))
		job.n++;
	job.list = calloc(job.n + 1, sizeof(*job.list));
	if (job.list == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < job.n; i++)
		(void)ledger_open_intent(s->ledger, i, &job.list[i]);
	return outbox_job(&s->outbox, &job, err);
}

static int
on_prove(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	CLEANUP(buf_fini) struct buf note = {0};
	uint8_t path[PROOF_PATH_MAX][SHA256_LEN], leaf[SHA256_LEN];
	struct msg_ledger_prove m;
	struct tree_head head;
	struct error why = {0};
	size_t n = 0;
	int r;

	(void)ret_committed;
	r = msg_ledger_prove_decode(body, len, &m, err);
	if (r < 0)
		return r;
	buf_init(&note, CHECKPOINT_NOTE_MAX);
	ledger_head(s->ledger, &head, &note);
	r = buf_check(&note, err);
	if (r < 0)
		return r;
	r = ledger_prove(s->ledger, m.index, leaf, path, &n, &why);
	if (r < 0)
		return answer_failed(s, m.tag, &why, err);
	return OUTBOX_SEND(&s->outbox, err, -1, ledger_proof, .tag = m.tag, .index = m.index,
			   .size = head.size, .leaf = wire_bytes_of(leaf, sizeof(leaf)),
			   .path = wire_bytes_of(path, n * SHA256_LEN),
			   .note = wire_text_of(note.data));
}

static int
on_blob(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	CLEANUP(buf_fini) struct buf blob = {0};
	struct msg_ledger_blob m;
	struct error why = {0};
	int fd, r;

	(void)ret_committed;
	r = msg_ledger_blob_decode(body, len, &m, err);
	if (r < 0)
		return r;
	if (m.digest.len != SHA256_LEN)
		return error_set(err, -EPROTO, "ledger_blob: a digest of %u bytes", m.digest.len);
	buf_init(&blob, RECORD_BLOB_MAX);
	r = ledger_blob(s->ledger, m.digest.data, &blob, &why);
	if (r < 0)
		return answer_failed(s, m.tag, &why, err);
	fd = fd_memfd_sealed("loom-blob", blob.data, blob.len, &why);
	if (fd < 0)
		return answer_failed(s, m.tag, &why, err);
	return OUTBOX_SEND(&s->outbox, err, fd, ledger_blob_is, .tag = m.tag, .size = blob.len);
}

static int
on_head(struct server *s, const void *body, size_t len, bool *ret_committed, struct error *err)
{
	CLEANUP(buf_fini) struct buf note = {0};
	CLEANUP(buf_fini) struct buf vkey = {0};
	struct msg_ledger_head m;
	struct tree_head head;
	int r;

	(void)ret_committed;
	r = msg_ledger_head_decode(body, len, &m, err);
	if (r < 0)
		return r;
	buf_init(&note, CHECKPOINT_NOTE_MAX);
	buf_init(&vkey, VKEY_TEXT_MAX);
	ledger_head(s->ledger, &head, &note);
	vkey_print(ledger_vkey(s->ledger), &vkey);
	r = buf_check(&note, err);
	if (r == 0)
		r = buf_check(&vkey, err);
	if (r < 0)
		return r;
	return OUTBOX_SEND(&s->outbox, err, -1, ledger_head_is, .tag = m.tag, .size = head.size,
			   .note = wire_text_of(note.data), .vkey = wire_text_of(vkey.data));
}

static const struct {
	enum message_type type;
	int (*handle)(struct server *s, const void *body, size_t len, bool *ret_committed,
		      struct error *err);
} handlers[] = {
	{MSG_append, on_append},    {MSG_ledger_read, on_read}, {MSG_ledger_prove, on_prove},
	{MSG_ledger_blob, on_blob}, {MSG_ledger_head, on_head}, {MSG_ledger_open, on_open},
};

static int
handle(struct server *s, bool *ret_committed, struct error *err)
{
	const struct packet *p = &s->packet;
	int r;

	if (p->type != MSG_append) {
		r = commit(s, ret_committed, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (handlers[i].type == p->type)
			return handlers[i].handle(s, p->body, p->len, ret_committed, err);
	return error_set(err, -EPROTO, "message %#x is not for a ledger", p->type);
}

int
server_init(struct server *s, struct ledger *l, int fd, struct error *err)
{
	*s = (struct server){.ledger = l};
	channel_init(&s->authority, fd, P_LEDGER, P_AUTHORITY, S_OPEN);
	outbox_init(&s->outbox, &s->authority);
	return packet_init(&s->packet, err);
}

void
server_fini(struct server *s)
{
	outbox_fini(&s->outbox);
	packet_fini(&s->packet);
	channel_close(&s->authority);
}

int
server_turn(struct server *s, bool *ret_committed, struct error *err)
{
	int r, gone = 0;

	*ret_committed = false;
	s->turns++;
	for (unsigned int i = 0; i < SERVE_TURN_MAX; i++) {
		struct error why = {0};

		r = channel_recv(&s->authority, &s->packet, &why);
		if (r == -EAGAIN && worth_waiting(s))
			continue;
		if (r == -EAGAIN)
			break;
		if (r < 0)
			return error_set(err, r, "%s", why.text);
		gone = r == 0;
		if (gone)
			break;
		r = handle(s, ret_committed, err);
		packet_clear(&s->packet);
		if (r < 0)
			return r;
	}
	r = commit(s, ret_committed, err);
	if (r == 0)
		r = outbox_pump(&s->outbox, s->ledger, err);
	/* Who has gone takes no answers; what was appended is durable all the same. */
	if (gone && (r == 0 || r == -EPIPE))
		return 0;
	return r < 0 ? r : 1;
}
