/* The profiles that are compiled in; made from profiles/ by embed.py. */
#ifndef LOOM_POLICY_SHIPPED_H
#define LOOM_POLICY_SHIPPED_H

#include <stddef.h>

struct shipped {
	const char *name;
	const char *text; /* as written */
	size_t len;
};
extern const struct shipped SHIPPED[];
extern const size_t SHIPPED_COUNT;

#endif
