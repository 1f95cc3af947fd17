/*
 * Read back from outside, with the command stopped in front of its gate, what was planned. The
 * kernel's word for it is /proc/PID and the cgroups' files; nothing the sandbox says is believed
 * but what it tried and saw refused (struct sandbox_report), which cannot be read. Any difference,
 * in either direction, refuses the run.
 */
#ifndef LOOM_BOX_CONFIRM_H
#define LOOM_BOX_CONFIRM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"
#include "box/cgroup.h"
#include "box/failure.h"
#include "box/sandbox.h"

#define CONFIRM_NAMESPACE_MAX 32
/* The caller's own namespaces, which a command may not be in. */
struct confirm_own {
	char namespaces[PLAN_NAMESPACES][CONFIRM_NAMESPACE_MAX];
};
int confirm_know_own(struct confirm_own *ret, struct failure *f) MUST_CHECK;

struct confirm_in {
	const struct confirm_own *own;
	const struct sandbox_park *park;
	const struct plan *plan;
	const struct cgroup *cgroup;
	const struct sandbox_report *report;
	pid_t init;    /* as the keeper numbers them */
	pid_t command; /* from the credentials of the report's packet */
};
/* Fills RET_FACTS; else F has the step and what differs. */
int confirm(const struct confirm_in *in, struct sandbox_facts *ret_facts,
	    struct failure *f) MUST_CHECK;

/*
 * Go through all of it once when nobody waits, on whatever process IN names, without regard to what
 * is found: a process that was just forked pays for each page of memory and of program it uses
 * first.
 */
void confirm_rehearse(const struct confirm_in *in);

/* Pure parts. */
struct confirm_ids {
	uint32_t host_id;
	pid_t init;
	uint32_t filters; /* Seccomp_filters */
};
int confirm_status(const char *status, const struct confirm_ids *want,
		   struct failure *f) MUST_CHECK;
/* MOUNTINFO is changed. */
int confirm_mounts(char *mountinfo, const struct root *root, const struct plan *plan,
		   uint32_t *ret_n, uint8_t ret_digest[32], struct failure *f) MUST_CHECK;
int confirm_limits(const char *limits, const struct plan *plan, struct failure *f) MUST_CHECK;

#endif
