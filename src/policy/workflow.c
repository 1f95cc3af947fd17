/*
 * `self` grants all capabilities there are; what a profile does not have stays out all the same,
 * because both have to say yes.
 */
#include "policy/workflow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/field.h"
#include "model/verdict.h"

int
workflow_find(const char *name, uint32_t uid, struct workflow *ret, struct error *err)
{
	if (name[0] != '\0' && strcmp(name, WORKFLOW_SELF) != 0)
		return error_set(err, -ENOENT, "there is no workflow '%s'; this build has '%s'",
				 field_show(name, strlen(name)).text, WORKFLOW_SELF);
	*ret = (struct workflow){.uid = uid, .capabilities = CAPABILITY_BIT(CAPABILITY_COUNT) - 1};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", WORKFLOW_SELF);
	return 0;
}
