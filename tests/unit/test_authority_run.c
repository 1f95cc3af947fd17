/*
 * One run, step by step, with every step failing once: the request, the box's look at it, the
 * record, the grant, the outcome, the record of that; and the client leaving at each of them.
 */
#include "test_authority_fake.h"

static const struct fake_run plain = {.profile = "default"};

/* Like a client, but free to send what no client of ours would. */
static void
raw_send(struct fake_client *c, uint32_t type, const void *body, size_t len, size_t n_fds)
{
	uint8_t packet[512];
	const uint32_t head[] = {htobe32(0x4c4f4f4d), htobe32(type), htobe32((uint32_t)len)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 16)];
	} control = {0};
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(head) + len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	assert_true(sizeof(head) + len <= sizeof(packet));
	memcpy(packet, head, sizeof(head));
	memcpy(packet + sizeof(head), body, len);
	if (n_fds > 0) {
		struct cmsghdr *m = &control.align;

		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(m) + i * sizeof(int), &c->args, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	assert_int_equal(sendmsg(c->channel.fd, &msg, MSG_NOSIGNAL), (ssize_t)(sizeof(head) + len));
}

/* The body of a run without descriptors, to be sent by raw_send. */
static void
raw_run(struct buf *out, uint32_t flags)
{
	const struct msg_run m = {.version = WIRE_VERSION,
				  .flags = flags,
				  .profile = wire_text_of("default"),
				  .workflow = wire_text_of(""),
				  .session = wire_text_of(""),
				  .cwd = wire_bytes_of("", 0),
				  .term = wire_text_of("")};

	buf_init(out, 4096);
	msg_run_encode(&m, out);
}

static size_t
open_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- the way it should go */

static void
test_run(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct fake_entry *intent, *outcome;
	struct msg_run_done m;
	CLEANUP(json_decrefp) json_t *report = NULL;
	struct error err = {0};
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	fake_expect_nothing(f, &f->ledger);
	box_send_good_facts(f, ticket, "/src/app", 12);

	/* The profile's text is in the store before the intent relies on it. */
	assert_string_equal(ledger_take(f, ENTRY_EVENT)->read.event, "profile");
	intent = ledger_take(f, ENTRY_INTENT);
	assert_string_equal(entry_text(intent, "verdict"), "allow");
	assert_string_equal(intent->read.session, "s_1");
	fake_expect_nothing(f, &f->box);
	ledger_accept(f);
	fake_expect_nothing(f, &f->box);
	ledger_accept(f);

	box_expect_grant(f, ticket, 1);
	fake_expect_nothing(f, &c.channel);
	box_send_started(f, ticket);
	fake_expect(f, &c.channel, MSG_run_started);

	box_send_outcome(f, ticket, 7, 3);
	outcome = ledger_take(f, ENTRY_OUTCOME);
	assert_int_equal(outcome->read.intent, 1);
	assert_memory_equal(outcome->read.digest, intent->read.digest, 32);
	fake_expect_nothing(f, &c.channel);
	ledger_accept(f);

	m = client_done(f, &c);
	assert_int_equal(m.effect, EFFECT_ALLOW);
	text_is(m.reason, "allowed");
	text_is(m.session, "s_1");
	text_is(m.op, intent->read.op);
	assert_int_equal(m.exit_kind, EXIT_STATUS);
	assert_int_equal(m.exit_value, 7);
	assert_int_equal(m.changes, 3);
	assert_int_equal(m.traced, 1);
	assert_ok(json_read(m.report.data, m.report.len, &report, &err));
	assert_string_equal(json_string_value(json_object_get(report, "trace")), "verified");
	assert_string_equal(json_string_value(json_object_get(report, "verdict")), "allow");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(report, "exit"), "code")), 7);
	assert_true(json_is_null(json_object_get(json_object_get(report, "exit"), "signal")));
	assert_int_equal(json_integer_value(json_object_get(report, "changes")), 3);
	assert_non_null(json_object_get(json_object_get(report, "output"), "stderr"));

	/* The next run finds the profile recorded, and the connection usable. */
	run_whole(f, &c, &plain, "/src/app", 12, 0);
	assert_int_equal(f->entries[3].kind, ENTRY_INTENT);
	assert_string_equal(f->entries[3].read.session, "s_2");
	client_close(f, &c);
	assert_false(f->ended);
}

