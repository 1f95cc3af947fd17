/*
 * The ledger on a disk that fails. The linker puts these functions before the system's (--wrap), so
 * that the Nth call fails, writes only half, or is the last one before the power goes: then what was
 * written and not synced is there in some sectors and not in others.
 *
 * Whatever happens: an entry that was answered for is there after the next start, byte for byte; the
 * ledger verifies; and what was lost is told in a "recovered" event.
 */
#include "ledger_fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "base/json.h"

#define SECTOR 512

enum fault { FAULT_NONE, FAULT_ONCE, FAULT_FOREVER, FAULT_HALF, FAULT_POWER };

static struct {
	enum fault fault;
	int code;
	uint64_t at;      /* the call that fails, from 1 */
	uint64_t calls;
	bool dead;
} disk;

/* What the disk may forget: what lay there before each write since the last sync of the file. */
struct unsynced {
	struct unsynced *older;
	char path[128];
	ino_t ino;
	off_t offset, old_size;
	size_t len;
	uint8_t old[];
};
static struct unsynced *unsynced;

ssize_t __real_pwrite64(int fd, const void *data, size_t len, off_t offset);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_renameat(int from, const char *a, int to, const char *b);
int __real_renameat2(int from, const char *a, int to, const char *b, unsigned int flags);
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);

ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t offset);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned int flags);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static uint64_t random_state = 88172645463325252ULL;

static uint64_t
random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Is it this call's turn to fail? */
static bool
fails_now(void)
{
	disk.calls++;
	if (disk.fault == FAULT_NONE)
		return false;
	if (disk.calls == disk.at && disk.fault == FAULT_POWER)
		disk.dead = true;
	return disk.dead || disk.calls == disk.at ||
	       (disk.fault == FAULT_FOREVER && disk.calls > disk.at);
}

static void
remember(int fd, size_t len, off_t offset)
{
	struct unsynced *u;
	struct stat st;
	char link[64];
	ssize_t n;

	if (disk.fault != FAULT_POWER || fstat(fd, &st) != 0)
		return;
	u = __real_calloc(1, sizeof(*u) + len);
	assert_non_null(u);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, u->path, sizeof(u->path) - 1);
	assert_true(n > 0);
	u->ino = st.st_ino;
	u->old_size = st.st_size;
	u->offset = offset;
	u->len = len;
	if (pread(fd, u->old, len, offset) < 0)
		memset(u->old, 0, len);
	u->older = unsynced;
	unsynced = u;
}

static void
forget(int fd)
{
	struct unsynced **at = &unsynced;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return;
	while (*at != NULL) {
		struct unsynced *u = *at;

		if (u->ino != st.st_ino) {
			at = &u->older;
			continue;
		}
		*at = u->older;
		free(u);
	}
}

/* The power is back: of each write that was not synced some sectors are what they were. */
static void
power_back(void)
{
	while (unsynced != NULL) {
		struct unsynced *u = unsynced;
		int fd = open(u->path, O_WRONLY);
		unsigned int mood = (unsigned int)(random_next() % 4);

		for (size_t at = 0; fd >= 0 && at < u->len;) {
			size_t n = SECTOR - (size_t)(u->offset + (off_t)at) % SECTOR;
			bool lost = mood == 0 || (mood > 1 && random_next() % 2 == 0);

			n = n < u->len - at ? n : u->len - at;
			if (lost)
				assert_int_equal(__real_pwrite64(fd, u->old + at, n,
								 u->offset + (off_t)at),
						 n);
			at += n;
		}
		if (fd >= 0 && mood == 0 && u->old_size < u->offset + (off_t)u->len)
			assert_int_equal(ftruncate(fd, u->old_size), 0);
		fd_close(fd);
		unsynced = u->older;
		free(u);
	}
}

ssize_t
__wrap_pwrite64(int fd, const void *data, size_t len, off_t offset)
{
	if (fails_now()) {
		/* What was asked for last may have reached the disk in part, too. */
		if (disk.calls == disk.at && (disk.fault == FAULT_HALF || disk.fault == FAULT_POWER)) {
			remember(fd, len / 2, offset);
			(void)__real_pwrite64(fd, data, len / 2, offset);
		}
		errno = disk.code;
		return -1;
	}
	remember(fd, len, offset);
	return __real_pwrite64(fd, data, len, offset);
}

int
__wrap_fdatasync(int fd)
{
	if (fails_now()) {
		errno = disk.code;
		return -1;
	}
	forget(fd);
	return __real_fdatasync(fd);
}

int
__wrap_fsync(int fd)
{
	if (fails_now()) {
		errno = disk.code;
		return -1;
	}
	forget(fd);
	return __real_fsync(fd);
}

