/* What a text has to be beyond its type: the formats that the schema's fields name. */
#ifndef LOOM_POLICY_FORMAT_H
#define LOOM_POLICY_FORMAT_H

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/field.h"

/* 0, or -EINVAL with what is wrong with TEXT and what would be right. TEXT has no NUL inside. */
int format_check(enum field_format format, const char *text, size_t len,
		 struct error *err) MUST_CHECK;
/* A regular expression (ECMA 262) for the JSON Schema; it may let more through. NULL: none. */
const char *format_pattern(enum field_format format);

#endif
