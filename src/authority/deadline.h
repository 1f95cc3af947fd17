/*
 * Many deadlines on one timer. A deadline is set and cleared without a system call; the timer is
 * only ever moved when it has fired or an earlier moment is wanted.
 */
#ifndef LOOM_AUTHORITY_DEADLINE_H
#define LOOM_AUTHORITY_DEADLINE_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "base/macro.h"

struct deadlines;
struct deadline {
	struct deadline *prev, *next; /* by time; both NULL and not first: not set */
	struct deadlines *list;	      /* NULL: not set */
	uint64_t at_ms;		      /* boot clock */
	void (*fn)(void *arg);	      /* called once, with the deadline cleared */
	void *arg;
};

struct deadlines {
	sd_event_source *timer;
	uint64_t armed_ms; /* UINT64_MAX: the timer is off */
	struct deadline *first, *last;
};

int deadlines_init(struct deadlines *l, sd_event *loop, struct error *err) MUST_CHECK;
void deadlines_fini(struct deadlines *l);

/* Set (or move) D to AFTER_MS from now. */
void deadline_set(struct deadlines *l, struct deadline *d, uint64_t after_ms, void (*fn)(void *arg),
		  void *arg);
void deadline_clear(struct deadline *d); /* safe on one that is not set */

#endif
