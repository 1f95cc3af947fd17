/*
 * The HTTP server with this test as its authority and as its clients: one process, one thread.
 * Bytes go in at one end of a socket pair, server_step runs, messages come out at the other.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/server.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "model/ids.h"
#include "wire/channel.h"
#include "wire/message.h"

#define OP "op_0123456789abcdef"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define STEPS_MAX 400

struct world {
	struct server server;
	struct channel authority; /* the test's end */
	struct packet packet;
	uint64_t last_conn;
};

static int
set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct error err = {0};
	int fds[2];

	assert_non_null(w);
	assert_int_equal(channel_pair(fds, &err), 0);
	assert_int_equal(server_init(&w->server, fds[0], &err), 0);
	channel_init(&w->authority, fds[1], P_AUTHORITY, P_API, S_OPEN);
	assert_int_equal(packet_init(&w->packet, &err), 0);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	server_fini(&w->server);
	packet_fini(&w->packet);
	channel_close(&w->authority);
	free(w);
	return 0;
}

static void
step(struct world *w)
{
	struct error err = {0};
	bool watched;

	if (server_step(&w->server, 0, &watched, &err) != 1)
		fail_msg("server_step: %s", err.text);
	assert_false(watched);
}

/* A new connection; returns the client's end. */
static int
connect_client(struct world *w)
{
	struct error err = {0};
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	w->last_conn++;
	assert_int_equal(
		CHANNEL_SEND_FDS(&w->authority, api_conn, &err, &fds[1], 1, .conn = w->last_conn),
		0);
	fd_close(fds[1]);
	return fds[0];
}

