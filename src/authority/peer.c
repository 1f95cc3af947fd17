/*
 * A send that fails for good does not call `gone` from inside the sender (which may be in the
 * middle of anything): the peer is marked and the loop wakes up for it, because its channel is shut
 * down and so readable.
 */
#include "authority/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"

struct peer_message {
	struct peer_message *next;
	enum message_type type;
	struct buf body;
	int fds[WIRE_FDS_MAX];
	size_t n_fds;
};

int
hub_init(struct hub *h, struct error *err)
{
	int r;

	*h = (struct hub){0};
	r = packet_init(&h->packet, err);
	if (r < 0)
		return r;
	buf_init(&h->out, WIRE_BODY_MAX);
	r = sd_event_new(&h->loop);
	if (r < 0)
		r = error_sys(err, r, "make the event loop");
	if (r < 0)
		hub_fini(h);
	return r;
}

void
hub_fini(struct hub *h)
{
	h->loop = sd_event_unref(h->loop);
	buf_fini(&h->out);
	packet_fini(&h->packet);
}

static void
message_free(struct peer_message *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n_fds; i++)
		fd_close(m->fds[i]);
	buf_fini(&m->body);
	free(m);
}

static void
queue_drop(struct peer *p)
{
	while (p->queue != NULL) {
		struct peer_message *m = p->queue;

		p->queue = m->next;
		message_free(m);
	}
	p->queue_tail = &p->queue;
	p->queued_bytes = 0;
}

static int
message_copy(const struct buf *body, enum message_type type, const int *fds, size_t n_fds,
	     struct peer_message **ret, struct error *err)
{
	struct peer_message *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return error_set(err, -ENOMEM, "out of memory for a message");
	m->type = type;
	buf_init(&m->body, body->len);
	buf_add(&m->body, body->data, body->len);
	for (size_t i = 0; i < n_fds; i++) {
		int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			int code = error_sys(err, -errno, "keep a descriptor of a message");

			message_free(m);
			return code;
		}
		m->fds[m->n_fds++] = fd;
	}
	if (buf_check(&m->body, err) < 0) {
		message_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

/* What to wait for. The end of the peer is always told. */
static int
peer_listen(struct peer *p)
{
	uint32_t events =
		(p->ended ? 0 : (uint32_t)EPOLLIN) | (p->queue != NULL ? (uint32_t)EPOLLOUT : 0);

	return sd_event_source_set_io_events(p->source, events);
}

static int
queue_add(struct peer *p, enum message_type type, const int *fds, size_t n_fds, struct error *err)
{
	const struct buf *body = &p->hub->out;
	struct peer_message *m = NULL;
	int r;

	if (body->len > p->queue_max - p->queued_bytes)
		return error_set(err, -ENOBUFS, "the peer does not read: %zu bytes are waiting",
				 p->queued_bytes);
	r = message_copy(body, type, fds, n_fds, &m, err);
	if (r < 0)
		return r;
	*p->queue_tail = m;
	p->queue_tail = &m->next;
	p->queued_bytes += body->len;
	return peer_listen(p);
}

void
peer_break(struct peer *p)
{
	if (!peer_is_open(p) || p->broken)
		return;
	p->broken = true;
	queue_drop(p);
	p->ended = false;
	(void)shutdown(p->channel.fd, SHUT_RDWR);
	(void)peer_listen(p);
}

int
peer_send_body(struct peer *p, enum message_type type, const int *fds, size_t n_fds,
	       struct error *err)
{
	struct error why = {0};
	int r;

	if (!peer_is_open(p) || p->broken)
		return error_set(err, -EPIPE, "the peer has gone");
	r = p->queue != NULL ? -EAGAIN
			     : channel_send(&p->channel, type, &p->hub->out, fds, n_fds, &why);
	if (r == -EAGAIN) {
		why = (struct error){0};
		r = queue_add(p, type, fds, n_fds, &why);
	}
	if (r < 0 && r != -EMFILE && r != -ENFILE && r != -ETOOMANYREFS && r != -EPROTO)
		peer_break(p);
	return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

static int
queue_flush(struct peer *p)
{
	while (p->queue != NULL) {
		struct peer_message *m = p->queue;
		struct error err = {0};
		int r = channel_send(&p->channel, m->type, &m->body, m->fds, m->n_fds, &err);

		if (r == -EAGAIN)
			return 0;
		if (r < 0) {
			peer_break(p);
			return 0;
		}
		p->queue = m->next;
		if (p->queue == NULL)
			p->queue_tail = &p->queue;
		p->queued_bytes -= m->body.len;
		message_free(m);
	}
	return peer_listen(p);
}

static void
peer_end(struct peer *p, int code, const struct error *err)
{
	peer_close(p);
	p->gone(p, code, err);
}

/* Nothing more comes. Is it all over, or is somebody there who still reads? */
static int
peer_ended(struct peer *p, uint32_t events)
{
	const struct error none = {0};

	if (p->eof == NULL || p->ended || (events & (EPOLLHUP | EPOLLERR)) != 0 || !p->eof(p)) {
		peer_end(p, 0, &none);
		return 0;
	}
	p->ended = true;
	return peer_listen(p);
}

static int
on_packet(struct peer *p, struct error *err)
{
	int r = p->packet(p, &p->hub->packet, err);

	packet_clear(&p->hub->packet);
	if (r < 0 && peer_is_open(p))
		peer_end(p, r, err);
	return 0;
}

static int
on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct peer *p = userdata;
	struct error err = {0};
	int r;

	if ((events & EPOLLOUT) != 0) {
		r = queue_flush(p);
		if (r < 0)
			return r;
	}
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return 0;
	r = p->broken ? error_set(&err, -EPIPE, "it does not read")
		      : channel_recv(&p->channel, &p->hub->packet, &err);
	if (r == -EAGAIN)
		return 0;
	if (r > 0)
		return on_packet(p, &err);
	if (r == 0)
		return peer_ended(p, events);
	peer_end(p, r, &err);
	return 0;
}

int
peer_open(struct peer *p, struct hub *hub, int fd, uint32_t party, uint32_t state, size_t queue_max,
	  struct error *err)
{
	int r;

	*p = (struct peer){.hub = hub, .queue_max = queue_max};
	p->queue_tail = &p->queue;
	channel_init(&p->channel, fd, P_AUTHORITY, party, state);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		r = error_sys(err, -errno, "make a channel nonblocking");
		channel_close(&p->channel);
		return r;
	}
	r = sd_event_add_io(hub->loop, &p->source, fd, EPOLLIN, on_io, p);
	if (r < 0) {
		channel_close(&p->channel);
		return error_sys(err, r, "listen to a peer");
	}
	return 0;
}

void
peer_close(struct peer *p)
{
	if (!peer_is_open(p))
		return;
	p->source = sd_event_source_disable_unref(p->source);
	queue_drop(p);
	channel_close(&p->channel);
}

bool
peer_is_open(const struct peer *p)
{
	return p->source != NULL;
}
