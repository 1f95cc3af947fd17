/*
 * What it costs to record: durable appends through loom-ledger, by one writer and by 64, against a
 * bare group-commit loop on a preallocated file (in this process with threads, and behind the same
 * socket as the ledger's) and against SQLite with synchronous=FULL; and what it costs to verify,
 * against SHA-256 of the same bytes. Everything in one run, in turns, on the file system of DIR.
 *
 * Usage: bench-ledger [DIR [SECONDS]]. Prints medians of the turns and their ratios.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "ledger/ledger.h"
#include "ledger/verify.h"
#include "model/entry.h"
#include "wire/channel.h"
#include "wire/inherit.h"

#define ENTRY_BYTES 512
#define TURNS 3
#define WRITERS_MAX 64
#define FILE_BYTES (64 << 20)
#define VERIFY_ENTRIES 300000

static char root[4096];
static double turn_seconds = 2;

static NORETURN void
die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench-ledger: %s: %s\n", what, why);
	exit(1);
}

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static void
path_of(const char *name, char out[4200])
{
	(void)snprintf(out, 4200, "%s/%s", root, name);
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

/* An entry of about ENTRY_BYTES. */
static void
entry_make(uint64_t n, struct buf *out)
{
	static char text[ENTRY_BYTES];
	json_t *fields;
	struct error err = {0};

	if (text[0] == '\0')
		memset(text, 'x', ENTRY_BYTES - 90);
	fields = json_pack("{s:I, s:s}", "n", (json_int_t)n, "text", text);
	buf_reset(out);
	if (entry_event("started", fields, 1764476184123, out, &err) < 0)
		die("entry", err.text);
	json_decref(fields);
}

/* ---- through loom-ledger, or a loop behind the same kind of socket */

struct server {
	pid_t pid;
	struct channel loomd, authority;
	struct packet packet;
};

static void
exec_ledger(int loomd, int key, int authority, int state)
{
	const int from[] = {loomd, key, authority, state};
	const int to[] = {INHERIT_LOOMD, INHERIT_KEY, INHERIT_AUTHORITY, INHERIT_STATE};
	char path[4300];
	int high[4];
	ssize_t n;

	n = readlink("/proc/self/exe", path, 4096);
	if (n < 0)
		_exit(99);
	path[n] = '\0';
	(void)snprintf(strrchr(path, '/'), 64, "/../src/ledger/loom-ledger");
	for (int i = 0; i < 4; i++)
		high[i] = fcntl(from[i], F_DUPFD, 100);
	for (int i = 3; i < 100; i++)
		(void)close(i);
	for (int i = 0; i < 4; i++)
		(void)dup2(high[i], to[i]);
	(void)execl(path, path, (char *)NULL);
	_exit(99);
}

/* What no ledger can be faster than: take what is there, write, sync, answer each. */
static NORETURN void
bare_server(int fd)
{
	static char data[WRITERS_MAX * 2 * ENTRY_BYTES], receipt[RECEIPT_LEN];
	static uint64_t tags[WRITERS_MAX];
	struct channel c;
	struct packet p;
	char path[4200];
	off_t off = 0;
	int file;

	path_of("bare-server", path);
	file = open(path, O_RDWR | O_CREAT, 0600);
	for (off_t at = 0; at < FILE_BYTES; at += (off_t)sizeof(data))
		if (pwrite(file, data, sizeof(data), at) < 0)
			_exit(1);
	(void)fsync(file);
	channel_init(&c, fd, P_LEDGER, P_AUTHORITY, S_OPEN);
	if (packet_init(&p, NULL) < 0)
		_exit(1);
	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		size_t n = 0, len = 0;
		int r = 1;

		(void)fcntl(fd, F_SETFL, O_NONBLOCK);
		if (poll(&pfd, 1, -1) < 0)
			_exit(1);
		while (n < WRITERS_MAX && (r = channel_recv(&c, &p, NULL)) == 1) {
			struct msg_append m;

			if (msg_append_decode(p.body, p.len, &m, NULL) < 0)
				_exit(1);
			tags[n++] = m.tag;
			memcpy(data + len, m.entry.data, m.entry.len);
			len += m.entry.len;
		}
		if (n == 0 && r == 0)
			_exit(0);
		if (pwrite(file, data, len, off) < 0 || fdatasync(file) != 0)
			_exit(1);
		off = (off + (off_t)len) % (FILE_BYTES - (off_t)sizeof(data));
		for (size_t i = 0; i < n; i++)
			if (CHANNEL_SEND(&c, appended, NULL, .tag = tags[i],
					 .receipt = wire_bytes_of(receipt, sizeof(receipt))) < 0)
				_exit(0);
	}
}