static void
send_text(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Let the server run until it asked something, and take that message. */
static void
expect_message(struct world *w, uint32_t type)
{
	struct error err = {0};

	for (int i = 0; i < STEPS_MAX; i++) {
		char probe;
		int r;

		step(w);
		if (recv(w->authority.fd, &probe, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
			continue;
		r = channel_recv(&w->authority, &w->packet, &err);
		if (r != 1)
			fail_msg("channel_recv: %s", err.text);
		assert_int_equal(w->packet.type, type);
		return;
	}
	fail_msg("no message 0x%x came", type);
}

static void
expect_query(struct world *w, struct msg_api_query *q)
{
	expect_message(w, MSG_api_query);
	assert_int_equal(msg_api_query_decode(w->packet.body, w->packet.len, q, NULL), 0);
	assert_int_equal(q->conn, w->last_conn);
}

static void
answer(struct world *w, uint64_t conn, uint64_t request, int status, bool last, const char *text)
{
	struct error err = {0};

	assert_int_equal(CHANNEL_SEND(&w->authority, api_doc, &err, .conn = conn,
				      .request = request, .status = status, .last = last,
				      .part = wire_bytes_of(text, strlen(text))),
			 0);
}

/* Run until a whole response is in OUT (as its Content-Length says), or the stream ended. */
static void
read_response(struct world *w, int fd, struct buf *out)
{
	buf_reset(out);
	for (int i = 0; i < STEPS_MAX; i++) {
		char part[4096];
		const char *body, *len;
		ssize_t n;

		step(w);
		n = recv(fd, part, sizeof(part), 0);
		if (n == 0)
			return;
		if (n < 0)
			continue;
		buf_add(out, part, (size_t)n);
		assert_false(out->failed);
		body = strstr(out->data, "\r\n\r\n");
		len = strcasestr(out->data, "\r\ncontent-length:");
		if (body == NULL)
			continue;
		if (len == NULL || len > body)
			return;
		if (out->len >= (size_t)(body + 4 - out->data) + strtoul(len + 17, NULL, 10))
			return;
	}
}

static unsigned int
status_of(const struct buf *b)
{
	assert_true(b->len > 12);
	assert_memory_equal(b->data, "HTTP/1.1 ", 9);
	return (unsigned int)strtoul(b->data + 9, NULL, 10);
}

static json_t *
body_of(const struct buf *b)
{
	const char *body = strstr(b->data, "\r\n\r\n");
	json_t *v = NULL;

	assert_non_null(body);
	body += 4;
	assert_int_equal(json_read(body, b->len - (size_t)(body - b->data), &v, NULL), 0);
	return v;
}

static void
assert_problem(const struct buf *b, unsigned int status, const char *reason)
{
	CLEANUP(json_decrefp) json_t *v = NULL;

	if (status_of(b) != status)
		fail_msg("status %u wanted, got: %.200s", status, b->data);
	assert_non_null(strstr(b->data, "application/problem+json"));
	v = body_of(b);
	assert_string_equal(json_string_value(json_object_get(v, "reason")), reason);
	assert_int_equal(json_integer_value(json_object_get(v, "status")), status);
}

/* The server has no connection left and told the authority so for NUMBER. */
static void
expect_closed(struct world *w, uint64_t number)
{
	struct msg_api_closed m;

	expect_message(w, MSG_api_closed);
	assert_int_equal(msg_api_closed_decode(w->packet.body, w->packet.len, &m, NULL), 0);
	assert_int_equal(m.conn, number);
}

static void
answers_are_passed_on(void **state)
{
	struct world *w = *state;
	struct msg_api_query q;
	struct buf b;
	int fd = connect_client(w);

	buf_init(&b, 1 << 20);
	send_text(fd, GET("/v1/sessions/s_12/diff"), strlen(GET("/v1/sessions/s_12/diff")));
	expect_query(w, &q);
	assert_int_equal(q.what, Q_DIFF_JSON);
	assert_true(wire_text_eq(q.id, "s_12"));
	assert_int_equal(q.arg.len, 0);
	answer(w, q.conn, q.request, 0, false, "{\"changes\":");
	answer(w, q.conn, q.request, 0, true, "[]}");
	read_response(w, fd, &b);
	assert_int_equal(status_of(&b), 200);
	assert_non_null(strstr(b.data, "\r\n\r\n{\"changes\":[]}\n"));
	assert_non_null(strcasestr(b.data, "cache-control: no-store"));

	/* The connection is kept, and a second question has a number of its own. */
	send_text(fd, GET("/v1/profiles"), strlen(GET("/v1/profiles")));
	{
		uint64_t first = q.request;

		expect_query(w, &q);
		assert_int_not_equal(q.request, first);
	}
	assert_int_equal(q.what, Q_PROFILES);
	answer(w, q.conn, q.request, 0, true, "[]");
	read_response(w, fd, &b);
	assert_int_equal(status_of(&b), 200);
	fd_close(fd);
	expect_closed(w, 1);
	assert_int_equal(w->server.n_conns, 0);
	buf_fini(&b);
}

static void
health_wraps_the_status(void **state)
{
	struct world *w = *state;
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct msg_api_query q;
	struct buf b;
	int fd = connect_client(w);

	buf_init(&b, 1 << 20);
	send_text(fd, GET("/healthz"), strlen(GET("/healthz")));
	expect_query(w, &q);
	assert_int_equal(q.what, Q_STATUS);
	answer(w, q.conn, q.request, 0, true, "{\"sessions\":0}");
	read_response(w, fd, &b);
	assert_int_equal(status_of(&b), 200);
	v = body_of(&b);
	assert_string_equal(json_string_value(json_object_get(v, "status")), "ok");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(v, "authority"), "sessions")),
		0);

	send_text(fd, GET("/healthz"), strlen(GET("/healthz")));
	expect_query(w, &q);
	answer(w, q.conn, q.request, -EIO, true, "{\"reason\":\"audit-unavailable\"}");
	read_response(w, fd, &b);
	assert_problem(&b, 503, "audit-unavailable");
	fd_close(fd);
	buf_fini(&b);
}

static void
the_checkpoint_is_text(void **state)
{
	struct world *w = *state;
	struct msg_api_query q;
	struct buf b;
	int fd = connect_client(w);

	buf_init(&b, 1 << 20);
	send_text(fd, GET("/v1/ledger/checkpoint"), strlen(GET("/v1/ledger/checkpoint")));
	expect_query(w, &q);
	assert_int_equal(q.what, Q_LEDGER_HEAD);
	answer(w, q.conn, q.request, 0, true, "{\"note\":\"loom\\n3\\n\"}");
	read_response(w, fd, &b);
	assert_int_equal(status_of(&b), 200);
	assert_non_null(strstr(b.data, "text/plain"));
	assert_non_null(strstr(b.data, "\r\n\r\nloom\n3\n"));
	fd_close(fd);
	buf_fini(&b);
}

