/*
 * loom run. Everything that can be wrong on this side is found first (options, workspace, report,
 * variables), then the descriptors are handed over and the rest is waiting: for the daemon's
 * messages, for signals, and for the terminal where one is in play. No thread, no handler; signals
 * come by descriptor and a table says what they mean (interrupt.h).
 *
 * Without a terminal on standard input this program touches no byte of the streams.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/daemon.h"
#include "cli/interrupt.h"
#include "cli/option.h"
#include "cli/outcome.h"
#include "cli/relay.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "wire/channel.h"

/* How long a sandbox may take to end before we leave without having seen it. */
#define ENDING_WITHIN_MS 5000
/* A daemon that was on its way out when we asked it. */
#define ATTEMPTS 3
#define ID_MAX 64

enum run_wait {
	WAIT_CHANNEL,
	WAIT_SIGNALS,
	WAIT_IN,
	WAIT_OUT = WAIT_IN + RELAY_POLLS,
	WAIT_COUNT = WAIT_OUT + RELAY_POLLS,
};

struct run {
	const struct parsed *args;
	bool json;
	struct request request;
	struct channel channel;
	struct packet packet;
	struct interrupt interrupt;
	struct relay in, out;
	struct terminal terminal;
	int signals;	     /* descriptor, -1 */
	int report;	     /* descriptor, -1 */
	uint64_t leave_at;   /* boot time in ms; 0: not ending */
	enum reason refused; /* R_ALLOWED; else this is all that is sent, with why: */
	struct error refusal;
	char session[ID_MAX];
	char op[ID_MAX];
	int status;
	bool prepared; /* the streams are as they are handed on */
	bool over;
	bool unread; /* the daemon left without having read the request */
};

static void
close_streams(struct run *r)
{
	int *fds = r->request.fds;

	for (int i = REQUEST_STDIN; i <= REQUEST_STDERR; i++) {
		if (fds[i] > STDERR_FILENO)
			fd_close(fds[i]);
	}
	fds[REQUEST_STDIN] = STDIN_FILENO;
	fds[REQUEST_STDOUT] = STDOUT_FILENO;
	fds[REQUEST_STDERR] = STDERR_FILENO;
}

static void
run_freep(struct run **r)
{
	if (*r == NULL)
		return;
	terminal_restore(&(*r)->terminal);
	close_streams(*r);
	relay_fini(&(*r)->in);
	relay_fini(&(*r)->out);
	request_fini(&(*r)->request);
	channel_close(&(*r)->channel);
	packet_fini(&(*r)->packet);
	fd_closep(&(*r)->signals);
	fd_closep(&(*r)->report);
	free(*r);
	*r = NULL;
}

/* Hand the document to whoever asked for it. False when it could not be written. */
static bool
run_document(const struct run *r, const char *text, size_t len)
{
	struct error err = {0};

	if (r->report >= 0 && report_write(r->report, text, len, &err) < 0)
		say("%s", err.text);
	if (err.code == 0 && r->json && report_write(STDOUT_FILENO, text, len, &err) < 0)
		say("%s", err.text);
	return err.code == 0;
}

/* The end of a run that Loom could not bring to one. */
static int
run_failed(struct run *r, const char *reason, const struct error *err)
{
	CLEANUP(buf_fini) struct buf document = {0};

	terminal_restore(&r->terminal);
	r->over = true;
	r->status = interrupt_done(&r->interrupt, STATUS_FAILED);
	if (r->op[0] != '\0')
		say("failed: %s: %s (trace %s)", reason, err->text, r->op);
	else
		say_failed(reason, err);
	buf_init(&document, 4 * SAY_LINE_MAX);
	report_failure(r->session, r->op, reason, err->text, &document);
	if (r->report >= 0 || r->json)
		run_document(r, document.data, document.len);
	return r->status;
}

