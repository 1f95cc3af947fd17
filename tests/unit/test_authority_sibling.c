/*
 * Siblings that say what they may not: the authority ends, for half a Loom must not go on. And the
 * start, the stop and the idle end, which are between siblings.
 */
#include "test_authority_fake.h"

static const struct fake_run plain = {.profile = "default"};

static void
broken(struct fake *f)
{
	fake_pump(f);
	assert_true(f->ended);
	assert_int_equal(f->status, AUTHORITY_EXIT_FAILED);
}

/* ---- the api */

static void
test_api_names_a_stranger(void **state)
{
	struct fake *f = *state;
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->api, api_query, &err, .conn = 1, .request = 1, .what = Q_STATUS,
			       .id = wire_text_of(""), .arg = wire_bytes_of("", 0)));
	broken(f);
}

static void
test_api_acts_for_a_stranger(void **state)
{
	struct fake *f = *state;
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->api, api_act, &err, .conn = 1, .request = 1, .verb = V_RM,
			       .session = wire_text_of("s_1")));
	broken(f);
}

static void
test_api_closes_twice(void **state)
{
	struct fake *f = *state;
	struct error err = {0};
	int fd = fake_connect(f, "loom.sock", SOCK_STREAM);

	assert_true(fd >= 0);
	fake_expect(f, &f->api, MSG_api_conn);
	assert_int_equal(f->packet.n_fds, 1);
	assert_ok(CHANNEL_SEND(&f->api, api_closed, &err, .conn = 1));
	fake_pump(f);
	assert_false(f->ended);
	assert_int_equal(f->a.doors.n_conns, 0);
	assert_ok(CHANNEL_SEND(&f->api, api_closed, &err, .conn = 1));
	broken(f);
	(void)close(fd);
}

static void
test_api_goes(void **state)
{
	struct fake *f = *state;

	channel_close(&f->api);
	broken(f);
}

static json_t *
api_doc(struct fake *f, uint64_t conn, uint64_t request, int *ret_status)
{
	struct msg_api_doc m;
	struct error err = {0};
	json_t *doc = NULL;

	fake_expect(f, &f->api, MSG_api_doc);
	assert_ok(msg_api_doc_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.conn, conn);
	assert_int_equal(m.request, request);
	assert_int_equal(m.last, 1);
	*ret_status = m.status;
	assert_ok(json_read(m.part.data, m.part.len, &doc, &err));
	return doc;
}

static void
test_api_serves(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct error err = {0};
	char byte[8];
	int status = 0;
	uint64_t ticket;
	json_t *doc;
	int fd;

	/* What a connection says is not read here: it goes with the connection. */
	fd = fake_connect(f, "loom.sock", SOCK_STREAM);
	assert_int_equal(send(fd, "GET /", 5, 0), 5);
	fake_expect(f, &f->api, MSG_api_conn);
	assert_int_equal(recv(f->packet.fds[0], byte, sizeof(byte), 0), 5);

	assert_ok(CHANNEL_SEND(&f->api, api_query, &err, .conn = 1, .request = 7, .what = Q_STATUS,
			       .id = wire_text_of(""), .arg = wire_bytes_of("", 0)));
	doc = api_doc(f, 1, 7, &status);
	assert_int_equal(status, 0);
	assert_string_equal(json_string_value(json_object_get(doc, "mode")), "private");
	json_decref(doc);

	/* An act for it, which waits for a run to end. */
	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	assert_ok(CHANNEL_SEND(&f->api, api_act, &err, .conn = 1, .request = 8, .verb = V_STOP,
			       .session = wire_text_of("s_1")));
	box_expect_ticket(f, MSG_box_stop, ticket);
	expect_event(f, "stopped");
	/* Meanwhile it goes away; nobody is answered, and nothing breaks. */
	assert_ok(CHANNEL_SEND(&f->api, api_closed, &err, .conn = 1));
	fake_pump(f);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	fake_expect_nothing(f, &f->api);
	assert_int_equal(f->a.doors.n_asks, 0);
	assert_false(f->ended);
	client_close(f, &c);
	(void)close(fd);
}