static void
server_start(struct server *s, bool ledger)
{
	int loomd[2], authority[2], key[2], state;
	struct error err = {0};
	char path[4200];

	path_of("ledger", path);
	(void)mkdir(path, 0700);
	state = open(path, O_RDONLY | O_DIRECTORY);
	if (state < 0 || pipe(key) != 0 || channel_pair(loomd, &err) < 0 ||
	    channel_pair(authority, &err) < 0 || write(key[1], path, 32) != 32)
		die("start", "no descriptors");
	(void)close(key[1]);
	s->pid = fork();
	if (s->pid == 0 && ledger)
		exec_ledger(loomd[1], key[0], authority[1], state);
	if (s->pid == 0) {
		/* Nothing of the other server's: its end must be seen by it alone. */
		(void)dup2(authority[1], 3);
		(void)close_range(4, ~0U, 0);
		bare_server(3);
	}
	(void)close(loomd[1]);
	(void)close(authority[1]);
	(void)close(key[0]);
	(void)close(state);
	channel_init(&s->loomd, loomd[0], P_LOOMD, P_LEDGER, S_INIT);
	channel_init(&s->authority, authority[0], P_AUTHORITY, P_LEDGER, S_OPEN);
	if (packet_init(&s->packet, &err) < 0)
		die("start", err.text);
	if (ledger && channel_recv(&s->loomd, &s->packet, &err) != 1)
		die("loom-ledger", "did not start");
}

static void
server_stop(struct server *s)
{
	channel_close(&s->authority);
	channel_close(&s->loomd);
	packet_fini(&s->packet);
	(void)waitpid(s->pid, NULL, 0);
}

/* Appends a second with WRITERS outstanding. */
static double
server_turn(struct server *s, unsigned int writers)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	double start = now(), end = start + turn_seconds;
	unsigned int out = 0;
	uint64_t done = 0;

	buf_init(&entry, ENTRY_MAX);
	entry_make(1, &entry);
	while (now() < end || out > 0) {
		for (; out < writers && now() < end; out++)
			if (CHANNEL_SEND(&s->authority, append, NULL, .tag = out,
					 .kind = ENTRY_EVENT,
					 .entry = wire_bytes_of(entry.data, entry.len)) < 0)
				die("append", "the server has gone");
		if (channel_recv(&s->authority, &s->packet, NULL) != 1 ||
		    s->packet.type != MSG_appended)
			die("append", "refused");
		out--;
		done++;
	}
	return (double)done / (now() - start);
}

/* ---- threads in this process */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	char data[2][WRITERS_MAX * ENTRY_BYTES];
	size_t len;
	uint64_t filling, synced; /* numbers of batches */
	bool leader;
	off_t off;
	int fd;
	double end;
	uint64_t done;
} group;

/* Join the batch that is filling; whoever finds no leader writes it for all. */
static void
group_append(void)
{
	uint64_t mine;

	(void)pthread_mutex_lock(&group.lock);
	memset(group.data[group.filling % 2] + group.len, 'x', ENTRY_BYTES);
	group.len += ENTRY_BYTES;
	mine = group.filling;
	while (group.synced <= mine) {
		size_t len;
		char *data;
		off_t off;

		if (group.leader) {
			(void)pthread_cond_wait(&group.turn, &group.lock);
			continue;
		}
		group.leader = true;
		data = group.data[group.filling++ % 2];
		len = group.len;
		off = group.off;
		group.len = 0;
		group.off = (off + (off_t)len) % (FILE_BYTES - WRITERS_MAX * ENTRY_BYTES);
		(void)pthread_mutex_unlock(&group.lock);
		if (pwrite(group.fd, data, len, off) < 0 || fdatasync(group.fd) != 0)
			die("bare loop", strerror(errno));
		(void)pthread_mutex_lock(&group.lock);
		group.synced = group.filling;
		group.leader = false;
		(void)pthread_cond_broadcast(&group.turn);
	}
	group.done++;
	(void)pthread_mutex_unlock(&group.lock);
}

static void *
group_writer(void *arg)
{
	(void)arg;
	while (now() < group.end)
		group_append();
	return NULL;
}

