/*
 * Questions are kept in the order they were asked. The ledger answers mostly in that order, so the
 * one an answer is for is found near the front.
 */
#include "authority/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"

struct ask {
	struct ask *prev, *next;
	struct history *history;
	uint64_t tag;
	enum message_type type; /* of the question */
	ask_fn fn;		/* NULL: detached */
	void *arg;
	struct deadline deadline;
	uint8_t leaf[32]; /* append: what the receipt must say */
	uint8_t digest[32];
	struct row row;
	uint64_t index; /* prove, read: what was asked for */
	uint32_t count; /* read: most entries that may come */
};

void
history_init(struct history *h, struct peer *peer, struct deadlines *deadlines)
{
	*h = (struct history){.peer = peer, .deadlines = deadlines, .wait_ms = HISTORY_WAIT_MS};
}

static void
ask_free(struct ask *ask)
{
	struct history *h = ask->history;

	*(ask->prev != NULL ? &ask->prev->next : &h->first) = ask->next;
	*(ask->next != NULL ? &ask->next->prev : &h->last) = ask->prev;
	h->n_asks--;
	deadline_clear(&ask->deadline);
	free(ask);
}

void
history_fini(struct history *h)
{
	while (h->first != NULL)
		ask_free(h->first);
}

void
ask_detach(struct ask *ask)
{
	if (ask != NULL)
		ask->fn = NULL;
}

static void
ask_late(void *arg)
{
	struct ask *ask = arg;
	struct answer a = {.code = -ETIMEDOUT, .why = "the ledger does not answer", .fd = -1};

	log_warning("the ledger has not answered for %llu ms",
		    (unsigned long long)ask->history->wait_ms);
	if (ask->fn != NULL)
		ask->fn(ask->arg, &a);
}

static int
ask_new(struct history *h, enum message_type type, ask_fn fn, void *arg, struct ask **ret,
	struct error *err)
{
	struct ask *ask;

	if (h->n_asks >= HISTORY_ASKS_MAX)
		return error_set(err, -EBUSY, "%zu questions wait for the ledger", h->n_asks);
	ask = calloc(1, sizeof(*ask));
	if (ask == NULL)
		return error_set(err, -ENOMEM, "out of memory for a question to the ledger");
	ask->history = h;
	ask->tag = ++h->last_tag;
	ask->type = type;
	ask->fn = fn;
	ask->arg = arg;
	ask->prev = h->last;
	*(h->last != NULL ? &h->last->next : &h->first) = ask;
	h->last = ask;
	h->n_asks++;
	*ret = ask;
	return 0;
}

/* After the send: SENT as the send returned. */
static int
ask_sent(struct ask *ask, int sent, struct ask **ret_ask)
{
	struct history *h = ask->history;

	if (sent < 0) {
		ask_free(ask);
		return sent;
	}
	deadline_set(h->deadlines, &ask->deadline, h->wait_ms, ask_late, ask);
	if (ret_ask != NULL)
		*ret_ask = ask;
	return 0;
}

int
history_append(struct history *h, const struct append *a, ask_fn fn, void *arg,
	       struct ask **ret_ask, struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_append, fn, arg, &ask, err);
	if (r < 0)
		return r;
	leaf_hash(a->entry->data, a->entry->len, ask->leaf);
	if (a->digest != NULL)
		memcpy(ask->digest, a->digest, sizeof(ask->digest));
	ask->row = *a->row;
	r = PEER_SEND_FDS(h->peer, append, err, a->fds, a->n_fds, .tag = ask->tag, .kind = a->kind,
			  .entry = wire_bytes_of(a->entry->data, a->entry->len), .mac = a->mac);
	return ask_sent(ask, r, ret_ask);
}

int
history_read(struct history *h, uint64_t index, uint32_t count, ask_fn fn, void *arg,
	     struct ask **ret_ask, struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_ledger_read, fn, arg, &ask, err);
	if (r < 0)
		return r;
	ask->index = index;
	ask->count = count;
	r = PEER_SEND(h->peer, ledger_read, err, .tag = ask->tag, .index = index, .count = count);
	return ask_sent(ask, r, ret_ask);
}

