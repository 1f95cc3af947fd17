/*
 * libmicrohttpd runs without a listening socket and without threads; its epoll descriptor is one of
 * the three that server_step polls. A connection arrives as a descriptor in a message and is known
 * by its number. While a request waits for the authority its connection is suspended, so nothing
 * more is read from that client: one question at a time per connection, and a client cannot make us
 * remember more than one.
 *
 * Errors inside libmicrohttpd's callbacks that concern the authority are remembered in `broken` and
 * returned by server_step. Those that concern one client end that client.
 */
#include "api/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "wire/message.h"

/* Packets taken in one turn, so that clients get theirs too. */
#define PACKETS_PER_STEP 32
/* How often deadlines are looked at while somebody is connected. */
#define SWEEP_MS 1000

static void
server_break(struct server *s, int code)
{
	if (s->broken == 0)
		s->broken = code;
}

/* ---- connections -------------------------------------------------------------------------- */

static struct conn *
conn_by_number(const struct server *s, uint64_t number)
{
	for (size_t i = 0; i < s->n_conns; i++) {
		if (s->conns[i]->number == number)
			return s->conns[i];
	}
	return NULL;
}

/* The connection that was given to libmicrohttpd under FD and not taken by it yet. */
static struct conn *
conn_by_new_fd(const struct server *s, int fd)
{
	for (size_t i = 0; i < s->n_conns; i++) {
		if (s->conns[i]->fd == fd && s->conns[i]->http == NULL)
			return s->conns[i];
	}
	return NULL;
}

static struct conn *
conn_of(struct MHD_Connection *http)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

/* The descriptor is closed already, or will be by libmicrohttpd. */
static void
conn_drop(struct server *s, struct conn *c)
{
	int r;

	for (size_t i = 0; i < s->n_conns; i++) {
		if (s->conns[i] != c)
			continue;
		s->conns[i] = s->conns[--s->n_conns];
		break;
	}
	r = CHANNEL_SEND(&s->authority, api_closed, &s->broken_why, .conn = c->number);
	if (r < 0)
		server_break(s, r);
	free(c);
}

static void
on_connection(void *cls, struct MHD_Connection *http, void **context,
	      enum MHD_ConnectionNotificationCode what)
{
	struct server *s = cls;
	const union MHD_ConnectionInfo *info;
	struct conn *c;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context != NULL)
			conn_drop(s, *context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
	c = info != NULL ? conn_by_new_fd(s, info->connect_fd) : NULL;
	if (c != NULL)
		c->http = http;
	*context = c;
}

/* Say why to somebody we have no room for; whoever does not read it is not waited for. */
static void
turn_away(struct server *s, uint64_t number, int fd)
{
	struct buf text;
	int r;

	buf_init(&text, 4096);
	if (call_write_busy(&text, NULL) == 0)
		(void)send(fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_fini(&text);
	fd_close(fd);
	r = CHANNEL_SEND(&s->authority, api_closed, &s->broken_why, .conn = number);
	if (r < 0)
		server_break(s, r);
}

static int
take_connection(struct server *s, uint64_t number, int fd, struct error *err)
{
	const struct sockaddr_un peer = {.sun_family = AF_UNIX};
	struct conn *c;

	if (conn_by_number(s, number) != NULL) {
		fd_close(fd);
		return error_set(err, -EPROTO, "connection %" PRIu64 " came twice", number);
	}
	c = s->n_conns < SERVER_CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL) {
		turn_away(s, number, fd);
		return 0;
	}
	*c = (struct conn){
		.server = s,
		.number = number,
		.fd = fd,
		.deadline_ms = clock_boot_ms() + SERVER_REQUEST_MS,
	};
	s->conns[s->n_conns++] = c;
	/* It owns the descriptor from here on, also when it refuses. */
	if (MHD_add_connection(s->http, fd, (const struct sockaddr *)&peer, sizeof(peer)) == MHD_NO)
		conn_drop(s, c);
	return 0;
}

