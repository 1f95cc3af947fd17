/*
 * Errors of library code: a negative errno value is returned, and the reason goes into a struct
 * the caller owns. No allocation. The first cause wins: setting an error that is already set only
 * returns the code.
 *
 * A denial is not an error (see model/verdict.h); every error on the way to a verdict is a denial.
 */
#ifndef LOOM_BASE_ERROR_H
#define LOOM_BASE_ERROR_H

#include "base/macro.h"

#define ERROR_TEXT_MAX 512

struct error {
	int code;                   /* 0, or the negative errno value that was returned */
	char text[ERROR_TEXT_MAX];  /* what was wrong, where, what to do; NUL-terminated, bounded */
};

/* Record CODE (negative) and the text unless ERR is NULL or already set. Returns CODE. */
int error_set(struct error *err, int code, const char *fmt, ...) PRINTF(3, 4);

/* As error_set, with ": strerror(-code)" appended; CODE is usually -errno taken by the caller. */
int error_sys(struct error *err, int code, const char *fmt, ...) PRINTF(3, 4);

/* Put context before an error already set: "CONTEXT: TEXT". Returns err->code. */
int error_prefix(struct error *err, const char *fmt, ...) PRINTF(2, 3);

#endif
