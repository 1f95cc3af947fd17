/*
 * loom run against a daemon that the test plays itself: what is asked, what signals become, what
 * the end of a run looks like, and that a terminal of the user's is neither handed on nor left raw.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/program.h"
#include "wire/channel.h"

#define WORDS_MAX 16
#define TEXT_BYTES 8192
#define WAIT_MS 20000

enum { ALLOW = 2, DENY = 0 };

static char dir[64];
static int listener = -1;

struct client {
	pid_t pid;
	int out, err;		/* reading ends; -1 */
	struct channel channel; /* the daemon's end */
	struct packet packet;
};

static command_fn *const functions[COMMAND_COUNT] = {[COMMAND_run] = cmd_run};

static void
listen_here(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/loom/cli.sock", dir);
	(void)unlink(addr.sun_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 4), 0);
}

static int
setup(void **state)
{
	char path[128];

	if (geteuid() != 0)
		return 0;
	strcpy(dir, "/tmp/loom-run-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/loom", dir);
	if (mkdir(path, 0700) != 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/ws", dir);
	if (mkdir(path, 0700) != 0 || setenv("XDG_RUNTIME_DIR", dir, 1) != 0 ||
	    setenv("XDG_STATE_HOME", dir, 1) != 0 || setenv("XDG_CONFIG_HOME", dir, 1) != 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	listen_here();
	return chdir(path);
}

static int
teardown(void **state)
{
	static const char *const names[] = {"loom/cli.sock", "report", NULL};
	static const char *const dirs[] = {"loom", "ws", NULL};
	char path[128];

	if (geteuid() != 0)
		return 0;
	fd_close(listener);
	for (size_t i = 0; names[i] != NULL; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	for (size_t i = 0; dirs[i] != NULL; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, dirs[i]);
		(void)rmdir(path);
	}
	return rmdir(dir);
}

/* Start "loom run WORDS" with TTY as its terminal on 0 and 1, or pipes when it is -1. */
static void
start_on(struct client *c, int tty, const char *const *words)
{
	struct error err = {0};
	int out[2], errors[2];

	*c = (struct client){.channel = {.fd = -1}, .out = -1, .err = -1};
	assert_ok(packet_init(&c->packet, &err));
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(errors, O_CLOEXEC), 0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		char *argv[WORDS_MAX] = {(char *)"loom", (char *)"run"};
		int argc = 2;

		while (words[argc - 2] != NULL && argc + 1 < WORDS_MAX) {
			argv[argc] = (char *)words[argc - 2];
			argc++;
		}
		(void)signal(SIGPIPE, SIG_DFL);
		if (tty >= 0) {
			(void)setsid();
			(void)ioctl(tty, TIOCSCTTY, 0);
		}
		if (dup2(tty >= 0 ? tty : open("/dev/null", O_RDONLY), 0) < 0 ||
		    dup2(tty >= 0 ? tty : out[1], 1) < 0 || dup2(errors[1], 2) < 0)
			_exit(99);
		_exit(program_main(argc, argv, PROGRAM_LOOM, functions, NULL));
	}
	assert_int_equal(close(out[1]), 0);
	assert_int_equal(close(errors[1]), 0);
	c->out = out[0];
	c->err = errors[0];
}

static void
accept_client(struct client *c)
{
	struct pollfd wait = {.fd = listener, .events = POLLIN};
	int fd;

	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	channel_init(&c->channel, fd, P_AUTHORITY, P_CLIENT, S_IDLE);
}

/* 1: a message; 0: the client's side has ended. */
static int
receive(struct client *c)
{
	struct pollfd wait = {.fd = c->channel.fd, .events = POLLIN};
	struct error err = {0};

	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	return channel_recv(&c->channel, &c->packet, &err);
}

static void
expect_run(struct client *c)
{
	accept_client(c);
	assert_int_equal(receive(c), 1);
	assert_int_equal(c->packet.type, MSG_run);
	c->channel.state = S_RUNNING;
}

static void
say_started(struct client *c)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&c->channel, run_started, &err, .session = wire_text_of("s_1"),
			       .op = wire_text_of("op_0123456789abcdef")));
}

static void
start(struct client *c, const char *const *words)
{
	start_on(c, -1, words);
	expect_run(c);
	say_started(c);
}

/* Traced unless it is UNTRACED. */
#define UNTRACED 9

static void
say_done(struct client *c, struct msg_run_done m)
{
	struct error err = {0};
	struct buf body;

	m.session = wire_text_of("s_1");
	m.op = wire_text_of("op_0123456789abcdef");
	m.report = wire_text_of("{\"verdict\":\"allow\"}");
	m.traced = m.traced == UNTRACED ? 0 : 1;
	buf_init(&body, WIRE_BODY_MAX);
	msg_run_done_encode(&m, &body);
	assert_ok(channel_send(&c->channel, MSG_run_done, &body, NULL, 0, &err));
	buf_fini(&body);
}

