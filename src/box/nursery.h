/*
 * The small process that keepers are forked from. A fork leaves its parent with every page to be
 * copied at the next write; the box has better things to do when a request comes, so it asks the
 * nursery. It is forked off the box once, dies with it, and everything it makes dies with it.
 */
#ifndef LOOM_BOX_NURSERY_H
#define LOOM_BOX_NURSERY_H

#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/sandbox.h"

struct nursery {
	pid_t pid;
	int channel; /* -1: none */
};

/*
 * BASE: what all keepers start from, copied by the fork; so call it when that is complete and the
 * loop does not exist yet.
 */
int nursery_start(struct nursery *n, const struct sandbox_base *base, struct error *err) MUST_CHECK;
/* Have a keeper made. CHANNEL is its end; ROOT and SPAWN are copied. WORKSPACE: with spawn.prepare.
 */
int nursery_spawn(struct nursery *n, const struct sandbox_spawn *spawn, const struct root *root,
		  int channel, int workspace, struct error *err) MUST_CHECK;
/* Have layers removed that nobody wants (spare.h), some time. */
void nursery_remove(struct nursery *n, const char *name);
/* Close it and wait; keepers that are left are killed by the kernel. */
void nursery_close(struct nursery *n);

#endif
