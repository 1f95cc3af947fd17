/*
 * Open a file of the ledger's own by its path beneath the ledger's directory, one component at a
 * time and none of them a link.
 */
#ifndef LOOM_LEDGER_OPEN_H
#define LOOM_LEDGER_OPEN_H

#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

#define LEDGER_PATH_MAX 96

/*
 * As openat(2) with O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC added; MODE counts with O_CREAT. PATH is
 * relative, normal and shorter than LEDGER_PATH_MAX.
 */
int ledger_openat(int dirfd, const char *path, int flags, mode_t mode, struct error *err) MUST_CHECK;

#endif