static int
take_options(struct run *r, struct error *err)
{
	const struct parsed *args = r->args;
	const char *timeout = option_value(args, OPT_TIMEOUT);
	int code = 0;

	r->json = option_given(args, OPT_JSON);
	r->request.tty = option_given(args, OPT_TTY);
	r->request.profile = option_value(args, OPT_PROFILE);
	r->request.workflow = option_value(args, OPT_WORKFLOW);
	r->request.session = option_value(args, OPT_SESSION);
	r->request.term = getenv("TERM");
	if (name_check("--profile", r->request.profile, err) < 0 ||
	    name_check("--workflow", r->request.workflow, err) < 0 ||
	    name_check("--session", r->request.session, err) < 0)
		return err->code;
	if (r->json && r->request.tty)
		return error_set(err, -EINVAL, "--json and --tty exclude each other");
	if (timeout != NULL) {
		code = duration_parse(timeout, &r->request.timeout_ms);
		if (code < 0 || r->request.timeout_ms == 0)
			return error_set(
				err, -EINVAL,
				"--timeout %s: a duration is a whole number and a unit, as "
				"90s, 5m or 2h",
				timeout);
	}
	/* Not judged here: a directory that leads out is to be denied where that is recorded. */
	r->request.cwd = option_value(args, OPT_CWD);
	return 0;
}

/* What can be wrong on this side. -1: it was said, and the status is set. */
static int
prepare(struct run *r)
{
	const char *workspace = option_value(r->args, OPT_WORKSPACE);
	const char *report = option_value(r->args, OPT_REPORT);
	struct error err = {0};

	if (take_options(r, &err) < 0 || request_env(&r->request, r->args, &err) < 0) {
		r->status = say_usage("run", &err);
		return -1;
	}
	if (daemon_user_check(&err) < 0) {
		run_failed(r, daemon_reason(err.code), &err);
		return -1;
	}
	if (request_workspace(&r->request, workspace != NULL ? workspace : ".", &r->refusal) < 0)
		r->refused = R_INVALID_PATH;
	if (report != NULL &&
	    report_open(report, r->request.fds[REQUEST_WORKSPACE], &r->report, &err) < 0) {
		run_failed(r, "invalid-path", &err);
		return -1;
	}
	if (r->refused == R_ALLOWED &&
	    request_args(&r->request, r->args->follows, r->args->n_follows, &r->refusal) < 0)
		r->refused = R_INVALID_ARGUMENT;
	return 0;
}

/*
 * No terminal of the user's is handed on for reading: the box would read it while we are stopped or
 * in the background. With --tty none is handed on for writing either.
 */
static int
prepare_streams(struct run *r, struct error *err)
{
	int *fds = r->request.fds;
	int code = 0;

	r->prepared = true;
	if (r->json)
		fds[REQUEST_STDOUT] = STDERR_FILENO;
	if (r->request.tty)
		terminal_size(&r->request.rows, &r->request.columns);
	if (isatty(STDIN_FILENO))
		code = relay_keyboard(&r->in, STDIN_FILENO, &fds[REQUEST_STDIN], err);
	if (code == 0 && r->request.tty && isatty(STDOUT_FILENO))
		code = relay_screen(&r->out, STDOUT_FILENO, &fds[REQUEST_STDOUT], err);
	if (code == 0 && r->request.tty && isatty(STDIN_FILENO))
		code = terminal_raw(&r->terminal, STDIN_FILENO, err);
	return code;
}

/* SIGPIPE is only kept away: a reader that left is an error of the write. */
static int
take_signals(struct run *r, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (r->request.tty) {
		sigaddset(&set, SIGWINCH);
		sigaddset(&set, SIGCONT);
	}
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signals < 0)
		return error_sys(err, -errno, "signalfd");
	sigaddset(&set, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return error_sys(err, -errno, "sigprocmask");
	return 0;
}

static void
on_done(struct run *r)
{
	struct msg_run_done m;
	struct error err = {0};
	int status;

	if (msg_run_done_decode(r->packet.body, r->packet.len, &m, &err) < 0) {
		run_failed(r, "internal", &err);
		return;
	}
	relay_drain(&r->out);
	terminal_restore(&r->terminal);
	status = outcome_status(&m);
	if (r->interrupt.status != 0)
		outcome_say_interrupted(&m, r->json);
	else
		outcome_say(&m, r->args->follows[0], r->json);
	if ((r->report >= 0 || r->json) && !run_document(r, m.report.data, m.report.len))
		status = STATUS_FAILED;
	r->status = interrupt_done(&r->interrupt, status);
	r->over = true;
}

