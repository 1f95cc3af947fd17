/*
 * Sessions: names and numbers, continuing, overlapping workspaces, limits; and what is done to
 * them: stop, rm, accept.
 */
#include "test_authority_fake.h"

static const char direct_yaml[] = "apiVersion: loom/v1\n"
				  "kind: Profile\n"
				  "metadata: {name: direct, description: writes through}\n"
				  "spec:\n"
				  "  runtime: namespaces\n"
				  "  capabilities: [exec, workspace.read, workspace.write]\n"
				  "  filesystem:\n"
				  "    root: host\n"
				  "    workspace: {at: /workspace, mode: direct}\n";

static const struct fake_run named = {.profile = "default", .session = "work"};

static void
run_denied(struct fake *f, const struct fake_run *in, const char *path, uint64_t ino,
	   const char *reason)
{
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	client_run(f, &c, in);
	if (channel_has(&f->box)) {
		ticket = box_expect_examine(f, 5);
		box_send_good_facts(f, ticket, path, ino);
		box_expect_ticket(f, MSG_forget, ticket);
	}
	client_denied_recorded(f, &c, reason);
	client_close(f, &c);
}

/* ---- continuing */

static void
test_continue(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	json_t *op, *ws;

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	/* profile, session, intent, outcome */
	assert_string_equal(f->entries[1].read.event, "session");
	assert_string_equal(entry_text(&f->entries[1], "name"), "work");
	assert_int_equal(f->a.sessions.n_kept, 1);

	/* By name and by number, on the same workspace: the same session, not a fresh overlay. */
	run_whole(f, &c, &named, "/src/app", 12, 3);
	assert_string_equal(f->entries[4].read.session, "s_1");
	op = json_object_get(f->entries[4].read.json, "operation");
	ws = json_object_get(json_object_get(op, "resource"), "workspace");
	assert_true(json_is_false(json_object_get(ws, "new")));
	run_whole(f, &c, &(struct fake_run){.session = "s_1"}, "/src/app", 12, 3);
	assert_int_equal(f->a.sessions.last_number, 1);
	client_close(f, &c);

	/* Another workspace, another profile. */
	run_denied(f, &named, "/src/other", 13, "conflicting-constraints");
	run_denied(f, &(struct fake_run){.profile = "build", .session = "work"}, "/src/app", 12,
		   "profile-mismatch");
	/* What it keeps is untouched by that. */
	assert_int_equal(f->a.sessions.n_kept, 1);
	assert_int_equal(f->a.sessions.first->changes, 3);

	/* Nothing kept any more: the name is free, the number is over. */
	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 0);
	assert_int_equal(f->a.sessions.n_kept, 0);
	client_close(f, &c);
	run_denied(f, &(struct fake_run){.session = "s_1"}, "/src/app", 12, "session-ended");
	client_open(f, &c);
	run_whole(f, &c, &named, "/src/other", 13, 1);
	assert_string_equal(f->a.sessions.last->id, "s_2");
	assert_string_equal(f->a.sessions.last->name, "work");
	client_close(f, &c);
}

static void
test_continue_while_live(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &named, "/src/app", 12);
	run_denied(f, &named, "/src/app", 12, "busy");
	run_denied(f, &(struct fake_run){.session = "s_1"}, "/src/app", 12, "busy");
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	client_close(f, &c);
}