int
__wrap_renameat(int from, const char *a, int to, const char *b)
{
	if (fails_now()) {
		errno = disk.code;
		return -1;
	}
	return __real_renameat(from, a, to, b);
}

int
__wrap_renameat2(int from, const char *a, int to, const char *b, unsigned int flags)
{
	if (fails_now()) {
		errno = disk.code;
		return -1;
	}
	return __real_renameat2(from, a, to, b, flags);
}

/* ---- memory, counted apart */

static struct {
	uint64_t at, calls;
	bool paused; /* the test's own allocations */
} memory;

static bool
memory_fails(void)
{
	return !memory.paused && memory.at != 0 && ++memory.calls == memory.at;
}

void *
__wrap_malloc(size_t n)
{
	return memory_fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return memory_fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return memory_fails() ? NULL : __real_realloc(p, n);
}

void *
__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return memory_fails() ? NULL : __real_reallocarray(p, n, size);
}

/* ---- what is done on the failing disk */

#define ACKED_MAX 512
#define BATCH_MAX 120

/* Smaller still, so that one scenario has several segments. */
static const struct journal_sizes sizes = {
	.first = 64 * 1024,
	.segment = 64 * 1024,
	.reserve = 64 * 1024,
};

/* The entries that were answered for, by index. */
static struct {
	struct buf entry[ACKED_MAX];
	bool there[ACKED_MAX];
	bool told; /* something was refused for good */
} acked;

static void
acked_reset(void)
{
	for (size_t i = 0; i < ACKED_MAX; i++) {
		buf_fini(&acked.entry[i]);
		acked.there[i] = false;
	}
}

static void
acked_note(const struct receipt *receipt, const struct buf *entry)
{
	assert_true(receipt->index < ACKED_MAX);
	assert_false(acked.there[receipt->index]);
	acked.there[receipt->index] = true;
	memory.paused = true;
	buf_init(&acked.entry[receipt->index], ENTRY_MAX);
	buf_add(&acked.entry[receipt->index], entry->data, entry->len);
	assert_ok(buf_check(&acked.entry[receipt->index], NULL));
	memory.paused = false;
}

/* A batch of N events, the first with text of LEN bytes. */
static int
batch(struct ledger *l, uint64_t first, size_t n, size_t len)
{
	static char text[32768];
	static struct receipt receipts[BATCH_MAX];
	struct buf entries[BATCH_MAX] = {0};
	size_t staged = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		CLEANUP(json_decrefp) json_t *fields = NULL;
		struct ledger_append a = {.kind = ENTRY_EVENT};

		memset(text, 'x', len);
		text[i == 0 ? len : 0] = '\0';
		fields = json_pack("{s:I, s:s}", "n", (json_int_t)(first + i), "text", text);
		buf_init(&entries[i], ENTRY_MAX);
		r = fields == NULL ? -ENOMEM : entry_event("started", fields, 1, &entries[i], NULL);
		a.entry = entries[i].data;
		a.len = entries[i].len;
		if (r == 0)
			r = ledger_stage(l, &a, NULL);
		if (r == -EAGAIN)
			break;
		staged += r == 0;
	}
	if (staged > 0) {
		int failed = ledger_commit(l, receipts, NULL);

		for (size_t i = 0; i < staged && failed == 0; i++)
			acked_note(&receipts[i], &entries[i]);
		r = failed < 0 ? failed : r;
	}
	for (size_t i = 0; i < n; i++)
		buf_fini(&entries[i]);
	return r;
}

static int
settle(struct ledger *l)
{
	int r;

	do
		r = ledger_settle(l, NULL);
	while (r > 0 || (r == 0 && ledger_unsettled(l) > 0));
	return r;
}

/* Opened, appended to, published, crossed into other segments, twice. */
static void
scenario(const struct place *p)
{
	for (int round = 0; round < 2; round++) {
		CLEANUP(ledger_freep) struct ledger *l = NULL;
		bool failed = false;

		if (ledger_open(p->dirfd, fixture_key, &sizes, &l, NULL) < 0)
			return;
		/* So many that a tile gets full in the second round. */
		failed = batch(l, 1000, BATCH_MAX, 100) < 0;
		for (uint64_t i = 0; i < 8; i++) {
			int r = batch(l, 10 * i, 1 + i % 3, i % 4 == 3 ? 20000 : 300);

			/* Nothing is answered for any more once something was lost for good. */
			if (failed && r == 0 && (disk.fault == FAULT_FOREVER || disk.dead))
				fail_msg("answered for on a dead disk");
			failed = failed || r < 0;
			if (ledger_follow(l, NULL) < 0)
				assert_true(disk.fault != FAULT_NONE || memory.at != 0);
			if (i % 3 == 2)
				(void)settle(l);
		}
		(void)settle(l);
	}
}

