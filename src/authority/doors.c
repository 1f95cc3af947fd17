/*
 * A client's message is looked up in a table by its type. Requests move its channel to S_RUNNING,
 * so that the channel itself refuses a second one before the first is answered; client_idle moves
 * it back. Whatever a client does wrong ends that client; the api is a sibling, and what it does
 * wrong ends us.
 */
#include "authority/doors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "authority/act.h"
#include "authority/authority.h"
#include "authority/query.h"
#include "authority/run.h"
#include "base/fd.h"
#include "base/log.h"

/* Beyond the bound, some are still accepted to be told that it is reached; then none are. */
#define EXCESS_MAX 32
#define ACCEPT_PAUSE_MS 100

/* ---- clients */

static const struct {
	enum message_type type;
	bool request; /* is answered, and then the client is idle again */
	int (*handle)(struct client *c, struct packet *p, struct error *err);
} client_handlers[] = {
	{MSG_run, true, run_request},
	{MSG_refuse, true, run_refuse_request},
	{MSG_query, true, query_request},
	{MSG_session_act, true, act_session_request},
	{MSG_daemon_act, true, act_daemon_request},
	{MSG_signal, false, run_signal_request},
	{MSG_winsize, false, run_winsize_request},
};

static int
client_packet(struct peer *peer, struct packet *p, struct error *err)
{
	struct client *c = peer->owner;

	for (size_t i = 0; i < ARRAY_LEN(client_handlers); i++) {
		if (client_handlers[i].type != p->type)
			continue;
		if (client_handlers[i].request) {
			peer->channel.state = S_RUNNING;
			deadline_clear(&c->silence);
		}
		idle_touch(c->authority);
		return client_handlers[i].handle(c, p, err);
	}
	return error_set(err, -EPROTO, "message %#x is not a client's to send", p->type);
}

static void
client_free(struct client *c)
{
	struct doors *d = &c->authority->doors;

	deadline_clear(&c->silence);
	*(c->prev != NULL ? &c->prev->next : &d->clients) = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	d->n_clients--;
	free(c);
}

static void
client_gone(struct peer *peer, int code, const struct error *err)
{
	struct client *c = peer->owner;
	struct authority *a = c->authority;

	if (code < 0)
		log_info("client of user %u: %s", c->uid, err->text);
	if (c->asker != NULL)
		c->asker->client = NULL;
	if (c->run != NULL)
		run_client_gone(c->run);
	client_free(c);
	idle_touch(a);
	authority_settle(a);
}

/* Nothing is asked, and nothing of an answer is still to be read from our queue. */
static bool
client_is_silent(const struct client *c)
{
	return c->run == NULL && c->asker == NULL && c->peer.channel.state == S_IDLE &&
	       c->peer.queue == NULL;
}

static void
client_dismiss(struct client *c)
{
	peer_close(&c->peer);
	client_free(c);
}

static void
on_silence(void *arg)
{
	struct client *c = arg;
	struct authority *a = c->authority;

	if (!client_is_silent(c)) {
		deadline_set(&a->deadlines, &c->silence, DOORS_SILENT_MS, on_silence, c);
		return;
	}
	log_info("client of user %u: asks nothing, closed", c->uid);
	client_dismiss(c);
	authority_settle(a);
}

/* Room for one more: the one that has asked nothing for longest goes. False: everybody waits. */
static bool
client_make_room(struct authority *a)
{
	struct deadline *d = a->deadlines.first;

	if (a->doors.n_clients < DOORS_CLIENTS_MAX)
		return true;
	while (d != NULL && (d->fn != on_silence || !client_is_silent(d->arg)))
		d = d->next;
	if (d == NULL)
		return false;
	client_dismiss(d->arg);
	return a->doors.n_clients < DOORS_CLIENTS_MAX;
}

/* It says nothing more: a run ends, but its client is told how. */
static bool
client_eof(struct peer *peer)
{
	struct client *c = peer->owner;

	if (c->run != NULL)
		run_stop(c->run, STOP_CLIENT_GONE);
	return c->run != NULL || c->asker != NULL;
}

void
client_idle(struct client *c)
{
	c->run = NULL;
	c->asker = NULL;
	c->peer.channel.state = S_IDLE;
	deadline_set(&c->authority->deadlines, &c->silence, DOORS_SILENT_MS, on_silence, c);
}

void
client_lost(struct client *c, const struct error *err)
{
	log_info("client of user %u: %s", c->uid, err->text);
	peer_break(&c->peer);
}

static int
peer_uid(int fd, uint32_t *ret, struct error *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return error_sys(err, -errno, "SO_PEERCRED");
	*ret = peer.uid;
	return 0;
}