static void
test_api_of_another_user(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = geteuid() + 1});
	char byte;
	int fd = fake_connect(f, "loom.sock", SOCK_STREAM);

	(void)state;
	expect_event(f, "denied");
	fake_expect_nothing(f, &f->api);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	(void)close(fd);
	fake_free(f);
}

static void
test_api_asks_too_much(void **state)
{
	struct fake *f = *state;
	struct error err = {0};
	int status = 0;
	int fd = fake_connect(f, "loom.sock", SOCK_STREAM);
	json_t *doc;

	fake_expect(f, &f->api, MSG_api_conn);
	for (uint64_t i = 0; i < DOORS_ASKS_MAX; i++) {
		assert_ok(CHANNEL_SEND(&f->api, api_query, &err, .conn = 1, .request = i,
				       .what = Q_LEDGER_HEAD, .id = wire_text_of(""),
				       .arg = wire_bytes_of("", 0)));
		fake_expect(f, &f->ledger, MSG_ledger_head);
	}
	assert_ok(CHANNEL_SEND(&f->api, api_query, &err, .conn = 1, .request = 99,
			       .what = Q_LEDGER_HEAD, .id = wire_text_of(""),
			       .arg = wire_bytes_of("", 0)));
	doc = api_doc(f, 1, 99, &status);
	assert_string_equal(json_string_value(json_object_get(doc, "reason")), "busy");
	json_decref(doc);
	(void)close(fd);
}

/* ---- the box */

static uint64_t
examine_sent(struct fake *f, struct fake_client *c)
{
	client_open(f, c);
	client_run(f, c, &plain);
	return box_expect_examine(f, 5);
}

static void
test_box_unknown_ticket(void **state)
{
	struct fake *f = *state;

	box_send_facts(f, 99, R_INTERNAL, "", NULL);
	broken(f);
}

static void
test_box_no_reason(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	box_send_facts(f, examine_sent(f, &c), (enum reason)9999, "", NULL);
	broken(f);
	client_close(f, &c);
}

static void
test_box_facts_that_are_none(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	/* "Nothing against it", and nothing about it. */
	box_send_facts(f, examine_sent(f, &c), R_ALLOWED, "", NULL);
	broken(f);
	client_close(f, &c);
}

static void
test_box_facts_twice(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket = examine_sent(f, &c);

	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_record(f, ENTRY_INTENT);
	box_expect_grant(f, ticket, 1);
	box_send_good_facts(f, ticket, "/src/app", 12);
	broken(f);
	client_close(f, &c);
}

static void
test_box_outcome_before_grant(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	box_send_outcome(f, examine_sent(f, &c), 0, 0);
	broken(f);
	client_close(f, &c);
}

static void
test_box_started_before_grant(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	box_send_started(f, examine_sent(f, &c));
	broken(f);
	client_close(f, &c);
}

static void
test_box_started_twice(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	box_send_started(f, ticket);
	broken(f);
	client_close(f, &c);
}

static void
test_box_outcome_twice(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	box_send_outcome(f, ticket, 0, 0);
	box_send_outcome(f, ticket, 0, 0);
	broken(f);
	client_close(f, &c);
}

static void
test_box_outcome_that_is_none(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct error err = {0};
	uint64_t ticket;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	assert_ok(CHANNEL_SEND(&f->box, outcome, &err, .ticket = ticket,
			       .result = wire_bytes_of("{}", 2), .mac = wire_bytes_of("", 0)));
	broken(f);
	client_close(f, &c);
}

static void
test_box_goes(void **state)
{
	struct fake *f = *state;
	struct fake_client c;

	client_open(f, &c);
	(void)run_to_started(f, &c, &plain, "/src/app", 12);
	channel_close(&f->box);
	broken(f);
	/* Nobody is told that it went well. */
	fake_expect_nothing(f, &c.channel);
	client_close(f, &c);
}

/* ---- the ledger */

/* A run whose intent waits for its receipt, which R will be, to be changed. */
static uint64_t
intent_waits(struct fake *f, struct fake_client *c, struct receipt *r)
{
	uint64_t ticket = examine_sent(f, c);
	uint64_t tag;

	box_send_good_facts(f, ticket, "/src/app", 12);
	ledger_record(f, ENTRY_EVENT);
	ledger_take(f, ENTRY_INTENT);
	f->entries[1].index = f->size++;
	receipt_for(f, 1, r);
	tag = f->tags[0];
	ledger_untag(f, 0);
	return tag;
}