static void
test_another_identity(void **state)
{
	struct fake *f = *state;
	const struct session_kept k = {
		.number = 7, .uid = geteuid() + 1, .path = "/home/x", .changes = 1};
	struct fake_client c;
	struct error err = {0};
	int status = 0;
	json_t *doc;

	assert_ok(sessions_add_kept(&f->a.sessions, &k, &err));
	sessions_set_name(&f->a.sessions, 7, geteuid() + 1, "theirs");
	run_denied(f, &(struct fake_run){.session = "s_7"}, "/home/x", 1, "identity-mismatch");
	client_open(f, &c);
	client_query(f, &c, Q_SESSION, "s_7", 0);
	client_doc_denied(f, &c, "identity-mismatch");
	client_query(f, &c, Q_DIFF, "s_7", 0);
	client_doc_denied(f, &c, "identity-mismatch");
	client_act(f, &c, V_RM, "s_7", "", 0);
	client_doc_denied(f, &c, "identity-mismatch");
	client_act(f, &c, V_ACCEPT, "s_7", "", 0);
	client_doc_denied(f, &c, "identity-mismatch");
	client_act(f, &c, V_STOP, "s_7", "", 0);
	client_doc_denied(f, &c, "identity-mismatch");
	/* It is not listed, and its name is nothing to others. */
	client_query(f, &c, Q_SESSIONS, "", 0);
	doc = client_doc(f, &c, &status);
	assert_int_equal(json_array_size(json_object_get(doc, "sessions")), 0);
	json_decref(doc);
	run_whole(f, &c, &(struct fake_run){.session = "theirs"}, "/src/app", 12, 0);
	fake_expect_nothing(f, &f->box);
	client_close(f, &c);
	assert_int_equal(f->a.sessions.n_kept, 1);
}

/* ---- overlapping workspaces */

static void
test_overlap(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .config = true});
	const struct fake_run direct = {.profile = "direct"}, overlay = {.profile = "default"};
	struct fake_client c;
	uint64_t ticket;

	(void)state;
	fake_write_file(f, "direct.yaml", direct_yaml, 0644);
	client_open(f, &c);
	ticket = run_to_started(f, &c, &direct, "/src/app", 12);
	/* The same object by another path, the same path, above, beneath; whoever of them writes.
	 */
	run_denied(f, &direct, "/mnt/alias", 12, "busy");
	run_denied(f, &direct, "/src/app", 99, "busy");
	run_denied(f, &direct, "/src", 5, "busy");
	run_denied(f, &direct, "/src/app/sub", 13, "busy");
	run_denied(f, &overlay, "/src/app", 12, "busy");
	run_denied(f, &overlay, "/src/app/sub", 13, "busy");
	client_close(f, &c);
	box_expect_ticket(f, MSG_box_stop, ticket);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);

	/* A name that only begins alike is no overlap, and two overlays may share. */
	client_open(f, &c);
	ticket = run_to_started(f, &c, &direct, "/src/app", 12);
	{
		struct fake_client other;

		client_open(f, &other);
		run_whole(f, &other, &direct, "/src/app-two", 14, 0);
		client_close(f, &other);
	}
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	ticket = run_to_started(f, &c, &overlay, "/src/app", 12);
	{
		struct fake_client other;

		client_open(f, &other);
		run_whole(f, &other, &overlay, "/src/app", 12, 0);
		client_close(f, &other);
	}
	run_denied(f, &direct, "/src/app", 12, "busy");
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	client_close(f, &c);
	fake_free(f);
}

/* Two that ask at the same time: the second is judged when the first is not even recorded. */
static void
test_overlap_before_record(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .config = true});
	const struct fake_run direct = {.profile = "direct"};
	struct fake_client a, b;
	uint64_t first, second;

	(void)state;
	fake_write_file(f, "direct.yaml", direct_yaml, 0644);
	client_open(f, &a);
	client_open(f, &b);
	client_run(f, &a, &direct);
	client_run(f, &b, &direct);
	first = box_expect_examine(f, 5);
	second = box_expect_examine(f, 5);
	box_send_good_facts(f, first, "/src/app", 12);
	box_send_good_facts(f, second, "/src/app", 12);
	box_expect_ticket(f, MSG_forget, second);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	assert_string_equal(ledger_record(f, ENTRY_EVENT)->read.event, "denied");
	client_denied_traced(f, &b, "busy", true);
	box_expect_grant(f, first, 1);
	client_close(f, &b);
	client_close(f, &a);
	fake_free(f);
}