static void
removal_is_an_act(void **state)
{
	static const char text[] = "DELETE /v1/sessions/s_3 HTTP/1.1\r\nHost: x\r\n\r\n";
	struct world *w = *state;
	struct msg_api_act a;
	struct buf b;
	int fd = connect_client(w);

	buf_init(&b, 1 << 20);
	for (int i = 0; i < 2; i++) {
		send_text(fd, text, strlen(text));
		expect_message(w, MSG_api_act);
		assert_int_equal(msg_api_act_decode(w->packet.body, w->packet.len, &a, NULL), 0);
		assert_int_equal(a.verb, V_RM);
		assert_true(wire_text_eq(a.session, "s_3"));
		if (i == 0)
			answer(w, a.conn, a.request, 0, true, "");
		else
			answer(w, a.conn, a.request, -EPERM, true,
			       "{\"verdict\":\"deny\",\"reason\":\"session-ended\",\"detail\":"
			       "\"x\"}");
		read_response(w, fd, &b);
		if (i == 0)
			assert_int_equal(status_of(&b), 204);
		else
			assert_problem(&b, 404, "session-ended");
	}
	fd_close(fd);
	buf_fini(&b);
}

static void
decide_takes_one_strict_document(void **state)
{
	static const struct {
		const char *body;
		bool good;
	} rows[] = {
		{"{\"profile\":\"default\",\"request\":{\"capability\":\"exec\"}}", true},
		{" { \"request\" : {\"b\":1,\"a\":2}, \"profile\":\"build\" } ", true},
		{"", false},
		{"{}", false},
		{"[]", false},
		{"null", false},
		{"{\"profile\":\"default\"}", false},
		{"{\"profile\":\"default\",\"request\":[]}", false},
		{"{\"profile\":\"../x\",\"request\":{}}", false},
		{"{\"profile\":\"\",\"request\":{}}", false},
		{"{\"profile\":7,\"request\":{}}", false},
		{"{\"profile\":\"default\",\"request\":{},\"uid\":0}", false},
		{"{\"profile\":\"default\",\"profile\":\"build\",\"request\":{}}", false},
		{"{\"profile\":\"default\",\"request\":{}} {}", false},
		{"{\"profile\":\"default\",\"request\":{\"n\":1.5}}", false},
		{"{\"profile\":\"default\",\"request\":{\"n\":\"\xff\"}}", false},
	};
	struct world *w = *state;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct msg_api_query q;
		char text[1024];
		int fd = connect_client(w);
		int n = snprintf(text, sizeof(text),
				 "POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: "
				 "application/json\r\nContent-Length: %zu\r\n\r\n%s",
				 strlen(rows[i].body), rows[i].body);

		send_text(fd, text, (size_t)n);
		if (rows[i].good) {
			expect_query(w, &q);
			assert_int_equal(q.what, Q_WHY);
			if (i == 1)
				assert_memory_equal(q.arg.data, "{\"a\":2,\"b\":1}", q.arg.len);
			answer(w, q.conn, q.request, 0, true, "{\"verdict\":\"allow\"}");
		}
		read_response(w, fd, &b);
		if (rows[i].good)
			assert_int_equal(status_of(&b), 200);
		else
			assert_problem(&b, 400, "invalid-request");
		fd_close(fd);
		expect_closed(w, w->last_conn);
	}
	buf_fini(&b);
}

