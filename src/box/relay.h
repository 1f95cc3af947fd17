/*
 * Bytes between the client's streams and the command's: in the keeper, so that what they cost is
 * the session's. Output is hashed and counted whole; of each stream at most `max` bytes are
 * delivered, the rest is drained. A client that closed its end makes the command see a closed pipe.
 *
 * The flags of the client's descriptors are never changed: they are shared with whoever gave them
 * to the client. Pipes and terminals are opened once more for ourselves, without blocking; sockets
 * are asked not to block; regular files do not. What can be neither gets small writes after a poll.
 * So no peer that stops reading keeps the keeper from hearing that it should end.
 */
#ifndef LOOM_BOX_RELAY_H
#define LOOM_BOX_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "box/sandbox.h"

#define RELAY_BUFFER 65536
#define RELAY_POLLS 4

enum relay_kind { RELAY_UNKNOWN, RELAY_PLAIN, RELAY_NONBLOCK, RELAY_SOCKET, RELAY_SMALL };

/* One end that belongs to the client. */
struct relay_end {
	int fd;	 /* -1: closed, or gone */
	int own; /* opened once more; -1: not (yet) */
	enum relay_kind kind;
};
struct relay_out {
	int from; /* the command's stream; -1: it has ended */
	struct relay_end to;
	struct sha256 *hash;
	uint64_t bytes, delivered;
	bool truncated;
	int error;	   /* what the client's stream said when it took no more; not EPIPE */
	uint32_t held, at; /* bytes in `buffer` still to be delivered, from `at` */
	uint8_t *buffer;
};
struct relay {
	struct relay_end in; /* the client's stdin */
	int to;		     /* the command's; -1: closed */
	bool terminal;	     /* `to` and out.from are one terminal: an end of input is typed */
	uint32_t held, at;
	uint8_t *buffer;
	struct relay_out out, err;
	uint64_t max; /* bytes delivered per stream */
};

/* Descriptors become the relay's. ERR_FROM is -1 with a terminal. */
int relay_init(struct relay *r, const int client[3], int to, int out_from, int err_from,
	       uint64_t max, struct error *err) MUST_CHECK;
void relay_fini(struct relay *r);
/* What to wait for: fills POLLS, and returns how many. *RET_NOW: something can be done at once. */
unsigned relay_polls(const struct relay *r, struct pollfd polls[RELAY_POLLS]);
/* Do what can be done without waiting. */
void relay_step(struct relay *r, const struct pollfd *polls, unsigned n);
/* Nobody will wait for the client any more: what is held back, and what comes, counts as truncated.
 */
void relay_abandon(struct relay *r);
/* Both of the command's streams have ended and nothing is held back. */
bool relay_finished(const struct relay *r);
/* The command is gone, and whoever held its streams: what is left in them is all there will be. */
void relay_stream(struct relay_out *o, struct sandbox_stream *ret);

#endif
