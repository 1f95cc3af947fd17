/*
 * What loom-ledger does with a message of the authority. Malformed ones are the end of the process;
 * well-formed ones that the ledger refuses are answered with ledger_failed.
 */
#ifndef LOOM_LEDGER_SERVE_H
#define LOOM_LEDGER_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "ledger/ledger.h"
#include "ledger/outbox.h"
#include "wire/channel.h"

/* Messages that are taken in one go, before others get their turn. */
#define SERVE_TURN_MAX 256

struct server {
	struct ledger *ledger;   /* borrowed */
	struct channel authority;
	struct packet packet;
	struct outbox outbox;
	uint64_t tags[LEDGER_BATCH_MAX]; /* of what is staged */
	struct receipt receipts[LEDGER_BATCH_MAX];
	size_t usual;   /* appends in a batch, as far as the last ones tell */
	unsigned int turns;
};

int server_init(struct server *s, struct ledger *l, int fd, struct error *err) MUST_CHECK;
void server_fini(struct server *s);
/*
 * Take what there is, commit it, answer. 1: done; 0: the authority has gone. Negative: it broke the
 * protocol or cannot be answered, and this process must end. *ret_committed: something was appended.
 */
int server_turn(struct server *s, bool *ret_committed, struct error *err) MUST_CHECK;

#endif