int
history_open(struct history *h, ask_fn fn, void *arg, struct ask **ret_ask, struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_ledger_open, fn, arg, &ask, err);
	if (r < 0)
		return r;
	ask->count = UINT32_MAX;
	r = PEER_SEND(h->peer, ledger_open, err, .tag = ask->tag);
	return ask_sent(ask, r, ret_ask);
}

int
history_prove(struct history *h, uint64_t index, ask_fn fn, void *arg, struct ask **ret_ask,
	      struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_ledger_prove, fn, arg, &ask, err);
	if (r < 0)
		return r;
	ask->index = index;
	r = PEER_SEND(h->peer, ledger_prove, err, .tag = ask->tag, .index = index);
	return ask_sent(ask, r, ret_ask);
}

int
history_blob(struct history *h, const uint8_t digest[32], ask_fn fn, void *arg,
	     struct ask **ret_ask, struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_ledger_blob, fn, arg, &ask, err);
	if (r < 0)
		return r;
	r = PEER_SEND(h->peer, ledger_blob, err, .tag = ask->tag,
		      .digest = wire_bytes_of(digest, 32));
	return ask_sent(ask, r, ret_ask);
}

int
history_head(struct history *h, ask_fn fn, void *arg, struct ask **ret_ask, struct error *err)
{
	struct ask *ask;
	int r;

	r = ask_new(h, MSG_ledger_head, fn, arg, &ask, err);
	if (r < 0)
		return r;
	r = PEER_SEND(h->peer, ledger_head, err, .tag = ask->tag);
	return ask_sent(ask, r, ret_ask);
}

/* ---- answers */

static struct ask *
ask_find(const struct history *h, uint64_t tag)
{
	struct ask *ask = h->first;

	while (ask != NULL && ask->tag != tag)
		ask = ask->next;
	return ask;
}

/* The question TAG is about, which must be of TYPE; NULL with ERR set. */
static struct ask *
ask_for(const struct history *h, uint64_t tag, enum message_type type, struct error *err)
{
	struct ask *ask = ask_find(h, tag);

	if (ask != NULL && ask->type == type)
		return ask;
	(void)error_set(err, -EPROTO, "the ledger answers what was not asked (tag %llu)",
			(unsigned long long)tag);
	return NULL;
}

static void
ask_answer(struct ask *ask, struct answer *a)
{
	if (ask->fn != NULL)
		ask->fn(ask->arg, a);
	fd_closep(&a->fd);
	if (a->final)
		ask_free(ask);
}

static int
receipt_fits(const struct history *h, const struct ask *ask, const struct receipt *r,
	     struct error *err)
{
	if (memcmp(r->leaf, ask->leaf, sizeof(r->leaf)) != 0)
		return error_set(err, -EPROTO, "a receipt for another entry");
	if (memcmp(r->digest, ask->digest, sizeof(r->digest)) != 0)
		return error_set(err, -EPROTO, "a receipt for another operation");
	if (r->index < h->next_index || r->index >= r->tree_size || r->tree_size < h->size)
		return error_set(err, -EPROTO, "a receipt for a place that was given before");
	return 0;
}

static int
on_appended(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.final = true, .fd = -1};
	struct msg_appended m;
	struct ask *ask;
	struct row row;
	int r;

	r = msg_appended_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	ask = ask_for(h, m.tag, MSG_append, err);
	if (ask == NULL)
		return -EPROTO;
	r = receipt_decode(m.receipt.data, m.receipt.len, &a.receipt, err);
	if (r == 0)
		r = receipt_fits(h, ask, &a.receipt, err);
	if (r < 0)
		return r;
	h->next_index = a.receipt.index + 1;
	h->size = a.receipt.tree_size;
	row = ask->row;
	ask_answer(ask, &a);
	/* Whoever waited has been answered; the view has time. */
	if (h->recorded != NULL)
		h->recorded(h->recorded_arg, a.receipt.index, &row);
	return 0;
}

