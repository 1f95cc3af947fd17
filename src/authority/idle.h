/* A private Loom leaves when it has had no client and no session for a while. */
#ifndef LOOM_AUTHORITY_IDLE_H
#define LOOM_AUTHORITY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/deadline.h"

struct authority;

struct idle {
	struct authority *authority;
	struct deadline deadline;
	uint64_t since_ms; /* boot clock: last time that something was going on */
};

/* Start counting. Does nothing when the settings say never. */
void idle_start(struct authority *a);
/* Something goes on, or has just ended. Costs a clock. */
void idle_touch(struct authority *a);

#endif
