/*
 * One end of a SEQPACKET socket pair (or an accepted client of cli.sock), and the only code that
 * sends or receives on one. A packet is {magic, type, body length} and the body; descriptors ride
 * along. channel_recv enforces the table: known type, allowed sender, allowed state, size and
 * number of descriptors. Any violation returns -EPROTO after closing the packet's descriptors: the
 * caller ends that peer (a client) or the process (a sibling). Truncated packets are violations.
 *
 * A channel does not loop: the owner polls `fd`.
 */
#ifndef LOOM_WIRE_CHANNEL_H
#define LOOM_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "wire/message.h"

struct channel {
	int fd;          /* owned; -1 when closed */
	uint32_t self;   /* enum party: one bit */
	uint32_t peer;   /* enum party: one bit */
	uint32_t state;  /* enum channel_state: one bit; the owner moves it */
};

struct packet {
	uint32_t type;                  /* enum message_type */
	const void *body;               /* in `store` */
	size_t len;
	int fds[WIRE_FDS_MAX];          /* owned by the packet until taken with TAKE_FD; CLOEXEC */
	size_t n_fds;
	uint8_t *store;                 /* WIRE_BODY_MAX + header, allocated once by packet_init */
};

int packet_init(struct packet *p, struct error *err) MUST_CHECK;
void packet_clear(struct packet *p);   /* closes descriptors not taken; keeps the buffer */
void packet_fini(struct packet *p);

void channel_init(struct channel *c, int fd, uint32_t self, uint32_t peer, uint32_t state);
void channel_close(struct channel *c);
/*
 * Make FD's buffers hold several of the largest messages, where the system allows it, and at least
 * one, or -ENOBUFS. channel_pair and channel_connect have done it; for accepted sockets call it.
 */
int channel_raise(int fd, struct error *err) MUST_CHECK;
/* A connected pair, CLOEXEC, SO_SNDBUF large enough for the largest message. */
int channel_pair(int ret_fds[2], struct error *err) MUST_CHECK;
/* Connect to the SEQPACKET socket at PATH. -ENOENT and -ECONNREFUSED mean nobody serves there. */
int channel_connect(const char *path, int *ret_fd, struct error *err) MUST_CHECK;

/*
 * Send TYPE. Checks the table on this side too, but for the state, which is the receiver's
 * (-EPROTO: a bug of ours). Blocks when the socket is
 * blocking; on a nonblocking one -EAGAIN means the peer does not read: daemons treat it as fatal to
 * that peer. FDS are not closed. -EPIPE when the peer has gone.
 */
int channel_send(struct channel *c, enum message_type type, const struct buf *body, const int *fds,
		 size_t n_fds, struct error *err) MUST_CHECK;
/* Receive one packet into P (cleared first). 1: got one; 0: peer closed; -EAGAIN; -EPROTO; other. */
int channel_recv(struct channel *c, struct packet *p, struct error *err) MUST_CHECK;

/* Encode and send in one statement: CHANNEL_SEND(c, started, err, .ticket = 7). */
#define CHANNEL_SEND(c, name, err, ...) CHANNEL_SEND_FDS(c, name, err, NULL, 0, __VA_ARGS__)
#define CHANNEL_SEND_FDS(c, name, err, fds, n_fds, ...)                                            \
	({                                                                                         \
		const struct msg_##name msg_ = {__VA_ARGS__};                                      \
		struct buf body_;                                                                  \
		buf_init(&body_, WIRE_BODY_MAX);                                                   \
		msg_##name##_encode(&msg_, &body_);                                                \
		int sent_ = buf_check(&body_, err);                                                \
		if (sent_ == 0)                                                                    \
			sent_ = channel_send(c, MSG_##name, &body_, fds, n_fds, err);              \
		buf_fini(&body_);                                                                  \
		sent_;                                                                             \
	})

#endif
