/*
 * What the parts of a keeper share (keeper.c has the whole of it in words). Nothing outside
 * includes this but them.
 */
#ifndef LOOM_BOX_KEEPER_H
#define LOOM_BOX_KEEPER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"
#include "box/cgroup.h"
#include "box/confirm.h"
#include "box/failure.h"
#include "box/sandbox.h"

struct keeper {
	const struct sandbox_park *park;
	struct failure failure;
	struct confirm_own own;
	struct cgroup cgroup;
	pid_t init;
	int init_pidfd;
	int control;	  /* to init */
	int gate;	  /* to the command */
	int in, out, err; /* our ends of the command's streams */
	int idmap;	  /* user namespace for the guessed owner; -1 */
	int terminal;	  /* our side; -1: none */
	int landlock_abi;
	uint8_t landlock_digest[32]; /* before the workspace's rule */
	int client[3];
	bool told_started, hurry;
	struct sandbox_started started;
	struct sandbox_ended ended; /* type 0: init did not tell yet */
	struct sandbox_plan message;
};

#define KEEPER_FAIL(k, step, ...)                                                                  \
	failure_sys(&(k)->failure, R_CAPABILITY_UNAVAILABLE, step, -errno, __VA_ARGS__)

/* A message of init's: READY, TERMINAL, ENDED, FAILED. */
union init_message {
	uint32_t type;
	struct sandbox_ready ready;
	struct sandbox_ended ended;
	struct sandbox_failed failed;
};

/* Tell the box, and be gone; init goes with us. */
void keeper_give_up(struct keeper *k) NORETURN;
/* 1: got one; 0: init has gone. A failure it tells is our own. *RET_FD: what came along, or -1. */
int keeper_hear_init(struct keeper *k, union init_message *m, int *ret_fd) MUST_CHECK;

/* Up to the point where a plan can come (keeper_park.c), and from there to the open gate
 * (keeper_start.c). They return only when it went well. */
void keeper_park(struct keeper *k);
void keeper_receive_plan(struct keeper *k, int fds[PLAN_FDS_MAX]);
void keeper_start(struct keeper *k, int fds[PLAN_FDS_MAX]);

/* Mounts of the client's directory and the session's layers (keeper_mounts.c). */
int keeper_idmap(struct keeper *k, uint32_t uid, uint32_t gid) MUST_CHECK;
int keeper_prepare(struct keeper *k) MUST_CHECK;
int keeper_mounts(struct keeper *k, int workspace, int session, int *ret_workspace,
		  int *ret_layers) MUST_CHECK;

#endif