/* Each of these is answered by us, without anybody being asked, and ends the connection. */
static void
bad_requests_are_refused(void **state)
{
	static const struct {
		const char *text;
		unsigned int status;
		const char *reason;
	} rows[] = {
		{GET("/nowhere"), 404, "invalid-request"},
		{GET("/v1/sessions/s_x"), 400, "invalid-request"},
		{GET("/v1/sessions?limit=1"), 400, "invalid-request"},
		{GET("/%68ealthz"), 404, "invalid-request"},
		{"PUT /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405, "invalid-request"},
		{"BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405, "invalid-request"},
		{"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 400,
		 "invalid-request"},
		{"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n",
		 411, "invalid-request"},
		{"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: "
		 "text/plain\r\nContent-Length: "
		 "2\r\n\r\n{}",
		 415, "invalid-request"},
		{"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 415,
		 "invalid-request"},
		{"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: "
		 "application/json\r\nContent-Length: 8193\r\n\r\n{",
		 413, "limit-exceeded"},
	};
	struct world *w = *state;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_client(w);

		send_text(fd, rows[i].text, strlen(rows[i].text));
		read_response(w, fd, &b);
		assert_problem(&b, rows[i].status, rows[i].reason);
		if (rows[i].status == 405)
			assert_non_null(strstr(b.data, "\r\nAllow: GET, HEAD\r\n"));
		fd_close(fd);
		expect_closed(w, w->last_conn);
	}
	buf_fini(&b);
}

/* What the parser lets through, and we do not: the answer is ours, and ends the connection. */
static void
loose_headers_are_refused(void **state)
{
#define ROW(fields)                                                                                \
	{                                                                                          \
		"GET /healthz HTTP/1.1\r\n" fields "\r\n",                                         \
			sizeof("GET /healthz HTTP/1.1\r\n" fields "\r\n") - 1                      \
	}
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		ROW("Host: x\r\nHost: x\r\n"),
		ROW("Host: x\r\nhOST: y\r\n"),
		ROW("Host: x\r\nX-A: a\x01"
		    "b\r\n"),
		ROW("Host: x\r\nX-A: a\x1b[0m\r\n"),
		ROW("Host: x\r\nX-A: a\x7f\r\n"),
		ROW("Host: x\r\nX-A: a\0b\r\n"),
		ROW("Host: x\0\r\n"),
		ROW("Host: x\r\nX-A: \0\r\n"),
		ROW("Host: x\r\nX-A: a\r\n b\r\n"),
		ROW("Host: x\r\nX-A: a\r\n\tb: c\r\n"),
		ROW("Host: x\nX-A: a\r\n"),
		ROW("Host: x\r\nX-A: a\n"),
		ROW("Host:  x\r\n"),
		ROW("Host:x\r\n"),
	};
#undef ROW
	struct world *w = *state;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_client(w);

		send_text(fd, rows[i].text, rows[i].len);
		/* What is behind it is not read as a second request. */
		(void)send(fd, GET("/healthz"), strlen(GET("/healthz")), MSG_NOSIGNAL);
		read_response(w, fd, &b);
		if (b.len == 0)
			fail_msg("row %zu was not answered", i);
		assert_problem(&b, 400, "invalid-request");
		assert_non_null(strcasestr(b.data, "\r\nconnection: close\r\n"));
		read_response(w, fd, &b);
		assert_int_equal(b.len, 0);
		fd_close(fd);
		expect_closed(w, w->last_conn);
	}
	buf_fini(&b);
}

/*
 * A request that ends in the parser ends the connection: what is behind it is never a request.
 * (0.9.75 writes the head of its own refusal twice.)
 */
static void
the_parser_ends_the_connection(void **state)
{
	static const char *const rows[] = {
		"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		"Content-Length: 5x\r\n\r\n" GET("/healthz"),
		"GET /healthz HTTP/1.1\r\n\r\n" GET("/healthz"),
		"GET /healthz HTTP/1.1\r\n\r\n",
	};
	struct world *w = *state;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_client(w);
		bool answered = false;

		send_text(fd, rows[i], strlen(rows[i]));
		for (read_response(w, fd, &b); b.len > 0; read_response(w, fd, &b)) {
			answered = true;
			for (const char *at = strstr(b.data, "HTTP/"); at != NULL;
			     at = strstr(at + 1, "HTTP/1.1 "))
				assert_memory_equal(at, "HTTP/1.1 400 ", 13);
		}
		assert_true(answered);
		fd_close(fd);
		expect_closed(w, w->last_conn);
	}
	buf_fini(&b);
}

