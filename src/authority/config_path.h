/*
 * The folders from the root down to the configuration directory, as they were found at the start.
 * Whoever may write one of them decides what the configuration is, so each must belong to the user
 * or to root and be written by its owner only; in a sticky folder ABOVE the directory others may
 * add names, but neither remove nor rename ours, and that is enough there.
 *
 * They are held as descriptors and judged at each use, because a mode can change while we serve.
 */
#ifndef LOOM_AUTHORITY_CONFIG_PATH_H
#define LOOM_AUTHORITY_CONFIG_PATH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/path.h"

#define CONFIG_PATH_DEPTH 128

struct config_path {
	char path[PATH_BYTES_MAX];
	size_t n;
	struct {
		int fd;	    /* O_PATH */
		size_t len; /* of its own path, a beginning of `path` */
	} at[CONFIG_PATH_DEPTH];
};

/* PATH is absolute; what is missing at its end is left out. config_path_close is due on success. */
int config_path_open(struct config_path *p, const char *path, struct error *err) MUST_CHECK;
void config_path_close(struct config_path *p);
/*
 * May nobody but UID and root change what lies there? OWN_GROUP, unless it is (gid_t)-1, counts as
 * the owner's. -EPERM with the chmod that mends it.
 */
int config_path_check(const struct config_path *p, uint32_t uid, gid_t own_group,
		      struct error *err) MUST_CHECK;

#endif
