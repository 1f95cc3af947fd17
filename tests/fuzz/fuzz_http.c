/*
 * Bytes of a client on a connection of the HTTP server, with this program as the authority.
 * Whatever they are: the server goes on, what it asks is a row of its table with an id that was
 * checked, what it answers is HTTP, and in the end the connection is given back.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/server.h"
#include "base/fd.h"
#include "model/ids.h"
#include "wire/message.h"

#define INPUT_MAX 40000 /* more than headers and body may be */
#define STEPS_MAX 64

static struct server server;
static struct channel authority;
static struct packet packet;
static uint64_t last_conn;

static void
finish(void)
{
	server_fini(&server);
	packet_fini(&packet);
	channel_close(&authority);
}

static void
start(void)
{
	int fds[2];

	if (authority.fd > 0)
		return;
	FUZZ_CHECK(channel_pair(fds, NULL) == 0);
	FUZZ_CHECK(server_init(&server, fds[0], NULL) == 0);
	FUZZ_CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
	channel_init(&authority, fds[1], P_AUTHORITY, P_API, S_OPEN);
	FUZZ_CHECK(packet_init(&packet, NULL) == 0);
	FUZZ_CHECK(atexit(finish) == 0);
}

/* Is there a row that asks WHAT with such an id? */
static bool
row_asks(uint32_t what, const char *id)
{
	size_t n;
	const struct route *t = route_table(&n);
	uint64_t number;

	for (size_t i = 0; i < n; i++) {
		if (t[i].query != what)
			continue;
		if (t[i].body)
			return name_valid(id);
		if (t[i].id == ROUTE_ID_NONE)
			return id[0] == '\0';
		return t[i].id == ROUTE_ID_SESSION ? session_id_parse(id, &number)
						   : op_id_valid(id);
	}
	return false;
}

static void
check_query(void)
{
	struct msg_api_query q;
	char id[NAME_MAX_LEN + 1];

	FUZZ_CHECK(msg_api_query_decode(packet.body, packet.len, &q, NULL) == 0);
	FUZZ_CHECK(q.conn == last_conn && q.request != 0);
	FUZZ_CHECK(wire_text_copy(q.id, id, sizeof(id)) == 0);
	FUZZ_CHECK(row_asks(q.what, id));
	FUZZ_CHECK(CHANNEL_SEND(&authority, api_doc, NULL, .conn = q.conn, .request = q.request,
				.last = 1, .part = wire_bytes_of("{\"note\":\"n\"}", 12)) == 0);
}

static void
check_act(void)
{
	struct msg_api_act a;
	char id[SESSION_ID_MAX];
	uint64_t n;

	FUZZ_CHECK(msg_api_act_decode(packet.body, packet.len, &a, NULL) == 0);
	FUZZ_CHECK(a.conn == last_conn && a.verb == V_RM);
	FUZZ_CHECK(wire_text_copy(a.session, id, sizeof(id)) == 0 && session_id_parse(id, &n));
	FUZZ_CHECK(CHANNEL_SEND(&authority, api_doc, NULL, .conn = a.conn, .request = a.request,
				.last = 1, .part = wire_bytes_of("", 0)) == 0);
}

/* One turn of the server, and what it says to the authority. True when it gave the connection back.
 */
static bool
turn(void)
{
	struct error err = {0};
	bool watched, back = false;

	FUZZ_CHECK(server_step(&server, 0, &watched, &err) == 1);
	while (channel_recv(&authority, &packet, &err) == 1) {
		switch (packet.type) {
		case MSG_api_query:
			check_query();
			break;
		case MSG_api_act:
			check_act();
			break;
		case MSG_api_closed:
			back = true;
			break;
		default:
			FUZZ_CHECK(false);
		}
		packet_clear(&packet);
	}
	return back;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char answer[4096];
	int fds[2];
	ssize_t n;
	bool back = false;

	if (size > INPUT_MAX)
		return 0;
	start();
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	last_conn++;
	FUZZ_CHECK(CHANNEL_SEND_FDS(&authority, api_conn, NULL, &fds[1], 1, .conn = last_conn) ==
		   0);
	fd_close(fds[1]);
	n = send(fds[0], data, size, MSG_NOSIGNAL);
	FUZZ_CHECK(n == (ssize_t)size || size == 0);
	for (int i = 0; i < STEPS_MAX && !back; i++)
		back = turn();
	n = recv(fds[0], answer, sizeof(answer), 0);
	FUZZ_CHECK(n <= 0 || (n >= 9 && memcmp(answer, "HTTP/1.1 ", 9) == 0));
	fd_close(fds[0]);
	for (int i = 0; i < STEPS_MAX && !back; i++)
		back = turn();
	FUZZ_CHECK(back);
	return 0;
}