static void
bad_receipt(struct fake *f, uint64_t tag, const struct receipt *r)
{
	ledger_send_receipt(f, tag, r);
	broken(f);
	assert_false(channel_has(&f->box));
}

static void
test_ledger_receipt_of_another_entry(void **state)
{
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(*state, &c, &r);

	r.leaf[0] ^= 1;
	bad_receipt(*state, tag, &r);
	client_close(*state, &c);
}

static void
test_ledger_receipt_of_another_operation(void **state)
{
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(*state, &c, &r);

	r.digest[0] ^= 1;
	bad_receipt(*state, tag, &r);
	client_close(*state, &c);
}

static void
test_ledger_receipt_of_a_used_place(void **state)
{
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(*state, &c, &r);

	r.index = 0;
	bad_receipt(*state, tag, &r);
	client_close(*state, &c);
}

static void
test_ledger_receipt_beyond_its_tree(void **state)
{
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(*state, &c, &r);

	r.tree_size = r.index;
	bad_receipt(*state, tag, &r);
	client_close(*state, &c);
}

static void
test_ledger_receipt_nobody_waits_for(void **state)
{
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(*state, &c, &r);

	bad_receipt(*state, tag + 100, &r);
	client_close(*state, &c);
}

static void
test_ledger_answers_twice(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct receipt r;
	uint64_t tag = intent_waits(f, &c, &r);

	ledger_send_receipt(f, tag, &r);
	assert_false(f->ended);
	r.index++;
	r.tree_size++;
	ledger_send_receipt(f, tag, &r);
	broken(f);
	client_close(f, &c);
}

static void
test_ledger_unasked(void **state)
{
	struct fake *f = *state;
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = 5, .index = 0, .last = 1,
			       .entry = wire_bytes_of("{}", 2)));
	broken(f);
}

static void
test_ledger_another_entry(void **state)
{
	struct fake *f = *state;
	struct msg_ledger_read m;
	struct fake_client c;
	struct error err = {0};

	client_open(f, &c);
	run_whole(f, &c, &plain, "/src/app", 12, 0);
	client_query(f, &c, Q_LEDGER_SHOW, "", 1);
	fake_expect(f, &f->ledger, MSG_ledger_read);
	assert_ok(msg_ledger_read_decode(f->packet.body, f->packet.len, &m, &err));
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = m.tag, .index = m.index + 1,
			       .last = 1, .entry = wire_bytes_of("{}", 2)));
	broken(f);
	client_close(f, &c);
}

static void
test_ledger_goes(void **state)
{
	struct fake *f = *state;

	channel_close(&f->ledger);
	broken(f);
}

/* ---- the start */

static void
test_start_waits(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .no_start = true});
	struct fake_client c;
	uint64_t tag, ticket;

	(void)state;
	/* Whoever comes early waits at the door. */
	client_open(f, &c);
	client_query(f, &c, Q_STATUS, "", 0);
	answer_head(f, 0);
	fake_expect_nothing(f, &f->loomd);
	tag = take_open(f);
	answer_open_none(f, tag);
	fake_expect_nothing(f, &f->loomd);
	fake_expect_nothing(f, &c.channel);
	ticket = take_kept(f);
	box_send_doc(f, ticket, 0, true, "[]");
	expect_ready(f);
	fake_expect(f, &c.channel, MSG_doc);
	client_close(f, &c);
	fake_free(f);
}

static void
test_start_closes_what_was_left(void **state)
{
	struct fake *done = *state;
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .no_start = true});
	struct fake_client c;
	struct fake_entry *intent, *e;
	struct error err = {0};
	uint64_t tag;

	/* An intent, from another Loom that has ended since. */
	client_open(done, &c);
	(void)run_to_started(done, &c, &plain, "/src/app", 12);
	client_close(done, &c);
	intent = &done->entries[1];
	assert_int_equal(intent->kind, ENTRY_INTENT);

	answer_head(f, 0);
	tag = take_open(f);
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = tag, .index = 41, .last = 1,
			       .entry = wire_bytes_of(intent->bytes, intent->len)));
	box_send_doc(f, take_kept(f), 0, true, "[]");
	e = ledger_take(f, ENTRY_EVENT);
	assert_string_equal(e->read.event, "indeterminate");
	assert_int_equal(e->read.intent, 41);
	assert_string_equal(e->read.op, intent->read.op);
	/* Before anybody is served. */
	fake_expect_nothing(f, &f->loomd);
	ledger_accept(f);
	expect_ready(f);
	fake_free(f);
}

