/*
 * Questions and their documents, and the profiles that the configuration directory adds.
 */
#include "test_authority_fake.h"

#define YAML(name)                                                                                 \
	"apiVersion: loom/v1\nkind: Profile\nmetadata: {name: " name ", description: mine}\n"      \
	"spec:\n  runtime: namespaces\n"                                                           \
	"  capabilities: [exec, workspace.read, workspace.write]\n"

static const struct fake_run plain = {.profile = "default"};

static json_t *
ask(struct fake *f, struct fake_client *c, enum query what, const char *id)
{
	int status = 0;
	json_t *doc;

	client_query(f, c, what, id, 0);
	doc = client_doc(f, c, &status);
	assert_int_equal(status, 0);
	return doc;
}

static const char *
text_at(const json_t *doc, const char *key)
{
	const char *s = json_string_value(json_object_get(doc, key));

	return s != NULL ? s : "";
}

/* ---- one by one */

static void
test_status(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	json_t *doc;

	client_open(f, &c);
	doc = ask(f, &c, Q_STATUS, "");
	assert_string_equal(text_at(doc, "mode"), "private");
	assert_string_equal(text_at(json_object_get(doc, "ledger"), "origin"), "loom.test/0");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(doc, "sessions"), "live")), 0);
	json_decref(doc);
	client_close(f, &c);
}

static void
test_nonsense(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	struct error err = {0};

	client_open(f, &c);
	client_query(f, &c, (enum query)99, "", 0);
	client_doc_denied(f, &c, "invalid-request");
	client_query(f, &c, Q_SESSION, "s_5", 0);
	client_doc_denied(f, &c, "session-ended");
	client_query(f, &c, Q_PROFILE, "nowhere", 0);
	client_doc_denied(f, &c, "invalid-request");
	client_query(f, &c, Q_TRACE, "../etc", 0);
	client_doc_denied(f, &c, "invalid-request");
	client_query(f, &c, Q_TRACE, "op_0123456789abcdef", 0);
	client_doc_denied(f, &c, "session-ended");
	client_query(f, &c, Q_TRACE, "no-such-name", 0);
	client_doc_denied(f, &c, "session-ended");
	client_query(f, &c, Q_LEDGER_SHOW, "-1", 0);
	client_doc_denied(f, &c, "invalid-request");
	assert_ok(CHANNEL_SEND(&c.channel, query, &err, .version = 77, .what = Q_STATUS,
			       .id = wire_text_of(""), .arg = wire_bytes_of("", 0)));
	client_doc_denied(f, &c, "invalid-request");
	client_close(f, &c);
}

static void
test_diff(void **state)
{
	struct fake *f = *state;
	struct msg_box_diff m;
	struct fake_client c;
	struct error err = {0};
	struct msg_doc part;

	client_open(f, &c);
	run_whole(f, &c, &plain, "/src/app", 12, 1);
	client_query(f, &c, Q_DIFF, "s_1", 0);
	fake_expect(f, &f->box, MSG_box_diff);
	assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.form, DIFF_UNIFIED);
	/* Each part goes on as it comes. */
	box_send_doc(f, m.ticket, 0, false, "--- a\n");
	fake_expect(f, &c.channel, MSG_doc);
	assert_ok(msg_doc_decode(f->packet.body, f->packet.len, &part, &err));
	assert_int_equal(part.last, 0);
	assert_int_equal(part.part.len, 6);
	box_send_doc(f, m.ticket, 0, true, "+++ b\n");
	fake_expect(f, &c.channel, MSG_doc);
	/* A refusal of the box is a denial like any other. */
	client_query(f, &c, Q_DIFF_JSON, "s_1", 0);
	fake_expect(f, &f->box, MSG_box_diff);
	assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.form, DIFF_LIST);
	box_send_doc(f, m.ticket, -ESTALE, true,
		     "{\"detail\":\"it moved\",\"reason\":\"invalid-path\"}");
	client_doc_denied(f, &c, "invalid-path");
	/* One that says "allowed" with its refusal has no reason to be believed. */
	client_query(f, &c, Q_DIFF, "s_1", 0);
	fake_expect(f, &f->box, MSG_box_diff);
	assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &m, &err));
	box_send_doc(f, m.ticket, -EIO, true, "{\"detail\":\"x\",\"reason\":\"allowed\"}");
	client_doc_denied(f, &c, "internal");
	/* The client leaves in the middle. */
	client_query(f, &c, Q_DIFF, "s_1", 0);
	fake_expect(f, &f->box, MSG_box_diff);
	assert_ok(msg_box_diff_decode(f->packet.body, f->packet.len, &m, &err));
	client_close(f, &c);
	box_send_doc(f, m.ticket, 0, false, "x");
	box_send_doc(f, m.ticket, 0, true, "y");
	assert_int_equal(f->a.n_questions, 0);
	assert_false(f->ended);
}

