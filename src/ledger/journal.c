/*
 * A new segment is a file of zeros that gets its head, is synced, and only then its name: whoever
 * finds a segment by name finds it whole. Files of zeros come into being in the same way, under
 * another name until they are synced.
 */
#include "ledger/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/reader.h"
#include "ledger/zeros.h"

#define DIR_NAME "journal"
#define SPARE_NAME "spare"
#define RESERVE_NAME "reserve"

#define MIB (UINT64_C(1) << 20)
#define TAIL_PROBE_BYTES 64
#define SEGMENTS_MAX (1 << 20)

static void
free_bytes(uint8_t **p)
{
	free(*p);
}

static void
free_u64(uint64_t **p)
{
	free(*p);
}

/* Remember WHY for good, and tell it. */
static int
journal_fail(struct journal *j, const struct error *why, struct error *err)
{
	j->failure = *why;
	return error_set(err, why->code, "%s", why->text);
}

/* ---- opening */

int
journal_open(struct journal *j, int ledger_dir, const struct journal_sizes *sizes,
	     struct error *err)
{
	int r;

	*j = (struct journal){.dirfd = -1, .fd = -1, .sizes = *sizes};
	if (j->sizes.first == 0)
		j->sizes.first = 4 * MIB;
	if (j->sizes.segment == 0)
		j->sizes.segment = 16 * MIB;
	if (j->sizes.reserve == 0)
		j->sizes.reserve = 1 * MIB;
	j->dirfd = fd_open_private_dir(ledger_dir, DIR_NAME, err);
	if (j->dirfd < 0)
		return j->dirfd;
	if (flock(j->dirfd, LOCK_EX | LOCK_NB) != 0) {
		r = errno == EWOULDBLOCK
			    ? error_set(err, -EBUSY, "another process writes this ledger")
			    : error_sys(err, -errno, "lock the journal");
		journal_close(j);
		return r;
	}
	r = zeros_find(j->dirfd, SPARE_NAME, &j->spare_bytes, err);
	if (r == 0)
		r = zeros_find(j->dirfd, RESERVE_NAME, &j->reserve_bytes, err);
	if (r < 0)
		journal_close(j);
	return r;
}

void
journal_close(struct journal *j)
{
	fd_closep(&j->fd);
	fd_closep(&j->dirfd);
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
closedirp(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

int
journal_list(int dirfd, uint64_t **ret, size_t *ret_n, struct error *err)
{
	CLEANUP(free_u64) uint64_t *list = NULL;
	CLEANUP(closedirp) DIR *dir = NULL;
	size_t n = 0, cap = 0;
	struct dirent *e;
	int fd;

	/* Of its own: the position in a directory belongs to its open file. */
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		fd_close(fd);
		return error_sys(err, -errno, "list the journal");
	}
	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
		uint64_t first, *more;

		if (!segment_name_parse(e->d_name, &first))
			continue;
		if (n == cap) {
			cap = cap == 0 ? 64 : 2 * cap;
			more = cap <= SEGMENTS_MAX ? reallocarray(list, cap, sizeof(*list)) : NULL;
			if (more == NULL)
				return error_set(err, -ENOMEM, "out of memory");
			list = more;
		}
		list[n++] = first;
	}
	if (errno != 0)
		return error_sys(err, -errno, "list the journal");
	if (n > 0)
		qsort(list, n, sizeof(*list), compare_u64);
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}

