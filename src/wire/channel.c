/*
 * SEQPACKET keeps the borders of packets, so one recvmsg is one message, and a packet that did not
 * fit is truncated and says so. Descriptors are collected into the packet before anything is
 * judged: whatever the judgement, they have one owner, and packet_clear closes them.
 */
#include "wire/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define WIRE_MAGIC 0x4c4f4f4dU /* "LOOM" */
#define WIRE_HEADER_BYTES 12
#define WIRE_PACKET_MAX (WIRE_HEADER_BYTES + WIRE_BODY_MAX)
/* Room for several of the largest messages, with the kernel's own overhead. */
#define WIRE_SOCKET_BYTES (1 << 20)
/* unix(7) sockets refuse a datagram longer than the send buffer less this. */
#define WIRE_SOCKET_SLACK 32

int
packet_init(struct packet *p, struct error *err)
{
	*p = (struct packet){0};
	for (size_t i = 0; i < WIRE_FDS_MAX; i++)
		p->fds[i] = -1;
	p->store = malloc(WIRE_PACKET_MAX);
	if (p->store == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void
packet_clear(struct packet *p)
{
	/* A packet that was only zeroed has no descriptors: its zeroes are not descriptor 0. */
	for (size_t i = 0; i < p->n_fds; i++)
		fd_closep(&p->fds[i]);
	p->n_fds = 0;
	p->type = 0;
	p->body = NULL;
	p->len = 0;
}

void
packet_fini(struct packet *p)
{
	packet_clear(p);
	free(p->store);
	p->store = NULL;
}

void
channel_init(struct channel *c, int fd, uint32_t self, uint32_t peer, uint32_t state)
{
	*c = (struct channel){.fd = fd, .self = self, .peer = peer, .state = state};
}

void
channel_close(struct channel *c)
{
	fd_closep(&c->fd);
}

static int
socket_raise(int fd, int force, int plain, const char *what, struct error *err)
{
	const int want = WIRE_SOCKET_BYTES;
	socklen_t len = sizeof(int);
	int have = 0;

	/* The forced form passes the system's limit, but needs CAP_NET_ADMIN. */
	if (setsockopt(fd, SOL_SOCKET, force, &want, sizeof(want)) != 0 &&
	    setsockopt(fd, SOL_SOCKET, plain, &want, sizeof(want)) != 0)
		return error_sys(err, -errno, "raise the socket's %s buffer", what);
	if (getsockopt(fd, SOL_SOCKET, plain, &have, &len) != 0)
		return error_sys(err, -errno, "read the socket's %s buffer", what);
	if (have < WIRE_PACKET_MAX + WIRE_SOCKET_SLACK)
		return error_set(err, -ENOBUFS,
				 "the socket's %s buffer is %d bytes; a message needs %d (see "
				 "net.core.wmem_max, rmem_max)",
				 what, have, WIRE_PACKET_MAX + WIRE_SOCKET_SLACK);
	return 0;
}

int
channel_raise(int fd, struct error *err)
{
	int r;

	r = socket_raise(fd, SO_SNDBUFFORCE, SO_SNDBUF, "send", err);
	return r < 0 ? r : socket_raise(fd, SO_RCVBUFFORCE, SO_RCVBUF, "receive", err);
}

int
channel_pair(int ret_fds[2], struct error *err)
{
	CLEANUP(fd_closep) int a = -1;
	CLEANUP(fd_closep) int b = -1;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return error_sys(err, -errno, "socketpair");
	a = fds[0];
	b = fds[1];
	r = channel_raise(a, err);
	if (r == 0)
		r = channel_raise(b, err);
	if (r < 0)
		return r;
	ret_fds[0] = TAKE_FD(a);
	ret_fds[1] = TAKE_FD(b);
	return 0;
}

int
channel_connect(const char *path, int *ret_fd, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int r;

	if (path[0] == '\0' || strlen(path) >= sizeof(addr.sun_path))
		return error_set(err, -ENAMETOOLONG, "socket path %s: empty or over %zu bytes",
				 path, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_sys(err, -errno, "socket");
	r = channel_raise(fd, err);
	if (r < 0)
		return r;
	/* A connect to a unix socket that a signal interrupted has not begun: once more is right.
	 */
	do
		r = connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
	while (r != 0 && errno == EINTR);
	if (r != 0)
		return error_sys(err, -errno, "connect to %s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Both sides hold a message against the table; who sends is SENDER, as the receiver sees it. */
static int
rule_check(const struct message_rule *rule, uint32_t sender, uint32_t receiver, size_t len,
	   size_t n_fds, struct error *err)
{
	if ((rule->from & sender) == 0 || (rule->to & receiver) == 0)
		return error_set(err, -EPROTO, "%s: party %#x may not send it to %#x", rule->name,
				 sender, receiver);
	if (len > rule->max_body)
		return error_set(err, -EPROTO, "%s: %zu bytes, at most %u are allowed", rule->name,
				 len, rule->max_body);
	if (n_fds < rule->fds_min || n_fds > rule->fds_max)
		return error_set(err, -EPROTO, "%s: %zu descriptors, allowed are %u to %u",
				 rule->name, n_fds, rule->fds_min, rule->fds_max);
	return 0;
}

static void
put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* What recvmsg and sendmsg need for ancillary data: the union is for its alignment. */
union control {
	struct cmsghdr align;
	/* Credentials are never wanted; there is room so that they are seen and not only cut off.
	 */
	char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
};

static int
channel_send_packet(int fd, struct msghdr *msg, size_t total, struct error *err)
{
	ssize_t n;

	do
		n = sendmsg(fd, msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_sys(err, errno == ECONNRESET ? -EPIPE : -errno, "sendmsg");
	if ((size_t)n != total)
		return error_set(err, -EIO, "sendmsg sent %zd of %zu bytes", n, total);
	return 0;
}

int
channel_send(struct channel *c, enum message_type type, const struct buf *body, const int *fds,
	     size_t n_fds, struct error *err)
{
	const struct message_rule *rule = message_rule(type);
	uint8_t header[WIRE_HEADER_BYTES];
	union control control = {0};
	struct iovec iov[2] = {
		{.iov_base = header, .iov_len = sizeof(header)},
		{.iov_base = body->data, .iov_len = body->len},
	};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	int r;

	if (rule == NULL)
		return error_set(err, -EPROTO, "no message has number %#x", (unsigned int)type);
	r = rule_check(rule, c->self, c->peer, body->len, n_fds, err);
	if (r < 0)
		return r;
	put_u32(header, WIRE_MAGIC);
	put_u32(header + 4, type);
	put_u32(header + 8, wire_len(body->len));
	if (n_fds > 0) {
		struct cmsghdr *cmsg = &control.align;

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n_fds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	r = channel_send_packet(c->fd, &msg, sizeof(header) + body->len, err);
	return r < 0 ? error_prefix(err, "send %s", rule->name) : 0;
}

/*
 * Take every descriptor out of the ancillary data. More than the packet has room for cannot come:
 * the control buffer is as large, and what it cuts off the kernel closes. Anything that is not
 * SCM_RIGHTS is reported after all of it was looked at, so that no descriptor is missed.
 */
static int
packet_collect(struct packet *p, struct msghdr *msg, struct error *err)
{
	int r = 0;

	for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m != NULL; m = CMSG_NXTHDR(msg, m)) {
		size_t n;

		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS) {
			r = error_set(err, -EPROTO, "unexpected control message %d", m->cmsg_type);
			continue;
		}
		n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(m) + i * sizeof(int), sizeof(int));
			if (p->n_fds < WIRE_FDS_MAX) {
				p->fds[p->n_fds++] = fd;
			} else {
				fd_close(fd);
				r = error_set(err, -EPROTO, "more than %d descriptors",
					      WIRE_FDS_MAX);
			}
		}
	}
	return r;
}

/* Judge a packet of TOTAL bytes whose descriptors were collected. */
static int
packet_judge(const struct channel *c, struct packet *p, size_t total, int flags, struct error *err)
{
	const struct message_rule *rule;
	struct wire_in in = {.p = p->store, .left = total};
	uint32_t magic, type, len;

	if ((flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return error_set(err, -EPROTO, "packet was truncated");
	magic = wire_get_u32(&in);
	type = wire_get_u32(&in);
	len = wire_get_u32(&in);
	if (in.bad || magic != WIRE_MAGIC || len != in.left)
		return error_set(err, -EPROTO, "packet of %zu bytes has no valid header", total);
	rule = message_rule(type);
	if (rule == NULL)
		return error_set(err, -EPROTO, "no message has number %#x", type);
	if ((rule->states & c->state) == 0)
		return error_set(err, -EPROTO, "%s: not in state %#x", rule->name, c->state);
	p->type = type;
	p->body = in.p;
	p->len = in.left;
	return rule_check(rule, c->peer, c->self, len, p->n_fds, err);
}

int
channel_recv(struct channel *c, struct packet *p, struct error *err)
{
	union control control;
	struct iovec iov = {.iov_base = p->store, .iov_len = WIRE_PACKET_MAX};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;
	int r;

	packet_clear(p);
	do
		n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	/* A peer that went away with our bytes unread resets instead of ending. */
	if (n < 0 && errno == ECONNRESET)
		return 0;
	if (n < 0)
		return error_sys(err, -errno, "recvmsg");
	r = packet_collect(p, &msg, err);
	/* An empty packet cannot be told from the end, and ends the channel just as well. */
	if (r == 0 && n == 0 && p->n_fds == 0 && (msg.msg_flags & MSG_CTRUNC) == 0)
		return 0;
	if (r == 0)
		r = packet_judge(c, p, (size_t)n, msg.msg_flags, err);
	if (r < 0) {
		packet_clear(p);
		return r;
	}
	return 1;
}
