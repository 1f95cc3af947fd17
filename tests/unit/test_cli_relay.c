/* Bytes between a terminal and a pipe: all of them, in order, and the end of them. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/relay.h"

#define MUCH ((size_t)1 << 20)

/* As the loop of a run does, until nothing is ready. */
static void
turn(struct relay *r)
{
	struct pollfd polls[RELAY_POLLS];

	for (;;) {
		(void)relay_poll(r, polls);
		if (poll(polls, RELAY_POLLS, 0) <= 0)
			return;
		relay_step(r, polls);
	}
}

static void
everything_arrives_in_order(void **state)
{
	struct relay *r = malloc(sizeof(*r));
	struct error err = {0};
	size_t in = 0, out = 0;
	int socket[2], box;

	assert_non_null(r);
	relay_init(r);
	/* A socket stands in for the terminal. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, socket), 0);
	assert_ok(relay_keyboard(r, socket[0], &box, &err));
	assert_int_equal(fcntl(box, F_SETFL, O_NONBLOCK), 0);
	while (out < MUCH) {
		unsigned char part[3000];
		ssize_t n;

		for (size_t i = 0; i < sizeof(part); i++)
			part[i] = (unsigned char)((in + i) * 7 % 251);
		if (in < MUCH) {
			size_t want = MUCH - in < sizeof(part) ? MUCH - in : sizeof(part);

			n = write(socket[1], part, want);
			in += n > 0 ? (size_t)n : 0;
		}
		turn(r);
		n = read(box, part, sizeof(part));
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(part[i], (unsigned char)((out + (size_t)i) * 7 % 251));
		out += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(close(socket[1]), 0);
	turn(r);
	/* The end of input is the end of the pipe. */
	assert_int_equal(read(box, &out, 1), 0);
	assert_int_equal(r->to, -1);
	relay_fini(r);
	assert_int_equal(close(box), 0);
	assert_int_equal(close(socket[0]), 0);
	free(r);
}

static void
a_full_pipe_stops_the_reading(void **state)
{
	static char part[65536];
	struct relay *r = malloc(sizeof(*r));
	struct error err = {0};
	struct pollfd polls[RELAY_POLLS];
	int socket[2], box;

	assert_non_null(r);
	relay_init(r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, socket), 0);
	assert_ok(relay_keyboard(r, socket[0], &box, &err));
	for (int i = 0; i < 8; i++) {
		(void)!write(socket[1], part, sizeof(part));
		turn(r);
	}
	(void)relay_poll(r, polls);
	assert_int_equal(polls[0].fd, -1);
	assert_int_equal(polls[1].fd, r->to);
	assert_true(r->len > r->at);
	relay_fini(r);
	assert_int_equal(close(box), 0);
	assert_int_equal(close(socket[0]), 0);
	assert_int_equal(close(socket[1]), 0);
	free(r);
}

/* When the command closes its input, what is typed later is the shell's again. */
static void
nothing_is_read_for_nobody(void **state)
{
	struct relay *r = malloc(sizeof(*r));
	struct error err = {0};
	struct pollfd polls[RELAY_POLLS];
	int socket[2], box;

	assert_non_null(r);
	relay_init(r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, socket), 0);
	assert_ok(relay_keyboard(r, socket[0], &box, &err));
	assert_int_equal(close(box), 0);
	(void)relay_poll(r, polls);
	assert_int_equal(poll(polls, RELAY_POLLS, 0), 1);
	relay_step(r, polls);
	assert_int_equal(r->from, -1);
	assert_int_equal(r->to, -1);
	assert_int_equal(write(socket[1], "ls\n", 3), 3);
	turn(r);
	assert_int_equal(recv(socket[0], polls, sizeof(polls), MSG_PEEK), 3);
	relay_fini(r);
	assert_int_equal(close(socket[0]), 0);
	assert_int_equal(close(socket[1]), 0);
	free(r);
}

static void
the_screen_gets_the_rest(void **state)
{
	struct relay *r = malloc(sizeof(*r));
	struct error err = {0};
	char text[16] = {0};
	int socket[2], box;

	assert_non_null(r);
	relay_init(r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, socket), 0);
	assert_ok(relay_screen(r, socket[0], &box, &err));
	assert_int_equal(write(box, "last words", 10), 10);
	/* Somebody still holds the writing end: draining does not wait for it. */
	relay_drain(r);
	assert_int_equal(read(socket[1], text, sizeof(text)), 10);
	assert_string_equal(text, "last words");
	relay_fini(r);
	assert_int_equal(close(box), 0);
	assert_int_equal(close(socket[0]), 0);
	assert_int_equal(close(socket[1]), 0);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives_in_order),
		cmocka_unit_test(a_full_pipe_stops_the_reading),
		cmocka_unit_test(nothing_is_read_for_nobody),
		cmocka_unit_test(the_screen_gets_the_rest),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