static void
on_started(struct run *r)
{
	struct msg_run_started m;
	struct error err = {0};

	if (msg_run_started_decode(r->packet.body, r->packet.len, &m, &err) < 0 ||
	    wire_text_copy(m.session, r->session, sizeof(r->session)) < 0 ||
	    wire_text_copy(m.op, r->op, sizeof(r->op)) < 0) {
		error_set(&err, -EPROTO, "the daemon's answer cannot be read");
		run_failed(r, "internal", &err);
		return;
	}
	interrupt_started(&r->interrupt);
	/* The box has its ends of our pipes; as long as we held them too, no end would be seen. */
	close_streams(r);
}

/* The request itself was refused, before any decision. */
static void
on_doc(struct run *r)
{
	struct msg_doc m;
	struct error err = {0};

	if (msg_doc_decode(r->packet.body, r->packet.len, &m, &err) == 0)
		error_set(&err, -EPROTO, "the daemon refused the request: %.*s", (int)m.part.len,
			  (const char *)m.part.data);
	run_failed(r, "invalid-request", &err);
}

/*
 * Did the daemon close the connection without having read what we sent? The kernel then resets it,
 * and asking again is right: nothing can have started. An answer that lies there says that it was
 * read, and that something later was not.
 */
static bool
was_unread(const struct run *r, short events)
{
	int code = 0;
	socklen_t len = sizeof(code);
	char byte;

	return (events & POLLERR) != 0 && r->op[0] == '\0' && r->interrupt.status == 0 &&
	       getsockopt(r->channel.fd, SOL_SOCKET, SO_ERROR, &code, &len) == 0 &&
	       code == ECONNRESET &&
	       recv(r->channel.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) <= 0;
}

static void
on_message(struct run *r, short events)
{
	struct error err = {0};
	int n;

	if (was_unread(r, events)) {
		r->unread = r->over = true;
		return;
	}
	n = channel_recv(&r->channel, &r->packet, &err);
	if (n == -EAGAIN)
		return;
	if (n == 0)
		error_set(&err, -EPIPE,
			  "the daemon went away; the sandbox ended with it, its changes are kept");
	if (n <= 0) {
		if (r->interrupt.status != 0) {
			terminal_restore(&r->terminal);
			say("interrupted; the sandbox was ended");
			r->status = r->interrupt.status;
			r->over = true;
			return;
		}
		run_failed(r, "internal", &err);
		return;
	}
	if (r->packet.type == MSG_run_started)
		on_started(r);
	else if (r->packet.type == MSG_run_done)
		on_done(r);
	else
		on_doc(r);
}

static void
send_winsize(struct run *r)
{
	struct error err = {0};
	uint32_t rows, columns;

	terminal_size(&rows, &columns);
	/* A daemon that is gone is seen by the next receive. */
	if (CHANNEL_SEND(&r->channel, winsize, &err, .rows = rows, .columns = columns) < 0)
		return;
}

/* A daemon that is gone is seen by the next receive. */
static void
send_interrupt(struct run *r)
{
	struct error err = {0};

	if (CHANNEL_SEND(&r->channel, signal, &err, .signo = SIGINT) < 0)
		return;
}

