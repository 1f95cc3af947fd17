/*
 * Tickets in a list, the newest last; there are a few hundred at most and those that talk are the
 * young ones, so a search begins at the end.
 */
#include "authority/boxlink.h"

#include <errno.h>

void
boxlink_init(struct boxlink *b, struct peer *peer)
{
	*b = (struct boxlink){.peer = peer};
}

void
ticket_take(struct boxlink *b, struct ticket *t, const struct ticket_ops *ops, void *arg)
{
	*t = (struct ticket){
		.box = b, .number = ++b->last_number, .ops = ops, .arg = arg, .prev = b->last};
	*(b->last != NULL ? &b->last->next : &b->first) = t;
	b->last = t;
}

void
ticket_drop(struct ticket *t)
{
	struct boxlink *b = t->box;

	if (b == NULL)
		return;
	*(t->prev != NULL ? &t->prev->next : &b->first) = t->next;
	*(t->next != NULL ? &t->next->prev : &b->last) = t->prev;
	*t = (struct ticket){0};
}

bool
ticket_held(const struct ticket *t)
{
	return t->box != NULL;
}

static struct ticket *
ticket_find(const struct boxlink *b, uint64_t number)
{
	struct ticket *t = b->last;

	while (t != NULL && t->number != number)
		t = t->prev;
	return t;
}

static int
not_due(const char *what, uint64_t number, struct error *err)
{
	return error_set(err, -EPROTO, "%s under ticket %llu is not due", what,
			 (unsigned long long)number);
}

static int
on_facts(struct boxlink *b, struct packet *p, struct error *err)
{
	struct msg_facts m;
	struct ticket *t;
	int r;

	r = msg_facts_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	t = ticket_find(b, m.ticket);
	if (t == NULL || t->ops->facts == NULL)
		return not_due("facts", m.ticket, err);
	return t->ops->facts(t->arg, &m, err);
}

static int
on_started(struct boxlink *b, struct packet *p, struct error *err)
{
	struct msg_started m;
	struct ticket *t;
	int r;

	r = msg_started_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	t = ticket_find(b, m.ticket);
	if (t == NULL || t->ops->started == NULL)
		return not_due("started", m.ticket, err);
	return t->ops->started(t->arg, err);
}

static int
on_outcome(struct boxlink *b, struct packet *p, struct error *err)
{
	struct msg_outcome m;
	struct ticket *t;
	int r;

	r = msg_outcome_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	t = ticket_find(b, m.ticket);
	if (t == NULL || t->ops->outcome == NULL)
		return not_due("outcome", m.ticket, err);
	return t->ops->outcome(t->arg, &m, err);
}

static int
on_doc(struct boxlink *b, struct packet *p, struct error *err)
{
	struct msg_box_doc m;
	struct ticket *t;
	int r;

	r = msg_box_doc_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	t = ticket_find(b, m.ticket);
	if (t == NULL || t->ops->doc == NULL)
		return not_due("box_doc", m.ticket, err);
	return t->ops->doc(t->arg, &m, err);
}

static const struct {
	enum message_type type;
	int (*handle)(struct boxlink *b, struct packet *p, struct error *err);
} handlers[] = {
	{MSG_facts, on_facts},
	{MSG_started, on_started},
	{MSG_outcome, on_outcome},
	{MSG_box_doc, on_doc},
};

int
boxlink_packet(struct boxlink *b, struct packet *p, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (handlers[i].type == p->type)
			return handlers[i].handle(b, p, err);
	return error_set(err, -EPROTO, "message %#x is not the box's to send", p->type);
}
