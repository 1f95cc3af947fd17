/*
 * Our end of the channel to the box: tickets, each with somebody who waits for what comes back
 * under it. A message under a ticket that is not ours, or of a kind that is not due under it, is a
 * broken box, and then we end.
 */
#ifndef LOOM_AUTHORITY_BOXLINK_H
#define LOOM_AUTHORITY_BOXLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/peer.h"
#include "base/error.h"
#include "base/macro.h"
#include "wire/message.h"

struct ticket;

/*
 * What may come under a ticket; NULL: not due. Everything is borrowed for the call. Inside, the
 * ticket may be freed. Negative: the box broke the protocol.
 */
struct ticket_ops {
	int (*facts)(void *arg, const struct msg_facts *m, struct error *err);
	int (*started)(void *arg, struct error *err);
	int (*outcome)(void *arg, const struct msg_outcome *m, struct error *err);
	int (*doc)(void *arg, const struct msg_box_doc *m, struct error *err);
};

struct ticket {
	struct ticket *prev, *next;
	struct boxlink *box; /* NULL: no ticket is held */
	uint64_t number;
	const struct ticket_ops *ops; /* changed by the owner as its state does */
	void *arg;
};

struct boxlink {
	struct peer *peer;
	struct ticket *first, *last;
	uint64_t last_number;
};

void boxlink_init(struct boxlink *b, struct peer *peer);

/* Take a fresh number. Numbers are never used again. */
void ticket_take(struct boxlink *b, struct ticket *t, const struct ticket_ops *ops, void *arg);
void ticket_drop(struct ticket *t); /* safe on one that is not held */
bool ticket_held(const struct ticket *t);

/* A packet from the box. Negative: it broke the protocol. */
int boxlink_packet(struct boxlink *b, struct packet *p, struct error *err) MUST_CHECK;

#endif