static void
answer_read(struct fake *f)
{
	struct msg_ledger_read m;
	struct error err = {0};

	fake_expect(f, &f->ledger, MSG_ledger_read);
	assert_ok(msg_ledger_read_decode(f->packet.body, f->packet.len, &m, &err));
	for (uint32_t i = 0; i < m.count; i++)
		for (size_t k = 0; k < f->n_entries; k++)
			if (f->entries[k].index == m.index + i)
				assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = m.tag,
						       .index = m.index + i,
						       .last = i + 1 == m.count,
						       .entry = wire_bytes_of(f->entries[k].bytes,
									      f->entries[k].len)));
	fake_pump(f);
}

static void
test_ledger(void **state)
{
	struct fake *f = *state;
	struct msg_ledger_head h;
	struct fake_client c;
	struct error err = {0};
	int status = 0;
	json_t *doc, *list;

	client_open(f, &c);
	run_whole(f, &c, &plain, "/src/app", 12, 1);
	client_query(f, &c, Q_LEDGER_SHOW, "", 2);
	answer_read(f);
	doc = client_doc(f, &c, &status);
	list = json_object_get(doc, "entries");
	/* The last two, oldest first. */
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "index")), 1);
	assert_string_equal(text_at(json_object_get(json_array_get(list, 1), "entry"), "kind"),
			    "outcome");
	json_decref(doc);
	client_query(f, &c, Q_LEDGER_SHOW, "0", 1);
	answer_read(f);
	doc = client_doc(f, &c, &status);
	assert_int_equal(json_array_size(json_object_get(doc, "entries")), 1);
	json_decref(doc);
	/* Beyond the end there is nothing, and nobody is asked. */
	client_query(f, &c, Q_LEDGER_SHOW, "1000", 5);
	doc = client_doc(f, &c, &status);
	assert_int_equal(status, 0);
	assert_int_equal(json_array_size(json_object_get(doc, "entries")), 0);
	json_decref(doc);

	client_query(f, &c, Q_LEDGER_HEAD, "", 0);
	fake_expect(f, &f->ledger, MSG_ledger_head);
	assert_ok(msg_ledger_head_decode(f->packet.body, f->packet.len, &h, &err));
	assert_ok(CHANNEL_SEND(&f->ledger, ledger_head_is, &err, .tag = h.tag, .size = 3,
			       .note = wire_text_of("a note\n"), .vkey = wire_text_of(FAKE_VKEY)));
	doc = client_doc(f, &c, &status);
	assert_string_equal(text_at(doc, "note"), "a note\n");
	assert_string_equal(text_at(doc, "vkey"), FAKE_VKEY);
	json_decref(doc);
	/* It does not answer. */
	f->a.history.wait_ms = 30;
	client_query(f, &c, Q_LEDGER_HEAD, "", 0);
	fake_expect(f, &f->ledger, MSG_ledger_head);
	fake_wait(f, 60);
	client_doc_denied(f, &c, "audit-unavailable");
	client_close(f, &c);
}

/* Give the trace what it asks for; LIE: an entry that was changed. */
static void
answer_trace(struct fake *f, bool lie)
{
	struct error err = {0};

	fake_pump(f);
	while (channel_has(&f->ledger)) {
		struct msg_ledger_read read;
		struct msg_ledger_prove prove;
		struct msg_ledger_blob blob;

		assert_int_equal(channel_recv(&f->ledger, &f->packet, &err), 1);
		if (f->packet.type == MSG_ledger_read) {
			struct fake_entry *e = NULL;
			CLEANUP(buf_fini) struct buf text = {0};

			assert_ok(
				msg_ledger_read_decode(f->packet.body, f->packet.len, &read, &err));
			for (size_t k = 0; k < f->n_entries; k++)
				if (f->entries[k].index == read.index)
					e = &f->entries[k];
			assert_non_null(e);
			buf_init(&text, ENTRY_MAX);
			buf_add(&text, e->bytes, e->len);
			if (lie)
				text.data[text.len / 2] ^= 1;
			assert_ok(CHANNEL_SEND(&f->ledger, ledger_entry, &err, .tag = read.tag,
					       .index = read.index, .last = 1,
					       .entry = wire_bytes_of(text.data, text.len)));
		} else if (f->packet.type == MSG_ledger_prove) {
			assert_ok(msg_ledger_prove_decode(f->packet.body, f->packet.len, &prove,
							  &err));
			assert_ok(CHANNEL_SEND(&f->ledger, ledger_failed, &err, .tag = prove.tag,
					       .code = -EIO, .detail = wire_text_of("no")));
		} else {
			assert_int_equal(f->packet.type, MSG_ledger_blob);
			assert_ok(
				msg_ledger_blob_decode(f->packet.body, f->packet.len, &blob, &err));
			assert_ok(CHANNEL_SEND(&f->ledger, ledger_failed, &err, .tag = blob.tag,
					       .code = -ENOENT, .detail = wire_text_of("no")));
		}
		fake_pump(f);
	}
}

