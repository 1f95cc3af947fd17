/*
 * Mounts by descriptor, with the calls that came with Linux 5.2 to 5.12. What needs a newer kernel
 * than 6.1 is not used: no mount is moved into a detached tree, no layer is given by descriptor.
 */
#ifndef LOOM_BOX_MOUNTS_H
#define LOOM_BOX_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

/* A detached copy of the mount at PATH beneath AT ("" = AT itself), with what is mounted on it when
 * RECURSIVE. -EINVAL: it is not a mount of this process's namespace. */
int mounts_clone(int at, const char *path, bool recursive, struct error *err) MUST_CHECK;
/* Add attributes (MOUNT_ATTR_*) to the mount FD. */
int mounts_attr(int fd, bool recursive, uint64_t set, struct error *err) MUST_CHECK;
/* Map on-disk owners by the user namespace USERNS. -EOPNOTSUPP: the file system cannot. */
int mounts_idmap(int fd, int userns, struct error *err) MUST_CHECK;
/* Put the detached mount FD at PATH beneath AT. */
int mounts_place(int fd, int at, const char *path, struct error *err) MUST_CHECK;
/* A new tmpfs at PATH beneath AT; *RET_FD is its root. OPTIONS: as in mount(8), one. */
int mounts_tmpfs(int at, const char *path, uint64_t attr, const char *options, int *ret_fd,
		 struct error *err) MUST_CHECK;
/* Open PATH (relative) beneath AT, O_PATH, following no link at all. */
int mounts_open_plain(int at, const char *path, struct error *err) MUST_CHECK;
/*
 * A user namespace in which on-disk UID and GID stand for HOST_ID, for mounts_idmap. Costs a
 * process that lives while the maps are written.
 */
int mounts_userns(uid_t uid, gid_t gid, uint32_t host_id, struct error *err) MUST_CHECK;

#endif
