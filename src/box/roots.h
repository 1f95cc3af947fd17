/*
 * The last few roots (root.h), so that a shape that comes again needs none made. One that the host
 * has moved on from is replaced when it is asked for; whoever has it keeps it until he leaves it.
 */
#ifndef LOOM_BOX_ROOTS_H
#define LOOM_BOX_ROOTS_H

#include "base/error.h"
#include "base/macro.h"
#include "box/root.h"

#define ROOTS_MAX 4

struct roots {
	struct root *kept[ROOTS_MAX];
	unsigned next; /* the place to give to the next new one */
};
/* A root of SHAPE that is up to date; the caller adds itself to its users, and leaves it later. */
int roots_get(struct roots *r, const struct root_shape *shape, int host_ns, struct root **ret,
	      struct error *err) MUST_CHECK;
void roots_leave(struct root *root);
void roots_fini(struct roots *r);

#endif
