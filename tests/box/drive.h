/*
 * A stand-in for loomd, the authority and the ledger around one loom-box, so that the box can be
 * tried alone: it makes the receipt key, records in memory, and can be asked to lie.
 */
#ifndef LOOM_TESTS_BOX_DRIVE_H
#define LOOM_TESTS_BOX_DRIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/operation.h"
#include "model/profile.h"
#include "model/receipt.h"
#include "model/result.h"
#include "wire/channel.h"

struct drive {
	pid_t box;
	struct channel loomd, authority;
	struct packet packet;
	uint8_t key[RECEIPT_KEY_LEN];
	char state[64]; /* mkdtemp; sessions are kept in it */
	uint64_t ticket, index, session;
};
int drive_start(struct drive *d, const char *box, struct error *err) MUST_CHECK;
/* Close the channels and wait; returns the status of wait(2). Removes the state directory. */
int drive_stop(struct drive *d);
/* The two halves of it. */
int drive_end(struct drive *d);
void drive_clear(struct drive *d);

/* What a run wants; zeros are fit for most. */
struct drive_run {
	const char *workspace;
	const char *const *argv;
	const char *const *env; /* NAME=VALUE; NULL: no blob */
	int streams[3];
	enum workspace_mode mode;
	const char *at;		 /* workspace.at; NULL: /workspace */
	const char *cwd;	 /* NULL: "" */
	bool tty, ptrace, again; /* again: a continued session */
	uint64_t session;	 /* 0: the next */
	uint64_t timeout_ms, memory, output;
	uint32_t pids, cpu_milli, open_files;
	const struct profile_mount *mount; /* NULL: none */
	/* Lies of a hostile authority. */
	bool wrong_mac, wrong_leaf, other_profile, forged_args, swapped_workspace, other_cwd,
		wrong_kind, no_ledger_digest;
	uint64_t reuse_index;  /* 0: a new one */
	uint64_t other_ticket; /* 0: the right one */
};
/* examine, and read the facts. *RET_REASON as answered. */
int drive_examine(struct drive *d, const struct drive_run *r, enum reason *ret_reason,
		  struct exec_facts *ret_facts, struct error *err) MUST_CHECK;
/* Record and grant what was examined. */
int drive_grant(struct drive *d, const struct drive_run *r, const struct exec_facts *facts,
		struct error *err) MUST_CHECK;
/* Wait for started (optional) and the outcome; checks its MAC. -EPIPE: the box has gone. */
int drive_outcome(struct drive *d, struct exec_result *ret, bool *ret_started,
		  struct error *err) MUST_CHECK;
/* All three. */
int drive_run(struct drive *d, const struct drive_run *r, struct exec_result *ret,
	      struct error *err) MUST_CHECK;

#endif
