/*
 * Take a session's changes over into its workspace: all of the selected ones or none.
 *
 * The work is done in a child with the ids of the workspace's owner, no capability that could
 * change anything, and no_new_privs, by descriptors beneath the workspace that follow no link.
 * Everything is first staged in one hidden directory of the workspace (.loom-accept-XXXX) and
 * checked against the manifest; then a plan is written to the session's directory; then entries are
 * moved into place with renameat2, originals kept; then the plan is marked done and the staging
 * directory removed. Any failure before that mark is undone from the plan, at once, or at the next
 * start of the box when it was a crash (accept_recover).
 *
 * Refused (RESULT_REFUSED, nothing changed): a manifest other than the recorded one; an entry that
 * changed in the workspace since the session started; a protected path that was not named by
 * itself; anything of .git; devices, fifos and sockets.
 */
#ifndef LOOM_BOX_ACCEPT_H
#define LOOM_BOX_ACCEPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/result.h"

struct accept_in {
	int sessions; /* the directory of sessions */
	const char *session;
	const uint8_t *manifest;		 /* 32 bytes: what was recorded */
	const json_t *paths;			 /* operation.paths; NULL: everything */
	const struct workspace_facts *workspace; /* of the operation: must be what meta.json says */
};
/*
 * For a child of the box made for this, as root; forks once more. Always fills RET (its manifest is
 * the one computed here). When nothing is left of the session's changes afterwards, the session is
 * removed; otherwise its count is brought up to date. RESULT_FAILED: Loom failed; nothing changed,
 * or the next start will undo what did (the detail says which).
 */
void accept_job(const struct accept_in *in, struct accept_result *ret);

/*
 * At start: undo or finish what a crash left of an accept of SESSION, in a child with the ids of
 * the owner. 0: nothing was there; 1: undone; 2: finished. Negative: could not; the plan stays.
 */
int accept_recover(int sessions, const char *session, struct error *err) MUST_CHECK;
/* Is there a plan of an unfinished accept in the session's directory? */
bool accept_pending(int session_dir);

#endif
