/*
 * Where a directory lies, in two ways that a bind mount does not change: the objects from it up to
 * the root, and its path within its file system. The second recognises what the first cannot: a
 * part of a directory, mounted elsewhere, has other directories above it there.
 */
#ifndef LOOM_BOX_WHERE_H
#define LOOM_BOX_WHERE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"

#define WHERE_LEVELS_MAX 4096 /* directories above one; the kernel's paths end there */

struct object {
	dev_t dev;
	ino_t ino;
};
bool object_is(const struct object *a, const struct object *b);
struct object object_of(const struct stat *st);

/*
 * The directories from FD up to the root, itself first, into CHAIN (WHERE_LEVELS_MAX). Returns how
 * many, or a negative errno value. The root is where ".." is itself.
 */
int where_chain(int fd, struct object *chain, struct error *err) MUST_CHECK;

struct where {
	char dev[24]; /* as mountinfo has it: "254:0", of the file system, not of a subvolume */
	char *inside; /* absolute, from the root of the file system; NULL: not known */
};
/*
 * FD may be O_PATH. -EXDEV: its mount is not of this process's mount namespace, or its path does
 * not lead through that mount.
 */
int where_find(int fd, struct where *ret, struct error *err) MUST_CHECK;
void where_fini(struct where *w);

/* W is OF, or beneath it. False when either is not known. */
bool where_beneath(const struct where *w, const struct where *of);
bool where_same(const struct where *a, const struct where *b);

#endif
