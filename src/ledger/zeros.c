/*
 * A file of zeros has another name until it is synced, so that one that is found by its name is
 * whole.
 */
#include "ledger/zeros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/journal.h"
#include "ledger/reader.h"

#define NEW_SUFFIX ".new"
#define ZEROS_BYTES (256 * 1024)

static const uint8_t zeros[ZEROS_BYTES];

static void
free_bytes(uint8_t **p)
{
	free(*p);
}

bool
zeros_no_space(int code)
{
	return code == -ENOSPC || code == -EDQUOT;
}

int
zeros_sync_dir(int dirfd, struct error *err)
{
	if (fsync(dirfd) != 0)
		return error_sys(err, -errno, "sync the journal's directory");
	return 0;
}

int
zeros_fill(int fd, uint64_t from, uint64_t to, struct error *err)
{
	int r;

	for (uint64_t off = from; off < to;) {
		size_t n = to - off < ZEROS_BYTES ? (size_t)(to - off) : ZEROS_BYTES;

		r = fd_pwrite_all(fd, zeros, n, off, err);
		if (r < 0)
			return r;
		off += n;
	}
	return 0;
}

/* What may be taken of what is free: a small file system is not ours alone. */
int
zeros_choose(int dirfd, uint64_t want, unsigned int share, size_t need, uint64_t *ret,
	     struct error *err)
{
	struct statvfs fs;
	uint64_t left, bytes;

	if (fstatvfs(dirfd, &fs) != 0)
		return error_sys(err, -errno, "see how much space is left");
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	bytes = left / share / SEGMENT_ALIGN * SEGMENT_ALIGN;
	if (bytes > want)
		bytes = want;
	if (bytes < JOURNAL_LEAST_BYTES)
		bytes = JOURNAL_LEAST_BYTES;
	if (bytes < need)
		bytes = (need + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
	if (bytes > left)
		return error_set(err, -ENOSPC, "no space for the journal");
	*ret = bytes;
	return 0;
}

int
zeros_make(int dirfd, const char *name, uint64_t bytes, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char temp[32];
	int r;

	(void)snprintf(temp, sizeof(temp), "%s" NEW_SUFFIX, name);
	if (unlinkat(dirfd, temp, 0) != 0 && errno != ENOENT)
		return error_sys(err, -errno, "remove journal/%s", temp);
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_sys(err, -errno, "make journal/%s", temp);
	r = zeros_fill(fd, 0, bytes, err);
	if (r == 0 && fsync(fd) != 0)
		r = error_sys(err, -errno, "sync journal/%s", temp);
	if (r == 0 && renameat(dirfd, temp, dirfd, name) != 0)
		r = error_sys(err, -errno, "rename journal/%s", temp);
	if (r < 0) {
		(void)unlinkat(dirfd, temp, 0);
		return r;
	}
	return zeros_sync_dir(dirfd, err);
}

/*
 * Is there a file of zeros of an earlier run? One whose head was begun when that run ended is not.
 * Only the head can have been: records are written after the file has its name.
 */
int
zeros_find(int dirfd, const char *name, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(free_bytes) uint8_t *head = NULL;
	struct stat st;
	size_t n = 0;
	int r;

	*ret_bytes = 0;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_sys(err, -errno, "look at journal/%s", name);
	head = malloc(SEGMENT_HEAD_MAX);
	if (head == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = reader_pread(fd, head, SEGMENT_HEAD_MAX, 0, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (head[i] != 0)
			n = 0;
	if (n > 0 && S_ISREG(st.st_mode) && st.st_nlink == 1) {
		*ret_bytes = (uint64_t)st.st_size;
		return 0;
	}
	if (unlinkat(dirfd, name, 0) != 0)
		return error_sys(err, -errno, "remove journal/%s", name);
	return 0;
}