static double
threads_turn(void *(*writer)(void *), unsigned int writers)
{
	pthread_t threads[WRITERS_MAX];
	double start = now();

	group.end = start + turn_seconds;
	group.done = 0;
	for (unsigned int i = 0; i < writers; i++)
		if (pthread_create(&threads[i], NULL, writer, NULL) != 0)
			die("threads", strerror(errno));
	for (unsigned int i = 0; i < writers; i++)
		(void)pthread_join(threads[i], NULL);
	return (double)group.done / (now() - start);
}

static double
bare_turn(unsigned int writers)
{
	char path[4200];

	if (group.fd <= 0) {
		path_of("bare", path);
		group.fd = open(path, O_RDWR | O_CREAT, 0600);
		for (off_t at = 0; at < FILE_BYTES; at += (off_t)sizeof(group.data))
			if (pwrite(group.fd, group.data, sizeof(group.data), at) < 0)
				die("bare loop", strerror(errno));
		(void)fsync(group.fd);
		group.synced = 0;
	}
	return threads_turn(group_writer, writers);
}

static void
sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		die("sqlite", sqlite3_errmsg(db));
}

static void *
sqlite_writer(void *arg)
{
	static char text[ENTRY_BYTES];
	sqlite3_stmt *insert;
	uint64_t done = 0;
	char path[4200];
	sqlite3 *db;

	(void)arg;
	path_of("peer.sqlite", path);
	if (sqlite3_open(path, &db) != SQLITE_OK)
		die("sqlite", sqlite3_errmsg(db));
	(void)sqlite3_busy_timeout(db, 10000);
	sql(db, "PRAGMA synchronous=FULL");
	if (sqlite3_prepare_v2(db, "INSERT INTO entries(bytes) VALUES(?)", -1, &insert, NULL) !=
	    SQLITE_OK)
		die("sqlite", sqlite3_errmsg(db));
	while (now() < group.end) {
		(void)sqlite3_bind_blob(insert, 1, text, sizeof(text), SQLITE_STATIC);
		if (sqlite3_step(insert) == SQLITE_DONE)
			done++;
		(void)sqlite3_reset(insert);
	}
	(void)sqlite3_finalize(insert);
	(void)sqlite3_close(db);
	(void)pthread_mutex_lock(&group.lock);
	group.done += done;
	(void)pthread_mutex_unlock(&group.lock);
	return NULL;
}

static double
sqlite_turn(unsigned int writers)
{
	char path[4200];
	sqlite3 *db;

	path_of("peer.sqlite", path);
	if (sqlite3_open(path, &db) != SQLITE_OK)
		die("sqlite", sqlite3_errmsg(db));
	sql(db, "PRAGMA journal_mode=WAL");
	sql(db, "CREATE TABLE IF NOT EXISTS entries(n INTEGER PRIMARY KEY, bytes BLOB)");
	(void)sqlite3_close(db);
	return threads_turn(sqlite_writer, writers);
}

/* ---- tables */

static void
row(const char *what, double value, double against)
{
	(void)printf("  %-52s %9.0f /s   loom-ledger is %5.2f of it\n", what, value,
		     value > 0 ? against / value : 0);
}

static void
appends(unsigned int writers)
{
	double ledger[TURNS], server[TURNS], bare[TURNS], lite[TURNS], ours;
	struct server s, plain;

	server_start(&s, true);
	server_start(&plain, false);
	(void)server_turn(&plain, 1);
	for (int i = 0; i < TURNS; i++) {
		ledger[i] = server_turn(&s, writers);
		server[i] = server_turn(&plain, writers);
		bare[i] = bare_turn(writers);
		lite[i] = sqlite_turn(writers);
	}
	server_stop(&s);
	server_stop(&plain);
	ours = median(ledger, TURNS);
	(void)printf("durable appends of %d bytes, %u writer%s:\n", ENTRY_BYTES, writers,
		     writers > 1 ? "s" : "");
	(void)printf("  %-52s %9.0f /s\n", "loom-ledger", ours);
	row("bare group commit behind the same socket", median(server, TURNS), ours);
	row("bare group commit, threads in one process", median(bare, TURNS), ours);
	row("SQLite, WAL, synchronous=FULL", median(lite, TURNS), ours);
}

