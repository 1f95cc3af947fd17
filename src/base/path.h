/*
 * Paths as text, judged by component, never by prefix. Used for paths beneath a workspace; what a
 * path resolves to is judged on descriptors (fd.h).
 */
#ifndef LOOM_BASE_PATH_H
#define LOOM_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"

#define PATH_BYTES_MAX 4096
#define PATH_NAME_MAX 255

/*
 * Accept a relative path beneath some directory and write its one spelling: empty and "." components
 * removed ("a//b", "a/./b" and "a/b/" are all "a/b"). Refused: a leading slash, "..", NUL or control
 * byte, a component over 255 bytes, more than 4095 bytes in all. What comes out empty is refused
 * unless EMPTY_OK, and is written as "". -EINVAL with the reason; OUT is then untouched.
 */
int path_relative(const char *bytes, size_t len, bool empty_ok, char out[PATH_BYTES_MAX],
		  struct error *err) MUST_CHECK;

/* Absolute, already normal ("/a/b", or "/"): no "//", ".", "..", trailing slash or control byte. */
int path_absolute_check(const char *path, struct error *err) MUST_CHECK;

/* Is PATH equal to or beneath DIR, by component? Both absolute and normal. */
bool path_is_beneath(const char *path, const char *dir);

#endif