static void
test_too_many_sessions(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	f->a.sessions.live_max = 1;
	client_open(f, &c);
	ticket = run_to_started(f, &c, &(struct fake_run){0}, "/src/app", 12);
	run_denied(f, &(struct fake_run){0}, "/src/two", 13, "busy");
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	run_whole(f, &c, &(struct fake_run){0}, "/src/two", 13, 0);
	client_close(f, &c);
}

static void
test_too_many_clients(void **state)
{
	struct fake *f = *state;
	static struct fake_client c[DOORS_CLIENTS_MAX + 1];

	for (size_t i = 0; i < DOORS_CLIENTS_MAX; i++)
		client_open(f, &c[i]);
	fake_pump(f);
	/* As if each of them waited for an answer. */
	for (struct client *one = f->a.doors.clients; one != NULL; one = one->next)
		one->peer.channel.state = S_RUNNING;
	client_open(f, &c[DOORS_CLIENTS_MAX]);
	client_run(f, &c[DOORS_CLIENTS_MAX], &(struct fake_run){0});
	client_denied_recorded(f, &c[DOORS_CLIENTS_MAX], "busy");
	client_query(f, &c[DOORS_CLIENTS_MAX], Q_STATUS, "", 0);
	client_doc_denied(f, &c[DOORS_CLIENTS_MAX], "busy");
	for (struct client *one = f->a.doors.clients; one != NULL; one = one->next)
		one->peer.channel.state = S_IDLE;
	client_query(f, &c[0], Q_STATUS, "", 0);
	fake_expect(f, &c[0].channel, MSG_doc);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		client_close(f, &c[i]);
	assert_int_equal(f->a.doors.n_clients, 0);
}

/* Connections that say nothing take nobody's place: the one that is silent longest goes. */
static void
test_silent_make_room(void **state)
{
	struct fake *f = *state;
	static struct fake_client c[DOORS_CLIENTS_MAX + 2];
	uint64_t ticket;

	/* The oldest of all is running something, and stays. */
	client_open(f, &c[0]);
	ticket = run_to_started(f, &c[0], &(struct fake_run){0}, "/src/app", 12);
	for (size_t i = 1; i < ARRAY_LEN(c); i++) {
		client_open(f, &c[i]);
		fake_pump(f);
	}
	assert_int_equal(f->a.doors.n_clients, DOORS_CLIENTS_MAX);
	fake_expect_closed(f, &c[1].channel);
	fake_expect_closed(f, &c[2].channel);
	channel_unblock(&c[3].channel);
	fake_expect_nothing(f, &c[3].channel);
	client_query(f, &c[DOORS_CLIENTS_MAX + 1], Q_STATUS, "", 0);
	fake_expect(f, &c[DOORS_CLIENTS_MAX + 1].channel, MSG_doc);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c[0]);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		client_close(f, &c[i]);
	assert_int_equal(f->a.doors.n_clients, 0);
}

/* Move the moment at which it counts as silent, which must be set, to now. */
static void
silence_now(struct fake *f)
{
	struct client *one = f->a.doors.clients;
	uint64_t now = clock_boot_ms();

	assert_ptr_equal(one->silence.list, &f->a.deadlines);
	assert_true(one->silence.at_ms > now);
	assert_true(one->silence.at_ms <= now + DOORS_SILENT_MS);
	deadline_set(&f->a.deadlines, &one->silence, 0, one->silence.fn, one->silence.arg);
	fake_wait(f, 20);
}

static void
test_silent_is_closed(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	fake_pump(f);
	silence_now(f);
	fake_expect_closed(f, &c.channel);
	assert_int_equal(f->a.doors.n_clients, 0);
	client_close(f, &c);

	/* Whoever waits for something is not silent; once it was answered, it is. */
	client_open(f, &c);
	ticket = run_to_started(f, &c, &(struct fake_run){0}, "/src/app", 12);
	assert_null(f->a.doors.clients->silence.list);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	silence_now(f);
	fake_expect_closed(f, &c.channel);
	client_close(f, &c);
}