/* Usually the system's own size holds the largest message, and what does not fit is queued. */
static int
socket_fits(int fd, struct error *err)
{
	socklen_t len = sizeof(int);
	int have = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &have, &len) == 0 && have > 2 * WIRE_BODY_MAX)
		return 0;
	return channel_raise(fd, err);
}

/* FD is owned by it. */
static int
client_add(struct authority *a, int fd, struct error *err)
{
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (c == NULL) {
		fd_close(fd);
		return error_set(err, -ENOMEM, "out of memory for a client");
	}
	r = peer_uid(fd, &c->uid, err);
	if (r == 0)
		r = socket_fits(fd, err);
	if (r < 0)
		fd_close(fd);
	else
		r = peer_open(&c->peer, &a->hub, fd, P_CLIENT, S_IDLE, CLIENT_QUEUE_MAX, err);
	if (r < 0) {
		free(c);
		return r;
	}
	c->authority = a;
	c->foreign = c->uid != a->settings.uid;
	c->excess = !client_make_room(a);
	c->peer.packet = client_packet;
	c->peer.eof = client_eof;
	c->peer.gone = client_gone;
	c->peer.owner = c;
	c->next = a->doors.clients;
	if (c->next != NULL)
		c->next->prev = c;
	a->doors.clients = c;
	a->doors.n_clients++;
	deadline_set(&a->deadlines, &c->silence, DOORS_SILENT_MS, on_silence, c);
	return 0;
}

/* ---- connections of the api */

static struct conn *
conn_find(const struct doors *d, uint64_t number)
{
	struct conn *c = d->conns;

	while (c != NULL && c->number != number)
		c = c->next;
	return c;
}

static void
conn_free(struct doors *d, struct conn *c)
{
	*(c->prev != NULL ? &c->prev->next : &d->conns) = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	d->n_conns--;
	free(c);
}

static int
conn_add(struct authority *a, int fd, struct error *err)
{
	struct conn *c = calloc(1, sizeof(*c));
	int r;

	if (c == NULL)
		return error_set(err, -ENOMEM, "out of memory for a connection");
	r = peer_uid(fd, &c->uid, err);
	if (r == 0 && c->uid != a->settings.uid) {
		run_record_foreign(a, c->uid);
		r = error_set(err, -EPERM, "user %u is not served here", c->uid);
	}
	if (r < 0) {
		free(c);
		return r;
	}
	c->number = ++a->doors.last_conn;
	c->next = a->doors.conns;
	if (c->next != NULL)
		c->next->prev = c;
	a->doors.conns = c;
	a->doors.n_conns++;
	r = PEER_SEND_FDS(&a->api, api_conn, err, &fd, 1, .conn = c->number);
	if (r < 0)
		conn_free(&a->doors, c);
	return r;
}

/* ---- accepting */

static int
door_accept(struct authority *a, int listen_fd, bool http)
{
	struct doors *d = &a->doors;
	CLEANUP(fd_closep) int fd = -1;
	struct error err = {0};
	int r = 0;

	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return 0;
	if (fd < 0)
		return -errno;
	idle_touch(a);
	if (http && d->n_conns < DOORS_CONNS_MAX)
		r = conn_add(a, fd, &err);
	else if (!http && d->n_clients < DOORS_CLIENTS_MAX + EXCESS_MAX)
		r = client_add(a, TAKE_FD(fd), &err);
	if (r < 0)
		log_info("connection refused: %s", err.text);
	return 0;
}

static void
door_resume(void *arg)
{
	struct authority *a = arg;

	if (a->doors.cli != NULL)
		(void)sd_event_source_set_enabled(a->doors.cli, SD_EVENT_ON);
	if (a->doors.http != NULL)
		(void)sd_event_source_set_enabled(a->doors.http, SD_EVENT_ON);
}

