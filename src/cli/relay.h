/*
 * Carrying bytes between the user's terminal and a pipe whose other end the box has, so that no
 * terminal of the host's is handed on. One direction each; one buffer; nothing is dropped.
 */
#ifndef LOOM_CLI_RELAY_H
#define LOOM_CLI_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"

#define RELAY_BYTES 16384
#define RELAY_POLLS 2

struct relay {
	int from;      /* -1: over */
	int to;	       /* -1: over */
	bool own_from; /* close it when over */
	bool own_to;
	bool keyboard;	/* FROM is a terminal: read it only while we are in its foreground */
	size_t at, len; /* what of `data` is still to be written */
	char data[RELAY_BYTES];
};

void relay_init(struct relay *r);
void relay_fini(struct relay *r);

/* From the terminal FD into a new pipe; *RET_FD is its reading end, owned by the caller. */
int relay_keyboard(struct relay *r, int fd, int *ret_fd, struct error *err) MUST_CHECK;
/* From a new pipe to the terminal FD; *RET_FD is its writing end, owned by the caller. */
int relay_screen(struct relay *r, int fd, int *ret_fd, struct error *err) MUST_CHECK;

/*
 * Say what to wait for. Returns how long a wait may last at most: -1 for ever, or milliseconds when
 * the foreground has to be looked at again.
 */
int relay_poll(const struct relay *r, struct pollfd polls[RELAY_POLLS]);
/* Do what can be done without waiting. */
void relay_step(struct relay *r, const struct pollfd polls[RELAY_POLLS]);
/* Write everything that the pipe still holds; for the end of a run. */
void relay_drain(struct relay *r);

#endif
