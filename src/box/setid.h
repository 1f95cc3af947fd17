/*
 * A direct workspace hands out the host's own files to be written as their owner. The kernel takes
 * a set-id bit or a capability off a file that is written to with write(2), but not off one that is
 * written to through a shared mapping (mmap(2), MAP_SHARED): from inside, such a file could be
 * given another content and go on carrying the rights of its owner on the host. So a directory that
 * holds one is not handed out.
 */
#ifndef LOOM_BOX_SETID_H
#define LOOM_BOX_SETID_H

#include <stdint.h>

#include "base/macro.h"
#include "box/failure.h"

#define SETID_ENTRIES_MAX 2000000u
#define SETID_NAMES_MAX (64u << 20) /* bytes: names of directories still to be looked into */

/*
 * Look through the directory DIR, of a mount on which nothing is mounted, without following a link
 * or crossing a mount; with the caller's rights. 0: nothing in it carries rights. Else F says
 * R_INVALID_PATH and names the first that does (escaped) and the remedy; or that it cannot be
 * looked through; or R_LIMIT_EXCEEDED: more than MAX entries, names or paths beyond what the kernel
 * resolves at once.
 *
 * A regular file carries rights if it is set-uid, set-gid and executable by its group, or has
 * capabilities (capabilities(7)).
 */
int setid_look(int dir, uint64_t max, struct failure *f) MUST_CHECK;

#endif
