/*
 * May the directory behind a descriptor be shown to a sandbox (filesystem.readOnly)? Profiles are
 * judged by name when they are read (model/profile.h); here the object is: by every path under
 * which the host has it, so that a bind mount of a forbidden place is forbidden, wherever it lies.
 */
#ifndef LOOM_BOX_SOURCE_H
#define LOOM_BOX_SOURCE_H

#include "base/error.h"
#include "base/macro.h"

/*
 * FD: of the calling process's mount namespace; PATH: where it was opened. -EACCES: a place that is
 * nobody's to show; -EXDEV: another mount lies beneath it.
 */
int source_judge(int fd, const char *path, struct error *err) MUST_CHECK;
/* The same over a mountinfo TEXT (changed) and a mount id. */
int source_judge_in(char *text, unsigned long long mount_id, const char *path,
		    struct error *err) MUST_CHECK;

#endif