/* ---- stop */

static void
test_stop(void **state)
{
	struct fake *f = *state;
	const struct exec_result stopped = {.status = RESULT_DONE,
					    .reason = R_ALLOWED,
					    .exit_kind = EXIT_STOPPED,
					    .changes = 1,
					    .kept = true};
	struct fake_client c, other;
	struct msg_run_done m;
	int status = 0;
	uint64_t ticket;
	json_t *doc;

	client_open(f, &c);
	client_open(f, &other);
	ticket = run_to_started(f, &c, &named, "/src/app", 12);
	client_act(f, &other, V_STOP, "work", "", 0);
	/* At once, whether the ledger has taken it or not. */
	box_expect_ticket(f, MSG_box_stop, ticket);
	assert_string_equal(ledger_take(f, ENTRY_EVENT)->read.event, "stopped");
	ledger_refuse(f, -ENOSPC, "no space");
	fake_expect_nothing(f, &other.channel);
	box_send_result(f, ticket, &stopped);
	ledger_record(f, ENTRY_OUTCOME);
	m = client_done(f, &c);
	assert_int_equal(m.exit_kind, EXIT_STOPPED);
	doc = client_doc(f, &other, &status);
	assert_int_equal(status, 0);
	assert_true(json_is_true(json_object_get(doc, "stopped")));
	assert_string_equal(json_string_value(json_object_get(doc, "state")), "kept");
	json_decref(doc);
	/* Once more: it does not run, and that is no error. */
	client_act(f, &other, V_STOP, "s_1", "", 0);
	doc = client_doc(f, &other, &status);
	assert_true(json_is_false(json_object_get(doc, "stopped")));
	json_decref(doc);
	client_act(f, &other, V_STOP, "s_9", "", 0);
	client_doc_denied(f, &other, "session-ended");
	client_close(f, &c);
	client_close(f, &other);
}

static void
test_stop_asker_leaves(void **state)
{
	struct fake *f = *state;
	struct fake_client c, other;
	uint64_t ticket;

	client_open(f, &c);
	client_open(f, &other);
	ticket = run_to_started(f, &c, &named, "/src/app", 12);
	client_act(f, &other, V_STOP, "work", "", 0);
	box_expect_ticket(f, MSG_box_stop, ticket);
	ledger_record(f, ENTRY_EVENT);
	client_close(f, &other);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	client_close(f, &c);
	assert_int_equal(f->a.n_acts, 0);
}

/* ---- rm */

static void
test_rm(void **state)
{
	struct fake *f = *state;
	struct msg_box_rm rm;
	struct fake_client c;
	struct error err = {0};
	int status = 0;
	json_t *doc;

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	/* Not recorded: not discarded. */
	client_act(f, &c, V_RM, "work", "", 0);
	assert_string_equal(ledger_take(f, ENTRY_EVENT)->read.event, "discarded");
	fake_expect_nothing(f, &f->box);
	ledger_refuse(f, -ENOSPC, "no space");
	client_doc_denied(f, &c, "audit-unavailable");
	fake_expect_nothing(f, &f->box);
	assert_int_equal(f->a.sessions.n_kept, 1);

	client_act(f, &c, V_RM, "work", "", 0);
	expect_event(f, "discarded");
	fake_expect(f, &f->box, MSG_box_rm);
	assert_ok(msg_box_rm_decode(f->packet.body, f->packet.len, &rm, &err));
	text_is(rm.session, "s_1");
	{
		struct fake_client other;

		/* Nobody goes on with what is being thrown away. */
		client_open(f, &other);
		client_run(f, &other, &named);
		client_denied_recorded(f, &other, "busy");
		client_act(f, &other, V_RM, "s_1", "", 0);
		client_doc_denied(f, &other, "busy");
		client_close(f, &other);
	}
	box_send_doc(f, rm.ticket, 0, true, "{}");
	doc = client_doc(f, &c, &status);
	assert_int_equal(json_integer_value(json_object_get(doc, "discarded")), 2);
	json_decref(doc);
	assert_int_equal(f->a.sessions.n_kept, 0);
	client_act(f, &c, V_RM, "s_1", "", 0);
	client_doc_denied(f, &c, "session-ended");
	client_close(f, &c);
}

