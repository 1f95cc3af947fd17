/*
 * Policy: read -> check -> compile -> decide -> explain. Pure: it works on bytes that were handed
 * in, opens nothing, reads no clock and keeps no state; the same input gives the same verdict.
 *
 * A struct policy is a sealed profile (model/profile.h) and its rules, compiled; it never changes
 * and may be shared. There is one evaluator: policy_decide, policy_why and the `tests:` of a
 * profile all run it.
 *
 * How it decides. Every check of the table in builtin.c and every rule of the profile is looked at.
 * Deny beats escalate beats allow; nothing matching is a denial (default-deny); a rule that cannot
 * be evaluated is a denial. The verdict carries the ids of the rules that decided: `builtin/…` of
 * this program, `profile/…` of the profile's fixed parts, `self/…` of the workflow, and the ids
 * that the profile itself gives.
 */
#ifndef LOOM_POLICY_POLICY_H
#define LOOM_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/profile.h"
#include "model/verdict.h"
#include "policy/workflow.h"

struct policy;

void policy_free(struct policy *p);
void policy_freep(struct policy **p);
const struct profile *policy_profile(const struct policy *p);

/*
 * A profile as its author wrote it. FILE is for messages only: who may write it, and whether its
 * name is that of the profile in it, is for whoever opened it (compare policy_profile()->name).
 * PLACES: more directories that no mount may show, hold or lie in (state and configuration
 * directories, homes); absolute, normal.
 */
struct policy_source {
	const char *file;
	const void *data;
	size_t len;
	const char *const *places;
	size_t n_places;
};
/*
 * Read, check, compile and test. -EINVAL with "FILE:LINE:COLUMN: what was found; what would be
 * right" for everything that is wrong with the document, a failing test and the name of a shipped
 * profile included; -EMSGSIZE, -ENOMEM.
 */
int policy_load(const struct policy_source *src, struct policy **ret, struct error *err) MUST_CHECK;
/* From the canonical bytes that a record or a grant holds. The tests are not run again. */
int policy_load_canonical(const void *data, size_t len, struct policy **ret,
			  struct error *err) MUST_CHECK;

/* Profiles that are compiled in. A user's profile may not have such a name. */
size_t policy_shipped_count(void);
const char *policy_shipped_name(size_t i); /* NULL past the end */
/* As written, for `loom profile show`. NULL past the end. */
const char *policy_shipped_text(size_t i, size_t *ret_len);
bool policy_is_shipped(const char *name);
/* Number I, its profile marked `shipped`. -ENOENT past the end. */
int policy_shipped(size_t i, struct policy **ret, struct error *err) MUST_CHECK;

/*
 * Decide OP. Allocates nothing. The operation has to name the profile and the workflow it is
 * decided under; for exec and the workspace capabilities all its facts are read. A capability that
 * needs more than struct operation holds (net, git, credentials) is never allowed through here.
 */
void policy_decide(const struct policy *p, const struct workflow *w, const struct operation *op,
		   struct verdict *ret);

/*
 * Decide a request given as JSON or YAML with the keys of REQUEST_FIELDS, by the same evaluator,
 * and append one JSON document to OUT: the verdict as verdict_json has it, and "capability",
 * "profile"
 * {"name","digest"}, "workflow", "rules" (the ids that decided) and "considered": [{"rule",
 * "effect","matched","why"}…] in the order they were looked at. `effect` is what the rule does when
 * it matches. A request that cannot be read is a denial like any other; only -ENOMEM and -EMSGSIZE
 * are errors.
 */
int policy_why(const struct policy *p, const struct workflow *w, const void *request, size_t len,
	       struct buf *out, struct error *err) MUST_CHECK;

/* Append the JSON Schema (2020-12) of kind Profile, from the table the reader uses. */
int policy_schema(struct buf *out, struct error *err) MUST_CHECK;

#endif