static int
on_failed(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.final = true, .fd = -1};
	struct msg_ledger_failed m;
	char why[ERROR_TEXT_MAX];
	struct ask *ask;
	int r;

	r = msg_ledger_failed_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	ask = ask_find(h, m.tag);
	if (ask == NULL || m.code >= 0)
		return error_set(err, -EPROTO, "the ledger fails at what was not asked");
	if (wire_text_copy(m.detail, why, sizeof(why)) < 0)
		why[0] = '\0';
	a.code = m.code;
	a.why = why;
	ask_answer(ask, &a);
	return 0;
}

static int
on_entry(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.fd = -1};
	struct msg_ledger_entry m;
	struct ask *ask;
	int r;

	r = msg_ledger_entry_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	ask = ask_find(h, m.tag);
	if (ask == NULL || (ask->type != MSG_ledger_read && ask->type != MSG_ledger_open))
		return error_set(err, -EPROTO, "an entry nobody asked for");
	if (m.entry.len > 0) {
		if (ask->count == 0 || m.entry.len > ENTRY_MAX)
			return error_set(err, -EPROTO, "more entries than were asked for");
		if (ask->type == MSG_ledger_read && m.index != ask->index)
			return error_set(err, -EPROTO, "entry %llu instead of %llu",
					 (unsigned long long)m.index,
					 (unsigned long long)ask->index);
		ask->index++;
		if (ask->count != UINT32_MAX)
			ask->count--;
	} else if (m.last == 0) {
		return error_set(err, -EPROTO, "an empty entry that is not the last");
	}
	a.index = m.index;
	a.entry = m.entry;
	a.final = m.last != 0;
	/* It is alive: what it still has to tell has its time from now. */
	if (!a.final)
		deadline_set(h->deadlines, &ask->deadline, h->wait_ms, ask_late, ask);
	ask_answer(ask, &a);
	return 0;
}

static int
on_proof(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.final = true, .fd = -1};
	struct ask *ask;
	int r;

	r = msg_ledger_proof_decode(p->body, p->len, &a.proof, err);
	if (r < 0)
		return r;
	ask = ask_for(h, a.proof.tag, MSG_ledger_prove, err);
	if (ask == NULL)
		return -EPROTO;
	if (a.proof.index != ask->index)
		return error_set(err, -EPROTO, "a proof for another entry");
	ask_answer(ask, &a);
	return 0;
}

static int
on_blob(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.final = true, .fd = -1};
	struct msg_ledger_blob_is m;
	struct ask *ask;
	int r;

	r = msg_ledger_blob_is_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	ask = ask_for(h, m.tag, MSG_ledger_blob, err);
	if (ask == NULL)
		return -EPROTO;
	a.size = m.size;
	a.fd = TAKE_FD(p->fds[0]);
	ask_answer(ask, &a);
	return 0;
}

static int
on_head(struct history *h, struct packet *p, struct error *err)
{
	struct answer a = {.final = true, .fd = -1};
	struct ask *ask;
	int r;

	r = msg_ledger_head_is_decode(p->body, p->len, &a.head, err);
	if (r < 0)
		return r;
	ask = ask_for(h, a.head.tag, MSG_ledger_head, err);
	if (ask == NULL)
		return -EPROTO;
	ask_answer(ask, &a);
	return 0;
}

static const struct {
	enum message_type type;
	int (*handle)(struct history *h, struct packet *p, struct error *err);
} handlers[] = {
	{MSG_appended, on_appended},  {MSG_ledger_failed, on_failed}, {MSG_ledger_entry, on_entry},
	{MSG_ledger_proof, on_proof}, {MSG_ledger_blob_is, on_blob},  {MSG_ledger_head_is, on_head},
};

int
history_packet(struct history *h, struct packet *p, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (handlers[i].type == p->type)
			return handlers[i].handle(h, p, err);
	return error_set(err, -EPROTO, "message %#x is not the ledger's to send", p->type);
}
