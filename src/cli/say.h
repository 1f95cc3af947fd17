/*
 * What loom itself has to say goes to standard error, a line each, "loom: TEXT", escaped as a whole
 * (text_escape): whatever a text quotes, no control byte of it reaches the terminal. Standard
 * output belongs to the command, or to the document that was asked for.
 */
#ifndef LOOM_CLI_SAY_H
#define LOOM_CLI_SAY_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

#define SAY_LINE_MAX 4096 /* bytes of one line; longer is cut */

void say(const char *fmt, ...) PRINTF(1, 2);

/* "loom: REASON: TEXT", and STATUS_FAILED, for a function to return. */
int say_failed(const char *reason, const struct error *err);

/* "loom: COMMAND: TEXT", where to read on, and STATUS_FAILED. */
int say_usage(const char *words, const struct error *err);

/* Write all of B to standard output. 0, or STATUS_FAILED after saying why. */
int print_buf(const struct buf *b);

#endif
