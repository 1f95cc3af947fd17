/*
 * The view: what it finds, that it survives, and that whatever is wrong with it only means that it
 * begins anew. And how the authority fills it from the ledger.
 */
#include "test_authority_fake.h"

#define OP_A "op_000000000000000a"
#define OP_B "op_000000000000000b"

struct place {
	char path[64];
	int dir;
};

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	(void)snprintf(p->path, sizeof(p->path), "/tmp/loom-views-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->dir >= 0);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	(void)close(p->dir);
	(void)nftw(p->path, fake_remove, 8, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static struct views *
open_as(const struct place *p, uint64_t size, const char *vkey, const char *boot, bool *ret_fresh)
{
	struct views *v = NULL;
	struct error err = {0};

	assert_ok(views_open(
		&(struct views_spec){
			.dir = p != NULL ? p->dir : -1, .vkey = vkey, .boot = boot, .size = size},
		&v, ret_fresh, &err));
	return v;
}

static void
add(struct views *v, const char *op, const char *session, const char *name)
{
	struct row row;

	row_init(&row, ENTRY_EVENT, 1000);
	(void)snprintf(row.op, sizeof(row.op), "%s", op);
	(void)snprintf(row.session, sizeof(row.session), "%s", session);
	(void)snprintf(row.name, sizeof(row.name), "%s", name);
	row.uid = 5;
	views_add(v, views_size(v), &row);
}

static void
test_find(void **state)
{
	struct views *v;
	struct error err = {0};
	uint64_t at[4];
	size_t n = 0;
	uint32_t uid = 0;
	bool fresh = false;
	char id[SESSION_ID_MAX], name[NAME_MAX_LEN + 1];

	v = open_as(*state, 0, "k", "b", &fresh);
	assert_true(fresh);
	add(v, OP_A, "s_1", "");
	add(v, OP_B, "s_2", "work");
	add(v, OP_A, "s_1", "");
	add(v, "", "", "");
	assert_int_equal(views_size(v), 4);
	assert_int_equal(views_last_session(v), 2);
	assert_ok(views_find(v, OP_A, at, 4, &n, &uid, &err));
	assert_int_equal(n, 2);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[1], 2);
	assert_int_equal(uid, 5);
	assert_ok(views_find(v, "s_2", at, 4, &n, &uid, &err));
	assert_int_equal(n, 1);
	assert_ok(views_find(v, "s_9", at, 4, &n, &uid, &err));
	assert_int_equal(n, 0);
	assert_fails(-E2BIG, &err, views_find(v, "s_1", at, 1, &n, &uid, &err));
	assert_ok(views_first(v, "s_1", at, 1, &n, &err));
	assert_int_equal(n, 1);
	assert_ok(views_session_of_name(v, "work", 5, id, &err));
	assert_string_equal(id, "s_2");
	/* A name is its owner's. */
	assert_fails(-ENOENT, &err, views_session_of_name(v, "work", 6, id, &err));
	assert_ok(views_session_name(v, 2, 5, name, &err));
	assert_string_equal(name, "work");
	assert_ok(views_session_name(v, 2, 6, name, &err));
	assert_string_equal(name, "");
	/* What is no id finds nothing, whatever is in it. */
	assert_ok(views_find(v, "s_1' OR '1'='1", at, 4, &n, &uid, &err));
	assert_int_equal(n, 0);
	views_close(v);
}

static void
test_survives(void **state)
{
	struct views *v;
	bool fresh = true;

	v = open_as(*state, 0, "k", "b", &fresh);
	add(v, OP_A, "s_3", "");
	views_close(v);
	v = open_as(*state, 5, "k", "b", &fresh);
	assert_false(fresh);
	assert_int_equal(views_size(v), 1);
	assert_int_equal(views_last_session(v), 3);
	views_close(v);
	/* After a start of the machine it is looked at whole, and goes on when it is sound. */
	v = open_as(*state, 5, "k", "b2", &fresh);
	assert_false(fresh);
	assert_int_equal(views_size(v), 1);
	views_close(v);
}

static void
begins_anew(const struct place *p, uint64_t size, const char *vkey, const char *boot)
{
	struct error err = {0};
	struct views *v;
	uint64_t at[4];
	size_t n = 9;
	uint32_t uid;
	bool fresh = false;

	v = open_as(p, size, vkey, boot, &fresh);
	assert_true(fresh);
	assert_true(views_ok(v));
	assert_int_equal(views_size(v), 0);
	assert_ok(views_find(v, "s_1", at, 4, &n, &uid, &err));
	assert_int_equal(n, 0);
	add(v, OP_A, "s_1", "");
	assert_ok(views_find(v, "s_1", at, 4, &n, &uid, &err));
	assert_int_equal(n, 1);
	views_close(v);
}

static void
fill(const struct place *p)
{
	struct views *v;
	bool fresh = false;

	v = open_as(p, 1000, "k", "b", &fresh);
	for (int i = 0; i < 600; i++)
		add(v, OP_A, "s_1", "");
	views_close(v);
}

static void
damage(const struct place *p, off_t at, size_t len)
{
	char bytes[4096];
	struct error err = {0};
	int fd = openat(p->dir, "view.db", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && len <= sizeof(bytes));
	memset(bytes, 0xa5, len);
	assert_ok(fd_pwrite_all(fd, bytes, len, (uint64_t)at, &err));
	(void)close(fd);
}

static void
test_of_no_use(void **state)
{
	const struct place *p = *state;

	fill(p);
	begins_anew(p, 1000, "another ledger", "b");
	fill(p);
	/* It has more than the ledger. */
	begins_anew(p, 10, "k", "b");
	fill(p);
	damage(p, 0, 100);
	begins_anew(p, 1000, "k", "b");
	fill(p);
	/* Somewhere in the middle: seen when the machine has been started since. */
	damage(p, 8192, 4096);
	damage(p, 16384, 4096);
	begins_anew(p, 1000, "k", "b2");
	/* Not even a file. */
	assert_int_equal(unlinkat(p->dir, "view.db", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", p->dir, "view.db"), 0);
	begins_anew(p, 1000, "k", "b");
}

static void
test_no_directory(void **state)
{
	struct error err = {0};
	struct views *v;
	uint64_t at[4];
	size_t n = 0;
	uint32_t uid;
	bool fresh = false;

	(void)state;
	v = open_as(NULL, 0, "k", "b", &fresh);
	assert_true(fresh);
	add(v, OP_A, "s_1", "");
	assert_ok(views_find(v, OP_A, at, 4, &n, &uid, &err));
	assert_int_equal(n, 1);
	views_close(v);
}

static void
test_gap(void **state)
{
	struct error err = {0};
	struct views *v;
	struct row row;
	uint64_t at[4];
	size_t n = 0;
	uint32_t uid;
	bool fresh;

	v = open_as(*state, 0, "k", "b", &fresh);
	row_init(&row, ENTRY_EVENT, 0);
	/* With an entry missing it would tell lies: it says nothing any more. */
	views_add(v, 7, &row);
	assert_false(views_ok(v));
	assert_fails(-EIO, &err, views_find(v, OP_A, at, 4, &n, &uid, &err));
	views_close(v);
}

/* ---- from the ledger */

static void
test_rows(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX});
	struct fake_client c;
	struct error err = {0};
	struct row r;

	(void)state;
	client_open(f, &c);
	run_whole(f, &c, &(struct fake_run){.session = "work"}, "/src/app", 12, 0);
	assert_ok(row_of_entry(&r, f->entries[1].bytes, f->entries[1].len, &err));
	assert_string_equal(r.name, "work");
	assert_string_equal(r.session, "s_1");
	assert_int_equal(r.uid, geteuid());
	assert_ok(row_of_entry(&r, f->entries[2].bytes, f->entries[2].len, &err));
	assert_int_equal(r.kind, ENTRY_INTENT);
	assert_string_equal(r.op, f->entries[2].read.op);
	assert_string_equal(r.reason, "allowed");
	assert_ok(row_of_entry(&r, f->entries[3].bytes, f->entries[3].len, &err));
	assert_int_equal(r.kind, ENTRY_OUTCOME);
	assert_int_equal(r.uid, ROW_NO_UID);
	assert_fails(-EINVAL, &err, row_of_entry(&r, "{", 1, &err));
	assert_fails(-EINVAL, &err, row_of_entry(&r, "{\"kind\":\"x\"}", 12, &err));
	client_close(f, &c);
	fake_free(f);
}

/* The ledger has what the view has not: it is read before anybody is served. */
static void
test_catches_up(void **state)
{
	struct fake *from = fake_new(&(struct fake_spec){.uid = UINT32_MAX});
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX, .no_start = true});
	struct msg_ledger_read m;
	struct fake_client c;
	struct error err = {0};
	uint64_t at[8];
	size_t n = 0;
	uint32_t uid;

	(void)state;
	client_open(from, &c);
	run_whole(from, &c, &(struct fake_run){.session = "work"}, "/src/app", 12, 0);
	client_close(from, &c);
	assert_int_equal(from->n_entries, 4);

	answer_head(f, 4);
	answer_open_none(f, take_open(f));
	box_send_doc(f, take_kept(f), 0, true, "[]");
	fake_expect_nothing(f, &f->loomd);
	fake_expect(f, &f->ledger, MSG_ledger_read);
	assert_ok(msg_ledger_read_decode(f->packet.body, f->packet.len, &m, &err));
	assert_int_equal(m.index, 0);
	assert_int_equal(m.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_ok(CHANNEL_SEND(
			&f->ledger, ledger_entry, &err, .tag = m.tag, .index = i, .last = i == 3,
			.entry = wire_bytes_of(from->entries[i].bytes, from->entries[i].len)));
	expect_ready(f);
	assert_ok(views_find(f->a.views, "s_1", at, 8, &n, &uid, &err));
	assert_int_equal(n, 3);
	/* Numbers go on after the highest that was ever used. */
	assert_int_equal(f->a.sessions.last_number, 1);
	fake_free(f);
	fake_free(from);
}

/* A broken view is nobody's verdict. */
static void
test_broken_view_changes_nothing(void **state)
{
	struct fake *f = fake_new(&(struct fake_spec){.uid = UINT32_MAX});
	struct fake_client c;
	struct row row;

	(void)state;
	row_init(&row, ENTRY_EVENT, 0);
	views_add(f->a.views, 1000, &row);
	assert_false(views_ok(f->a.views));
	client_open(f, &c);
	run_whole(f, &c, &(struct fake_run){.session = "work"}, "/src/app", 12, 1);
	run_whole(f, &c, &(struct fake_run){.session = "work"}, "/src/app", 12, 1);
	assert_int_equal(f->a.sessions.last_number, 1);
	client_run(f, &c, &(struct fake_run){.profile = "nowhere"});
	client_denied_recorded(f, &c, "invalid-request");
	client_query(f, &c, Q_TRACE, "s_1", 0);
	client_doc_denied(f, &c, "audit-unavailable");
	client_close(f, &c);
	fake_free(f);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_find),
		T(test_survives),
		T(test_of_no_use),
		cmocka_unit_test(test_no_directory),
		T(test_gap),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_catches_up),
		cmocka_unit_test(test_broken_view_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