/* Whatever the parser makes of these: no question reaches the authority, and the server lives. */
static void
hostile_bytes_ask_nothing(void **state)
{
#define ROW(s)                                                                                     \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		ROW("\r\n\r\n\r\n"),
		ROW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
		ROW("GET\r\n\r\n"),
		ROW("GET /healthz\r\n\r\n"),
		ROW("GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n"),
		ROW("GET /healthz HTTP/1.1\r\n\r\n"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: -2\r\n\r\n{}"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: 99999999999999999999\r\n\r\n{}"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: +2\r\n\r\n{}"),
		ROW("POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		    "Content-Length: 2\r\n\r\n{\0"),
		ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		ROW("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
		ROW("GET http://example.org/healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
	};
#undef ROW
	struct world *w = *state;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_client(w);

		send_text(fd, rows[i].text, rows[i].len);
		(void)shutdown(fd, SHUT_WR);
		read_response(w, fd, &b);
		if (b.len > 0 && status_of(&b) < 400)
			fail_msg("row %zu was accepted: %.100s", i, b.data);
		fd_close(fd);
		/* The first and only message about it: any question would come before. */
		expect_closed(w, w->last_conn);
	}
	buf_fini(&b);
}

static void
send_long(struct world *w, int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return; /* refused half-way, which is an answer too */
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
		step(w);
	}
}

static void
long_headers_are_refused(void **state)
{
	static const struct {
		size_t name, fields, value;
		unsigned int status;
	} rows[] = {
		{200, 0, 0, 404}, /* a long target within bounds */
		{300, 0, 0, 414}, {0, 1, 9000, 431},
		{0, 80, 10, 431}, {0, 1, 40000, 0}, /* ends in the parser; any refusal will do */
		{40000, 0, 0, 0},
	};
	struct world *w = *state;
	struct buf b, text;

	buf_init(&b, 1 << 20);
	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd = connect_client(w);

		buf_reset(&text);
		buf_str(&text, "GET /");
		for (size_t k = 0; k < rows[i].name; k++)
			buf_char(&text, 'a');
		buf_str(&text, rows[i].name == 0 ? "healthz" : "");
		buf_str(&text, " HTTP/1.1\r\nHost: x\r\n");
		for (size_t f = 0; f < rows[i].fields; f++) {
			buf_fmt(&text, "X-%zu: ", f);
			for (size_t k = 0; k < rows[i].value; k++)
				buf_char(&text, 'v');
			buf_str(&text, "\r\n");
		}
		buf_str(&text, "\r\n");
		assert_false(text.failed);
		send_long(w, fd, text.data, text.len);
		read_response(w, fd, &b);
		if (rows[i].status != 0)
			assert_int_equal(status_of(&b), rows[i].status);
		else if (b.len > 0)
			assert_true(status_of(&b) >= 400);
		fd_close(fd);
		expect_closed(w, w->last_conn);
	}
	buf_fini(&text);
	buf_fini(&b);
}

static void
too_many_are_turned_away(void **state)
{
	struct world *w = *state;
	int fds[SERVER_CONNS_MAX];
	struct buf b;
	int extra;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < SERVER_CONNS_MAX; i++) {
		fds[i] = connect_client(w);
		step(w);
	}
	extra = connect_client(w);
	read_response(w, extra, &b);
	assert_problem(&b, 503, "busy");
	expect_closed(w, w->last_conn);
	fd_close(extra);
	assert_int_equal(w->server.n_conns, SERVER_CONNS_MAX);

	/* One leaves, and there is room again. */
	fd_close(fds[0]);
	expect_closed(w, 1);
	fds[0] = connect_client(w);
	send_text(fds[0], GET("/nowhere"), strlen(GET("/nowhere")));
	read_response(w, fds[0], &b);
	assert_problem(&b, 404, "invalid-request");
	for (size_t i = 0; i < SERVER_CONNS_MAX; i++)
		fd_close(fds[i]);
	buf_fini(&b);
}

