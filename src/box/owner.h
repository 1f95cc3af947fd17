/*
 * The ids under which a child of the box reads a layer or changes a workspace: those of the
 * workspace's owner, and no more rights than a process of that user has. One right is kept in
 * reserve, to be raised around single look-ups: reading what the owner could read after a chmod
 * (a session may leave files and directories of mode 000 in its layer).
 */
#ifndef LOOM_BOX_OWNER_H
#define LOOM_BOX_OWNER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

/*
 * Become UID and GID for good: no supplementary group, all capabilities gone but the one in reserve
 * (not effective), no_new_privs, not dumpable, umask 0. Nothing of it is optional.
 */
int owner_become(uid_t uid, gid_t gid, struct error *err) MUST_CHECK;

/*
 * Look-ups by descriptor and name that never follow a link. They are done as the process is; on
 * EACCES, where the object in the way belongs to the process's own user, once more with the reserve
 * raised (a directory: to search and list it; a file: to read it). Return as the system calls do,
 * with errno set. A process that has not become anybody has no reserve, and they are the plain
 * calls.
 */
int owner_stat(int dir, const char *name, struct stat *ret);
int owner_open_dir(int dir, const char *name); /* O_RDONLY|O_DIRECTORY */
int owner_open_file(int dir,
		    const char *name); /* O_RDONLY|O_NONBLOCK; a regular file or -1, EINVAL */
ssize_t owner_readlink(int dir, const char *name, char *out, size_t size);
ssize_t owner_getxattr(int fd, const char *name, void *out, size_t size);

/* Call FN for each entry of DIR but "." and "..", from the start, whatever its offset is. Nonzero
 * stops and is returned. TYPE is DT_*. DIR is a descriptor open for reading. */
typedef int (*owner_entry_fn)(void *arg, const char *name, unsigned char type, struct error *err);
int owner_list(int dir, owner_entry_fn fn, void *arg, struct error *err) MUST_CHECK;

#endif
