/*
 * Keeps the view up to date: entries as they are recorded, and whatever it lacks read from the
 * ledger, in batches. When it has all there was at the start, the start goes on.
 */
#ifndef LOOM_AUTHORITY_FOLLOW_H
#define LOOM_AUTHORITY_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/deadline.h"
#include "authority/history.h"

#define FOLLOW_BATCH 256     /* entries in one question */
#define FOLLOW_WRITE_MS 1000 /* how long a row may wait for the database */

struct authority;

struct follow {
	struct deadline writer;			/* set while rows wait */
	struct ask *ask;			/* a batch is on its way */
	uint64_t target;			/* entries the ledger is known to have */
	bool failed;				/* the ledger would not give them */
	void (*caught_up)(struct authority *a); /* once; NULL: nobody waits */
};

void follow_fini(struct authority *a);

/* The view is open and the ledger has SIZE entries: read what it lacks, then call FN. */
void follow_start(struct authority *a, uint64_t size, void (*fn)(struct authority *a));
/* Entry INDEX was recorded (struct history's `recorded`). */
void follow_recorded(void *authority, uint64_t index, const struct row *row);

#endif