static void
test_no_descriptor_stays(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	size_t before, after;

	client_open(f, &c);
	run_whole(f, &c, &plain, "/src/app", 12, 0);
	before = open_fds();
	for (int i = 0; i < 5; i++)
		run_whole(f, &c, &plain, "/src/app", 12, 0);
	after = open_fds();
	assert_int_equal(before, after);
	client_close(f, &c);
}

static void
test_environment_goes_to_the_box_only(void **state)
{
	struct fake *f = *state;
	struct fake_run in = {.profile = "default", .flags = RUN_ENV};
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &in);
	ticket = box_expect_examine(f, 6);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	/* ledger_take has checked that one blob came along: the arguments. */
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	client_close(f, &c);
}

static void
test_terminal(void **state)
{
	struct fake *f = *state;
	struct fake_run in = {.profile = "default", .flags = RUN_TTY};
	struct msg_box_winsize w;
	struct fake_client c;
	struct error err = {0};
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &in);
	ticket = box_expect_examine(f, 5);
	assert_ok(CHANNEL_SEND(&c.channel, winsize, &err, .rows = 50, .columns = 132));
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	fake_expect(f, &f->box, MSG_box_winsize);
	assert_ok(msg_box_winsize_decode(f->packet.body, f->packet.len, &w, &err));
	assert_int_equal(w.rows, 50);
	assert_int_equal(w.columns, 132);
	assert_ok(CHANNEL_SEND(&c.channel, winsize, &err, .rows = 10, .columns = 20));
	box_expect_ticket(f, MSG_box_winsize, ticket);
	client_close(f, &c);
}

static void
test_signals(void **state)
{
	struct fake *f = *state;
	struct msg_box_signal s;
	struct fake_client c;
	struct error err = {0};
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	/* Before the start it waits. */
	assert_ok(CHANNEL_SEND(&c.channel, signal, &err, .signo = SIGINT));
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	fake_expect_nothing(f, &f->box);
	box_send_started(f, ticket);
	fake_expect(f, &f->box, MSG_box_signal);
	assert_ok(msg_box_signal_decode(f->packet.body, f->packet.len, &s, &err));
	assert_int_equal(s.signo, SIGINT);
	/* SIGKILL is not for the command: it ends the sandbox. */
	assert_ok(CHANNEL_SEND(&c.channel, signal, &err, .signo = SIGKILL));
	box_expect_ticket(f, MSG_box_stop, ticket);
	fake_expect_nothing(f, &f->box);
	/* No signal of this world. */
	assert_ok(CHANNEL_SEND(&c.channel, signal, &err, .signo = 65));
	fake_pump(f);
	assert_int_equal(f->a.doors.n_clients, 0);
	client_close(f, &c);
	assert_false(f->ended);
}

/* ---- what is refused before the box is asked */

static void
refused(struct fake *f, const struct fake_run *in, const char *reason)
{
	struct fake_client c;

	client_open(f, &c);
	client_run(f, &c, in);
	client_denied_recorded(f, &c, reason);
	fake_expect_nothing(f, &f->box);
	/* The connection goes on. */
	client_query(f, &c, Q_STATUS, "", 0);
	fake_expect(f, &c.channel, MSG_doc);
	client_close(f, &c);
	assert_int_equal(f->a.n_runs, 0);
	assert_int_equal(f->a.sessions.n_live, 0);
}

/* Modes of the configuration directory and of the folder above it, at each run. */
static void
test_config_path(void **state)
{
	static const struct {
		mode_t above, dir;
		bool good;
	} rows[] = {
		{0755, 0755, true},  {0755, 0757, false}, {0755, 0775, false}, {0755, 01777, false},
		{0777, 0755, false}, {01777, 0755, true}, {0700, 0700, true},
	};
	struct fake *f = *state;
	static struct config_path path;
	char above[80], dir[96], missing[112];
	struct error err = {0};

	(void)snprintf(above, sizeof(above), "%s/above", f->dir);
	(void)snprintf(dir, sizeof(dir), "%s/config", above);
	(void)snprintf(missing, sizeof(missing), "%s/none/at/all", above);
	assert_int_equal(mkdir(above, 0700), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_ok(config_path_open(&path, dir, &err));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(chmod(above, rows[i].above), 0);
		assert_int_equal(chmod(dir, rows[i].dir), 0);
		err = (struct error){0};
		assert_int_equal(config_path_check(&path, geteuid(), (gid_t)-1, &err),
				 rows[i].good ? 0 : -EPERM);
		assert_true(rows[i].good || strstr(err.text, "chmod go-w") != NULL);
	}
	/* It is looked at while we serve, and what stands against it is recorded. */
	f->a.settings.config_path = &path;
	assert_int_equal(chmod(dir, 0777), 0);
	refused(f, &plain, "invalid-request");
	assert_int_equal(chmod(dir, 0700), 0);
	refused(f, &(struct fake_run){.workflow = "ci"}, "not-authorized");
	f->a.settings.config_path = NULL;
	config_path_close(&path);
	/* What is missing is none; the folders above it count. */
	assert_ok(config_path_open(&path, missing, &err));
	assert_ok(config_path_check(&path, geteuid(), (gid_t)-1, &err));
	assert_int_equal(chmod(above, 0777), 0);
	assert_int_equal(config_path_check(&path, geteuid(), (gid_t)-1, &err), -EPERM);
	config_path_close(&path);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(above), 0);
}