#define DONE(c, ...) say_done(c, (struct msg_run_done){__VA_ARGS__})

static void
slurp(int fd, char out[TEXT_BYTES])
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, out + len, TEXT_BYTES - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	fd_close(fd);
}

/* The client's status; what it wrote goes to OUT and ERRORS (either may be NULL). */
static int
finish(struct client *c, char out[TEXT_BYTES], char errors[TEXT_BYTES])
{
	char text[TEXT_BYTES];
	int status;

	/* What was received holds the client's streams open. */
	packet_fini(&c->packet);
	slurp(c->out, out != NULL ? out : text);
	slurp(c->err, errors != NULL ? errors : text);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	channel_close(&c->channel);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define ROOT_ONLY()                                                                                \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			unit_skip("loom run is for root in this version");                         \
	} while (0)
#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
a_status_passes_in_silence(void **state)
{
	char out[TEXT_BYTES], errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 3);
	assert_int_equal(finish(&c, out, errors), 3);
	assert_string_equal(out, "");
	assert_string_equal(errors, "");
}

static void
a_denial_is_told_with_reason_and_next_step(void **state)
{
	char out[TEXT_BYTES], errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--profile", "nope", "--", "x"));
	expect_run(&c);
	DONE(&c, .effect = DENY, .reason = wire_text_of("profile-mismatch"),
	     .detail = wire_text_of("no profile \x1b[31mnope"), .next = wire_text_of("look"));
	assert_int_equal(finish(&c, out, errors), 120);
	assert_string_equal(out, "");
	assert_string_equal(errors,
			    "loom: denied: profile-mismatch: no profile \\x1b[31mnope (trace "
			    "op_0123456789abcdef)\nloom: next: look\n");
}

static void
changes_are_told(void **state)
{
	char errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .changes = 3);
	assert_int_equal(finish(&c, NULL, errors), 0);
	assert_string_equal(errors, "loom: 3 files changed: loom session diff s_1\n");
	start(&c, RUN("--", "x"));
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .changes = 1, .traced = UNTRACED);
	assert_int_equal(finish(&c, NULL, errors), 0);
	assert_non_null(strstr(errors, "loom: the trace is unverified"));
	assert_non_null(strstr(errors, "loom: 1 file changed: loom session diff s_1\n"));
}

static void
the_first_interrupt_goes_to_the_command(void **state)
{
	struct msg_signal m;
	struct error err = {0};
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	/* The signal must not overtake the message that the command has started. */
	(void)usleep(100000);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(c.packet.type, MSG_signal);
	assert_ok(msg_signal_decode(c.packet.body, c.packet.len, &m, &err));
	assert_int_equal(m.signo, SIGINT);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 5);
	assert_int_equal(finish(&c, NULL, NULL), 5);
}

/* The daemon holds it until the start; the run does not end for it. */
static void
an_interrupt_before_the_start_is_sent_on(void **state)
{
	struct msg_signal m;
	struct error err = {0};
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	expect_run(&c);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(c.packet.type, MSG_signal);
	assert_ok(msg_signal_decode(c.packet.body, c.packet.len, &m, &err));
	assert_int_equal(m.signo, SIGINT);
	say_started(&c);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 6);
	assert_int_equal(finish(&c, NULL, NULL), 6);
}

/* A second one ends it, started or not. */
static void
two_interrupts_before_the_start_end_it(void **state)
{
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	expect_run(&c);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 0);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STOPPED);
	assert_int_equal(finish(&c, NULL, NULL), 130);
}

static void
the_second_one_ends_the_sandbox(void **state)
{
	char errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	(void)usleep(100000);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(kill(c.pid, SIGINT), 0);
	assert_int_equal(receive(&c), 0);
	/* It waits for the sandbox's end before it leaves. */
	(void)usleep(100000);
	assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STOPPED, .changes = 2);
	assert_int_equal(finish(&c, NULL, errors), 130);
	assert_non_null(strstr(errors, "the sandbox was ended"));
	assert_non_null(strstr(errors, "loom: 2 files changed: loom session diff s_1\n"));
}

static void
other_signals_end_it_at_once(void **state)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT};

	ROOT_ONLY();
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct client c;

		start(&c, RUN("--", "x"));
		assert_int_equal(kill(c.pid, signals[i]), 0);
		assert_int_equal(receive(&c), 0);
		/* A daemon that only closes is as good. */
		channel_close(&c.channel);
		assert_int_equal(finish(&c, NULL, NULL), 128 + signals[i]);
	}
}

