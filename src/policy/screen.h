/* What may be in a configuration file at all, before it is anything. */
#ifndef LOOM_POLICY_SCREEN_H
#define LOOM_POLICY_SCREEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "policy/yaml.h"

/* What is wrong with a character, and what would be right; NULL: it may be there. */
const char *screen_char(uint32_t c);
/* -EINVAL with the position in the file of Y, -EMSGSIZE above YAML_BYTES_MAX. */
int screen_bytes(const struct yaml *y, const char *data, size_t len, struct error *err) MUST_CHECK;

#endif
