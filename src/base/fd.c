/*
 * Transfers loop until done; EINTR is retried, anything else is the caller's. Sizes are judged on
 * what was read, never on what fstat promised, except for sealed memfds, whose size cannot change.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define FD_CHUNK_BYTES 16384
#define FD_TEMP_TRIES 16
#define FD_TEMP_SUFFIX_BYTES 8

void
fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd);
	errno = saved;
}

void
fd_closep(int *fd)
{
	fd_close(*fd);
	*fd = -1;
}

int
fd_write_all(int fd, const void *data, size_t len, struct error *err)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "write");
		if (n == 0)
			return error_set(err, -EIO, "write: no progress");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_read_exact(int fd, void *data, size_t len, struct error *err)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read");
		if (n == 0)
			return error_set(err, -ENODATA, "read: %zu bytes missing at the end", len);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* off_t is signed: no offset of the transfer may pass its end. */
static int
fd_range_check(uint64_t off, size_t len, struct error *err)
{
	if (off > INT64_MAX || len > (uint64_t)INT64_MAX - off)
		return error_set(err, -EOVERFLOW, "offset beyond the largest file");
	return 0;
}

int
fd_pread_exact(int fd, void *data, size_t len, uint64_t off, struct error *err)
{
	char *p = data;
	int r;

	r = fd_range_check(off, len, err);
	if (r < 0)
		return r;
	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "pread");
		if (n == 0)
			return error_set(err, -ENODATA, "pread: %zu bytes missing at the end", len);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_pwrite_all(int fd, const void *data, size_t len, uint64_t off, struct error *err)
{
	const char *p = data;
	int r;

	r = fd_range_check(off, len, err);
	if (r < 0)
		return r;
	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "pwrite");
		if (n == 0)
			return error_set(err, -EIO, "pwrite: no progress");
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int
fd_read_to_end(int fd, struct buf *out, struct error *err)
{
	char chunk[FD_CHUNK_BYTES];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read");
		if (n == 0)
			return buf_check(out, err);
		buf_add(out, chunk, (size_t)n);
		if (out->failed)
			return buf_check(out, err);
	}
}

int
fd_read_file_at(int dirfd, const char *path, struct buf *out, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	int r;

	/* Not blocked by a FIFO that somebody put there; read reports what is no file. */
	fd = openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_sys(err, -errno, "open %s", path);
	r = fd_read_to_end(fd, out, err);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

/* Create a file NAME.tmp-XXXX in DIR that did not exist, and write its name to TEMP. */
static int
fd_temp_create(int dir, const char *name, char temp[NAME_MAX + 1], struct error *err)
{
	for (int i = 0; i < FD_TEMP_TRIES; i++) {
		uint8_t random[FD_TEMP_SUFFIX_BYTES];
		char suffix[2 * sizeof(random) + 1];
		int fd, n;

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return error_sys(err, -errno, "getrandom");
		hex_encode(random, sizeof(random), suffix);
		n = snprintf(temp, NAME_MAX + 1, "%s.tmp-%s", name, suffix);
		if (n < 0 || n > NAME_MAX)
			return error_set(err, -ENAMETOOLONG, "temporary name for %s", name);
		fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return error_sys(err, -errno, "create %s", temp);
	}
	return error_set(err, -EEXIST, "no free temporary name for %s", name);
}

/* The content is on disk before the name is, so that a crash leaves the old file or the new one. */
static int
fd_temp_fill(int fd, const void *data, size_t len, mode_t mode, struct error *err)
{
	int r;

	r = fd_write_all(fd, data, len, err);
	if (r < 0)
		return r;
	/* Not by open's mode: the umask must not decide. */
	if (fchmod(fd, mode) != 0)
		return error_sys(err, -errno, "fchmod");
	if (fsync(fd) != 0)
		return error_sys(err, -errno, "fsync");
	return 0;
}

int
fd_replace_file_at(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
		   struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(fd_closep) int fd = -1;
	char parent[PATH_MAX], temp[NAME_MAX + 1];
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t parent_len = (size_t)(name - path);
	int r;

	if (parent_len >= sizeof(parent) || name[0] == '\0')
		return error_set(err, -EINVAL, "no file name, or too long: %s", path);
	memcpy(parent, path, parent_len);
	parent[parent_len] = '\0';
	dir = openat(dirfd, parent_len > 0 ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_sys(err, -errno, "open the directory of %s", path);
	fd = fd_temp_create(dir, name, temp, err);
	if (fd < 0)
		return error_prefix(err, "replace %s", path);
	r = fd_temp_fill(fd, data, len, mode, err);
	if (r == 0 && renameat(dir, temp, dir, name) != 0)
		r = error_sys(err, -errno, "rename");
	if (r < 0) {
		(void)unlinkat(dir, temp, 0);
		return error_prefix(err, "replace %s", path);
	}
	if (fsync(dir) != 0)
		return error_sys(err, -errno, "replace %s: fsync the directory", path);
	return 0;
}

int
fd_memfd_sealed(const char *name, const void *data, size_t len, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	int r;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_sys(err, -errno, "memfd_create");
	r = fd_pwrite_all(fd, data, len, 0, err);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		return error_sys(err, -errno, "seal a memfd");
	return TAKE_FD(fd);
}

int
fd_memfd_read(int fd, struct buf *out, struct error *err)
{
	const int need = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	char chunk[FD_CHUNK_BYTES];
	struct stat st;
	uint64_t off = 0, size;
	int seals, r;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 && errno == EBADF)
		return error_sys(err, -EBADF, "read a memfd");
	if (seals < 0)
		return error_set(err, -EPERM, "not a memfd");
	if ((seals & need) != need)
		return error_set(err, -EPERM, "memfd is not sealed against writing and resizing");
	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "fstat a memfd");
	size = (uint64_t)st.st_size;
	if (size > out->max - out->len)
		return error_set(err, -EMSGSIZE, "memfd of %llu bytes, at most %zu are taken",
				 (unsigned long long)size, out->max - out->len);
	while (off < size) {
		size_t n = size - off < sizeof(chunk) ? (size_t)(size - off) : sizeof(chunk);

		r = fd_pread_exact(fd, chunk, n, off, err);
		if (r < 0)
			return r;
		buf_add(out, chunk, n);
		off += n;
	}
	return buf_check(out, err);
}

int
fd_open_private_dir(int dirfd, const char *path, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	if (mkdirat(dirfd, path, 0700) != 0 && errno != EEXIST)
		return error_sys(err, -errno, "create directory %s", path);
	fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return error_set(err, -EPERM, "%s is a link or no directory; move it away", path);
	if (fd < 0)
		return error_sys(err, -errno, "open directory %s", path);
	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "fstat %s", path);
	if (st.st_uid != geteuid())
		return error_set(err, -EPERM, "%s belongs to user %lu, not to %lu", path,
				 (unsigned long)st.st_uid, (unsigned long)geteuid());
	if ((st.st_mode & 077) != 0)
		return error_set(err, -EPERM,
				 "%s is open to others (mode %04o); mend with: chmod go= %s", path,
				 (unsigned int)st.st_mode & 07777, path);
	return TAKE_FD(fd);
}

int
fd_open_beneath(int dirfd, const char *path, uint64_t flags, uint64_t mode, struct error *err)
{
	const struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: a rename raced with the walk and the kernel could not tell that it stayed inside.
	 */
	for (int i = 0; i < FD_TEMP_TRIES; i++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd < 0)
		return error_sys(err, -errno, "open %s", path);
	return (int)fd;
}