static void
nobody_waits_for_ever(void **state)
{
	struct world *w = *state;
	struct msg_api_query q;
	struct buf b;
	int fd = connect_client(w);
	int slow = connect_client(w);

	buf_init(&b, 1 << 20);
	send_text(slow, "GET /hea", 8);
	w->last_conn--;
	send_text(fd, GET("/v1/sessions"), strlen(GET("/v1/sessions")));
	expect_query(w, &q);
	w->last_conn++;
	assert_int_equal(w->server.n_conns, 2);
	for (size_t i = 0; i < w->server.n_conns; i++)
		w->server.conns[i]->deadline_ms = clock_boot_ms();
	/* The one whose answer does not come is told so; the one that does not ask is ended. */
	read_response(w, fd, &b);
	assert_problem(&b, 504, "busy");
	read_response(w, slow, &b);
	assert_int_equal(b.len, 0);
	expect_closed(w, 2);
	/* The answer that comes too late is dropped. */
	answer(w, q.conn, q.request, 0, true, "[]");
	step(w);
	send_text(fd, GET("/nowhere"), strlen(GET("/nowhere")));
	read_response(w, fd, &b);
	assert_problem(&b, 404, "invalid-request");
	fd_close(fd);
	fd_close(slow);
	buf_fini(&b);
}

static void
a_client_may_leave_while_it_waits(void **state)
{
	struct world *w = *state;
	struct msg_api_query q;
	int fd = connect_client(w);

	send_text(fd, GET("/v1/sessions"), strlen(GET("/v1/sessions")));
	expect_query(w, &q);
	fd_close(fd);
	step(w);
	answer(w, q.conn, q.request, 0, true, "[]");
	expect_closed(w, 1);
	assert_int_equal(w->server.n_conns, 0);
	/* And what comes for nobody is dropped. */
	answer(w, q.conn, q.request, 0, true, "[]");
	answer(w, 99, 1, 0, true, "[]");
	step(w);
}

static void
an_answer_has_a_bound(void **state)
{
	struct world *w = *state;
	struct msg_api_query q;
	struct buf b;
	char *part = calloc(1, 60001);
	int fd = connect_client(w);

	assert_non_null(part);
	memset(part, ' ', 60000);
	buf_init(&b, 1 << 20);
	send_text(fd, GET("/v1/sessions"), strlen(GET("/v1/sessions")));
	expect_query(w, &q);
	for (int i = 0; i <= SERVER_ANSWER_MAX / 60000; i++) {
		answer(w, q.conn, q.request, 0, false, part);
		step(w);
	}
	read_response(w, fd, &b);
	assert_problem(&b, 500, "limit-exceeded");
	/* What is no JSON is not passed on as JSON. */
	send_text(fd, GET("/v1/sessions"), strlen(GET("/v1/sessions")));
	expect_query(w, &q);
	answer(w, q.conn, q.request, 0, true, "<html>");
	read_response(w, fd, &b);
	assert_problem(&b, 500, "internal");
	fd_close(fd);
	free(part);
	buf_fini(&b);
}

static void
a_broken_authority_ends_it(void **state)
{
	struct world *w = *state;
	struct error err = {0};
	bool watched;
	int fd = connect_client(w);
	int again;

	step(w);
	/* The same number twice. */
	w->last_conn--;
	again = connect_client(w);
	assert_int_equal(server_step(&w->server, 0, &watched, &err), -EPROTO);
	fd_close(again);
	fd_close(fd);
}

static void
the_end_of_the_channel_is_the_end(void **state)
{
	struct world *w = *state;
	struct error err = {0};
	bool watched;

	channel_close(&w->authority);
	assert_int_equal(server_step(&w->server, 0, &watched, &err), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_are_passed_on),
		TEST(health_wraps_the_status),
		TEST(the_checkpoint_is_text),
		TEST(removal_is_an_act),
		TEST(decide_takes_one_strict_document),
		TEST(bad_requests_are_refused),
		TEST(loose_headers_are_refused),
		TEST(the_parser_ends_the_connection),
		TEST(hostile_bytes_ask_nothing),
		TEST(long_headers_are_refused),
		TEST(too_many_are_turned_away),
		TEST(nobody_waits_for_ever),
		TEST(a_client_may_leave_while_it_waits),
		TEST(an_answer_has_a_bound),
		TEST(a_broken_authority_ends_it),
		TEST(the_end_of_the_channel_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