/* Whatever does not come makes it unverified; nothing of it makes it verified. */
static void
test_trace(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	int status = 0;
	json_t *doc;

	client_open(f, &c);
	run_whole(f, &c, &plain, "/src/app", 12, 1);
	for (int lie = 0; lie < 2; lie++) {
		client_query(f, &c, Q_TRACE, "s_1", 0);
		answer_trace(f, lie != 0);
		doc = client_doc(f, &c, &status);
		assert_int_equal(status, 0);
		assert_string_equal(text_at(doc, "status"), "unverified");
		assert_true(json_array_size(json_object_get(doc, "links")) > 0);
		json_decref(doc);
	}
	client_query(f, &c, Q_TRACE, f->entries[1].read.op, 0);
	answer_trace(f, false);
	doc = client_doc(f, &c, &status);
	assert_string_equal(text_at(doc, "id"), f->entries[1].read.op);
	json_decref(doc);
	/* It leaves while the material is gathered. */
	client_query(f, &c, Q_TRACE, "s_1", 0);
	client_close(f, &c);
	answer_trace(f, false);
	assert_int_equal(f->a.n_questions, 0);
	assert_false(f->ended);
}

/* What holds much while it is answered is bounded; what does not is still answered. */
static void
test_too_many_large(void **state)
{
	struct fake *f = *state;
	static struct fake_client c[9];

	client_open(f, &c[0]);
	run_whole(f, &c[0], &plain, "/src/app", 12, 1);
	for (size_t i = 1; i < ARRAY_LEN(c); i++)
		client_open(f, &c[i]);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		client_query(f, &c[i], Q_TRACE, "s_1", 0);
	client_doc_denied(f, &c[8], "busy");
	json_decref(ask(f, &c[8], Q_STATUS, ""));
	client_close(f, &c[0]);
	answer_trace(f, false);
	assert_int_equal(f->a.n_large, 0);
	for (size_t i = 1; i < ARRAY_LEN(c); i++)
		client_close(f, &c[i]);
}

/* ---- profiles */

static const json_t *
listed(const json_t *doc, const char *name)
{
	const json_t *list = json_object_get(doc, "profiles"), *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (strcmp(text_at(v, "name"), name) == 0)
			return v;
	}
	return NULL;
}

static void
test_profiles_shipped(void **state)
{
	struct fake *f = *state;
	struct fake_client c;
	json_t *doc;

	client_open(f, &c);
	doc = ask(f, &c, Q_PROFILES, "");
	assert_non_null(listed(doc, "default"));
	assert_non_null(listed(doc, "build"));
	assert_true(json_is_true(json_object_get(listed(doc, "default"), "shipped")));
	json_decref(doc);
	/* An empty name is the default one. */
	doc = ask(f, &c, Q_PROFILE, "");
	assert_string_equal(text_at(doc, "name"), "default");
	assert_int_equal(strlen(text_at(doc, "digest")), 64);
	assert_non_null(json_object_get(doc, "profile"));
	json_decref(doc);
	client_close(f, &c);
}

static void
denied_with(struct fake *f, struct fake_client *c, const char *profile, const char *words)
{
	struct msg_run_done m;

	client_run(f, c, &(struct fake_run){.profile = profile});
	ledger_record(f, ENTRY_EVENT);
	m = client_done(f, c);
	text_is(m.reason, "invalid-request");
	if (memmem(m.detail.data, m.detail.len, words, strlen(words)) == NULL)
		fail_msg("\"%.*s\" does not say \"%s\"", (int)m.detail.len, m.detail.data, words);
}

