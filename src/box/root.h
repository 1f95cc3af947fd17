/*
 * The root that every sandbox starts from, made once (for the usual shape) or on demand (for a
 * profile with mounts of its own, or a workspace at the host's path) in a mount namespace of its
 * own, so that a session only clones a namespace of a few mounts.
 *
 *   stage (tmpfs)          the namespace's root; a session leaves it for good by pivot_root
 *     /proc                the box's procfs; a user namespace may mount a procfs only where it can
 *                          already see a whole one. Gone with the stage
 *     /root  (tmpfs, ro)   the sandbox's root: directories, links, the allowlisted part of /etc as
 *                          copies, synthetic passwd, group, hosts, hostname, resolv.conf
 *       /usr …             read-only, recursive binds of the fixed list of system directories
 *       /dev   (tmpfs, ro) nodes made here (1:3 1:5 1:7 1:8 1:9 5:0), never taken from the host
 *
 * Only what everybody on the host may read is copied, and of directories only regular files and
 * links, so a private key is not there whatever the allowlist says. Copies are as of the making;
 * root_stale tells when the host has changed them.
 */
#ifndef LOOM_BOX_ROOT_H
#define LOOM_BOX_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/profile.h"

#define ROOT_DIR "/root" /* of the sandbox's root, on the stage */
#define ROOT_MOUNTS_MAX 64
#define ROOT_PATH_MAX 512
#define ROOT_WATCHED_MAX 8

/* One mount of the finished root as mountinfo must show it later. */
struct root_mount {
	char at[ROOT_PATH_MAX]; /* inside; escaped as mountinfo does */
	char type[32];
	bool dev; /* device nodes may be used: only /dev */
};

/* What makes one root differ from another. */
struct root_shape {
	char workspace_at[PROFILE_PATH_MAX];
	uint32_t n_mounts;
	struct profile_mount mounts[PROFILE_MOUNTS_MAX];
};

struct root {
	struct root_shape shape;
	int ns; /* the mount namespace; -1: none */
	uint32_t n_mounts;
	struct root_mount mounts[ROOT_MOUNTS_MAX];
	uint32_t n_watched; /* what the copies were made of */
	struct {
		uint64_t ino;
		int64_t sec;
		uint32_t nsec;
	} watched[ROOT_WATCHED_MAX];
	uint32_t users; /* sandboxes made from it that still need it; for the pool */
};

/*
 * Make a root of SHAPE in a new mount namespace; the calling process (of one thread) is in its own
 * again afterwards, whatever happened. HOST_NS: where the sources lie.
 */
int root_make(const struct root_shape *shape, int host_ns, struct root *ret,
	      struct error *err) MUST_CHECK;
void root_close(struct root *r);
/* May MOUNTS be shown, as far as Loom's own directories go? A root that was made before they came
 * is used again, so this is asked each time. */
int root_mounts_judge(const struct profile_mount *mounts, uint32_t n, struct error *err) MUST_CHECK;
bool root_stale(const struct root *r);
bool root_shape_same(const struct root_shape *a, const struct root_shape *b);

#endif
