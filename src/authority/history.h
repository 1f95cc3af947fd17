/*
 * Our end of the channel to the ledger: questions that are outstanding, each with a deadline, and
 * what came back for them. An answer nobody asked for, or that does not fit its question (another
 * leaf, another digest, an index that was given before), is a broken ledger, and then we end.
 *
 * An append that was not answered in time is a failure for whoever waits, but may still come true:
 * the question stays, and its function is called a second time when the answer arrives.
 */
#ifndef LOOM_AUTHORITY_HISTORY_H
#define LOOM_AUTHORITY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/deadline.h"
#include "authority/peer.h"
#include "authority/row.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/receipt.h"
#include "wire/message.h"

#define HISTORY_WAIT_MS 10000
#define HISTORY_ASKS_MAX 4096

struct ask;

/* What came back. Everything is borrowed for the call. */
struct answer {
	int code;		/* 0; the ledger's negative code; -ETIMEDOUT */
	const char *why;	/* with a code; NUL-terminated */
	bool final;		/* the question is over; false: more answers, or a late one, come */
	struct receipt receipt; /* append */
	uint64_t index;		/* read, open: of the entry */
	struct wire_bytes entry; /* read, open; len 0: there is none */
	struct msg_ledger_proof proof;
	struct msg_ledger_head_is head;
	int fd; /* blob; owned by the answer, take with TAKE_FD */
	uint64_t size;
};
typedef void (*ask_fn)(void *arg, struct answer *a);

typedef void (*history_row_fn)(void *arg, uint64_t index, const struct row *row);

struct history {
	struct peer *peer;
	struct deadlines *deadlines;
	struct ask *first, *last; /* oldest first */
	size_t n_asks;
	uint64_t last_tag;
	uint64_t next_index;	 /* no append may be answered with less */
	uint64_t size;		 /* of the newest tree a receipt has told of */
	uint64_t wait_ms;	 /* HISTORY_WAIT_MS; tests make it shorter */
	history_row_fn recorded; /* told of each entry after its function has run; may be NULL */
	void *recorded_arg;
};

void history_init(struct history *h, struct peer *peer, struct deadlines *deadlines);
void history_fini(struct history *h); /* nobody is told */

struct append {
	enum entry_kind kind;
	const struct buf *entry;
	const uint8_t *digest; /* of an intent: what the receipt must carry; else NULL */
	struct wire_bytes mac;
	const int *fds; /* stay the caller's */
	size_t n_fds;
	const struct row *row; /* for the view; copied */
};
/*
 * All of these: 0, and FN will be called (RET_ASK, which may be NULL, is its handle until the final
 * call); or negative, and it will not be. -EBUSY when too much is outstanding.
 */
int history_append(struct history *h, const struct append *a, ask_fn fn, void *arg,
		   struct ask **ret_ask, struct error *err) MUST_CHECK;
int history_read(struct history *h, uint64_t index, uint32_t count, ask_fn fn, void *arg,
		 struct ask **ret_ask, struct error *err) MUST_CHECK;
int history_open(struct history *h, ask_fn fn, void *arg, struct ask **ret_ask,
		 struct error *err) MUST_CHECK;
int history_prove(struct history *h, uint64_t index, ask_fn fn, void *arg, struct ask **ret_ask,
		  struct error *err) MUST_CHECK;
int history_blob(struct history *h, const uint8_t digest[32], ask_fn fn, void *arg,
		 struct ask **ret_ask, struct error *err) MUST_CHECK;
int history_head(struct history *h, ask_fn fn, void *arg, struct ask **ret_ask,
		 struct error *err) MUST_CHECK;

/* Whoever asked is not interested any more. Safe on NULL. */
void ask_detach(struct ask *ask);

/* A packet from the ledger. Negative: it broke the protocol. */
int history_packet(struct history *h, struct packet *p, struct error *err) MUST_CHECK;

#endif