static bool
recovered_told(const struct place *p, uint64_t size)
{
	struct ledger_report report = fixture_verify(p, false);

	(void)size;
	return report.recovered > 0;
}

/* Start on a good disk again and look at everything. */
static void
assert_all_there(const struct place *p, uint64_t call, const char *what)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	struct ledger_report report;
	struct receipt receipt;
	struct error err = {0};
	struct ledger *l = NULL;
	bool torn;

	disk.fault = FAULT_NONE;
	disk.dead = false;
	if (ledger_open(p->dirfd, fixture_key, &sizes, &l, &err) < 0)
		fail_msg("%s at call %llu: no start: %s", what, (unsigned long long)call, err.text);
	torn = ledger_recovered(l)[0] != '\0';
	buf_init(&entry, ENTRY_MAX);
	for (uint64_t i = 0; i < ACKED_MAX; i++) {
		if (!acked.there[i])
			continue;
		buf_reset(&entry);
		if (ledger_entry(l, i, &entry, &err) < 0)
			fail_msg("%s at call %llu: entry %llu: %s", what, (unsigned long long)call,
				 (unsigned long long)i, err.text);
		if (entry.len != acked.entry[i].len ||
		    memcmp(entry.data, acked.entry[i].data, entry.len) != 0)
			fail_msg("%s at call %llu: entry %llu is another", what,
				 (unsigned long long)call, (unsigned long long)i);
	}
	assert_ok(fixture_append_event(l, 777, &receipt, NULL));
	assert_ok(settle(l));
	ledger_free(l);
	report = fixture_verify(p, true);
	if (!report.verified)
		fail_msg("%s at call %llu: %s", what, (unsigned long long)call, report.what);
	if (torn)
		assert_true(recovered_told(p, report.entries));
}

/* One scenario a failing call, until there are no more calls to fail. */
static uint64_t
each_call(enum fault fault, int code, const char *what)
{
	uint64_t call = 0;

	do {
		struct place p;

		place_init(&p);
		acked_reset();
		call++;
		disk.calls = 0;
		disk.at = call;
		disk.code = code;
		disk.fault = fault;
		disk.dead = false;
		scenario(&p);
		if (fault == FAULT_POWER)
			power_back();
		assert_all_there(&p, call, what);
		place_fini(&p);
	} while (disk.at <= disk.calls && disk.calls > 0 && call < disk.calls);
	acked_reset();
	return call;
}

static void
once_eio(void **state)
{
	assert_true(each_call(FAULT_ONCE, EIO, "EIO once") > 50);
}

static void
once_enospc(void **state)
{
	assert_true(each_call(FAULT_ONCE, ENOSPC, "ENOSPC once") > 50);
}

static void
forever_eio(void **state)
{
	assert_true(each_call(FAULT_FOREVER, EIO, "EIO from then on") > 50);
}

static void
forever_erofs(void **state)
{
	assert_true(each_call(FAULT_FOREVER, EROFS, "EROFS from then on") > 50);
}

static void
half_a_write(void **state)
{
	assert_true(each_call(FAULT_HALF, EIO, "half a write") > 50);
}

static void
power_goes(void **state)
{
	for (int round = 0; round < 4; round++)
		assert_true(each_call(FAULT_POWER, EIO, "power loss") > 50);
}

/* The Nth allocation: refused, and nothing else. */
static void
no_memory(void **state)
{
	uint64_t call = 0;

	do {
		struct place p;

		place_init(&p);
		acked_reset();
		memory.calls = 0;
		memory.at = ++call;
		scenario(&p);
		memory.at = 0;
		assert_all_there(&p, call, "no memory");
		place_fini(&p);
		/* Early ones all, the others now and then: they repeat. */
		if (call > 80)
			call += random_next() % 40;
	} while (call <= memory.calls);
	acked_reset();
	assert_true(call > 80);
}

/* ---- a disk that is full */

/* A small file system of this process's own: it goes with its mount namespace. */
static bool
small_disk(struct place *p, const char *options)
{
	place_init(p);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", p->path, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) {
		place_fini(p);
		return false;
	}
	fd_closep(&p->dirfd);
	p->dirfd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(fchmod(p->dirfd, 0700));
	return true;
}

static void
small_disk_fini(struct place *p)
{
	fd_closep(&p->dirfd);
	assert_ok(umount2(p->path, MNT_DETACH));
	assert_ok(rmdir(p->path));
}

static void
fill(const struct place *p)
{
	CLEANUP(fd_closep) int fd = openat(p->dirfd, "filler", O_WRONLY | O_CREAT | O_APPEND, 0600);
	static const char block[4096];

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
}