/* What the client refuses itself is recorded, as its words. */
static void
test_client_refuses(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct fake_entry *e;
	struct msg_run_done m;
	struct error err = {0};
	char longest[385 + 1];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	client_open(f, &c);
	for (int i = 0; i < 2; i++) {
		assert_ok(CHANNEL_SEND(&c.channel, refuse, &err, .version = WIRE_VERSION,
				       .reason = R_INVALID_PATH,
				       .detail = wire_text_of(i == 0 ? "no such" : longest + 1)));
		e = ledger_take(f, ENTRY_EVENT);
		assert_string_equal(e->read.event, "denied");
		assert_string_equal(entry_text(e, "reason"), "invalid-path");
		ledger_accept(f);
		m = client_done(f, &c);
		assert_int_equal(m.effect, EFFECT_DENY);
		assert_int_equal(m.traced, 1);
		assert_true(m.detail.len > 17 &&
			    memcmp(m.detail.data, "the client says: ", 17) == 0);
	}
	fake_expect_nothing(f, &f->box);
	/* No other reason, and no more words, are a client's to give. */
	assert_ok(CHANNEL_SEND(&c.channel, refuse, &err, .version = WIRE_VERSION,
			       .reason = R_ALLOWED, .detail = wire_text_of("x")));
	fake_expect_closed(f, &c.channel);
	client_close(f, &c);
	client_open(f, &c);
	assert_ok(CHANNEL_SEND(&c.channel, refuse, &err, .version = WIRE_VERSION,
			       .reason = R_INVALID_ARGUMENT, .detail = wire_text_of(longest)));
	fake_expect_closed(f, &c.channel);
	client_close(f, &c);
	assert_int_equal(f->a.n_runs, 0);
}

static void
test_refused_requests(void **state)
{
	struct fake *f = *state;
	char longest[NAME_MAX_LEN + 2];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	refused(f, &(struct fake_run){.profile = "nowhere"}, "invalid-request");
	refused(f, &(struct fake_run){.profile = "../x"}, "invalid-request");
	refused(f, &(struct fake_run){.profile = "UPPER"}, "invalid-request");
	refused(f, &(struct fake_run){.profile = longest}, "invalid-request");
	refused(f, &(struct fake_run){.workflow = "ci"}, "not-authorized");
	refused(f, &(struct fake_run){.session = "Not A Name"}, "invalid-request");
	refused(f, &(struct fake_run){.session = "s_99"}, "session-ended");
	refused(f, &(struct fake_run){.timeout_ms = UINT64_MAX}, "limit-exceeded");
	refused(f, &(struct fake_run){.version = WIRE_VERSION + 1}, "invalid-request");
}

static void
test_next_step(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct msg_run_done m;

	client_open(f, &c);
	client_run(f, &c, &(struct fake_run){.profile = "nowhere"});
	ledger_record(f, ENTRY_EVENT);
	m = client_done(f, &c);
	text_is(m.next, "loom profile ls");
	text_is(m.detail, "there is no profile nowhere");
	client_close(f, &c);
}

static void
test_another_user(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = geteuid() + 1});
	struct fake_client c;
	struct fake_entry *e;

	(void)state;
	client_open(f, &c);
	client_run(f, &c, &plain);
	e = ledger_take(f, ENTRY_EVENT);
	assert_string_equal(entry_text(e, "reason"), "identity-mismatch");
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(e->read.json, "identity"), "uid")),
			 geteuid());
	ledger_accept(f);
	client_denied_traced(f, &c, "identity-mismatch", true);
	client_query(f, &c, Q_SESSIONS, "", 0);
	expect_event(f, "denied");
	client_doc_denied(f, &c, "identity-mismatch");
	client_act(f, &c, V_STOP, "s_1", "", 0);
	expect_event(f, "denied");
	client_doc_denied(f, &c, "identity-mismatch");
	fake_expect_nothing(f, &f->box);
	client_close(f, &c);
	fake_free(f);
}

