/*
 * The part of the host's /etc that a sandbox gets, as copies: an explicit list. Only what everybody
 * may read is copied (mode o+r), only regular files and links, within bounds; the rest is as if it
 * were not listed. Nothing named "private" anywhere beneath is copied.
 */
#ifndef LOOM_BOX_ROOTFILES_H
#define LOOM_BOX_ROOTFILES_H

#include "base/error.h"
#include "base/macro.h"
#include "box/root.h"

/* From the host's root directory to the new one, in which /etc exists. */
int rootfiles_copy(int host, int root, struct error *err) MUST_CHECK;
/* Note what the copies depend on, for root_stale. */
void rootfiles_watch(struct root *r);

#endif
