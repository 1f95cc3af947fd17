/*
 * The file of --report. It is opened before anything starts, so that a run whose report could not
 * be written never begins, and held: what happens to its name meanwhile makes no difference.
 */
#ifndef LOOM_CLI_REPORT_H
#define LOOM_CLI_REPORT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

/*
 * Open (or create, or empty) PATH for writing. Refused: a link, anything but a regular file with
 * one name, and every place in the workspace (a descriptor), judged by walking up from the file's
 * directory and comparing device and inode. What a bind mount of a part of the workspace shows
 * elsewhere is not seen by that walk; the file is held open, so the sandbox cannot redirect it.
 */
int report_open(const char *path, int workspace, int *ret_fd, struct error *err) MUST_CHECK;

/* Write the document and a newline. */
int report_write(int fd, const char *text, size_t len, struct error *err) MUST_CHECK;

/*
 * The document of a run that never came to a decision: the keys of a report as far as they mean
 * anything, verdict "deny", the REASON and, as "detail", TEXT.
 */
void report_failure(const char *session, const char *op, const char *reason, const char *text,
		    struct buf *out);

#endif
