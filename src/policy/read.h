/* A YAML document into its effective form, by the schema. */
#ifndef LOOM_POLICY_READ_H
#define LOOM_POLICY_READ_H

#include <jansson.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/field.h"
#include "policy/yaml.h"

/*
 * The effective value of NODE as F has it: every key known, every value of its type and format,
 * every default filled in. -EINVAL with position, what was found, what would be right, and the
 * nearest right spelling where there is one.
 */
int read_value(const struct yaml *y, const struct yaml_node *node, const struct field *f,
	       json_t **ret, struct error *err) MUST_CHECK;

/* "did you mean 'X'?" for a word among N words ending with NULL; "" when nothing comes near. */
#define READ_HINT_MAX 96
void read_hint(const char *word, size_t len, const char *const *words, char out[READ_HINT_MAX]);

#endif
