/*
 * One party at the other end of a channel, in the event loop: a sibling or a client. Packets are
 * received one per wake-up into one store shared by all, and sent at once; what the socket does not
 * take is queued (with copies of its descriptors) and goes out when there is room, in order. A peer
 * whose queue passes its bound does not read and is broken.
 */
#ifndef LOOM_AUTHORITY_PEER_H
#define LOOM_AUTHORITY_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "wire/channel.h"

/* What all peers of the process share. */
struct hub {
	sd_event *loop;
	struct packet packet; /* the one being handled */
	struct buf out;	      /* the body being encoded */
};
int hub_init(struct hub *h, struct error *err) MUST_CHECK;
void hub_fini(struct hub *h);

struct peer;
/*
 * A packet that passed the table. Descriptors are taken with TAKE_FD or closed afterwards.
 * Negative: the peer broke the protocol (the reason in ERR), and `gone` is called with that code
 * next. In here this peer may be closed but not freed.
 */
typedef int (*peer_packet_fn)(struct peer *p, struct packet *packet, struct error *err);
/*
 * The peer has gone (CODE 0), broke the protocol or its channel (CODE negative). Called once, with
 * the channel closed already; the peer is not touched afterwards, so it may be freed in here.
 */
typedef void (*peer_gone_fn)(struct peer *p, int code, const struct error *err);

/*
 * The peer sends nothing more, but still reads (it shut down its side). Is anything still due to
 * it? If not, or without this function, it counts as gone.
 */
typedef bool (*peer_eof_fn)(struct peer *p);

struct peer_message;
struct peer {
	struct hub *hub;
	struct channel channel;
	sd_event_source *source;
	peer_packet_fn packet;
	peer_eof_fn eof; /* may be NULL */
	peer_gone_fn gone;
	void *owner;
	struct peer_message *queue, **queue_tail;
	size_t queued_bytes, queue_max;
	bool broken; /* a send failed: to be reported by the loop */
	bool ended;  /* it sends nothing more */
};

/* FD is owned by the peer from here on, also on failure; it is made nonblocking. */
int peer_open(struct peer *p, struct hub *hub, int fd, uint32_t party, uint32_t state,
	      size_t queue_max, struct error *err) MUST_CHECK;
/* Stop listening, drop the queue, close. `gone` is not called. Safe on a zeroed or closed one. */
void peer_close(struct peer *p);
bool peer_is_open(const struct peer *p);

/*
 * Send the body in hub->out. FDS stay the caller's. Negative: it was not and will not be sent.
 * -EPIPE and -ENOBUFS are the end of the peer and reported by the loop later; a lack of descriptors
 * (-EMFILE, -ETOOMANYREFS) is not.
 */
int peer_send_body(struct peer *p, enum message_type type, const int *fds, size_t n_fds,
		   struct error *err) MUST_CHECK;

/*
 * End it: what is queued is dropped, and the loop calls `gone` later. For a client that could not
 * be told what it waits for.
 */
void peer_break(struct peer *p);

#define PEER_SEND(p, name, err, ...) PEER_SEND_FDS(p, name, err, NULL, 0, __VA_ARGS__)
#define PEER_SEND_FDS(p, name, err, fds, n_fds, ...)                                               \
	({                                                                                         \
		const struct msg_##name msg_ = {__VA_ARGS__};                                      \
		struct peer *peer_ = (p);                                                          \
		int sent_;                                                                         \
		buf_reset(&peer_->hub->out);                                                       \
		msg_##name##_encode(&msg_, &peer_->hub->out);                                      \
		sent_ = buf_check(&peer_->hub->out, err);                                          \
		if (sent_ == 0)                                                                    \
			sent_ = peer_send_body(peer_, MSG_##name, fds, n_fds, err);                \
		sent_;                                                                             \
	})

#endif
