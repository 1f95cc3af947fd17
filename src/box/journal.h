/*
 * The plan of one accept, on disk in the session's directory while it is under way: what is moved
 * where, so that a crash at any moment can be undone or finished. One file:
 *
 *   0    state: one letter (enum journal_state), then a newline, then the name of the staging
 *        directory in the workspace, NUL-padded to JOURNAL_HEAD bytes
 *   128  (not while staging) 8 bytes length, 32 bytes SHA-256, and the steps (wire/codec.h)
 *
 * A state is written in place and synced after all it speaks of.
 */
#ifndef LOOM_BOX_JOURNAL_H
#define LOOM_BOX_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define JOURNAL_NAME "accept.plan"
#define JOURNAL_HEAD 128
#define STAGE_PREFIX ".loom-accept-"
#define STAGE_NAME_MAX 48

enum journal_state {
	JOURNAL_STAGING = 'S',	  /* nothing in the workspace but the staging directory */
	JOURNAL_COMMITTING = 'C', /* some of the steps are done */
	JOURNAL_DONE = 'D',	  /* all are; the staging directory holds what was replaced */
};

/* Items are numbered; the staging directory has new/N for what comes and old/N for what goes. */
enum step_verb {
	STEP_CHMOD = 1, /* PATH from mode_from to mode_to; was: its inode number */
	STEP_PUT = 2,	/* new/N to PATH, where nothing is; staged: the inode number of new/N */
	STEP_SWAP = 3,	/* new/N and PATH change places; staged, was */
	STEP_TAKE = 4,	/* PATH to old/N; was */
};

struct step {
	enum step_verb verb;
	uint32_t item;
	uint32_t mode_from, mode_to;
	uint64_t staged,
		was; /* inode numbers; 0: none, or (CHMOD) one that comes with a step before */
	char *path;  /* owned; relative to the workspace, "." for itself */
};

struct journal {
	int fd;
	enum journal_state state;
	char stage[STAGE_NAME_MAX];
	struct step *steps; /* owned */
	size_t n, cap;
};

void journal_fini(struct journal *j);
/* A new one in state STAGING, with a staging name of its own, durably. -EEXIST: one is there. */
int journal_create(int session_dir, struct journal *ret, struct error *err) MUST_CHECK;
int journal_add(struct journal *j, const struct step *s,
		struct error *err) MUST_CHECK; /* copies path */
/* Write the steps, sync them, then the state COMMITTING, and sync it. */
int journal_commit(struct journal *j, struct error *err) MUST_CHECK;
int journal_state(struct journal *j, enum journal_state state, struct error *err) MUST_CHECK;
/* -ENOENT: none is there; -EBADMSG: unreadable. */
int journal_open(int session_dir, struct journal *ret, struct error *err) MUST_CHECK;
int journal_remove(int session_dir, struct error *err) MUST_CHECK;

#endif