static int
segment_open(int dirfd, uint64_t first, int flags, struct stat *ret_st, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char name[SEGMENT_NAME_LEN + 1];

	segment_name(first, name);
	fd = openat(dirfd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return error_set(err, -ESTALE, "journal/%s is a link", name);
	if (fd < 0)
		return error_sys(err, -errno, "open journal/%s", name);
	if (fstat(fd, ret_st) != 0)
		return error_sys(err, -errno, "look at journal/%s", name);
	if (!S_ISREG(ret_st->st_mode))
		return error_set(err, -ESTALE, "journal/%s is not a regular file", name);
	return TAKE_FD(fd);
}

int
journal_segment_open(int dirfd, uint64_t first, struct error *err)
{
	struct stat st;

	return segment_open(dirfd, first, O_RDONLY, &st, err);
}

int
journal_head_read(int fd, struct segment_head *ret, struct openset *open, size_t *ret_len,
		  struct error *err)
{
	CLEANUP(free_bytes) uint8_t *data = NULL;
	uint8_t probe[SEGMENT_ALIGN];
	size_t n, len;
	int r;

	r = reader_pread(fd, probe, sizeof(probe), 0, &n, err);
	if (r < 0)
		return r;
	len = n == sizeof(probe) ? segment_head_peek(probe) : 0;
	if (len == 0)
		return error_set(err, -EBADMSG, "segment: it does not begin as one");
	data = malloc(len);
	if (data == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = reader_pread(fd, data, len, 0, &n, err);
	if (r < 0)
		return r;
	if (n < len)
		return error_set(err, -EBADMSG, "segment: it ends within its head");
	r = segment_head_decode(data, len, ret, open, err);
	if (r < 0)
		return r;
	*ret_len = len;
	return 0;
}

int
journal_attach(struct journal *j, const struct segment_head *head, uint64_t tail, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	uint64_t bytes = head->bytes, end = 0;
	struct stat st;
	int r;

	fd = segment_open(j->dirfd, head->frontier.size, O_RDWR, &st, err);
	if (fd < 0)
		return fd;
	r = reader_find_zeros(fd, tail, &end, err);
	if (r < 0)
		return r;
	if ((uint64_t)st.st_size > bytes)
		bytes = (uint64_t)st.st_size;
	if ((uint64_t)st.st_size < bytes) {
		struct error why = {0};

		r = zeros_fill(fd, (uint64_t)st.st_size, bytes, &why);
		/* No space: then it is a shorter segment. */
		if (zeros_no_space(r) && ftruncate(fd, st.st_size) == 0)
			bytes = (uint64_t)st.st_size;
		else if (r < 0)
			return error_set(err, r, "%s", why.text);
	}
	if ((uint64_t)st.st_size < bytes && fsync(fd) != 0)
		return error_sys(err, -errno, "sync the journal");
	if (fstat(fd, &j->seen) != 0)
		return error_sys(err, -errno, "look at the journal");
	fd_closep(&j->fd);
	j->fd = TAKE_FD(fd);
	j->first = head->frontier.size;
	j->bytes = bytes;
	j->tail = tail;
	j->dirty_end = end;
	j->in_reserve = head->reserve;
	return 0;
}

/* ---- room */

bool
journal_fits(const struct journal *j, size_t used, size_t len)
{
	uint64_t left = j->bytes - j->tail;

	return used <= left && len <= left - used;
}

/* Make spare or reserve, which is there and all zeros, the segment that is written to. */
static int
segment_begin(struct journal *j, bool reserve, const struct segment_head *head,
	      const struct openset *open, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(free_bytes) uint8_t *data = NULL;
	const char *name = reserve ? RESERVE_NAME : SPARE_NAME;
	uint64_t bytes = reserve ? j->reserve_bytes : j->spare_bytes;
	struct segment_head said = *head;
	size_t len = segment_head_len(head, open);
	char final[SEGMENT_NAME_LEN + 1];
	struct stat st;
	int r;

	said.bytes = bytes;
	said.reserve = reserve;
	data = malloc(len);
	if (data == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	segment_head_encode(&said, open, data);
	fd = openat(j->dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, -errno, "open journal/%s", name);
	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "look at journal/%s", name);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != bytes || st.st_nlink != 1)
		return error_set(err, -ESTALE, "journal/%s is not what was made", name);
	r = fd_pwrite_all(fd, data, len, 0, err);
	if (r < 0)
		return r;
	if (fdatasync(fd) != 0)
		return error_sys(err, -errno, "sync journal/%s", name);
	segment_name(head->frontier.size, final);
	if (renameat2(j->dirfd, name, j->dirfd, final, RENAME_NOREPLACE) != 0)
		return error_sys(err, -errno, "rename journal/%s to %s", name, final);
	r = zeros_sync_dir(j->dirfd, err);
	if (r < 0)
		return r;
	if (fstat(fd, &j->seen) != 0)
		return error_sys(err, -errno, "look at the journal");
	fd_closep(&j->fd);
	j->fd = TAKE_FD(fd);
	j->first = head->frontier.size;
	j->bytes = bytes;
	j->tail = len;
	j->dirty_end = 0;
	j->in_reserve = reserve;
	*(reserve ? &j->reserve_bytes : &j->spare_bytes) = 0;
	return 0;
}

/* A segment of its own size, or -ENOSPC. */
static int
segment_new(struct journal *j, size_t need, const struct segment_head *head,
	    const struct openset *open, struct error *err)
{
	uint64_t want = j->fd < 0 ? j->sizes.first : j->sizes.segment;
	struct error why = {0};
	int r;

	if (j->spare_bytes > 0 && j->spare_bytes < need) {
		if (unlinkat(j->dirfd, SPARE_NAME, 0) != 0)
			return error_sys(err, -errno, "remove journal/" SPARE_NAME);
		j->spare_bytes = 0;
	}
	if (j->spare_bytes == 0) {
		uint64_t bytes;

		r = zeros_choose(j->dirfd, want, 8, need, &bytes, err);
		if (r == 0)
			r = zeros_make(j->dirfd, SPARE_NAME, bytes, err);
		if (r < 0)
			return r;
		j->spare_bytes = bytes;
	}
	r = segment_begin(j, false, head, open, &why);
	return r < 0 ? journal_fail(j, &why, err) : 0;
}

static int
reserve_make(struct journal *j, struct error *err)
{
	uint64_t bytes;
	int r;

	r = zeros_choose(j->dirfd, j->sizes.reserve, 16, 0, &bytes, err);
	if (r == 0)
		r = zeros_make(j->dirfd, RESERVE_NAME, bytes, err);
	if (r == 0)
		j->reserve_bytes = bytes;
	return r;
}

/* May CLASS use LEN bytes of a segment that was the reserve? */
static bool
reserve_allows(const struct journal *j, size_t len, enum journal_class class)
{
	uint64_t left = j->bytes - j->tail;

	if (class == JOURNAL_OUTCOME)
		return len <= left;
	return class == JOURNAL_EVENT && len <= left && left - len >= j->bytes / 2;
}

static int
room_in_reserve(struct journal *j, size_t need, enum journal_class class,
		const struct segment_head *head, const struct openset *open, struct error *err)
{
	struct error why = {0};
	int r;

	if (class == JOURNAL_INTENT || j->reserve_bytes < need)
		return error_set(err, -ENOSPC, "no space for the journal");
	r = segment_begin(j, true, head, open, &why);
	return r < 0 ? journal_fail(j, &why, err) : 0;
}

int
journal_room(struct journal *j, size_t len, enum journal_class class,
	     const struct segment_head *head, const struct openset *open, struct error *err)
{
	size_t need = segment_head_len(head, open) + len;
	struct error why = {0};
	int r;

	if (j->failure.code != 0)
		return error_set(err, j->failure.code, "%s", j->failure.text);
	if (j->fd >= 0 && !j->in_reserve && journal_fits(j, 0, len))
		return 0;
	if (j->in_reserve && reserve_allows(j, len, class))
		return 0;
	/* Out of the reserve only with a new one behind it. */
	r = j->in_reserve && j->reserve_bytes == 0 ? reserve_make(j, &why) : 0;
	if (r == 0)
		r = segment_new(j, need, head, open, &why);
	if (r == 0)
		return 0;
	if (!zeros_no_space(r))
		return error_set(err, r, "%s", why.text);
	return room_in_reserve(j, need, class, head, open, err);
}

/* ---- writing */

/* Is what lies under the segment's name still what we have open, and as we left it? */
static int
journal_look(const struct journal *j, struct error *err)
{
	char name[SEGMENT_NAME_LEN + 1];
	uint8_t probe[TAIL_PROBE_BYTES];
	struct stat held, named;
	size_t n;
	int r;

	segment_name(j->first, name);
	if (fstat(j->fd, &held) != 0)
		return error_sys(err, -errno, "look at the journal");
	if (fstatat(j->dirfd, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return error_set(err, errno == ENOENT ? -ESTALE : -errno,
				 "journal/%s is gone while in use", name);
	if (named.st_ino != held.st_ino || named.st_dev != held.st_dev)
		return error_set(err, -ESTALE, "journal/%s was replaced while in use", name);
	if (held.st_nlink != 1 || held.st_uid != j->seen.st_uid || held.st_mode != j->seen.st_mode)
		return error_set(err, -ESTALE, "journal/%s changed hands while in use", name);
	if (held.st_size != j->seen.st_size || (uint64_t)held.st_size < j->bytes)
		return error_set(err, -ESTALE, "journal/%s was cut or extended while in use", name);
	if (held.st_mtim.tv_sec != j->seen.st_mtim.tv_sec ||
	    held.st_mtim.tv_nsec != j->seen.st_mtim.tv_nsec)
		return error_set(err, -ESTALE, "journal/%s was written to by somebody else", name);
	if (j->dirty_end > j->tail)
		return 0;
	r = reader_pread(j->fd, probe, sizeof(probe), j->tail, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (probe[i] != 0)
			return error_set(err, -ESTALE, "journal/%s was written to by somebody else",
					 name);
	return 0;
}

int
journal_put(struct journal *j, const void *data, size_t len, struct error *err)
{
	struct error why = {0};
	int r;

	if (j->failure.code != 0)
		return error_set(err, j->failure.code, "%s", j->failure.text);
	r = journal_look(j, &why);
	if (r == 0)
		r = fd_pwrite_all(j->fd, data, len, j->tail, &why);
	/* After the record that tells of what is lost here, so that it is never lost untold. */
	if (r == 0 && j->dirty_end > j->tail + len)
		r = zeros_fill(j->fd, j->tail + len, j->dirty_end, &why);
	if (r < 0)
		return journal_fail(j, &why, err);
	/* A head start, no more: what goes wrong with it the sync will say. */
	(void)sync_file_range(j->fd, (off_t)j->tail, (off_t)len, SYNC_FILE_RANGE_WRITE);
	return 0;
}

int
journal_sync(struct journal *j, size_t len, struct error *err)
{
	struct error why = {0};
	int r = 0;

	/* A sync that failed may have dropped the pages: asking again proves nothing. */
	if (fdatasync(j->fd) != 0)
		r = error_sys(&why, -errno, "sync the journal");
	if (r == 0 && fstat(j->fd, &j->seen) != 0)
		r = error_sys(&why, -errno, "look at the journal");
	if (r < 0)
		return journal_fail(j, &why, err);
	j->tail += len;
	j->dirty_end = 0;
	return 0;
}

int
journal_prepare(struct journal *j, struct error *err)
{
	struct error why = {0};
	uint64_t bytes;
	int r = 0;

	if (j->failure.code != 0 || j->fd < 0)
		return 0;
	if (j->reserve_bytes == 0)
		r = reserve_make(j, &why);
	if (r == 0 && j->spare_bytes == 0 && j->tail > j->bytes / 2) {
		r = zeros_choose(j->dirfd, j->sizes.segment, 8, 0, &bytes, &why);
		if (r == 0)
			r = zeros_make(j->dirfd, SPARE_NAME, bytes, &why);
		if (r == 0)
			j->spare_bytes = bytes;
	}
	return r < 0 && !zeros_no_space(r) ? error_set(err, r, "%s", why.text) : 0;
}
