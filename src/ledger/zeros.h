/*
 * Files that are preallocated by writing zeros, in the directory of the journal: segments to be.
 */
#ifndef LOOM_LEDGER_ZEROS_H
#define LOOM_LEDGER_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

/* Is the code one of those that say that the disk is full? */
bool zeros_no_space(int code);
int zeros_sync_dir(int dirfd, struct error *err) MUST_CHECK;
int zeros_fill(int fd, uint64_t from, uint64_t to, struct error *err) MUST_CHECK;
/*
 * How large a new file may be: WANT bytes, at most a SHARE-th of what is free, at least
 * JOURNAL_LEAST_BYTES and NEED. -ENOSPC when there is not even that.
 */
int zeros_choose(int dirfd, uint64_t want, unsigned int share, size_t need, uint64_t *ret,
		 struct error *err) MUST_CHECK;
int zeros_make(int dirfd, const char *name, uint64_t bytes, struct error *err) MUST_CHECK;
/* *ret_bytes: of the file NAME that an earlier run left; 0 when there is none that is all zeros. */
int zeros_find(int dirfd, const char *name, uint64_t *ret_bytes, struct error *err) MUST_CHECK;

#endif
