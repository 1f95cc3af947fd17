/*
 * A place is appended at a multiple of its size, so that one that was torn by a crash is
 * overwritten by the next. A lookup reads one file from its end, which holds one in 256 of all
 * blobs.
 */
#include "ledger/blobindex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/open.h"

#define DIR_NAME "blob"
#define PLACE_BYTES 48
#define READ_PLACES 1024

static void
place_encode(const struct blob_place *p, uint8_t out[PLACE_BYTES])
{
	memcpy(out, p->sha256, SHA256_LEN);
	for (unsigned int i = 0; i < 8; i++) {
		out[SHA256_LEN + i] = (uint8_t)(p->segment >> (56 - 8 * i));
		out[SHA256_LEN + 8 + i] = (uint8_t)(p->offset >> (56 - 8 * i));
	}
}

static void
place_decode(const uint8_t data[PLACE_BYTES], struct blob_place *ret)
{
	*ret = (struct blob_place){0};
	memcpy(ret->sha256, data, SHA256_LEN);
	for (unsigned int i = 0; i < 8; i++) {
		ret->segment = ret->segment << 8 | data[SHA256_LEN + i];
		ret->offset = ret->offset << 8 | data[SHA256_LEN + 8 + i];
	}
}

void
blob_index_init(struct blob_index *b, int dirfd)
{
	*b = (struct blob_index){.dirfd = dirfd};
}

void
blob_index_fini(struct blob_index *b)
{
	free(b->pending);
	*b = (struct blob_index){.dirfd = -1};
}

int
blob_index_add(struct blob_index *b, const struct blob_place *place, struct error *err)
{
	if (b->n == b->cap) {
		size_t cap = b->cap == 0 ? 16 : 2 * b->cap;
		struct blob_place *more = reallocarray(b->pending, cap, sizeof(*more));

		if (more == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		b->pending = more;
		b->cap = cap;
	}
	b->pending[b->n++] = *place;
	return 0;
}

static int
shard_open(struct blob_index *b, unsigned int shard, int flags, struct error *err)
{
	char path[16];

	(void)snprintf(path, sizeof(path), DIR_NAME "/%02x", shard & 0xff);
	return ledger_openat(b->dirfd, path, flags, 0600, err);
}

static int
place_append(struct blob_index *b, const struct blob_place *place, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	uint8_t data[PLACE_BYTES];
	struct stat st;
	int r;

	fd = shard_open(b, place->sha256[0], O_WRONLY | O_CREAT, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "look at the index of blobs");
	place_encode(place, data);
	r = fd_pwrite_all(fd, data, sizeof(data), (uint64_t)st.st_size / PLACE_BYTES * PLACE_BYTES,
			  err);
	if (r == 0)
		b->dirty[place->sha256[0]] = true;
	return r;
}

bool
blob_index_there(const struct blob_index *b)
{
	struct stat st;

	return fstatat(b->dirfd, DIR_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int
blob_index_write(struct blob_index *b, struct error *err)
{
	size_t done = 0;
	int r = 0;

	if (!b->made) {
		if (mkdirat(b->dirfd, DIR_NAME, 0700) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "make the directory " DIR_NAME);
		b->made = true;
	}
	while (done < b->n && r == 0) {
		r = place_append(b, &b->pending[done], err);
		done += r == 0;
	}
	if (b->n > done)
		memmove(b->pending, b->pending + done, (b->n - done) * sizeof(*b->pending));
	b->n -= done;
	return r;
}

static int
dir_sync(struct blob_index *b, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	fd = ledger_openat(b->dirfd, DIR_NAME, O_RDONLY | O_DIRECTORY, 0, err);
	if (fd < 0)
		return fd;
	if (fsync(fd) != 0)
		return error_sys(err, -errno, "sync the directory " DIR_NAME);
	return 0;
}

int
blob_index_sync(struct blob_index *b, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	unsigned int shard = 0;

	while (shard < ARRAY_LEN(b->dirty) && !b->dirty[shard])
		shard++;
	if (shard == ARRAY_LEN(b->dirty))
		return 0;
	fd = shard_open(b, shard, O_RDONLY, err);
	if (fd < 0)
		return fd;
	if (fsync(fd) != 0)
		return error_sys(err, -errno, "sync the index of blobs");
	b->dirty[shard] = false;
	while (shard < ARRAY_LEN(b->dirty) && !b->dirty[shard])
		shard++;
	return shard < ARRAY_LEN(b->dirty) ? 1 : dir_sync(b, err);
}

/* The places of one piece of a file, newest first. */
static int
piece_find(const uint8_t *data, size_t n, const uint8_t sha256[SHA256_LEN],
	   int (*found)(void *ctx, const struct blob_place *place, struct error *err), void *ctx,
	   struct error *err)
{
	while (n-- > 0) {
		struct blob_place place;
		int r;

		if (memcmp(data + n * PLACE_BYTES, sha256, SHA256_LEN) != 0)
			continue;
		place_decode(data + n * PLACE_BYTES, &place);
		r = found(ctx, &place, err);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

int
blob_index_find(struct blob_index *b, const uint8_t sha256[SHA256_LEN],
		int (*found)(void *ctx, const struct blob_place *place, struct error *err),
		void *ctx, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	uint8_t data[READ_PLACES * PLACE_BYTES];
	uint64_t left;
	struct stat st;
	int r;

	for (size_t i = b->n; i-- > 0;) {
		if (memcmp(b->pending[i].sha256, sha256, SHA256_LEN) != 0)
			continue;
		r = found(ctx, &b->pending[i], err);
		if (r != -ENOENT)
			return r;
	}
	fd = shard_open(b, sha256[0], O_RDONLY, NULL);
	if (fd == -ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set(err, -EIO, "the index of blobs cannot be read");
	left = (uint64_t)st.st_size / PLACE_BYTES;
	while (left > 0) {
		size_t n = left < READ_PLACES ? (size_t)left : READ_PLACES;

		left -= n;
		r = fd_pread_exact(fd, data, n * PLACE_BYTES, left * PLACE_BYTES, err);
		if (r == 0)
			r = piece_find(data, n, sha256, found, ctx, err);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}