/* ---- what the box has against it */

static void
test_box_refuses(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct msg_run_done m;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_facts(f, ticket, R_INVALID_PATH, "the workspace is / and that is none", NULL);
	box_expect_ticket(f, MSG_forget, ticket);
	ledger_record(f, ENTRY_EVENT);
	m = client_done(f, &c);
	text_is(m.reason, "invalid-path");
	text_is(m.detail, "the workspace is / and that is none");
	assert_int_equal(m.effect, EFFECT_DENY);
	client_close(f, &c);
}

static void
test_walls_refuse(void **state)
{
	struct fake *f = *state;
	const struct exec_result x = {.status = RESULT_REFUSED,
				      .reason = R_RUNTIME_UNAVAILABLE,
				      .step = "cgroup",
				      .detail = "no memory controller\n",
				      .exit_kind = EXIT_NONE};
	struct fake_client c;
	struct msg_run_done m;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	/* It never starts. */
	box_send_result(f, ticket, &x);
	ledger_record(f, ENTRY_OUTCOME);
	m = client_done(f, &c);
	assert_int_equal(m.effect, EFFECT_DENY);
	text_is(m.reason, "runtime-unavailable");
	/* Bytes of the box's that are no text for a terminal do not reach one. */
	text_is(m.detail, "no memory controller?");
	assert_int_equal(m.exit_kind, EXIT_NONE);
	assert_int_equal(m.traced, 1);
	client_close(f, &c);
}

/* ---- the ledger */

static void
test_ledger_refuses_intent(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_take(f, ENTRY_EVENT);
	ledger_take(f, ENTRY_INTENT);
	ledger_accept(f);
	ledger_refuse(f, -ENOSPC, "no space left on device");
	box_expect_ticket(f, MSG_forget, ticket);
	fake_expect_nothing(f, &f->box);
	/* It may have room for the denial. */
	client_denied_recorded(f, &c, "audit-unavailable");
	assert_int_equal(f->a.sessions.n_live, 0);
	/* And when it has not, the denial is told all the same. */
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_take(f, ENTRY_INTENT);
	ledger_refuse(f, -ENOSPC, "no space left on device");
	box_expect_ticket(f, MSG_forget, ticket);
	ledger_take(f, ENTRY_EVENT);
	ledger_refuse(f, -ENOSPC, "no space left on device");
	client_denied(f, &c, "audit-unavailable");
	client_close(f, &c);
}

static void
test_profile_not_recorded(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct fake_entry *e, *intent;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_take(f, ENTRY_EVENT);
	intent = ledger_take(f, ENTRY_INTENT);
	ledger_refuse(f, -EIO, "the disk fails");
	fake_expect_nothing(f, &c.channel);
	/* The intent got through, so it is closed, and not granted. */
	ledger_accept(f);
	e = ledger_record(f, ENTRY_EVENT);
	assert_string_equal(e->read.event, "indeterminate");
	assert_int_equal(e->read.intent, intent->index);
	box_expect_ticket(f, MSG_forget, ticket);
	client_denied(f, &c, "audit-unavailable");
	client_close(f, &c);
}

static void
test_ledger_never_answers(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct fake_entry *e;
	uint64_t ticket;

	f->a.history.wait_ms = 30;
	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_take(f, ENTRY_EVENT);
	ledger_take(f, ENTRY_INTENT);
	fake_expect_nothing(f, &c.channel);
	fake_wait(f, 60);
	client_denied(f, &c, "audit-unavailable");
	box_expect_ticket(f, MSG_forget, ticket);
	assert_int_equal(f->a.sessions.n_live, 0);
	/* What is recorded in the end is never granted. */
	ledger_accept(f);
	ledger_accept(f);
	e = ledger_record(f, ENTRY_EVENT);
	assert_string_equal(e->read.event, "indeterminate");
	assert_int_equal(e->read.intent, 1);
	fake_expect_nothing(f, &f->box);
	assert_int_equal(f->a.n_runs, 0);
	client_close(f, &c);
}

static void
test_denial_never_recorded(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	f->a.history.wait_ms = 30;
	client_open(f, &c);
	client_run(f, &c, &(struct fake_run){.profile = "nowhere"});
	ledger_take(f, ENTRY_EVENT);
	fake_wait(f, 60);
	client_denied(f, &c, "invalid-request");
	assert_int_equal(f->a.n_runs, 0);
	/* The answer that comes too late is nobody's. */
	ledger_accept(f);
	assert_false(f->ended);
	client_close(f, &c);
}

