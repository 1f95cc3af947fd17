/*
 * What accepts of a session did to the workspace themselves, so that a later one does not take it
 * for a change of somebody else's: inode number and change time of each object they put, moved or
 * changed. Kept in the session's directory, appended to.
 */
#ifndef LOOM_BOX_STAMPS_H
#define LOOM_BOX_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"

#define STAMPS_NAME "accept.stamps"

struct stamp {
	uint64_t ino;
	int64_t sec;
	int64_t nsec;
};
struct stamps {
	int fd;		      /* appends; -1: none */
	struct stamp *stamps; /* owned; sorted */
	size_t n;
	struct stamp *added; /* not yet written */
	size_t n_added, cap;
};
int stamps_open(int session_dir, struct stamps *ret, struct error *err) MUST_CHECK;
void stamps_fini(struct stamps *s);
bool stamps_have(const struct stamps *s, const struct stat *st);
/* Losing one only costs a refusal later, so failures are not told. */
void stamps_add(struct stamps *s, const struct stat *st);
void stamps_flush(struct stamps *s);

#endif
