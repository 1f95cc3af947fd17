/*
 * The kernel's headers on Debian 12 know ABI 2; newer rights are named here by their numbers, as
 * the kernel's user API (include/uapi/linux/landlock.h) fixes them, and are asked for only where
 * the running kernel has them. A right that is handled and not granted is denied.
 */
#include "confine/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_ALL_ABI2 ((UINT64_C(1) << 14) - 1)
#define FS_TRUNCATE (UINT64_C(1) << 14)			  /* ABI 3 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15)		  /* ABI 5 */
#define NET_TCP ((UINT64_C(1) << 0) | (UINT64_C(1) << 1)) /* ABI 4: bind, connect */
#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0)		  /* ABI 6 */
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

static struct ruleset
ruleset_of(int abi, bool signal_scope)
{
	struct ruleset r = {.fs = FS_ALL_ABI2};
	if (abi >= 3)
		r.fs |= FS_TRUNCATE;
	if (abi >= 4)
		r.net = NET_TCP;
	if (abi >= 5)
		r.fs |= FS_IOCTL_DEV;
	if (abi >= 6)
		r.scoped = SCOPE_ABSTRACT_UNIX | (signal_scope ? SCOPE_SIGNAL : 0);
	return r;
}

/* The kernel accepts a shorter struct as one whose missing fields are zero. */
static size_t
ruleset_size(int abi)
{
	return abi >= 6 ? sizeof(struct ruleset) : abi >= 4 ? 16 : 8;
}

static int
allow(int ruleset, const struct confine_dir *dir, uint64_t handled, struct error *err)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = dir->write ? handled & ~FS_EXECUTE : FS_READ_FILE | FS_READ_DIR,
		.parent_fd = dir->fd,
	};
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return error_sys(err, -errno, "Landlock: allow directory %d", dir->fd);
	return 0;
}

static int
restrict_with(int ruleset, const struct confine_dir *dirs, size_t n_dirs, uint64_t handled,
	      struct error *err)
{
	for (size_t i = 0; i < n_dirs; i++) {
		int r = allow(ruleset, &dirs[i], handled, err);
		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return error_sys(err, -errno, "Landlock: restrict");
	return 0;
}

int
landlock_confine(const struct confine_dir *dirs, size_t n_dirs, bool signal_scope, int *ret_abi,
		 struct error *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < LANDLOCK_ABI_MIN)
		return error_set(
			err, -EOPNOTSUPP,
			"this kernel's Landlock is %s; Loom needs ABI %d (Linux 5.19, with "
			"\"landlock\" among the lsm= of the kernel command line)",
			abi < 0 ? "absent" : "ABI 1", LANDLOCK_ABI_MIN);
	const struct ruleset attr = ruleset_of((int)abi, signal_scope);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, ruleset_size((int)abi), 0);
	if (ruleset < 0)
		return error_sys(err, -errno, "Landlock: create a ruleset");
	int r = restrict_with(ruleset, dirs, n_dirs, attr.fs, err);
	close(ruleset);
	if (r == 0)
		*ret_abi = (int)abi;
	return r;
}
