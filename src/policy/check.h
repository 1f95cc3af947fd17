/* What the schema cannot say: parts of a profile that contradict each other, found at load. */
#ifndef LOOM_POLICY_CHECK_H
#define LOOM_POLICY_CHECK_H

#include <jansson.h>

#include "base/error.h"
#include "base/macro.h"
#include "policy/policy.h"
#include "policy/yaml.h"

/*
 * DOC is the effective form of the document Y. -EINVAL with the position of the part that would
 * have to change.
 */
int check_profile(const struct yaml *y, const json_t *doc, const struct policy_source *src,
		  struct error *err) MUST_CHECK;

#endif