static void
test_rm_fails(void **state)
{
	struct fake *f = *state;
	struct msg_box_rm rm;
	struct fake_client c;
	struct error err = {0};

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	client_act(f, &c, V_RM, "work", "", 0);
	expect_event(f, "discarded");
	fake_expect(f, &f->box, MSG_box_rm);
	assert_ok(msg_box_rm_decode(f->packet.body, f->packet.len, &rm, &err));
	box_send_doc(f, rm.ticket, -EBUSY, true,
		     "{\"detail\":\"an accept is under way\",\"reason\":\"busy\"}");
	client_doc_denied(f, &c, "busy");
	assert_int_equal(f->a.sessions.n_kept, 1);
	/* It can be tried again. */
	assert_false(f->a.sessions.first->busy);
	client_close(f, &c);
}

static void
test_rm_of_a_live_one(void **state)
{
	struct fake *f = *state;
	struct fake_client c, other;
	uint64_t ticket;
	int status = 0;

	client_open(f, &c);
	client_open(f, &other);
	ticket = run_to_started(f, &c, &named, "/src/app", 12);
	client_act(f, &other, V_RM, "work", "", 0);
	box_expect_ticket(f, MSG_box_stop, ticket);
	expect_event(f, "stopped");
	box_send_outcome(f, ticket, 0, 4);
	/* Its run is over, so it is discarded; the outcome is recorded as well. */
	ledger_record(f, ledger_take_any(f)->kind == ENTRY_OUTCOME ? ENTRY_EVENT : ENTRY_OUTCOME);
	ledger_accept(f);
	fake_expect(f, &f->box, MSG_box_rm);
	{
		struct msg_box_rm rm;
		struct error err = {0};

		assert_ok(msg_box_rm_decode(f->packet.body, f->packet.len, &rm, &err));
		box_send_doc(f, rm.ticket, 0, true, "{}");
	}
	json_decref(client_doc(f, &other, &status));
	assert_int_equal(status, 0);
	(void)client_done(f, &c);
	client_close(f, &c);
	client_close(f, &other);
	assert_int_equal(f->a.sessions.n_kept, 0);
}

/* ---- accept */

static void
send_entry(struct fake *f, size_t at)
{
	struct msg_ledger_read m;
	struct error err = {0};

	fake_expect(f, &f->ledger, MSG_ledger_read);
	assert_ok(msg_ledger_read_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.index, f->entries[at].index);
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = m.tag, .index = m.index,
			       .last = 1,
			       .entry = wire_bytes_of(f->entries[at].bytes, f->entries[at].len)));
	fake_pump(f);
}

/* From the request to the manifest; returns the ticket. */
static uint64_t
accept_to_manifest(struct fake *f, struct fake_client *c, const char *paths, size_t len)
{
	struct msg_box_diff m;
	struct error err = {0};

	client_act(f, c, V_ACCEPT, "work", paths, len);
	/* The workspace is read back from what was recorded: the session's name, then its intent.
	 */
	send_entry(f, 1);
	send_entry(f, 2);
	fake_expect(f, &f->box, MSG_box_diff);
	assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.form, DIFF_MANIFEST);
	assert_int_equal(m.paths.len, len);
	return m.ticket;
}

static void
box_send_accepted(struct fake *f, uint64_t ticket, enum result_status status, enum reason reason)
{
	const struct accept_result x = {
		.status = status, .reason = reason, .files = 2, .bytes = 10, .detail = "why"};
	CLEANUP(buf_fini) struct buf text;
	static const uint8_t mac[32];
	struct error err = {0};

	buf_init(&text, ENTRY_MAX);
	assert_ok(accept_result_write(&x, &text, &err));
	assert_ok(CHANNEL_SEND(&f->box, outcome, &err, .ticket = ticket,
			       .result = wire_bytes_of(text.data, text.len),
			       .mac = wire_bytes_of(mac, sizeof(mac))));
	fake_pump(f);
}

