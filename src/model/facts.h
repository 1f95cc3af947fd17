/* Parts of an operation that are facts of the box's. For model/ itself. */
#ifndef LOOM_MODEL_FACTS_H
#define LOOM_MODEL_FACTS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"

/* Not empty, UTF-8, no control characters: text of ours that people see. */
bool facts_plain_text(const char *s);

/* NULL: no memory, or a value that JSON cannot hold. MODE NULL: without mode and new. */
json_t *facts_workspace_json(const struct workspace_facts *w, const char *mode,
			     bool fresh) MUST_CHECK;
json_t *facts_args_json(const struct exec_facts *f) MUST_CHECK;
json_t *facts_env_json(const struct exec_facts *f) MUST_CHECK;

/* Of the member's own object. */
int facts_workspace_read(const json_t *v, struct workspace_facts *ret, struct error *err) MUST_CHECK;
/* Of the object that has "args", "env" or "cwd". */
int facts_args_read(const json_t *v, struct exec_facts *ret, struct error *err) MUST_CHECK;
int facts_env_read(const json_t *v, struct exec_facts *ret, struct error *err) MUST_CHECK;
int facts_cwd_read(const json_t *v, struct exec_facts *ret, struct error *err) MUST_CHECK;

#endif
