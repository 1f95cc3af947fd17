/* relay.h over pipes, sockets and files: bytes, counts, hashes, and peers that stop or go. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/relay.h"

/* The command's side and the client's, and the relay between them. */
struct world {
	struct relay r;
	int command_in, command_out, command_err; /* the command's own ends */
	int client_in, client_out, client_err;	  /* what the client holds */
};

static void
make_pipe(int *reading, int *writing)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	*reading = fds[0];
	*writing = fds[1];
}

static void
world_open(struct world *w, uint64_t max)
{
	int client[3], to, out, err;
	struct error e = {0};

	make_pipe(&client[0], &w->client_in);
	make_pipe(&w->client_out, &client[1]);
	make_pipe(&w->client_err, &client[2]);
	make_pipe(&w->command_in, &to);
	make_pipe(&out, &w->command_out);
	make_pipe(&err, &w->command_err);
	(void)fcntl(to, F_SETFL, O_NONBLOCK);
	(void)fcntl(out, F_SETFL, O_NONBLOCK);
	(void)fcntl(err, F_SETFL, O_NONBLOCK);
	(void)fcntl(w->client_out, F_SETFL, O_NONBLOCK);
	(void)fcntl(w->command_in, F_SETFL, O_NONBLOCK);
	assert_ok(relay_init(&w->r, client, to, out, err, max, &e));
}

static void
world_close(struct world *w)
{
	const int fds[] = {w->command_in, w->command_out, w->command_err,
			   w->client_in,  w->client_out,  w->client_err};

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
	relay_fini(&w->r);
}

/* Turn until nothing more happens within a moment. */
static void
turn(struct world *w)
{
	for (int i = 0; i < 10000; i++) {
		struct pollfd p[RELAY_POLLS];
		unsigned n = relay_polls(&w->r, p);

		if (n == 0 || poll(p, n, 20) <= 0)
			return;
		relay_step(&w->r, p, n);
	}
}

static size_t
drain(int fd)
{
	char buf[65536];
	size_t all = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		all += (size_t)n;
	return all;
}

static void
bytes_go_both_ways_and_ends_follow(void **state)
{
	struct world w;
	struct sandbox_stream s;
	uint8_t want[32];
	char buf[16] = "";

	world_open(&w, 1000);
	assert_int_equal(write(w.client_in, "to you", 6), 6);
	assert_int_equal(write(w.command_out, "out", 3), 3);
	assert_int_equal(write(w.command_err, "err!", 4), 4);
	turn(&w);
	assert_int_equal(read(w.command_in, buf, sizeof(buf)), 6);
	assert_int_equal(read(w.client_out, buf, sizeof(buf)), 3);
	assert_int_equal(read(w.client_err, buf, sizeof(buf)), 4);
	assert_int_equal(read(w.command_in, buf, 1), -1);
	fd_closep(&w.client_in);
	turn(&w);
	assert_int_equal(read(w.command_in, buf, 1), 0); /* the end of input came through */
	assert_false(relay_finished(&w.r));
	fd_closep(&w.command_out);
	fd_closep(&w.command_err);
	turn(&w);
	assert_true(relay_finished(&w.r));
	relay_stream(&w.r.out, &s);
	assert_int_equal(s.bytes, 3);
	sha256_of("out", 3, want);
	assert_memory_equal(s.sha256, want, 32);
	relay_stream(&w.r.err, &s);
	assert_int_equal(s.bytes, 4);
	world_close(&w);
}

static void
beyond_the_limit_is_counted_and_not_delivered(void **state)
{
	struct world w;
	struct sandbox_stream s;
	char block[4096];
	size_t got = 0;

	memset(block, 'x', sizeof(block));
	world_open(&w, 10000);
	for (int i = 0; i < 25; i++) {
		assert_int_equal(write(w.command_out, block, sizeof(block)), sizeof(block));
		turn(&w);
		got += drain(w.client_out);
	}
	fd_closep(&w.command_out);
	fd_closep(&w.command_err);
	turn(&w);
	got += drain(w.client_out);
	assert_int_equal(got, 10000);
	relay_stream(&w.r.out, &s);
	assert_int_equal(s.bytes, 25 * sizeof(block));
	assert_true(s.truncated);
	assert_true(relay_finished(&w.r));
	world_close(&w);
}

static void
a_client_that_does_not_read_stops_its_stream_and_nothing_else(void **state)
{
	struct world w;
	char block[4096], buf[16];

	memset(block, 'x', sizeof(block));
	world_open(&w, 1 << 30);
	(void)fcntl(w.command_out, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 200; i++) {
		(void)!write(w.command_out, block, sizeof(block));
		turn(&w);
	}
	assert_int_equal(write(w.command_out, block, sizeof(block)), -1); /* held up */
	assert_int_equal(write(w.command_err, "err", 3), 3);
	turn(&w);
	assert_int_equal(read(w.client_err, buf, sizeof(buf)), 3);
	/* The client's own descriptors still block, as it made them. */
	assert_int_equal(fcntl(w.r.out.to.fd, F_GETFL) & O_NONBLOCK, 0);
	assert_true(w.r.out.to.own >= 0);
	world_close(&w);
}

static void
a_client_that_left_closes_the_command_s_stream(void **state)
{
	struct world w;

	world_open(&w, 1000);
	fd_closep(&w.client_out);
	assert_int_equal(write(w.command_out, "x", 1), 1);
	turn(&w);
	assert_int_equal(write(w.command_out, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	/* And the other way round: a command that closed its input. */
	fd_closep(&w.command_in);
	assert_int_equal(write(w.client_in, "x", 1), 1);
	turn(&w);
	assert_int_equal(write(w.client_in, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	world_close(&w);
}

static void
sockets_and_files_serve_as_well(void **state)
{
	int pair[2], to, in, out, err, file, null;
	char name[] = "/tmp/loom-test-XXXXXX", buf[16] = "";
	struct relay r;
	struct world w = {0};
	struct error e = {0};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	file = mkstemp(name);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	make_pipe(&in, &to);
	make_pipe(&out, &w.command_out);
	make_pipe(&err, &w.command_err);
	assert_ok(relay_init(&r, (const int[]){null, pair[0], file}, to, out, err, 100, &e));
	w.r = r;
	assert_int_equal(write(w.command_out, "sock", 4), 4);
	assert_int_equal(write(w.command_err, "file", 4), 4);
	turn(&w);
	assert_int_equal(read(pair[1], buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "sock", 4);
	assert_int_equal(pread(file, buf, sizeof(buf), 0), 4);
	assert_memory_equal(buf, "file", 4);
	assert_int_equal(read(in, buf, 1), 0); /* /dev/null ends at once */
	fd_close(w.command_out);
	fd_close(w.command_err);
	turn(&w);
	assert_true(relay_finished(&w.r));
	relay_fini(&w.r);
	fd_close(pair[1]);
	fd_close(in);
	assert_int_equal(unlink(name), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_both_ways_and_ends_follow),
		cmocka_unit_test(beyond_the_limit_is_counted_and_not_delivered),
		cmocka_unit_test(a_client_that_does_not_read_stops_its_stream_and_nothing_else),
		cmocka_unit_test(a_client_that_left_closes_the_command_s_stream),
		cmocka_unit_test(sockets_and_files_serve_as_well),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("box_relay", tests, NULL, NULL);
}
