/* The table of places, for places.c and places_mounts.c. */
#ifndef LOOM_BOX_PLACES_TABLE_H
#define LOOM_BOX_PLACES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/where.h"

enum place_rule {
	PLACE_ITSELF = 1,   /* may not be it */
	PLACE_BENEATH = 2,  /* nor lie in it */
	PLACE_CONTAINS = 4, /* nor contain it */
	PLACE_FINE = 8,	    /* what lies in it is fine, whatever is said of what is above it */
	PLACE_HOME = 16,    /* look for HOME_SECRETS in it */
};
#define PLACE_ALL (PLACE_ITSELF | PLACE_BENEATH | PLACE_CONTAINS)

struct place {
	struct object at; /* all zero: known by WHERE only */
	struct where where;
	unsigned int rules; /* enum place_rule bits */
	char name[96];	    /* for people */
};

/* A directory that contains a place: it may not be a workspace either. */
struct container {
	struct object at;
	size_t place;
};

struct places {
	struct place *places;
	size_t n;
	struct container *above;
	size_t n_above;
	uint64_t made_ms;
	struct timespec passwd;
	uint64_t mounts; /* generation of the table of mounts */
	bool made;
};

/* WHERE is taken. */
int place_append(struct places *p, const struct object *at, struct where *where, const char *name,
		 unsigned int rules, struct error *err) MUST_CHECK;
/* The mounts beneath the places that P has so far (places_mounts.c). */
int places_add_mounts(struct places *p, struct error *err) MUST_CHECK;

#endif
