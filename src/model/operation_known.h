/* An operation as far as it is known, for the record of a denial. For model/ itself. */
#ifndef LOOM_MODEL_OPERATION_KNOWN_H
#define LOOM_MODEL_OPERATION_KNOWN_H

#include "model/operation.h"

/* As operation_json without the checks, and without the members that are empty or zero. */
json_t *
operation_json_known(const struct operation *op, struct error *err) MUST_CHECK;

#endif
