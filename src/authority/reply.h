/*
 * Whoever waits for documents: a client at cli.sock, or a request of an HTTP connection that the
 * api serves. Both get the same documents in parts, the last one marked; a denial is the verdict's
 * document with a negative status. An asker that has gone is still answered, into nothing.
 */
#ifndef LOOM_AUTHORITY_REPLY_H
#define LOOM_AUTHORITY_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"

#define REPLY_PART_MAX 61440 /* bytes of a document in one message */

struct authority;
struct client;

struct asker {
	struct asker *prev, *next; /* of the api's, in doors.asks */
	bool listed;
	struct authority *authority;
	struct client *client;	/* NULL: the api's, or gone */
	uint64_t conn, request; /* of the api's; conn 0: not the api's, or gone */
	uint32_t uid;		/* who it is, from the channel */
	bool foreign;		/* not one whom this Loom serves */
	bool excess;		/* one client too many */
};

/* Move what SRC waits for to DST, whose place does not change after. */
void asker_move(struct asker *dst, struct asker *src);
/* It will not be answered any more (or was). */
void asker_drop(struct asker *to);
/* What every request has to have: its sender is served here, and speaks VERSION. false: denied. */
bool asker_served(struct asker *to, uint32_t version);

/* One part; after the LAST one the asker waits for nothing more. STATUS as in message doc. */
void reply_part(struct asker *to, int status, const void *data, size_t len, bool last);
/* A whole document; owned by the caller. NULL: it could not be made, and a denial is sent. */
void reply_json(struct asker *to, const json_t *doc);
void reply_bytes(struct asker *to, const void *data, size_t len);
/* A denial; OP may be NULL. */
void reply_deny(struct asker *to, const struct verdict *v, const char *op);
void reply_deny_with(struct asker *to, enum reason r, const char *next, const char *fmt, ...)
	PRINTF(4, 5);
/* A denial for an error of ours or of the ledger's. */
void reply_error(struct asker *to, enum reason r, const struct error *err);

/* A refusal by the box, {"detail","reason"}, as the denial it is. */
void reply_box_refusal(struct asker *to, const char *next, const void *doc, size_t len);

/* Negative errno value that goes with a reason, for the status of a document. */
int reply_status(enum reason r);

#endif
