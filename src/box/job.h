/*
 * Work that takes long or has to be done with fewer rights: in a child of the box, which dies with
 * it, and whose answer comes back in memory they share.
 */
#ifndef LOOM_BOX_JOB_H
#define LOOM_BOX_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct box;

/* In the child. ANSWER: zeroed memory that the parent sees. */
typedef void (*job_work)(void *arg, void *answer);
/* In the parent. ANSWERED: the child came to its end; else it died on the way. */
typedef void (*job_done)(struct box *b, void *arg, void *answer, bool answered);

/* ARG is the caller's; DONE is the last to see it, also when this fails after all (negative: not).
 */
int job_start(struct box *b, job_work work, job_done done, void *arg, size_t answer_size,
	      struct error *err) MUST_CHECK;

#endif