static void
test_accept(void **state)
{
	struct fake *f = *state;
	static const char manifest[] = "[{\"kind\":\"added\"}]";
	uint8_t digest[32];
	char hex[65];
	struct fake_client c;
	struct fake_entry *e;
	struct msg_grant grant;
	struct msg_box_kept kept;
	struct error err = {0};
	uint64_t ticket;
	int status = 0;
	json_t *doc, *op;

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	ticket = accept_to_manifest(f, &c, "d/f", 4);
	/* In parts. */
	box_send_doc(f, ticket, 0, false, "[{\"kind\":");
	box_send_doc(f, ticket, 0, true, "\"added\"}]");
	e = ledger_take(f, ENTRY_INTENT);
	op = json_object_get(e->read.json, "operation");
	sha256_of(manifest, strlen(manifest), digest);
	hex_encode(digest, 32, hex);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(op, "resource"), "manifest")),
		hex);
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(json_object_get(op, "resource"), "paths"), 0)),
			    "d/f");
	fake_expect_nothing(f, &f->box);
	ledger_accept(f);
	fake_expect(f, &f->box, MSG_grant);
	assert_ok(msg_grant_decode(f->packet.body, f->packet.len, &grant, &err));
	ticket = grant.ticket;
	{
		struct fake_client other;

		client_open(f, &other);
		client_run(f, &other, &named);
		client_denied_recorded(f, &other, "busy");
		client_close(f, &other);
	}
	box_send_accepted(f, ticket, RESULT_DONE, R_ALLOWED);
	ledger_record(f, ENTRY_OUTCOME);
	/* What is left of it, the box knows. */
	fake_expect(f, &f->box, MSG_box_kept);
	assert_ok(msg_box_kept_decode(f->packet.body, f->packet.len, &kept, &err));
	box_send_doc(f, kept.ticket, 0, true, "[{\"changes\":1,\"session\":\"s_1\"}]");
	doc = client_doc(f, &c, &status);
	assert_int_equal(status, 0);
	assert_int_equal(json_integer_value(json_object_get(doc, "files")), 2);
	assert_int_equal(json_integer_value(json_object_get(doc, "remaining")), 1);
	assert_string_equal(json_string_value(json_object_get(doc, "trace")), "verified");
	json_decref(doc);
	assert_int_equal(f->a.sessions.n_kept, 1);
	assert_int_equal(f->a.sessions.first->changes, 1);
	assert_false(f->a.sessions.first->busy);
	client_close(f, &c);
}

static void
test_accept_all(void **state)
{
	struct fake *f = *state;
	struct msg_grant grant;
	struct msg_box_kept kept;
	struct fake_client c;
	struct error err = {0};
	int status = 0;

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	box_send_doc(f, accept_to_manifest(f, &c, "", 0), 0, true, "[]");
	ledger_record(f, ENTRY_INTENT);
	fake_expect(f, &f->box, MSG_grant);
	assert_ok(msg_grant_decode(f->packet.body, f->packet.len, &grant, &err));
	box_send_accepted(f, grant.ticket, RESULT_DONE, R_ALLOWED);
	ledger_record(f, ENTRY_OUTCOME);
	fake_expect(f, &f->box, MSG_box_kept);
	assert_ok(msg_box_kept_decode(f->packet.body, f->packet.len, &kept, &err));
	box_send_doc(f, kept.ticket, 0, true, "[]");
	json_decref(client_doc(f, &c, &status));
	assert_int_equal(status, 0);
	assert_int_equal(f->a.sessions.n_kept, 0);
	client_act(f, &c, V_ACCEPT, "s_1", "", 0);
	client_doc_denied(f, &c, "session-ended");
	client_close(f, &c);
}