/* No room for that: it is left for the next start, and what needs no record is served. */
static void
test_start_without_room(void **state)
{
	struct fake *done = *state;
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .no_start = true});
	struct fake_client c;
	struct error err = {0};
	uint64_t tag;

	client_open(done, &c);
	(void)run_to_started(done, &c, &plain, "/src/app", 12);
	client_close(done, &c);
	answer_head(f, 0);
	tag = take_open(f);
	assert_ok(
		CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = tag, .index = 41, .last = 1,
			     .entry = wire_bytes_of(done->entries[1].bytes, done->entries[1].len)));
	box_send_doc(f, take_kept(f), 0, true, "[]");
	ledger_take(f, ENTRY_EVENT);
	ledger_refuse(f, -ENOSPC, "no space");
	expect_ready(f);
	client_open(f, &c);
	client_query(f, &c, Q_SESSIONS, "", 0);
	fake_expect(f, &c.channel, MSG_doc);
	client_close(f, &c);
	fake_free(f);
}

static void
test_start_kept(void **state)
{
	static const char kept[] =
		"[{\"bytes\":1,\"changes\":2,\"ended\":5,\"name\":\"\",\"owner\":%u,"
		"\"path\":\"/src/app\",\"profile\":"
		"\"00000000000000000000000000000000000000000000000000000000000000aa\","
		"\"session\":\"s_17\",\"started\":3}]";
	char text[512];
	struct fake *f;
	struct fake_client c;
	int status = 0;
	json_t *doc;

	(void)state;
	(void)snprintf(text, sizeof(text), kept, (unsigned int)geteuid());
	f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .kept = text});
	client_open(f, &c);
	client_query(f, &c, Q_SESSION, "s_17", 0);
	doc = client_doc(f, &c, &status);
	assert_string_equal(json_string_value(json_object_get(doc, "state")), "kept");
	assert_int_equal(json_integer_value(json_object_get(doc, "changes")), 2);
	json_decref(doc);
	/* Its number is taken. */
	run_whole(f, &c, &plain, "/src/app", 12, 0);
	assert_non_null(sessions_find(&f->a.sessions, "s_18", geteuid()));
	/* It is bound to a profile, and default is another one. */
	client_run(f, &c, &(struct fake_run){.profile = "default", .session = "s_17"});
	client_denied_recorded(f, &c, "profile-mismatch");
	client_close(f, &c);
	fake_free(f);
}

static void
test_start_box_cannot_tell(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .no_start = true});

	(void)state;
	answer_head(f, 0);
	answer_open_none(f, take_open(f));
	box_send_doc(f, take_kept(f), -EIO, true, "{}");
	broken(f);
	fake_free(f);
}

/* ---- the end */

static void
send_stop(struct fake *f)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&f->loomd, stop, &err, .why = STOP_SHUTDOWN));
	fake_pump(f);
}

static void
test_stop_at_rest(void **state)
{
	struct fake *f = *state;

	send_stop(f);
	assert_true(f->ended);
	assert_int_equal(f->status, AUTHORITY_EXIT_OK);
}

static void
test_stop_with_runs(void **state)
{
	struct fake *f = *state;
	struct fake_client c, early, late;
	uint64_t ticket, looked;

	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	client_open(f, &early);
	client_run(f, &early, &plain);
	looked = box_expect_examine(f, 5);
	client_open(f, &late);
	send_stop(f);
	assert_false(f->ended);
	box_expect_ticket(f, MSG_box_stop, ticket);
	/* Nobody new comes in. */
	assert_int_equal(fake_connect(f, "cli.sock", SOCK_SEQPACKET), -ECONNREFUSED);
	client_run(f, &late, &plain);
	client_denied_recorded(f, &late, "busy");
	/* What had not begun does not begin. */
	box_send_good_facts(f, looked, "/src/two", 13);
	box_expect_ticket(f, MSG_forget, looked);
	client_denied_recorded(f, &early, "session-ended");
	assert_false(f->ended);
	/* What ran is recorded, and told, before the end. */
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	assert_int_equal(client_done(f, &c).traced, 1);
	assert_true(f->ended);
	assert_int_equal(f->status, AUTHORITY_EXIT_OK);
	client_close(f, &c);
	client_close(f, &early);
	client_close(f, &late);
}