static void
a_silent_daemon_does_not_hold_it(void **state)
{
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(receive(&c), 0);
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(finish(&c, NULL, NULL), 143);
}

static void
a_daemon_that_dies_is_told(void **state)
{
	char errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--", "x"));
	channel_close(&c.channel);
	assert_int_equal(finish(&c, NULL, errors), 125);
	assert_non_null(strstr(errors, "loom: failed: internal: the daemon went away"));
	assert_non_null(strstr(errors, "(trace op_0123456789abcdef)"));
}

static void
a_request_nobody_read_is_sent_again(void **state)
{
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	accept_client(&c);
	/* It is in the socket, and closing now is what an idle daemon's end looks like. */
	{
		struct pollfd wait = {.fd = c.channel.fd, .events = POLLIN};

		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	}
	channel_close(&c.channel);
	expect_run(&c);
	assert_int_equal(c.packet.n_fds, 5);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 0);
	assert_int_equal(finish(&c, NULL, NULL), 0);
}

/* The run is asked for again, and what was to interrupt it is sent after it again. */
static void
an_interrupt_nobody_read_is_sent_again(void **state)
{
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	accept_client(&c);
	{
		struct pollfd wait = {.fd = c.channel.fd, .events = POLLIN};

		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	}
	assert_int_equal(kill(c.pid, SIGINT), 0);
	/* The signal must have been taken before the connection ends. */
	(void)usleep(200000);
	channel_close(&c.channel);
	expect_run(&c);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(c.packet.type, MSG_signal);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 0);
	assert_int_equal(finish(&c, NULL, NULL), 0);
}

/* A daemon that takes nobody: not an accident inside, and worth trying again. */
static void
a_daemon_without_a_place_is_busy(void **state)
{
	char errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	for (int i = 0; i < 3; i++) {
		struct pollfd wait;

		accept_client(&c);
		wait = (struct pollfd){.fd = c.channel.fd, .events = POLLIN};
		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
		channel_close(&c.channel);
	}
	assert_int_equal(finish(&c, NULL, errors), 125);
	assert_non_null(strstr(errors, "busy: "));
}

static void
nonsense_is_refused(void **state)
{
	char errors[TEXT_BYTES];
	struct client c;

	ROOT_ONLY();
	start_on(&c, -1, RUN("--", "x"));
	expect_run(&c);
	assert_int_equal(send(c.channel.fd, "nonsense", 8, 0), 8);
	assert_int_equal(finish(&c, NULL, errors), 125);
	assert_non_null(strstr(errors, "loom: internal:"));
}

static void
json_has_standard_output_for_itself(void **state)
{
	char out[TEXT_BYTES], errors[TEXT_BYTES];
	struct stat one, two;
	struct client c;

	ROOT_ONLY();
	start(&c, RUN("--json", "--", "x"));
	assert_int_equal(c.packet.n_fds, 5);
	assert_int_equal(fstat(c.packet.fds[2], &one), 0);
	assert_int_equal(fstat(c.packet.fds[3], &two), 0);
	assert_int_equal(one.st_ino, two.st_ino);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .changes = 2);
	assert_int_equal(finish(&c, out, errors), 0);
	assert_string_equal(out, "{\"verdict\":\"allow\"}\n");
	assert_string_equal(errors, "");
	/* A run that comes to nothing has a document, too. */
	start(&c, RUN("--json", "--", "x"));
	channel_close(&c.channel);
	assert_int_equal(finish(&c, out, errors), 125);
	assert_non_null(strstr(out, "\"verdict\":\"deny\""));
}

static void
a_report_is_written(void **state)
{
	char text[TEXT_BYTES], path[128];
	struct client c;

	ROOT_ONLY();
	(void)snprintf(path, sizeof(path), "%s/report", dir);
	start(&c, RUN("--report", path, "--", "x"));
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 0);
	assert_int_equal(finish(&c, NULL, NULL), 0);
	slurp(open(path, O_RDONLY | O_CLOEXEC), text);
	assert_string_equal(text, "{\"verdict\":\"allow\"}\n");
}

static void
closed_streams_become_dev_null(void **state)
{
	char *argv[] = {(char *)"loom", (char *)"run", (char *)"--", (char *)"x", NULL};
	struct client c = {.channel = {.fd = -1}, .out = -1, .err = -1};
	struct error err = {0};
	struct stat st, null;
	int status;

	ROOT_ONLY();
	assert_int_equal(stat("/dev/null", &null), 0);
	assert_ok(packet_init(&c.packet, &err));
	c.pid = fork();
	if (c.pid == 0) {
		(void)close(0);
		(void)close(1);
		(void)close(2);
		_exit(program_main(4, argv, PROGRAM_LOOM, functions, NULL));
	}
	expect_run(&c);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(fstat(c.packet.fds[i], &st), 0);
		assert_int_equal(st.st_rdev, null.st_rdev);
	}
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 4);
	assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
	assert_int_equal(WEXITSTATUS(status), 4);
	packet_fini(&c.packet);
	channel_close(&c.channel);
}