/* A long history by the ledger's own code; synced in large batches. */
static int
history_make(const char *name)
{
	static const uint8_t key[RECEIPT_KEY_LEN] = {1};
	static const struct journal_sizes sizes = {0};
	struct receipt receipts[LEDGER_BATCH_MAX];
	struct ledger *l;
	struct error err = {0};
	char path[4200];
	int dirfd, r = 0;
	struct buf entry;

	path_of(name, path);
	(void)mkdir(path, 0700);
	dirfd = open(path, O_RDONLY | O_DIRECTORY);
	buf_init(&entry, ENTRY_MAX);
	if (ledger_open(dirfd, key, &sizes, &l, &err) < 0)
		die("history", err.text);
	for (uint64_t i = 0; i < VERIFY_ENTRIES && r == 0; i++) {
		struct ledger_append a = {.kind = ENTRY_EVENT};

		entry_make(i, &entry);
		a.entry = entry.data;
		a.len = entry.len;
		r = ledger_stage(l, &a, &err);
		if (r == -EAGAIN) {
			r = ledger_commit(l, receipts, &err);
			if (r == 0)
				r = ledger_follow(l, &err);
			i -= r == 0;
		}
	}
	if (r == 0)
		r = ledger_commit(l, receipts, &err);
	while (r == 0 && (r = ledger_settle(l, &err)) > 0)
		r = 0;
	if (r < 0 || ledger_size(l) != VERIFY_ENTRIES)
		die("history", err.text);
	while (ledger_settle(l, &err) > 0)
		;
	ledger_free(l);
	buf_fini(&entry);
	return dirfd;
}

static void
verification(void)
{
	double verify[TURNS], deep[TURNS], bare[TURNS], base;
	int dirfd = history_make("history");
	struct ledger_report report = {0};
	struct sha256 *h = sha256_new();
	uint8_t digest[SHA256_LEN];
	struct error err = {0};
	struct buf entry;

	buf_init(&entry, ENTRY_MAX);
	for (int i = 0; i < TURNS; i++) {
		struct ledger_verify_options options = {.stopped = true};
		double start = now();

		if (ledger_verify(dirfd, &options, &report, &err) < 0 || !report.verified)
			die("verify", err.code < 0 ? err.text : report.what);
		verify[i] = VERIFY_ENTRIES / (now() - start);
		options.deep = true;
		start = now();
		if (ledger_verify(dirfd, &options, &report, &err) < 0 || !report.verified)
			die("verify", err.code < 0 ? err.text : report.what);
		deep[i] = VERIFY_ENTRIES / (now() - start);
		/* The same entries, already in memory, one hash each. */
		entry_make(1, &entry);
		start = now();
		for (int k = 0; k < VERIFY_ENTRIES; k++) {
			sha256_add(h, entry.data, entry.len);
			sha256_end(h, digest);
			entry.data[10] = (char)digest[0];
		}
		bare[i] = VERIFY_ENTRIES / (now() - start);
	}
	base = median(bare, TURNS);
	(void)printf("verification of %d entries of %llu bytes, one core:\n", VERIFY_ENTRIES,
		     (unsigned long long)(report.bytes / report.entries));
	(void)printf("  %-52s %9.0f /s\n", "SHA-256 of the same bytes", base);
	(void)printf("  %-52s %9.0f /s   %5.2f of it\n", "ledger_verify", median(verify, TURNS),
		     median(verify, TURNS) / base);
	(void)printf("  %-52s %9.0f /s   %5.2f of it\n", "ledger_verify, each entry read in full",
		     median(deep, TURNS), median(deep, TURNS) / base);
	sha256_free(h);
	buf_fini(&entry);
	(void)close(dirfd);
}

int
main(int argc, char **argv)
{
	struct utsname u;

	(void)snprintf(root, sizeof(root), "%s/bench-ledger-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	if (argc > 2)
		turn_seconds = strtod(argv[2], NULL);
	if (mkdtemp(root) == NULL)
		die(root, strerror(errno));
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)uname(&u);
	(void)printf("%s %s, %ld processors, SQLite %s, %d turns of %.1f s\n", u.sysname, u.release,
		     sysconf(_SC_NPROCESSORS_ONLN), sqlite3_libversion(), TURNS, turn_seconds);
	(void)pthread_mutex_init(&group.lock, NULL);
	(void)pthread_cond_init(&group.turn, NULL);
	appends(1);
	appends(WRITERS_MAX);
	verification();
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
