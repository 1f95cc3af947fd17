/*
 * Becoming the owner is the order that the kernel asks for: keep the permitted set over the change
 * of ids, groups before ids while there still is the right to change them, then cut the set down.
 *
 * The reserve is CAP_DAC_READ_SEARCH, permitted and not effective. It is raised for one system call
 * and only where the thing in the way belongs to the user himself, who could have opened it up with
 * chmod: nothing is read that this user may not read.
 */
#include "box/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"

#define LIST_CHUNK_BYTES 32768

static bool owner_became;  /* this process has become somebody; it never goes back */
static bool owner_reserve; /* and has the reserve */

static int
caps_set(uint32_t permitted, uint32_t effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{.effective = effective, .permitted = permitted}};

	return (int)syscall(SYS_capset, &head, data);
}

static bool
caps_permitted(uint32_t bit)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &head, data) == 0 && (data[0].permitted & bit) != 0;
}

#define RESERVE_BIT (UINT32_C(1) << CAP_DAC_READ_SEARCH)

int
owner_become(uid_t uid, gid_t gid, struct error *err)
{
	uint32_t keep = caps_permitted(RESERVE_BIT) ? RESERVE_BIT : 0;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return error_sys(err, -errno, "keep capabilities");
	if (setgroups(0, NULL) != 0)
		return error_sys(err, -errno, "drop groups");
	if (setresgid(gid, gid, gid) != 0)
		return error_sys(err, -errno, "become group %lu", (unsigned long)gid);
	if (setresuid(uid, uid, uid) != 0)
		return error_sys(err, -errno, "become user %lu", (unsigned long)uid);
	if (caps_set(keep, 0) != 0)
		return error_sys(err, -errno, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return error_sys(err, -errno, "no_new_privs");
	/* The user's own processes must not attach to this one and use its descriptors. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return error_sys(err, -errno, "non-dumpable");
	(void)umask(0);
	owner_became = true;
	owner_reserve = keep != 0;
	return 0;
}

/* Raise the reserve if OBJECT's owner is this process's user; false: nothing was raised. */
static bool
reserve_raise(const struct stat *object)
{
	if (!owner_became || !owner_reserve || object->st_uid != geteuid())
		return false;
	return caps_set(RESERVE_BIT, RESERVE_BIT) == 0;
}

static void
reserve_lower(void)
{
	int saved = errno;

	/* A right that cannot be given back is worse than a dead child. */
	if (caps_set(RESERVE_BIT, 0) != 0)
		_exit(125);
	errno = saved;
}

static bool
reserve_raise_for_dir(int dir)
{
	struct stat st;

	return errno == EACCES && fstat(dir, &st) == 0 && reserve_raise(&st);
}

int
owner_stat(int dir, const char *name, struct stat *ret)
{
	int r = fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW);

	if (r == 0 || !reserve_raise_for_dir(dir))
		return r;
	r = fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW);
	reserve_lower();
	return r;
}

static int
open_as_is_or_raised(int dir, const char *name, int flags)
{
	struct stat st;
	int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* In the way is the directory or the object; both must be this user's. */
	if (owner_stat(dir, name, &st) != 0)
		return -1;
	errno = EACCES;
	if (st.st_uid != geteuid() || !reserve_raise_for_dir(dir)) {
		errno = EACCES;
		return -1;
	}
	fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	reserve_lower();
	return fd;
}

int
owner_open_dir(int dir, const char *name)
{
	return open_as_is_or_raised(dir, name, O_RDONLY | O_DIRECTORY);
}

int
owner_open_file(int dir, const char *name)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	/* Looked at first: opening a device can already do something. */
	if (owner_stat(dir, name, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	fd = open_as_is_or_raised(dir, name, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return TAKE_FD(fd);
}

ssize_t
owner_readlink(int dir, const char *name, char *out, size_t size)
{
	ssize_t n = readlinkat(dir, name, out, size);

	if (n >= 0 || !reserve_raise_for_dir(dir))
		return n;
	n = readlinkat(dir, name, out, size);
	reserve_lower();
	return n;
}

ssize_t
owner_getxattr(int fd, const char *name, void *out, size_t size)
{
	ssize_t n = fgetxattr(fd, name, out, size);

	if (n >= 0 || !reserve_raise_for_dir(fd))
		return n;
	n = fgetxattr(fd, name, out, size);
	reserve_lower();
	return n;
}

static int
list_chunk(const char *chunk, size_t len, owner_entry_fn fn, void *arg, struct error *err)
{
	size_t at = 0;

	while (at < len) {
		const struct dirent64 *e = (const struct dirent64 *)(const void *)(chunk + at);
		int r;

		at += e->d_reclen;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = fn(arg, e->d_name, e->d_type, err);
		if (r != 0)
			return r;
	}
	return 0;
}

int
owner_list(int dir, owner_entry_fn fn, void *arg, struct error *err)
{
	_Alignas(struct dirent64) char chunk[LIST_CHUNK_BYTES];

	if (lseek(dir, 0, SEEK_SET) != 0)
		return error_sys(err, -errno, "rewind a directory");
	for (;;) {
		ssize_t n = getdents64(dir, chunk, sizeof(chunk));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "list a directory");
		if (n == 0)
			return 0;
		r = list_chunk(chunk, (size_t)n, fn, arg, err);
		if (r != 0)
			return r;
	}
}
