/*
 * The running program as a sealed memfd: what /proc/N/exe leads to for the box, its keepers and
 * every init is then no file of anyone's, and can be neither written nor read nor executed.
 */
#ifndef LOOM_BOX_IMAGE_H
#define LOOM_BOX_IMAGE_H

#include "base/error.h"
#include "base/macro.h"

/*
 * Returns 0 in a process that runs from one; otherwise executes itself again, with
 * no more than a name for arguments (they can be read in every sandbox, of its init), or fails.
 */
int image_enter(struct error *err) MUST_CHECK;

#endif
