/*
 * Places of the host that are nobody's workspace, as objects (device and inode) and by their path
 * within their file system, so that a bind mount of one, or of a part of one, or another spelling
 * makes no difference. Three ways to be forbidden: being the place, lying
 * beneath it, containing it.
 */
#ifndef LOOM_BOX_PLACES_H
#define LOOM_BOX_PLACES_H

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"

/*
 * Judge the directory behind FD. OURS: N_OURS descriptors of directories of Loom's own, besides
 * those of own.h; the parent of the first counts too. *RET_WHY is NULL when it may be a workspace,
 * or why not, as the end of a sentence ("is /etc", "lies beneath ~/.ssh of root"); it points into
 * memory of the module and is good until the next call. Fails when a directory above it cannot be
 * opened.
 */
int places_judge(int fd, const int *ours, size_t n_ours, const char **ret_why,
		 struct error *err) MUST_CHECK;
/* Only whether it is, lies in, or contains a directory of Loom's own (own.h): for what a profile
 * shows. -EXDEV: it does not lie on a mount that is seen here. */
int places_judge_own(int fd, const char **ret_why, struct error *err) MUST_CHECK;
/* Make the table anew at the next question. */
void places_forget(void);

#endif
