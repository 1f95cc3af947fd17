/* A question that waits for the box or the ledger, between query.c, ledger_query.c and trace.c. */
#ifndef LOOM_AUTHORITY_QUERY_INTERNAL_H
#define LOOM_AUTHORITY_QUERY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/boxlink.h"
#include "authority/history.h"
#include "authority/reply.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "wire/message.h"

#define QUESTIONS_MAX 128
#define QUESTIONS_LARGE_MAX 8 /* those that hold megabytes while they are answered */

struct gather;
struct question {
	struct question *prev, *next;
	struct asker asker;
	bool large;
	struct ask *ask;
	struct ticket ticket;
	struct buf text;      /* a document that is being put together */
	uint64_t index, left; /* ledger show: what is still to be read */
	uint64_t first;
	struct gather *gather; /* trace.c */
};

/* A question as it came, wherever it came from; texts are the message's. */
struct query_in {
	uint32_t what; /* enum query */
	struct wire_text id;
	struct wire_bytes arg;
	uint32_t limit;
};

/*
 * A new question that takes over what TO waits for. NULL: TO was answered with a denial. LARGE: it
 * will hold megabytes.
 */
struct question *question_new(struct asker *to, bool large);
/* It was answered. */
void question_end(struct question *q);
void question_deny(struct question *q, enum reason reason, const char *next, const char *fmt, ...)
	PRINTF(4, 5);

/* ledger_query.c */
void query_ledger_head(struct asker *to, const struct query_in *in);
void query_ledger_show(struct asker *to, const struct query_in *in);

/* trace.c */
void query_trace(struct asker *to, const struct query_in *in);
void gather_free(struct gather *g);

#endif