static void
what_is_typed_arrives_through_a_pipe(void **state)
{
	char text[64] = {0};
	struct client c;
	int master, slave;

	ROOT_ONLY();
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	start_on(&c, slave, RUN("--", "cat"));
	expect_run(&c);
	assert_false(isatty(c.packet.fds[1]));
	assert_int_equal(write(master, "hello\n", 6), 6);
	assert_int_equal(read(c.packet.fds[1], text, sizeof(text)), 6);
	assert_string_equal(text, "hello\n");
	say_started(&c);
	/* End of input, as a person types it. */
	assert_int_equal(write(master, "\x04", 1), 1);
	assert_int_equal(read(c.packet.fds[1], text, sizeof(text)), 0);
	DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 0);
	assert_int_equal(close(slave), 0);
	assert_int_equal(finish(&c, NULL, NULL), 0);
	assert_int_equal(close(master), 0);
}

static bool
is_raw(int fd)
{
	struct termios t;

	assert_int_equal(tcgetattr(fd, &t), 0);
	return (t.c_lflag & (ICANON | ECHO | ISIG)) == 0;
}

static void
with_tty(int signo, int status)
{
	struct winsize size = {.ws_row = 33, .ws_col = 99};
	char text[64] = {0};
	struct client c;
	struct error err = {0};
	struct msg_run m;
	struct msg_winsize w;
	int master, slave;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	assert_false(is_raw(master));
	start_on(&c, slave, RUN("--tty", "--", "sh"));
	expect_run(&c);
	assert_ok(msg_run_decode(c.packet.body, c.packet.len, &m, &err));
	assert_int_equal(m.flags, RUN_TTY);
	assert_int_equal(m.rows, 33);
	assert_int_equal(m.columns, 99);
	assert_false(isatty(c.packet.fds[1]));
	assert_false(isatty(c.packet.fds[2]));
	assert_true(is_raw(master));
	/* Ctrl-C is a byte like any other. */
	assert_int_equal(write(master, "\x03", 1), 1);
	assert_int_equal(read(c.packet.fds[1], text, sizeof(text)), 1);
	assert_int_equal(text[0], 3);
	assert_int_equal(write(c.packet.fds[2], "seen", 4), 4);
	assert_int_equal(read(master, text, sizeof(text)), 4);
	assert_memory_equal(text, "seen", 4);
	say_started(&c);
	size.ws_row = 44;
	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
	assert_int_equal(receive(&c), 1);
	assert_int_equal(c.packet.type, MSG_winsize);
	assert_ok(msg_winsize_decode(c.packet.body, c.packet.len, &w, &err));
	assert_int_equal(w.rows, 44);
	if (signo != 0) {
		assert_int_equal(kill(c.pid, signo), 0);
		assert_int_equal(receive(&c), 0);
		channel_close(&c.channel);
	} else {
		DONE(&c, .effect = ALLOW, .exit_kind = EXIT_STATUS, .exit_value = 6);
	}
	assert_int_equal(finish(&c, NULL, NULL), status);
	assert_false(is_raw(master));
	assert_int_equal(close(slave), 0);
	assert_int_equal(close(master), 0);
}

static void
a_terminal_is_raw_only_while_it_runs(void **state)
{
	ROOT_ONLY();
	with_tty(0, 6);
	with_tty(SIGTERM, 143);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_passes_in_silence),
		cmocka_unit_test(a_denial_is_told_with_reason_and_next_step),
		cmocka_unit_test(changes_are_told),
		cmocka_unit_test(the_first_interrupt_goes_to_the_command),
		cmocka_unit_test(an_interrupt_before_the_start_is_sent_on),
		cmocka_unit_test(two_interrupts_before_the_start_end_it),
		cmocka_unit_test(the_second_one_ends_the_sandbox),
		cmocka_unit_test(other_signals_end_it_at_once),
		cmocka_unit_test(a_silent_daemon_does_not_hold_it),
		cmocka_unit_test(a_daemon_that_dies_is_told),
		cmocka_unit_test(a_request_nobody_read_is_sent_again),
		cmocka_unit_test(an_interrupt_nobody_read_is_sent_again),
		cmocka_unit_test(a_daemon_without_a_place_is_busy),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(json_has_standard_output_for_itself),
		cmocka_unit_test(a_report_is_written),
		cmocka_unit_test(closed_streams_become_dev_null),
		cmocka_unit_test(what_is_typed_arrives_through_a_pipe),
		cmocka_unit_test(a_terminal_is_raw_only_while_it_runs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
