/*
 * The inside of an accept, as it runs in the child with the owner's ids: gather what is selected
 * and judge it, stage it, carry the plan out, undo it. accept.h says what is promised; journal.h
 * what is written down.
 *
 * Of these, only gathering can refuse. Later failures are failures, or a workspace that changes
 * while it is written to (-ESTALE).
 */
#ifndef LOOM_BOX_TAKEOVER_H
#define LOOM_BOX_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "box/changes.h"
#include "box/journal.h"
#include "box/selection.h"
#include "box/stamps.h"
#include "model/result.h"

#define TAKEOVER_ITEMS_MAX 500000

/* One selected change. */
struct item {
	char *path;
	enum change_kind kind;
	enum change_type type;
	uint32_t mode; /* to be set; without set-id bits, but those a directory has already */
	uint64_t size;
	uint8_t sha256[SHA256_LEN];
	bool was_dir; /* what is in the workspace now */
	uint32_t was_mode;
	uint64_t was;		     /* inode number; 0: nothing is there */
	struct timespec was_changed; /* mtime */
	int64_t was_size;
	uint64_t staged;    /* inode number of new/N, once staged */
	bool parent_closed; /* the directory it lies in cannot be written to as it is */
	uint32_t parent_mode;
	uint64_t parent; /* inode number */
};

struct takeover {
	int upper;
	int workspace;
	int stage, fresh, old; /* the staging directory, its new/ and old/; -1 */
	struct selection *sel;
	struct timespec started; /* what changed in the workspace after that is a conflict */
	struct stamps *stamps;	 /* unless it was an accept that changed it */
	struct item *items;
	size_t n, cap;
	uint64_t files_to_sync;
};
void takeover_fini(struct takeover *t);

/*
 * Fill the items and RET's manifest, and judge. RET's status is RESULT_REFUSED with reason and
 * detail when something stands against it, else RESULT_DONE with files, bytes and stripped counted.
 * EXPECTED: the recorded digest.
 */
int takeover_gather(struct takeover *t, const uint8_t expected[SHA256_LEN],
		    struct accept_result *ret, struct error *err) MUST_CHECK;
/* Make the staging directory NAME and everything in it; contents must have the digests gathered. */
int takeover_stage(struct takeover *t, const char *name, struct error *err) MUST_CHECK;
/* The steps that carry it out, in order, into J. */
int takeover_plan(struct takeover *t, struct journal *j, struct error *err) MUST_CHECK;
/* Carry them out and sync. On a failure some are done. */
int takeover_commit(struct takeover *t, const struct journal *j, struct error *err) MUST_CHECK;
/*
 * Undo what was done of J's steps, the last first, whatever fails on the way; 0 when everything is
 * as it was. T needs only workspace; opens the staging directory itself (gone: nothing was done).
 */
int takeover_undo(struct takeover *t, const struct journal *j, struct error *err) MUST_CHECK;
/* Remove the staging directory. */
int takeover_clear(const struct takeover *t, const char *name, struct error *err) MUST_CHECK;

/*
 * The directory that PATH lies in, beneath WORKSPACE, without links and mounts on the way; O_PATH.
 * Of any length. *RET_NAME is the last component.
 */
int takeover_open_parent(int workspace, const char *path, const char **ret_name,
			 struct error *err) MUST_CHECK;

#endif