/* ---- requests ----------------------------------------------------------------------------- */

static enum MHD_Result
on_request(void *cls, struct MHD_Connection *http, const char *url, const char *method,
	   const char *version, const char *upload, size_t *upload_len, void **context)
{
	struct call *call = *context;
	struct conn *c = conn_of(http);
	bool refused = false;
	int r;

	(void)cls;
	if (c == NULL)
		return MHD_NO;
	if (call == NULL) {
		call = call_new(c);
		if (call == NULL)
			return MHD_NO;
		*context = call;
		return call_begin(call, http, url, method, version, &refused) < 0 ? MHD_NO
										  : MHD_YES;
	}
	if (*upload_len > 0) {
		/* Too much turns the buffer failed; it is judged when all of it was read. */
		buf_add(&call->body, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	if (call->answered)
		return call_respond(call, http) < 0 ? MHD_NO : MHD_YES;
	r = call_ask(call, http, &refused);
	if (r < 0)
		return MHD_NO;
	if (!refused) {
		c->call = call;
		MHD_suspend_connection(http);
	}
	return MHD_YES;
}

static void
on_completed(void *cls, struct MHD_Connection *http, void **context,
	     enum MHD_RequestTerminationCode code)
{
	struct call *call = *context;

	(void)cls;
	(void)http;
	(void)code;
	if (call == NULL)
		return;
	if (call->conn->call == call)
		call->conn->call = NULL;
	call->conn->deadline_ms = clock_boot_ms() + SERVER_REQUEST_MS;
	call_free(call);
	*context = NULL;
}

/* Percent signs stay what they are: see route.h. */
static size_t
keep_escapes(void *cls, struct MHD_Connection *http, char *text)
{
	(void)cls;
	(void)http;
	return strlen(text);
}

/* The answer is complete (or will not be): let the connection go on to respond. */
static void
call_wake(struct call *call, int status)
{
	struct conn *c = call->conn;

	call->answered = true;
	call->status = status;
	c->call = NULL;
	c->deadline_ms = clock_boot_ms() + SERVER_REQUEST_MS;
	MHD_resume_connection(c->http);
}

/* ---- the authority ------------------------------------------------------------------------ */

static void
take_doc(struct server *s, const struct msg_api_doc *m)
{
	struct conn *c = conn_by_number(s, m->conn);
	struct call *call = c != NULL ? c->call : NULL;

	/* A client may leave, or we may give up, while its answer is on the way. */
	if (call == NULL || call->request != m->request)
		return;
	buf_add(&call->answer, m->part.data, m->part.len);
	if (call->answer.failed) {
		buf_reset(&call->answer);
		call_wake(call, -EMSGSIZE);
	} else if (m->last != 0) {
		/* -ETIMEDOUT and -EMSGSIZE are our own words; theirs come with a document. */
		call_wake(call, m->status == 0 ? 0 : -EACCES);
	}
}

static int
take_packet(struct server *s, struct error *err)
{
	const struct packet *p = &s->packet;

	switch (p->type) {
	case MSG_api_conn: {
		struct msg_api_conn m;
		int r = msg_api_conn_decode(p->body, p->len, &m, err);

		if (r < 0)
			return r;
		return take_connection(s, m.conn, TAKE_FD(s->packet.fds[0]), err);
	}
	case MSG_api_doc: {
		struct msg_api_doc m;
		int r = msg_api_doc_decode(p->body, p->len, &m, err);

		if (r < 0)
			return r;
		take_doc(s, &m);
		return 0;
	}
	default:
		return error_set(err, -EPROTO, "message 0x%" PRIx32 " is not for us", p->type);
	}
}

static int
take_packets(struct server *s, struct error *err)
{
	for (int i = 0; i < PACKETS_PER_STEP; i++) {
		int r = channel_recv(&s->authority, &s->packet, err);

		if (r == -EAGAIN) {
			*err = (struct error){0};
			return 1;
		}
		if (r <= 0)
			return r;
		r = take_packet(s, err);
		packet_clear(&s->packet);
		if (r < 0)
			return r;
	}
	return 1;
}

/* ---- the loop ----------------------------------------------------------------------------- */

static void
sweep(struct server *s)
{
	uint64_t now = clock_boot_ms();

	for (size_t i = 0; i < s->n_conns; i++) {
		struct conn *c = s->conns[i];

		if (now < c->deadline_ms)
			continue;
		if (c->call != NULL)
			call_wake(c->call, -ETIMEDOUT);
		else
			/* libmicrohttpd sees the end of the stream and drops it. */
			(void)shutdown(c->fd, SHUT_RDWR);
	}
}

static int
wait_ms(struct server *s, int timeout_ms)
{
	MHD_UNSIGNED_LONG_LONG http_ms;
	int wait = timeout_ms;

	if (s->n_conns > 0 && (wait < 0 || wait > SWEEP_MS))
		wait = SWEEP_MS;
	if (MHD_get_timeout(s->http, &http_ms) == MHD_YES &&
	    (wait < 0 || http_ms < (MHD_UNSIGNED_LONG_LONG)wait))
		wait = (int)http_ms;
	return wait;
}

int
server_step(struct server *s, int timeout_ms, bool *ret_watched, struct error *err)
{
	struct pollfd fds[] = {
		{.fd = s->authority.fd, .events = POLLIN},
		{.fd = s->http_fd, .events = POLLIN},
		{.fd = s->watch_fd, .events = POLLIN}, /* poll leaves out negative ones */
	};
	int r = 1;

	*ret_watched = false;
	if (poll(fds, ARRAY_LEN(fds), wait_ms(s, timeout_ms)) < 0 && errno != EINTR)
		return error_sys(err, -errno, "poll");
	if (fds[0].revents != 0)
		r = take_packets(s, err);
	if (r <= 0)
		return r;
	sweep(s);
	if (MHD_run(s->http) == MHD_NO)
		return error_set(err, -EIO, "the HTTP library gave up");
	if (s->broken != 0)
		return error_set(err, s->broken, "%s", s->broken_why.text);
	*ret_watched = fds[2].revents != 0;
	return 1;
}

int
server_init(struct server *s, int authority_fd, struct error *err)
{
	const union MHD_DaemonInfo *info;
	struct tm tm;
	time_t zero = 0;
	int r;

	*s = (struct server){.http_fd = -1, .watch_fd = -1};
	channel_init(&s->authority, authority_fd, P_API, P_AUTHORITY, S_OPEN);
	if (fcntl(authority_fd, F_SETFL, O_NONBLOCK) < 0)
		return error_sys(err, -errno, "channel to the authority");
	r = packet_init(&s->packet, err);
	if (r < 0)
		return r;
	/* The first conversion of a time reads a file; responses carry dates. */
	tzset();
	if (gmtime_r(&zero, &tm) == NULL)
		return error_set(err, -EIO, "no calendar");
	s->http = MHD_start_daemon(
		MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_escapes, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SERVER_CONNS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_MEMORY_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SERVER_IDLE_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_END);
	if (s->http == NULL)
		return error_set(err, -EIO, "the HTTP library does not start");
	info = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL)
		return error_set(err, -EIO, "the HTTP library has no epoll descriptor");
	s->http_fd = info->epoll_fd;
	return 0;
}

void
server_fini(struct server *s)
{
	if (s->http != NULL) {
		/* It refuses to stop while a connection is suspended. */
		for (size_t i = 0; i < s->n_conns; i++) {
			if (s->conns[i]->call != NULL)
				call_wake(s->conns[i]->call, -ETIMEDOUT);
		}
		(void)MHD_run(s->http);
		MHD_stop_daemon(s->http);
		s->http = NULL;
	}
	if (s->packet.store != NULL)
		packet_fini(&s->packet);
	channel_close(&s->authority);
}