static int
on_connection(struct authority *a, sd_event_source *source, int fd, bool http)
{
	int r = door_accept(a, fd, http);

	if (r == 0)
		return 0;
	/* Out of descriptors: the connection stays in the queue, and we look again soon. */
	log_warning("cannot accept a connection: %s", strerror(-r));
	deadline_set(&a->deadlines, &a->doors.pause, ACCEPT_PAUSE_MS, door_resume, a);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int
on_cli(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	return on_connection(userdata, source, fd, false);
}

static int
on_http(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	return on_connection(userdata, source, fd, true);
}

int
doors_init(struct authority *a, int cli_listen, int http_listen, struct error *err)
{
	a->doors = (struct doors){.cli_fd = cli_listen, .http_fd = http_listen};
	for (size_t i = 0; i < 2; i++) {
		int fd = i == 0 ? cli_listen : http_listen;

		if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
			return error_sys(err, -errno, "make a door nonblocking");
	}
	return 0;
}

int
doors_open(struct authority *a, struct error *err)
{
	struct doors *d = &a->doors;
	int r = 0;

	if (d->cli_fd >= 0)
		r = sd_event_add_io(a->hub.loop, &d->cli, d->cli_fd, EPOLLIN, on_cli, a);
	if (r >= 0 && d->http_fd >= 0)
		r = sd_event_add_io(a->hub.loop, &d->http, d->http_fd, EPOLLIN, on_http, a);
	return r < 0 ? error_sys(err, r, "open the doors") : 0;
}

static void
door_shut(sd_event_source **source, int *fd)
{
	*source = sd_event_source_disable_unref(*source);
	if (*fd < 0)
		return;
	/* Now connecting fails. Who had connected already sees a reset, with nothing read. */
	(void)shutdown(*fd, SHUT_RDWR);
	fd_closep(fd);
}

void
doors_shut(struct authority *a)
{
	deadline_clear(&a->doors.pause);
	door_shut(&a->doors.cli, &a->doors.cli_fd);
	door_shut(&a->doors.http, &a->doors.http_fd);
}

void
doors_fini(struct authority *a)
{
	struct doors *d = &a->doors;

	doors_shut(a);
	while (d->clients != NULL)
		client_dismiss(d->clients);
	while (d->conns != NULL)
		conn_free(d, d->conns);
}

/* ---- askers */

void
asker_of_client(struct asker *to, struct client *c)
{
	*to = (struct asker){.authority = c->authority,
			     .client = c,
			     .uid = c->uid,
			     .foreign = c->foreign,
			     .excess = c->excess};
	c->asker = to;
}

int
asker_of_conn(struct asker *to, struct authority *a, const struct conn *c, uint64_t request,
	      struct error *err)
{
	if (a->doors.n_asks >= DOORS_ASKS_MAX)
		return error_set(err, -EBUSY, "%zu requests are under way", a->doors.n_asks);
	*to = (struct asker){.listed = true,
			     .authority = a,
			     .conn = c->number,
			     .request = request,
			     .uid = c->uid};
	to->next = a->doors.asks;
	if (to->next != NULL)
		to->next->prev = to;
	a->doors.asks = to;
	a->doors.n_asks++;
	return 0;
}

void
asker_forget(struct asker *to)
{
	struct doors *d = &to->authority->doors;

	to->conn = 0;
	if (!to->listed)
		return;
	*(to->prev != NULL ? &to->prev->next : &d->asks) = to->next;
	if (to->next != NULL)
		to->next->prev = to->prev;
	d->n_asks--;
	to->listed = false;
	to->prev = to->next = NULL;
}

/* ---- what the api says */

/* The connection a message names. The api knows which ones there are: we told it. */
static struct conn *
conn_named(struct authority *a, uint64_t number, struct error *err)
{
	struct conn *c = conn_find(&a->doors, number);

	if (c == NULL)
		(void)error_set(err, -EPROTO, "connection %llu is not one of loom-api's",
				(unsigned long long)number);
	return c;
}

static int
on_api_closed(struct authority *a, struct packet *p, struct error *err)
{
	struct msg_api_closed m;
	struct asker *to, *next;
	struct conn *c;
	int r;

	r = msg_api_closed_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	c = conn_named(a, m.conn, err);
	if (c == NULL)
		return -EPROTO;
	for (to = a->doors.asks; to != NULL; to = next) {
		next = to->next;
		if (to->conn == m.conn)
			asker_forget(to);
	}
	conn_free(&a->doors, c);
	idle_touch(a);
	return 0;
}

static int
on_api_query(struct authority *a, struct packet *p, struct error *err)
{
	struct msg_api_query m;
	struct conn *c;
	int r;

	r = msg_api_query_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	c = conn_named(a, m.conn, err);
	return c != NULL ? query_of_api(a, c, &m, err) : -EPROTO;
}

static int
on_api_act(struct authority *a, struct packet *p, struct error *err)
{
	struct msg_api_act m;
	struct conn *c;
	int r;

	r = msg_api_act_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	c = conn_named(a, m.conn, err);
	return c != NULL ? act_of_api(a, c, &m, err) : -EPROTO;
}

int
doors_api_packet(struct authority *a, struct packet *p, struct error *err)
{
	idle_touch(a);
	switch (p->type) {
	case MSG_api_query:
		return on_api_query(a, p, err);
	case MSG_api_act:
		return on_api_act(a, p, err);
	case MSG_api_closed:
		return on_api_closed(a, p, err);
	default:
		return error_set(err, -EPROTO, "message %#x is not loom-api's to send", p->type);
	}
}