/*
 * Intents go on into what was preallocated, then are refused; outcomes and denials go on into the
 * reserve; with space again so do intents, and no index is missing.
 */
static void
full_disk(void **state)
{
	enum { OUTCOMES = 15 };
	static const struct journal_sizes defaults = {0};
	uint8_t digest[256][SHA256_LEN];
	uint64_t index[256], n = 0, more = 0, events = 0;
	struct ledger_report report;
	struct receipt receipt;
	struct error err = {0};
	struct ledger *l;
	struct place p;
	int r;

	if (!small_disk(&p, "size=1m"))
		unit_skip("no mount namespace of our own");
	l = fixture_open(&p, &defaults);
	assert_ok(settle(l));
	fill(&p);
	for (; n < ARRAY_LEN(index); n++) {
		r = fixture_append_intent(l, n, &receipt, digest[n], &err);
		if (r < 0)
			break;
		index[n] = receipt.index;
	}
	assert_true(n > 10 && n < ARRAY_LEN(index));
	assert_int_equal(r, -ENOSPC);
	for (int i = 0; i < 5; i++)
		assert_fails(-ENOSPC, &err,
			     fixture_append_intent(l, 1000, &receipt, digest[255], &err));
	/* Denials may fill half of the reserve; then there is still room for how things ended. */
	for (r = 0; r == 0 && events < 1000; events++)
		r = fixture_append_event(l, events, &receipt, NULL);
	assert_int_equal(r, -ENOSPC);
	assert_true(events > 20);
	for (uint64_t i = 0; i < OUTCOMES; i++)
		assert_ok(fixture_append_outcome(l, i, index[i], digest[i], &receipt, NULL));
	assert_fails(-ENOSPC, &err, fixture_append_intent(l, 1000, &receipt, digest[255], &err));
	/* A start on the full disk finds all of it, and still records. */
	ledger_free(l);
	l = fixture_open(&p, &defaults);
	assert_string_equal(ledger_recovered(l), "");
	assert_ok(fixture_append_outcome(l, OUTCOMES, index[OUTCOMES], digest[OUTCOMES], &receipt, NULL));
	assert_fails(-ENOSPC, &err, fixture_append_intent(l, 1000, &receipt, digest[255], &err));
	assert_ok(unlinkat(p.dirfd, "filler", 0));
	for (; more < 20; more++)
		assert_ok(fixture_append_intent(l, 2000 + more, &receipt, digest[255], NULL));
	assert_ok(ledger_follow(l, NULL));
	assert_ok(settle(l));
	assert_int_equal(ledger_size(l), n + events - 1 + OUTCOMES + 1 + more);
	ledger_free(l);
	report = fixture_verify(&p, true);
	assert_verified(report);
	assert_int_equal(report.entries, n + events - 1 + OUTCOMES + 1 + more);
	assert_int_equal(report.recovered, 0);
	small_disk_fini(&p);
}

/* Too small even for the first segment: no ledger, and nothing half made. */
static void
no_room_at_all(void **state)
{
	static const struct journal_sizes defaults = {0};
	struct ledger *l = NULL;
	struct error err = {0};
	struct place p;

	if (!small_disk(&p, "size=48k"))
		unit_skip("no mount namespace of our own");
	assert_fails(-ENOSPC, &err, ledger_open(p.dirfd, fixture_key, &defaults, &l, &err));
	/* With room it is made. */
	assert_ok(mount(NULL, p.path, NULL, MS_REMOUNT, "size=1m"));
	l = fixture_open(&p, &defaults);
	ledger_free(l);
	assert_verified(fixture_verify(&p, false));
	small_disk_fini(&p);
}

static void
read_only_disk(void **state)
{
	static const struct journal_sizes defaults = {0};
	struct ledger *l = NULL;
	struct receipt receipt;
	struct error err = {0};
	struct place p;

	if (!small_disk(&p, "size=2m"))
		unit_skip("no mount namespace of our own");
	l = fixture_open(&p, &defaults);
	assert_ok(fixture_append_event(l, 1, &receipt, NULL));
	ledger_freep(&l);
	assert_ok(mount(NULL, p.path, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	assert_fails(-EROFS, &err, ledger_open(p.dirfd, fixture_key, &defaults, &l, &err));
	assert_ok(mount(NULL, p.path, NULL, MS_REMOUNT, NULL));
	l = fixture_open(&p, &defaults);
	assert_int_equal(ledger_size(l), 1);
	ledger_free(l);
	small_disk_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_eio),
		cmocka_unit_test(once_enospc),
		cmocka_unit_test(forever_eio),
		cmocka_unit_test(forever_erofs),
		cmocka_unit_test(half_a_write),
		cmocka_unit_test(power_goes),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(no_room_at_all),
		cmocka_unit_test(read_only_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