static void
test_profiles_own(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .config = true});
	struct fake_client c;
	json_t *doc;
	char path[160], first[65];

	(void)state;
	client_open(f, &c);
	fake_write_file(f, "mine.yaml", YAML("mine"), 0644);
	fake_write_file(f, "group.yaml", YAML("group"), 0664);
	fake_write_file(f, "world.yaml", YAML("world"), 0646);
	fake_write_file(f, "wrong.yaml", YAML("other"), 0644);
	fake_write_file(f, "broken.yaml", "nonsense: [", 0644);
	fake_write_file(f, "default.yaml", YAML("default"), 0644);
	fake_write_file(f, "Bad Name.yaml", YAML("x"), 0644);
	(void)snprintf(path, sizeof(path), "%s/config/profiles/link.yaml", f->dir);
	assert_int_equal(symlink("mine.yaml", path), 0);
	(void)snprintf(path, sizeof(path), "%s/config/profiles/fifo.yaml", f->dir);
	assert_int_equal(mkfifo(path, 0644), 0);

	doc = ask(f, &c, Q_PROFILES, "");
	assert_string_equal(text_at(listed(doc, "mine"), "description"), "mine");
	assert_true(text_at(listed(doc, "mine"), "error")[0] == '\0');
	assert_true(text_at(listed(doc, "broken"), "error")[0] != '\0');
	assert_true(text_at(listed(doc, "wrong"), "error")[0] != '\0');
	assert_true(text_at(listed(doc, "world"), "error")[0] != '\0');
	assert_true(text_at(listed(doc, "fifo"), "error")[0] != '\0');
	assert_true(text_at(listed(doc, "link"), "error")[0] != '\0');
	json_decref(doc);

	run_whole(f, &c, &(struct fake_run){.profile = "mine"}, "/src/app", 12, 0);
	denied_with(f, &c, "world", "chmod go-w profiles/world.yaml");
	denied_with(f, &c, "group", "chmod go-w profiles/group.yaml");
	denied_with(f, &c, "wrong", "the profile in it is called other");
	denied_with(f, &c, "broken", "profiles/broken.yaml:2:1: ");
	denied_with(f, &c, "absent", "there is no profile absent");
	denied_with(f, &c, "link", "profiles/link.yaml");
	denied_with(f, &c, "fifo", "no regular file");
	/* The shipped one is what it was. */
	doc = ask(f, &c, Q_PROFILE, "default");
	assert_true(json_is_true(json_object_get(doc, "shipped")));
	json_decref(doc);

	/* Edited: the next request sees it, and a session goes on only with what it is bound to. */
	doc = ask(f, &c, Q_PROFILE, "mine");
	(void)snprintf(first, sizeof(first), "%s", text_at(doc, "digest"));
	json_decref(doc);
	run_whole(f, &c, &(struct fake_run){.profile = "mine", .session = "work"}, "/src/app", 12,
		  1);
	fake_write_file(f, "mine.yaml", YAML("mine") "  limits: {pids: 17}\n", 0644);
	doc = ask(f, &c, Q_PROFILE, "mine");
	assert_string_not_equal(text_at(doc, "digest"), first);
	json_decref(doc);
	client_run(f, &c, &(struct fake_run){.profile = "mine", .session = "work"});
	client_denied_recorded(f, &c, "profile-mismatch");
	/* And its new text is recorded before it is used. */
	run_whole(f, &c, &(struct fake_run){.profile = "mine"}, "/src/app", 12, 0);
	assert_string_equal(f->entries[f->n_entries - 3].read.event, "profile");

	/* Edited again, and wrong: the one before is not used in its place, until it is mended. */
	fake_write_file(f, "mine.yaml", YAML("mine") "  limits: {pids: many}\n", 0644);
	denied_with(f, &c, "mine", "profiles/mine.yaml:");
	client_query(f, &c, Q_PROFILE, "mine", 0);
	client_doc_denied(f, &c, "invalid-request");
	fake_write_file(f, "mine.yaml", YAML("mine"), 0644);
	doc = ask(f, &c, Q_PROFILE, "mine");
	assert_string_equal(text_at(doc, "digest"), first);
	json_decref(doc);

	/* The folder itself. */
	(void)snprintf(path, sizeof(path), "%s/config/profiles", f->dir);
	assert_int_equal(chmod(path, 0777), 0);
	denied_with(f, &c, "mine", "chmod go-w profiles");
	client_close(f, &c);
	fake_free(f);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_status),
		T(test_nonsense),
		T(test_diff),
		T(test_ledger),
		T(test_trace),
		T(test_too_many_large),
		T(test_profiles_shipped),
		cmocka_unit_test(test_profiles_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
