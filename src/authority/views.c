/*
 * Durability is the ledger's; here SQLite runs without syncs, in WAL mode so that a killed process
 * leaves a usable file, and locked for good, which spares the shared memory file. What a crash of
 * the machine may do to such a file is met by a complete check at the first start after it.
 *
 * A failure inside SQLite never becomes a failure of a request that could do without: the view is
 * marked broken, questions to it fail, and the next start makes it anew.
 */
#include "authority/views.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define VIEWS_FILE "view.db"
#define VIEWS_VERSION "1"
#define VIEWS_CACHE_KIB 2048
#define VIEWS_WAITING_MAX 512 /* rows; more are written at once */
#define VIEWS_WAIT_MS 0	      /* nobody else has the file */

enum statement {
	S_INSERT,
	S_META_SET,
	S_META_GET,
	S_BY_OP,
	S_BY_SESSION,
	S_NAME_OF,
	S_OF_NAME,
	S_COUNT,
};

static const char *const statements[S_COUNT] = {
	[S_INSERT] = "INSERT INTO entries(idx,kind,time,op,session,event,verdict,reason,name,uid)"
		     " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
	[S_META_SET] = "INSERT INTO meta(key,value) VALUES(?1,?2)"
		       " ON CONFLICT(key) DO UPDATE SET value=excluded.value",
	[S_META_GET] = "SELECT value FROM meta WHERE key=?1",
	[S_BY_OP] = "SELECT idx,uid FROM entries WHERE op=?1 ORDER BY idx LIMIT ?2",
	[S_BY_SESSION] = "SELECT idx,uid FROM entries WHERE session=?1 ORDER BY idx LIMIT ?2",
	[S_NAME_OF] = "SELECT name FROM entries WHERE session=?1 AND uid=?2 AND name<>''"
		      " ORDER BY idx DESC LIMIT 1",
	[S_OF_NAME] = "SELECT session FROM entries WHERE name=?1 AND uid=?2"
		      " ORDER BY idx DESC LIMIT 1",
};

static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE entries(idx INTEGER PRIMARY KEY, kind INTEGER NOT NULL, time TEXT NOT NULL,"
	" op TEXT, session TEXT, event TEXT, verdict TEXT, reason TEXT, name TEXT, uid INTEGER);"
	"CREATE INDEX by_op ON entries(op) WHERE op IS NOT NULL;"
	"CREATE INDEX by_session ON entries(session) WHERE session IS NOT NULL;"
	"CREATE INDEX by_name ON entries(name) WHERE name IS NOT NULL;";

struct waiting_row {
	uint64_t index;
	struct row row;
};

struct views {
	sqlite3 *db;
	sqlite3_stmt *prepared[S_COUNT];
	bool broken;
	uint64_t size; /* entries in the database */
	uint64_t last_session;
	struct waiting_row *waiting;
	size_t n_waiting;
};

static int
views_fail(struct views *v, const char *what, struct error *err)
{
	if (!v->broken)
		log_warning("the view is broken and not used any more: %s: %s", what,
			    v->db != NULL ? sqlite3_errmsg(v->db) : "out of memory");
	v->broken = true;
	v->n_waiting = 0;
	return error_set(err, -EIO,
			 "the view of the ledger is damaged; it is made anew at the next start "
			 "(loom daemon stop)");
}

/* ---- statements */

static sqlite3_stmt *
statement(struct views *v, enum statement s)
{
	sqlite3_reset(v->prepared[s]);
	sqlite3_clear_bindings(v->prepared[s]);
	return v->prepared[s];
}

/* An empty text is no value, so that the partial indexes stay small. */
static bool
bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text[0] == '\0')
		return sqlite3_bind_null(s, at) == SQLITE_OK;
	return sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

static bool
bind_u64(sqlite3_stmt *s, int at, uint64_t n)
{
	return n <= INT64_MAX && sqlite3_bind_int64(s, at, (sqlite3_int64)n) == SQLITE_OK;
}