static void
on_signal(struct run *r)
{
	struct signalfd_siginfo info;

	if (read(r->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGCONT)
		terminal_again(&r->terminal);
	if (info.ssi_signo == SIGCONT || info.ssi_signo == SIGWINCH) {
		send_winsize(r);
		return;
	}
	switch (interrupt_signal(&r->interrupt, (int)info.ssi_signo)) {
	case ACTION_FORWARD:
		if (isatty(STDERR_FILENO))
			say("interrupt sent to the command; once more ends the sandbox");
		send_interrupt(r);
		break;
	case ACTION_END:
		/* Our side of the connection ends, so the daemon ends the sandbox and says so. */
		shutdown(r->channel.fd, SHUT_WR);
		r->leave_at = clock_boot_ms() + ENDING_WITHIN_MS;
		break;
	case ACTION_LEAVE:
		r->status = r->interrupt.status;
		r->over = true;
		break;
	case ACTION_NONE:
		break;
	}
}

static int
wait_ms(const struct run *r, int relay_ms)
{
	uint64_t now;

	if (r->leave_at == 0)
		return relay_ms;
	now = clock_boot_ms();
	return now >= r->leave_at ? 0 : (int)(r->leave_at - now);
}

static void
run_loop(struct run *r)
{
	struct pollfd polls[WAIT_COUNT];

	while (!r->over) {
		int n, in_ms = relay_poll(&r->in, &polls[WAIT_IN]);

		relay_poll(&r->out, &polls[WAIT_OUT]);
		polls[WAIT_CHANNEL] = (struct pollfd){.fd = r->channel.fd, .events = POLLIN};
		polls[WAIT_SIGNALS] = (struct pollfd){.fd = r->signals, .events = POLLIN};
		n = poll(polls, WAIT_COUNT, wait_ms(r, in_ms));
		if (n < 0 && errno != EINTR) {
			struct error err = {0};

			error_sys(&err, -errno, "poll");
			run_failed(r, "internal", &err);
			return;
		}
		if (n == 0 && r->leave_at != 0 && clock_boot_ms() >= r->leave_at) {
			say("the sandbox has not ended within %d s; leaving it to the daemon",
			    ENDING_WITHIN_MS / 1000);
			r->status = r->interrupt.status;
			return;
		}
		if (n <= 0)
			continue;
		relay_step(&r->in, &polls[WAIT_IN]);
		relay_step(&r->out, &polls[WAIT_OUT]);
		if (polls[WAIT_SIGNALS].revents != 0)
			on_signal(r);
		if (!r->over && polls[WAIT_CHANNEL].revents != 0)
			on_message(r, polls[WAIT_CHANNEL].revents);
	}
}

/*
 * Connect, and ask. Signals and the terminal are taken only when a daemon is there: until then an
 * interrupt ends this program as it would any other. A daemon that leaves at this moment is asked
 * again, which starts another.
 */
static int
run_ask(struct run *r, struct error *err)
{
	int code = -EPIPE;

	for (int i = 0; i < ATTEMPTS && code == -EPIPE; i++) {
		*err = (struct error){0};
		channel_close(&r->channel);
		code = daemon_connect(true, &r->channel, err);
		if (code == 0 && r->signals < 0)
			code = take_signals(r, err);
		if (code == 0 && r->refused != R_ALLOWED) {
			code = request_refuse(r->refused, r->refusal.text, &r->channel, err);
			continue;
		}
		if (code == 0 && !r->prepared)
			code = prepare_streams(r, err);
		if (code == 0)
			code = request_send(&r->request, &r->channel, err);
	}
	/* What was sent to the daemon that left unread is lost. */
	if (code == 0 && r->interrupt.state == RUN_INTERRUPTED)
		send_interrupt(r);
	return code;
}

static void
run_attempts(struct run *r)
{
	struct error err = {0};

	for (int i = 0; i < ATTEMPTS; i++) {
		if (run_ask(r, &err) < 0) {
			/* Nobody to record it: then it is only said. */
			if (r->refused != R_ALLOWED)
				run_failed(r,
					   r->refused == R_INVALID_PATH ? "invalid-path"
									: "invalid-argument",
					   &r->refusal);
			else
				run_failed(r, daemon_reason(err.code), &err);
			return;
		}
		r->unread = false;
		run_loop(r);
		if (!r->unread)
			return;
		r->over = false;
	}
	error_set(&err, -EBUSY,
		  "the daemon has no place for another client, or goes away before it "
		  "answers; try again");
	run_failed(r, "busy", &err);
}

int
cmd_run(const struct parsed *args)
{
	CLEANUP(run_freep) struct run *r = calloc(1, sizeof(*r));
	struct error err = {0};

	if (r == NULL) {
		say("out of memory");
		return STATUS_FAILED;
	}
	r->args = args;
	request_init(&r->request);
	relay_init(&r->in);
	relay_init(&r->out);
	r->terminal.fd = r->signals = r->report = r->channel.fd = -1;
	if (prepare(r) < 0)
		return r->status;
	if (packet_init(&r->packet, &err) < 0)
		return run_failed(r, "internal", &err);
	run_attempts(r);
	return r->status;
}