static void
test_accept_refused(void **state)
{
	struct fake *f = *state;
	struct msg_grant grant;
	struct fake_client c;
	struct error err = {0};

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	/* A path that is none. */
	client_act(f, &c, V_ACCEPT, "work", "../x", 5);
	client_doc_denied(f, &c, "invalid-path");
	client_act(f, &c, V_ACCEPT, "work", "/etc", 5);
	client_doc_denied(f, &c, "invalid-path");
	client_act(f, &c, V_ACCEPT, "work", "no end", 6);
	client_doc_denied(f, &c, "invalid-path");
	/* The box cannot tell the changes. */
	box_send_doc(f, accept_to_manifest(f, &c, "", 0), -ESTALE, true,
		     "{\"detail\":\"the workspace moved\",\"reason\":\"invalid-path\"}");
	client_doc_denied(f, &c, "invalid-path");
	assert_false(f->a.sessions.first->busy);
	/* The ledger does not take it. */
	box_send_doc(f, accept_to_manifest(f, &c, "", 0), 0, true, "[]");
	ledger_take(f, ENTRY_INTENT);
	ledger_refuse(f, -ENOSPC, "no space");
	client_doc_denied(f, &c, "audit-unavailable");
	fake_expect_nothing(f, &f->box);
	/* The box finds another manifest than was recorded. */
	box_send_doc(f, accept_to_manifest(f, &c, "", 0), 0, true, "[]");
	ledger_record(f, ENTRY_INTENT);
	fake_expect(f, &f->box, MSG_grant);
	assert_ok(msg_grant_decode(f->packet.body, f->packet.len, &grant, &err));
	box_send_accepted(f, grant.ticket, RESULT_REFUSED, R_CONFLICTING_CONSTRAINTS);
	ledger_record(f, ENTRY_OUTCOME);
	client_doc_denied(f, &c, "conflicting-constraints");
	assert_int_equal(f->a.sessions.n_kept, 1);
	assert_false(f->a.sessions.first->busy);
	client_close(f, &c);
}

/* The file of the profile has changed since: what counts is the text that was recorded. */
static void
test_accept_profile_changed(void **state)
{
	static const char yaml[] = "apiVersion: loom/v1\nkind: Profile\n"
				   "metadata: {name: mine, description: mine}\nspec:\n"
				   "  runtime: namespaces\n"
				   "  capabilities: [exec, workspace.read, workspace.write, "
				   "workspace.accept]\n";
	static const char without[] = "apiVersion: loom/v1\nkind: Profile\n"
				      "metadata: {name: mine, description: mine}\nspec:\n"
				      "  runtime: namespaces\n"
				      "  capabilities: [exec, workspace.read]\n";
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .config = true});
	CLEANUP(buf_fini) struct buf text;
	struct msg_ledger_blob blob;
	struct msg_box_diff diff;
	struct slot *slot = NULL;
	struct fake_client c;
	struct error err = {0};
	int fd;

	(void)state;
	fake_write_file(f, "mine.yaml", yaml, 0644);
	client_open(f, &c);
	run_whole(f, &c, &(struct fake_run){.profile = "mine", .session = "work"}, "/src/app", 12,
		  2);
	assert_ok(profiles_find(&f->a.profiles, "mine", &slot, &err));
	buf_init(&text, PROFILE_CANONICAL_MAX);
	assert_ok(fd_memfd_read(slot->fd, &text, &err));
	slot_unref(slot);
	fake_write_file(f, "mine.yaml", without, 0644);

	for (int lie = 1; lie >= 0; lie--) {
		client_act(f, &c, V_ACCEPT, "work", "", 0);
		send_entry(f, 1);
		send_entry(f, 2);
		fake_expect(f, &f->ledger, MSG_ledger_blob);
		assert_ok(msg_ledger_blob_decode(f->packet.body, f->packet.len, &blob, &err));
		if (lie != 0)
			text.data[text.len / 2] ^= 1;
		fd = fd_memfd_sealed("blob", text.data, text.len, &err);
		assert_ok(CHANNEL_SEND_FDS(&f->ledger, ledger_blob_is, &err, &fd, 1,
					   .tag = blob.tag, .size = text.len));
		(void)close(fd);
		if (lie != 0) {
			text.data[text.len / 2] ^= 1;
			client_doc_denied(f, &c, "audit-unavailable");
			fake_expect_nothing(f, &f->box);
			continue;
		}
		fake_expect(f, &f->box, MSG_box_diff);
		assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &diff, &err));
		box_send_doc(f, diff.ticket, 0, true, "[]");
		/* Its text is recorded with the intent, and what it allows still is. */
		expect_event(f, "profile");
		ledger_record(f, ENTRY_INTENT);
		fake_expect(f, &f->box, MSG_grant);
	}
	client_close(f, &c);
	fake_free(f);
}

