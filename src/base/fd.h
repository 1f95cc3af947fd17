/*
 * Descriptors. Everything opened here is close-on-exec. close is never retried. Functions that
 * return a descriptor return it >= 0 or a negative errno value.
 */
#ifndef LOOM_BASE_FD_H
#define LOOM_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

void fd_closep(int *fd);                       /* for CLEANUP; closes when >= 0, sets -1 */
void fd_close(int fd);                         /* ignores negative numbers */

/* Write or read exactly LEN bytes, retrying EINTR and short transfers. */
int fd_write_all(int fd, const void *data, size_t len, struct error *err) MUST_CHECK;
int fd_read_exact(int fd, void *data, size_t len, struct error *err) MUST_CHECK; /* -ENODATA at EOF */
int fd_pread_exact(int fd, void *data, size_t len, uint64_t off, struct error *err) MUST_CHECK;
int fd_pwrite_all(int fd, const void *data, size_t len, uint64_t off, struct error *err) MUST_CHECK;

/* Append a whole file (read from its current offset to EOF) to OUT, within OUT's maximum. */
int fd_read_to_end(int fd, struct buf *out, struct error *err) MUST_CHECK;

/* openat(dirfd, path, O_RDONLY|O_NOFOLLOW|O_CLOEXEC) and read it whole, within OUT's maximum. */
int fd_read_file_at(int dirfd, const char *path, struct buf *out, struct error *err) MUST_CHECK;

/* Write DATA to path.tmp-XXXX beneath DIRFD, fsync, rename over PATH, fsync the directory. */
int fd_replace_file_at(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
		       struct error *err) MUST_CHECK;

/*
 * A memfd holding DATA, sealed against writing, growing, shrinking and further seals. NAME is for
 * /proc only. Non-executable (MFD_NOEXEC_SEAL) where the kernel knows that.
 */
int fd_memfd_sealed(const char *name, const void *data, size_t len, struct error *err) MUST_CHECK;

/*
 * Read a memfd that must carry the seals WRITE, GROW, SHRINK (so that nobody can change it after it
 * was judged) and be at most OUT's maximum. Reads from offset 0 whatever the offset is, and does
 * not move it. -EPERM when a seal is missing or it is no memfd.
 */
int fd_memfd_read(int fd, struct buf *out, struct error *err) MUST_CHECK;

/*
 * Open the directory PATH, or create it (mode 0700, parents not), and require: a directory, not a
 * link, owned by the effective user, no group or other permission at all. -EPERM with the chmod
 * that mends it otherwise.
 */
int fd_open_private_dir(int dirfd, const char *path, struct error *err) MUST_CHECK;

/* openat2 with RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS. */
int fd_open_beneath(int dirfd, const char *path, uint64_t flags, uint64_t mode,
		    struct error *err) MUST_CHECK;

#endif
