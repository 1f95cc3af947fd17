/*
 * The Landlock domain of a session: what its commands (and its init, which then needs nothing
 * any more) may do to files, on top of what mounts and modes say.
 *
 *   /            list it, nothing more
 *   /usr, /etc … read, list, execute: every directory of the root that has no line of its own
 *   /proc        read, list
 *   /dev         read, list, write to nodes, ioctl
 *   /tmp, /dev/shm, the workspace unless read-only: everything
 *
 * All rights the kernel knows are handled, so a right that is not given is refused. At least ABI 2
 * (Linux 5.19); 3 adds truncation, 5 ioctl on devices, 6 the scopes for signals and abstract
 * sockets.
 */
#ifndef LOOM_BOX_LANDLOCK_H
#define LOOM_BOX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

#define LANDLOCK_ABI_MIN 2
/* A file of the root that every mode and mount lets everybody read, and only Landlock does not. */
#define LANDLOCK_SENTRY "/.landlock"

/* The kernel's ABI version, or a negative errno value (-EOPNOTSUPP, -ENOSYS: none). */
int landlock_abi(void);
/*
 * A ruleset with the rules for everything but the workspace, made inside the finished root. Returns
 * the descriptor or a negative errno value. DIGEST is SHA-256 over what was handed to the kernel so
 * far, as text; landlock_workspace carries it on.
 */
int landlock_rules(int abi, uint8_t digest[32]) MUST_CHECK;
int landlock_workspace(int ruleset, int abi, const char *path, bool read_only,
		       uint8_t digest[32]) MUST_CHECK;
int landlock_enter(int ruleset) MUST_CHECK;

#endif