static void
test_outcome_not_recorded(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct msg_run_done m;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	box_send_outcome(f, ticket, 0, 0);
	ledger_take(f, ENTRY_OUTCOME);
	ledger_refuse(f, -EIO, "the disk fails");
	m = client_done(f, &c);
	text_is(m.reason, "audit-unavailable");
	assert_int_equal(m.exit_kind, EXIT_FAILED);
	assert_int_equal(m.traced, 0);
	client_close(f, &c);

	/* The same when it never answers. */
	f->a.history.wait_ms = 30;
	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	box_send_outcome(f, ticket, 0, 0);
	ledger_take(f, ENTRY_OUTCOME);
	fake_wait(f, 60);
	m = client_done(f, &c);
	text_is(m.reason, "audit-unavailable");
	assert_int_equal(m.traced, 0);
	client_close(f, &c);
}

/* ---- the client leaves */

static void
test_client_gone_examine(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	client_close(f, &c);
	fake_expect_nothing(f, &f->box);
	box_send_good_facts(f, ticket, "/src/app", 12);
	box_expect_ticket(f, MSG_forget, ticket);
	expect_event(f, "denied");
	assert_int_equal(f->a.n_runs, 0);
	assert_int_equal(f->a.sessions.n_live, 0);
}

static void
test_client_gone_record(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct fake_entry *e;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_take(f, ENTRY_EVENT);
	ledger_take(f, ENTRY_INTENT);
	client_close(f, &c);
	ledger_accept(f);
	ledger_accept(f);
	/* No grant: the intent is closed and the box lets go. */
	e = ledger_record(f, ENTRY_EVENT);
	assert_string_equal(e->read.event, "indeterminate");
	box_expect_ticket(f, MSG_forget, ticket);
	fake_expect_nothing(f, &f->box);
	assert_int_equal(f->a.n_runs, 0);
	assert_int_equal(f->a.sessions.n_live, 0);
}

static void
test_client_gone_granted(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &plain);
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	client_close(f, &c);
	box_expect_ticket(f, MSG_box_stop, ticket);
	/* It may have started meanwhile; once is enough. */
	box_send_started(f, ticket);
	fake_expect_nothing(f, &f->box);
	box_send_outcome(f, ticket, 0, 2);
	ledger_record(f, ENTRY_OUTCOME);
	assert_int_equal(f->a.n_runs, 0);
	assert_int_equal(f->a.sessions.n_kept, 1);
}

static void
test_client_gone_started(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	client_close(f, &c);
	box_expect_ticket(f, MSG_box_stop, ticket);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	assert_int_equal(f->a.n_runs, 0);
}

static void
test_client_gone_close(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	box_send_outcome(f, ticket, 0, 0);
	ledger_take(f, ENTRY_OUTCOME);
	client_close(f, &c);
	ledger_accept(f);
	fake_expect_nothing(f, &f->box);
	assert_int_equal(f->a.n_runs, 0);
	assert_false(f->ended);
}

static void
test_client_gone_denied(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	client_open(f, &c);
	client_run(f, &c, &(struct fake_run){.profile = "nowhere"});
	ledger_take(f, ENTRY_EVENT);
	client_close(f, &c);
	ledger_accept(f);
	assert_int_equal(f->a.n_runs, 0);
	assert_false(f->ended);
}

/* It says that it leaves, and waits to hear how it ended. */
static void
test_client_leaves_and_listens(void **state)
{
	struct fake *f = *state;
	const struct exec_result x = {
		.status = RESULT_DONE, .reason = R_ALLOWED, .exit_kind = EXIT_STOPPED};
	struct fake_client c;
	struct msg_run_done m;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	assert_int_equal(shutdown(c.channel.fd, SHUT_WR), 0);
	box_expect_ticket(f, MSG_box_stop, ticket);
	fake_expect_nothing(f, &f->box);
	box_send_result(f, ticket, &x);
	ledger_record(f, ENTRY_OUTCOME);
	m = client_done(f, &c);
	assert_int_equal(m.exit_kind, EXIT_STOPPED);
	assert_int_equal(m.traced, 1);
	client_close(f, &c);
	assert_int_equal(f->a.doors.n_clients, 0);
}

/* ---- a client that breaks the protocol is ended, and nobody else */

