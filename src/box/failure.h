/*
 * Why a sandbox could not be made, as it crosses from the process that saw it (init, keeper) to the
 * box: plain bytes of a fixed size. The step names where; it is recorded in the outcome.
 */
#ifndef LOOM_BOX_FAILURE_H
#define LOOM_BOX_FAILURE_H

#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"

#define FAILURE_STEP_MAX 32
#define FAILURE_TEXT_MAX 224

struct failure {
	int32_t code;		     /* negative errno value; 0: nothing failed */
	uint32_t reason;	     /* enum reason for the client */
	char step[FAILURE_STEP_MAX]; /* "cgroup", "overlay", "landlock" … */
	char text[FAILURE_TEXT_MAX]; /* one sentence */
};

/* The first failure wins, as with errors. All return CODE. */
int failure_set(struct failure *f, enum reason reason, const char *step, int code, const char *fmt,
		...) PRINTF(5, 6);
/* As failure_set, with ": strerror" appended. */
int failure_sys(struct failure *f, enum reason reason, const char *step, int code, const char *fmt,
		...) PRINTF(5, 6);
int failure_error(struct failure *f, enum reason reason, const char *step, const struct error *err);

#endif
