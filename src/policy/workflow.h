/*
 * A workflow: an operator's statement that these identities may use these profiles on these
 * workspaces with this subset of their capabilities. This build has one, compiled in: `self`, for
 * private use. Its requester is the agent self/agent of the user who runs Loom; it applies to any
 * workspace that user could open, to the shipped profiles and to those in the user's own
 * configuration directory, and grants every capability the profile has.
 */
#ifndef LOOM_POLICY_WORKFLOW_H
#define LOOM_POLICY_WORKFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/ids.h"

#define WORKFLOW_SELF "self"
#define SELF_IDENTITY "self/agent"

struct workflow {
	char name[NAME_MAX_LEN + 1];
	uint32_t uid;	       /* whose requests: the uid of the channel has to be this one */
	uint32_t capabilities; /* CAPABILITY_BIT()s it grants of those a profile has */
};

/* The workflow called NAME (empty: self) for the user UID. -ENOENT when there is none. */
int workflow_find(const char *name, uint32_t uid, struct workflow *ret,
		  struct error *err) MUST_CHECK;

#endif