static bool
execute(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool
meta_set(struct views *v, const char *key, const char *value)
{
	sqlite3_stmt *s = statement(v, S_META_SET);

	return bind_text(s, 1, key) && bind_text(s, 2, value) && sqlite3_step(s) == SQLITE_DONE;
}

static bool
meta_set_u64(struct views *v, const char *key, uint64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return meta_set(v, key, text);
}

/* Is KEY there with VALUE? */
static bool
meta_is(struct views *v, const char *key, const char *value)
{
	sqlite3_stmt *s = statement(v, S_META_GET);
	const unsigned char *have;
	bool same;

	if (!bind_text(s, 1, key) || sqlite3_step(s) != SQLITE_ROW)
		return false;
	have = sqlite3_column_text(s, 0);
	same = have != NULL && strcmp((const char *)have, value) == 0;
	sqlite3_reset(s);
	return same;
}

static bool
meta_get_u64(struct views *v, const char *key, uint64_t *ret)
{
	sqlite3_stmt *s = statement(v, S_META_GET);
	sqlite3_int64 n;

	if (!bind_text(s, 1, key) || sqlite3_step(s) != SQLITE_ROW)
		return false;
	n = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (n < 0)
		return false;
	*ret = (uint64_t)n;
	return true;
}

/* ---- opening */

static void
views_release(struct views *v)
{
	for (size_t i = 0; i < S_COUNT; i++) {
		(void)sqlite3_finalize(v->prepared[i]);
		v->prepared[i] = NULL;
	}
	(void)sqlite3_close(v->db);
	v->db = NULL;
}

static bool
database_open(struct views *v, int dir, bool in_memory)
{
	char path[64], cache[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" VIEWS_FILE, dir);
	if (sqlite3_open_v2(in_memory ? ":memory:" : path, &v->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return false;
	(void)sqlite3_extended_result_codes(v->db, 1);
	(void)sqlite3_busy_timeout(v->db, VIEWS_WAIT_MS);
	(void)snprintf(cache, sizeof(cache), "PRAGMA cache_size=-%d", VIEWS_CACHE_KIB);
	/*
	 * No sync before anything is written, not even the switch to WAL; and the lock before WAL,
	 * which with it needs no memory that is shared with anybody.
	 */
	return execute(v->db, "PRAGMA synchronous=OFF") &&
	       execute(v->db, "PRAGMA locking_mode=EXCLUSIVE") &&
	       execute(v->db, "PRAGMA journal_mode=WAL") &&
	       execute(v->db, "PRAGMA temp_store=MEMORY") &&
	       execute(v->db, "PRAGMA trusted_schema=OFF") && execute(v->db, cache);
}

static bool
statements_prepare(struct views *v)
{
	for (size_t i = 0; i < S_COUNT; i++)
		if (sqlite3_prepare_v3(v->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &v->prepared[i], NULL) != SQLITE_OK)
			return false;
	return true;
}

static bool
database_sound(struct views *v)
{
	sqlite3_stmt *s = NULL;
	bool sound = false;

	if (sqlite3_prepare_v2(v->db, "PRAGMA quick_check(1)", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		const unsigned char *text = sqlite3_column_text(s, 0);

		sound = text != NULL && strcmp((const char *)text, "ok") == 0;
	}
	(void)sqlite3_finalize(s);
	return sound;
}

/* Take over what is there, if it is what it should be. */
static bool
database_usable(struct views *v, const struct views_spec *spec)
{
	if (!statements_prepare(v) || !meta_is(v, "version", VIEWS_VERSION) ||
	    !meta_is(v, "ledger", spec->vkey) || !meta_get_u64(v, "size", &v->size) ||
	    !meta_get_u64(v, "session", &v->last_session) || v->size > spec->size)
		return false;
	if (meta_is(v, "boot", spec->boot))
		return true;
	return database_sound(v) && meta_set(v, "boot", spec->boot);
}

static bool
database_begin(struct views *v, const struct views_spec *spec)
{
	v->size = 0;
	v->last_session = 0;
	return execute(v->db, "BEGIN") && execute(v->db, schema) && statements_prepare(v) &&
	       meta_set(v, "version", VIEWS_VERSION) && meta_set(v, "ledger", spec->vkey) &&
	       meta_set(v, "boot", spec->boot) && meta_set_u64(v, "size", 0) &&
	       meta_set_u64(v, "session", 0) && execute(v->db, "COMMIT");
}

static void
files_remove(int dir)
{
	static const char *const files[] = {VIEWS_FILE, VIEWS_FILE "-wal", VIEWS_FILE "-shm",
					    VIEWS_FILE "-journal"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlinkat(dir, files[i], 0);
}

/* 1: what was there goes on; 0: begun anew; negative: not possible here. */
static int
views_try(struct views *v, const struct views_spec *spec, bool in_memory)
{
	if (!in_memory) {
		if (database_open(v, spec->dir, false) && database_usable(v, spec))
			return 1;
		views_release(v);
		files_remove(spec->dir);
	}
	if (database_open(v, spec->dir, in_memory) && database_begin(v, spec))
		return 0;
	log_warning("view: %s", v->db != NULL ? sqlite3_errmsg(v->db) : "out of memory");
	views_release(v);
	return -EIO;
}

int
views_open(const struct views_spec *spec, struct views **ret, bool *ret_fresh, struct error *err)
{
	struct views *v = calloc(1, sizeof(*v));
	int r;

	if (v != NULL)
		v->waiting = calloc(VIEWS_WAITING_MAX, sizeof(*v->waiting));
	if (v == NULL || v->waiting == NULL) {
		free(v);
		return error_set(err, -ENOMEM, "out of memory for the view");
	}
	r = spec->dir >= 0 ? views_try(v, spec, false) : -EIO;
	if (r < 0) {
		if (spec->dir >= 0)
			log_warning("the view cannot be kept on disk and is kept in memory");
		r = views_try(v, spec, true);
	}
	if (r < 0)
		(void)views_fail(v, "open", NULL);
	*ret_fresh = r == 0;
	*ret = v;
	return 0;
}

void
views_close(struct views *v)
{
	if (v == NULL)
		return;
	views_flush(v);
	views_release(v);
	free(v->waiting);
	free(v);
}

bool
views_ok(const struct views *v)
{
	return !v->broken;
}

uint64_t
views_size(const struct views *v)
{
	return v->size + v->n_waiting;
}

uint64_t
views_last_session(const struct views *v)
{
	return v->last_session;
}

/* ---- writing */

static bool
row_write(struct views *v, const struct waiting_row *w)
{
	sqlite3_stmt *s = statement(v, S_INSERT);
	const struct row *r = &w->row;

	return bind_u64(s, 1, w->index) && sqlite3_bind_int(s, 2, (int)r->kind) == SQLITE_OK &&
	       sqlite3_bind_text(s, 3, r->time, -1, SQLITE_STATIC) == SQLITE_OK &&
	       bind_text(s, 4, r->op) && bind_text(s, 5, r->session) && bind_text(s, 6, r->event) &&
	       bind_text(s, 7, r->verdict) && bind_text(s, 8, r->reason) &&
	       bind_text(s, 9, r->name) && (r->uid == ROW_NO_UID || bind_u64(s, 10, r->uid)) &&
	       sqlite3_step(s) == SQLITE_DONE;
}

void
views_flush(struct views *v)
{
	bool ok;

	if (v->broken || v->n_waiting == 0)
		return;
	ok = execute(v->db, "BEGIN");
	for (size_t i = 0; ok && i < v->n_waiting; i++)
		ok = row_write(v, &v->waiting[i]);
	ok = ok && meta_set_u64(v, "size", v->size + v->n_waiting) &&
	     meta_set_u64(v, "session", v->last_session) && execute(v->db, "COMMIT");
	if (!ok) {
		(void)views_fail(v, "write", NULL);
		return;
	}
	v->size += v->n_waiting;
	v->n_waiting = 0;
}

void
views_add(struct views *v, uint64_t index, const struct row *row)
{
	uint64_t session;

	if (v->broken)
		return;
	if (index != views_size(v)) {
		(void)views_fail(v, "an entry is missing", NULL);
		return;
	}
	v->waiting[v->n_waiting++] = (struct waiting_row){.index = index, .row = *row};
	if (session_id_parse(row->session, &session) && session > v->last_session)
		v->last_session = session;
	if (v->n_waiting == VIEWS_WAITING_MAX)
		views_flush(v);
}

bool
views_waiting(const struct views *v)
{
	return v->n_waiting > 0;
}

/* ---- reading */

int
views_find(struct views *v, const char *op_or_session, uint64_t *ret_indexes, size_t max,
	   size_t *ret_n, uint32_t *ret_uid, struct error *err)
{
	sqlite3_stmt *s;
	uint32_t uid = ROW_NO_UID;
	size_t n = 0;
	int r;

	views_flush(v);
	if (v->broken)
		return views_fail(v, "read", err);
	s = statement(v, op_id_valid(op_or_session) ? S_BY_OP : S_BY_SESSION);
	if (!bind_text(s, 1, op_or_session) || !bind_u64(s, 2, max + 1))
		return views_fail(v, "read", err);
	while ((r = sqlite3_step(s)) == SQLITE_ROW) {
		sqlite3_int64 index = sqlite3_column_int64(s, 0);

		if (n == max || index < 0)
			break;
		ret_indexes[n++] = (uint64_t)index;
		if (sqlite3_column_type(s, 1) == SQLITE_INTEGER)
			uid = (uint32_t)sqlite3_column_int64(s, 1);
	}
	sqlite3_reset(s);
	if (r == SQLITE_ROW)
		return error_set(err, -E2BIG, "%s has more than %zu entries", op_or_session, max);
	if (r != SQLITE_DONE)
		return views_fail(v, "read", err);
	*ret_n = n;
	*ret_uid = uid;
	return 0;
}

int
views_first(struct views *v, const char *session, uint64_t *ret_indexes, size_t max, size_t *ret_n,
	    struct error *err)
{
	sqlite3_stmt *s;
	size_t n = 0;
	int r = SQLITE_DONE;

	views_flush(v);
	if (v->broken)
		return views_fail(v, "read", err);
	s = statement(v, S_BY_SESSION);
	if (!bind_text(s, 1, session) || !bind_u64(s, 2, max))
		return views_fail(v, "read", err);
	while (n < max && (r = sqlite3_step(s)) == SQLITE_ROW)
		ret_indexes[n++] = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return views_fail(v, "read", err);
	*ret_n = n;
	return 0;
}

/* One text that statement S, bound already, gives; empty when it gives none. */
static int
one_text(struct views *v, sqlite3_stmt *s, char *ret, size_t cap, struct error *err)
{
	int r = sqlite3_step(s);

	ret[0] = '\0';
	if (r == SQLITE_ROW) {
		const unsigned char *text = sqlite3_column_text(s, 0);

		if (text != NULL)
			(void)snprintf(ret, cap, "%s", (const char *)text);
	}
	sqlite3_reset(s);
	return r == SQLITE_ROW || r == SQLITE_DONE ? 0 : views_fail(v, "read", err);
}

int
views_session_name(struct views *v, uint64_t number, uint32_t uid, char ret[NAME_MAX_LEN + 1],
		   struct error *err)
{
	char id[SESSION_ID_MAX];
	sqlite3_stmt *s;

	views_flush(v);
	if (v->broken)
		return views_fail(v, "read", err);
	session_id_print(number, id);
	s = statement(v, S_NAME_OF);
	if (!bind_text(s, 1, id) || !bind_u64(s, 2, uid))
		return views_fail(v, "read", err);
	return one_text(v, s, ret, NAME_MAX_LEN + 1, err);
}

int
views_session_of_name(struct views *v, const char *name, uint32_t uid, char ret[SESSION_ID_MAX],
		      struct error *err)
{
	sqlite3_stmt *s;
	int r;

	views_flush(v);
	if (v->broken)
		return views_fail(v, "read", err);
	s = statement(v, S_OF_NAME);
	if (!bind_text(s, 1, name) || !bind_u64(s, 2, uid))
		return views_fail(v, "read", err);
	r = one_text(v, s, ret, SESSION_ID_MAX, err);
	if (r == 0 && ret[0] == '\0')
		return error_set(err, -ENOENT, "no session was ever called %s", name);
	return r;
}