/* It leaves while the box works: the outcome is recorded all the same. */
static void
test_accept_client_gone(void **state)
{
	struct fake *f = *state;
	struct msg_grant grant;
	struct msg_box_kept kept;
	struct fake_client c;
	struct error err = {0};

	client_open(f, &c);
	run_whole(f, &c, &named, "/src/app", 12, 2);
	box_send_doc(f, accept_to_manifest(f, &c, "", 0), 0, true, "[]");
	ledger_record(f, ENTRY_INTENT);
	fake_expect(f, &f->box, MSG_grant);
	assert_ok(msg_grant_decode(f->packet.body, f->packet.len, &grant, &err));
	client_close(f, &c);
	box_send_accepted(f, grant.ticket, RESULT_DONE, R_ALLOWED);
	ledger_record(f, ENTRY_OUTCOME);
	fake_expect(f, &f->box, MSG_box_kept);
	assert_ok(msg_box_kept_decode(f->packet.body, f->packet.len, &kept, &err));
	box_send_doc(f, kept.ticket, 0, true, "[]");
	assert_int_equal(f->a.n_acts, 0);
	assert_int_equal(f->a.sessions.n_kept, 0);
}

/* ---- the list itself */

static void
test_list(void **state)
{
	struct sessions s;
	struct workspace_facts w = {.path = "/w", .ino = 1};
	static const uint8_t digest[32];
	struct session *x = NULL;
	struct error err = {0};

	(void)state;
	sessions_init(&s);
	sessions_seen(&s, 41);
	assert_ok(sessions_add(&s, "", 0, "default", digest, WORKSPACE_OVERLAY, &w, &x, &err));
	assert_string_equal(x->id, "s_42");
	/* A session without a name is not found by the empty one. */
	assert_null(sessions_find(&s, "", 0));
	assert_ptr_equal(sessions_find(&s, "s_42", 0), x);
	/* What has ended is forgotten in time, the oldest first. */
	session_end(&s, x, false, 0);
	for (int i = 0; i < SESSIONS_ENDED_MAX; i++) {
		assert_ok(sessions_add(&s, "", 0, "default", digest, WORKSPACE_OVERLAY, &w, &x,
				       &err));
		session_end(&s, x, false, 0);
	}
	assert_int_equal(s.n_ended, SESSIONS_ENDED_MAX);
	assert_null(sessions_find(&s, "s_42", 0));
	assert_non_null(sessions_find(&s, "s_43", 0));
	sessions_fini(&s);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_continue),
		T(test_continue_while_live),
		T(test_another_identity),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_overlap_before_record),
		T(test_too_many_sessions),
		T(test_too_many_clients),
		T(test_silent_make_room),
		T(test_silent_is_closed),
		T(test_stop),
		T(test_stop_asker_leaves),
		T(test_rm),
		T(test_rm_fails),
		T(test_rm_of_a_live_one),
		T(test_accept),
		T(test_accept_all),
		T(test_accept_refused),
		cmocka_unit_test(test_accept_profile_changed),
		T(test_accept_client_gone),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
