/*
 * What is on its way to the authority. Messages leave at once when the socket takes them, and wait
 * in order when it does not; long answers are jobs that make their next message only when nothing
 * waits, so that a slow reader holds back its own answers and never an append.
 */
#ifndef LOOM_LEDGER_OUTBOX_H
#define LOOM_LEDGER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "ledger/ledger.h"
#include "wire/channel.h"

#define OUTBOX_BYTES_MAX (4 * 1024 * 1024)
#define OUTBOX_JOBS_MAX 64

struct waiting;

/* Entries to be sent: LIST of N indexes, or without a list N from FIRST on. */
struct entries_job {
	uint64_t tag;
	uint64_t first;
	uint64_t *list; /* owned */
	size_t n, done;
};

struct outbox {
	struct channel *channel;     /* borrowed; nonblocking */
	struct waiting *head, **end;
	size_t bytes;                /* that wait */
	struct entries_job jobs[OUTBOX_JOBS_MAX];
	size_t n_jobs;
};

void outbox_init(struct outbox *o, struct channel *c);
void outbox_fini(struct outbox *o);
/* Send or queue. FD (-1: none) is taken over. -EPROTO: the peer does not read its answers. */
int outbox_send(struct outbox *o, enum message_type type, const struct buf *body, int fd,
		struct error *err) MUST_CHECK;
/* Takes over job->list. -EPROTO: too many at a time. */
int outbox_job(struct outbox *o, const struct entries_job *job, struct error *err) MUST_CHECK;
/* Send as much as goes. */
int outbox_pump(struct outbox *o, struct ledger *l, struct error *err) MUST_CHECK;
/* Is there anything that waits for the socket? */
bool outbox_waits(const struct outbox *o);

/* Encode and send: OUTBOX_SEND(o, err, -1, appended, .tag = 7, …). */
#define OUTBOX_SEND(o, err, fd, name, ...)                                                         \
	({                                                                                         \
		const struct msg_##name msg_ = {__VA_ARGS__};                                      \
		struct buf body_;                                                                  \
		buf_init(&body_, WIRE_BODY_MAX);                                                   \
		msg_##name##_encode(&msg_, &body_);                                                \
		int sent_ = buf_check(&body_, err);                                                \
		if (sent_ == 0)                                                                    \
			sent_ = outbox_send(o, MSG_##name, &body_, fd, err);                       \
		buf_fini(&body_);                                                                  \
		sent_;                                                                             \
	})

#endif