static void
test_stop_asked_for(void **state)
{
	struct fake *f = *state;
	struct msg_stop_request m;
	struct fake_client c;
	struct error err = {0};
	int status = 0;

	client_open(f, &c);
	assert_ok(CHANNEL_SEND(&c.channel, daemon_act, &err, .version = WIRE_VERSION,
			       .verb = D_STOP));
	fake_expect(f, &f->loomd, MSG_stop_request);
	assert_ok(msg_stop_request_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.why, STOP_ASKED);
	json_decref(client_doc(f, &c, &status));
	assert_int_equal(status, 0);
	assert_ok(CHANNEL_SEND(&c.channel, daemon_act, &err, .version = WIRE_VERSION, .verb = 9));
	client_doc_denied(f, &c, "invalid-request");
	client_close(f, &c);
}

static void
test_idle(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .idle_ms = 150});
	struct msg_stop_request m;
	struct fake_client c;
	struct error err = {0};
	uint64_t ticket;
	char byte;
	int fd;

	(void)state;
	client_open(f, &c);
	ticket = run_to_started(f, &c, &plain, "/src/app", 12);
	fake_wait(f, 400);
	fake_expect_nothing(f, &f->loomd);
	box_send_outcome(f, ticket, 0, 0);
	ledger_record(f, ENTRY_OUTCOME);
	(void)client_done(f, &c);
	/* A client that is there is enough. */
	fake_wait(f, 400);
	fake_expect_nothing(f, &f->loomd);
	client_close(f, &c);
	fake_wait(f, 60);
	fake_expect_nothing(f, &f->loomd);
	fake_wait(f, 400);
	fake_expect(f, &f->loomd, MSG_stop_request);
	assert_ok(msg_stop_request_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.why, STOP_IDLE);
	/* From here on nobody gets in only to be turned out in the middle of it. */
	fd = fake_connect(f, "cli.sock", SOCK_SEQPACKET);
	assert_int_equal(fd, -ECONNREFUSED);
	fake_free(f);

	/* One that connected but was not heard is turned away unheard, and can tell. */
	f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .idle_ms = 1});
	(void)usleep(5000);
	fd = fake_connect(f, "cli.sock", SOCK_SEQPACKET);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	doors_shut(&f->a);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(fd);
	fake_free(f);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_api_names_a_stranger),
		T(test_api_acts_for_a_stranger),
		T(test_api_closes_twice),
		T(test_api_goes),
		T(test_api_serves),
		cmocka_unit_test(test_api_of_another_user),
		T(test_api_asks_too_much),
		T(test_box_unknown_ticket),
		T(test_box_no_reason),
		T(test_box_facts_that_are_none),
		T(test_box_facts_twice),
		T(test_box_outcome_before_grant),
		T(test_box_started_before_grant),
		T(test_box_started_twice),
		T(test_box_outcome_twice),
		T(test_box_outcome_that_is_none),
		T(test_box_goes),
		T(test_ledger_receipt_of_another_entry),
		T(test_ledger_receipt_of_another_operation),
		T(test_ledger_receipt_of_a_used_place),
		T(test_ledger_receipt_beyond_its_tree),
		T(test_ledger_receipt_nobody_waits_for),
		T(test_ledger_answers_twice),
		T(test_ledger_unasked),
		T(test_ledger_another_entry),
		T(test_ledger_goes),
		cmocka_unit_test(test_start_waits),
		T(test_start_closes_what_was_left),
		T(test_start_without_room),
		cmocka_unit_test(test_start_kept),
		cmocka_unit_test(test_start_box_cannot_tell),
		T(test_stop_at_rest),
		T(test_stop_with_runs),
		T(test_stop_asked_for),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
