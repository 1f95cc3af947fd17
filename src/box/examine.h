/*
 * Look at what a client handed over, before anything is decided: the workspace, the standard
 * streams, the arguments and the variables. Judged is the object behind each descriptor, never a
 * name: where the workspace lies is found by walking ".." from its descriptor and comparing device
 * and inode with the places that no sandbox may have.
 *
 * The outcome is either facts for the decision, or a reason and one sentence for a person. Every
 * failure on the way is a denial (R_INTERNAL at worst); nothing is changed and nothing is kept.
 */
#ifndef LOOM_BOX_EXAMINE_H
#define LOOM_BOX_EXAMINE_H

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/verdict.h"

#define EXAMINE_OURS_MAX 4

struct examine_in {
	int workspace;	 /* directory, O_PATH or not */
	int streams[3];	 /* stdin, stdout, stderr */
	int args;	 /* sealed memfd: salt, then NUL-terminated arguments */
	int env;	 /* sealed memfd: salt, then NUL-terminated NAME=VALUE; -1: none */
	const void *cwd; /* as the client sent it */
	size_t cwd_len;
	/*
	 * Directories of Loom's own (sessions, run, configuration) as far as the caller has them;
	 * for each, neither it nor anything above or beneath it can be a workspace. The parent of
	 * the first one counts too: the sessions lie in the state directory.
	 */
	int ours[EXAMINE_OURS_MAX];
	size_t n_ours;
};

/*
 * *RET_REASON is R_ALLOWED with RET_FACTS filled and DETAIL empty, or the reason against it with a
 * sentence in DETAIL (escaped, NUL-terminated) and RET_FACTS unspecified. Descriptors stay the
 * caller's; offsets of the memfds are not moved. Keeps a table of places in the process, made anew
 * when /etc/passwd changes or after a minute.
 */
void examine(const struct examine_in *in, struct exec_facts *ret_facts, enum reason *ret_reason,
	     char detail[VERDICT_DETAIL_MAX]);

/* Is the directory behind FD still the object W describes (device, inode, owner, group)? 0, or
 * -ESTALE with what differs. For the check at the grant. */
int examine_workspace_is(int fd, const struct workspace_facts *w, struct error *err) MUST_CHECK;

#endif