static void
ended_alone(struct fake *f, struct fake_client *bad)
{
	struct fake_client good;

	fake_expect_closed(f, &bad->channel);
	client_close(f, bad);
	assert_false(f->ended);
	assert_int_equal(f->a.n_runs, 0);
	assert_int_equal(f->a.doors.n_clients, 0);
	fake_expect_nothing(f, &f->box);
	client_open(f, &good);
	client_query(f, &good, Q_STATUS, "", 0);
	fake_expect(f, &good.channel, MSG_doc);
	client_close(f, &good);
}

static void
test_hostile_clients(void **state)
{
	struct fake *f = *state;
	CLEANUP(buf_fini) struct buf body = {0};
	struct fake_client c;

	/* One descriptor too few, one too many, one that the flags do not announce. */
	for (size_t n = 4; n <= 9; n++) {
		if (n == 5)
			continue;
		client_open(f, &c);
		raw_run(&body, 0);
		raw_send(&c, MSG_run, body.data, body.len, n);
		ended_alone(f, &c);
		buf_fini(&body);
	}
	/* One that the flags announce and that is not there. */
	client_open(f, &c);
	raw_run(&body, RUN_ENV);
	raw_send(&c, MSG_run, body.data, body.len, 5);
	ended_alone(f, &c);
	buf_fini(&body);
	/* A flag that does not exist. */
	client_open(f, &c);
	raw_run(&body, 1u << 7);
	raw_send(&c, MSG_run, body.data, body.len, 5);
	ended_alone(f, &c);
	/* A byte after the last field. */
	client_open(f, &c);
	buf_char(&body, 'x');
	raw_send(&c, MSG_run, body.data, body.len, 5);
	ended_alone(f, &c);
	/* Not even half a message. */
	client_open(f, &c);
	raw_send(&c, MSG_run, body.data, 10, 5);
	ended_alone(f, &c);
	/* Somebody else's message, one for another state, one that is none. */
	client_open(f, &c);
	raw_send(&c, MSG_outcome, "", 0, 0);
	ended_alone(f, &c);
	client_open(f, &c);
	raw_send(&c, MSG_signal, "\0\0\0\2", 4, 0);
	ended_alone(f, &c);
	client_open(f, &c);
	raw_send(&c, 0xffff, "", 0, 0);
	ended_alone(f, &c);
	/* Descriptors where none are due. */
	client_open(f, &c);
	raw_send(&c, MSG_daemon_act, "\0\0\0\1\0\0\0\1", 8, 1);
	ended_alone(f, &c);
}

static void
test_one_run_at_a_time(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	client_run(f, &c, &plain);
	fake_expect_closed(f, &c.channel);
	/* Ended, and what it ran as well. */
	box_expect_ticket(f, MSG_box_stop, ticket);
	fake_expect_nothing(f, &f->box);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	assert_int_equal(f->a.n_runs, 0);
	client_close(f, &c);
}

/* ---- explaining */

static void
test_explain(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct msg_run_done m;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, &(struct fake_run){.profile = "default", .flags = RUN_EXPLAIN});
	ticket = box_expect_examine(f, 5);
	box_send_good_facts(f, ticket, "/src/app", 12);
	box_expect_ticket(f, MSG_forget, ticket);
	m = client_done(f, &c);
	assert_int_equal(m.effect, EFFECT_ALLOW);
	assert_int_equal(m.exit_kind, EXIT_NONE);
	assert_int_equal(m.traced, 0);
	fake_expect_nothing(f, &f->ledger);
	assert_int_equal(f->a.sessions.last_number, 0);
	client_close(f, &c);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_run),
		T(test_no_descriptor_stays),
		T(test_environment_goes_to_the_box_only),
		T(test_terminal),
		T(test_signals),
		T(test_config_path),
		T(test_client_refuses),
		T(test_refused_requests),
		T(test_next_step),
		cmocka_unit_test(test_another_user),
		T(test_box_refuses),
		T(test_walls_refuse),
		T(test_ledger_refuses_intent),
		T(test_profile_not_recorded),
		T(test_ledger_never_answers),
		T(test_denial_never_recorded),
		T(test_outcome_not_recorded),
		T(test_client_gone_examine),
		T(test_client_gone_record),
		T(test_client_gone_granted),
		T(test_client_gone_started),
		T(test_client_gone_close),
		T(test_client_gone_denied),
		T(test_client_leaves_and_listens),
		T(test_hostile_clients),
		T(test_one_run_at_a_time),
		T(test_explain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
