/*
 * What box, keeper, init and command say to each other. Everything is a fixed struct in one packet
 * of a SEQPACKET pair between two processes of the same image; sizes are checked, nothing is
 * parsed.
 *
 *   box <-> keeper     plan, signal, winsize, hurry -> ; <- born, parked, started, done, failed
 *   keeper <-> init    go, prepare, plan, signal -> ; <- ready, prepared, terminal, ended, failed
 *   keeper <-> command (the gate) <- report, exec_failed ; -> open
 *
 * A keeper is forked (nursery.h) for each sandbox, long before anyone asks for it, enters the
 * session's cgroups, and clones the sandbox's init into namespaces of its own. Both then wait for a
 * plan (parked). A sandbox is used once.
 */
#ifndef LOOM_BOX_SANDBOX_H
#define LOOM_BOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/cgroup.h"
#include "box/failure.h"
#include "box/filter.h"
#include "box/plan.h"
#include "box/root.h"
#include "box/spare.h"

enum sandbox_type {
	/* to the keeper */
	SANDBOX_PLAN = 1,
	SANDBOX_SIGNAL,
	SANDBOX_WINSIZE,
	SANDBOX_HURRY, /* it is being ended: do not wait for a client that does not read */
	/* to the box */
	SANDBOX_BORN,
	SANDBOX_PARKED,
	SANDBOX_STARTED,
	SANDBOX_DONE,
	SANDBOX_FAILED,
	/* keeper to init (and SANDBOX_PLAN, SANDBOX_SIGNAL) */
	SANDBOX_GO,
	SANDBOX_PREPARE,
	/* init to keeper (and SANDBOX_FAILED) */
	SANDBOX_READY,
	SANDBOX_PREPARED,
	SANDBOX_TERMINAL,
	SANDBOX_ENDED,
	/* command to keeper, by the gate */
	SANDBOX_REPORT,
	SANDBOX_EXEC_FAILED,
	/* keeper to command */
	SANDBOX_OPEN,
};

struct sandbox_signal {
	uint32_t type;
	int32_t signo;
};
struct sandbox_winsize {
	uint32_t type;
	uint16_t rows, columns;
};
struct sandbox_failed {
	uint32_t type;
	struct failure failure;
};
struct sandbox_plan {
	uint32_t type;
	struct plan plan;
};
#define SANDBOX_PLAN_FIXED (offsetof(struct sandbox_plan, plan) + PLAN_FIXED)

/* With the keeper's own pidfd. */
struct sandbox_born {
	uint32_t type;
};
/* With the pidfd of init. */
struct sandbox_parked {
	uint32_t type;
	int32_t init_pid;
};
/* With the lower and the upper layer, as detached mounts. Answered by its type alone. */
struct sandbox_prepare {
	uint32_t type;
	char at[PROFILE_PATH_MAX];
};
struct sandbox_ready {
	uint32_t type;
	int32_t landlock_abi;
	uint8_t landlock_digest[32];
};
struct sandbox_ended {
	uint32_t type;
	int32_t status; /* as of wait(2), of the command */
	uint32_t alone; /* nobody else is left in the session */
	uint32_t pad;
	uint64_t cpu_us; /* of all that was reaped */
};

#define SANDBOX_FILE_MAX 512
/* From the command, at the gate: what it attempted and what it will do. */
struct sandbox_report {
	uint32_t type;
	int32_t landlock_errno; /* of reading LANDLOCK_SENTRY: EACCES */
	int32_t unshare_errno;	/* of a user namespace: EPERM */
	int32_t clone3_errno;	/* ENOSYS */
	int32_t socket_errno;	/* of AF_NETLINK: EPERM */
	int32_t resolve_errno;	/* 0, or why the command cannot be found or run */
	int32_t refused;	/* it names procfs or the box's own image */
	uint8_t landlock_digest[32];
	char cwd[PATH_BYTES_MAX];
	char file[SANDBOX_FILE_MAX]; /* what will be executed */
};
struct sandbox_exec_failed {
	uint32_t type;
	int32_t error;
};

/* What was read back, for the record. */
struct sandbox_facts {
	uint32_t mounts; /* how many there are */
	uint8_t mounts_digest[32];
	uint8_t filter_digest[32];
	uint8_t landlock_digest[32];
	uint8_t plan_digest[32];
	int32_t landlock_abi;
	uint32_t host_id;
	uint32_t filters; /* Seccomp_filters */
	uint32_t pad;
	struct cgroup_values cgroup;
};
struct sandbox_started {
	uint32_t type;
	uint32_t pad;
	struct sandbox_facts facts;
};
struct sandbox_stream {
	uint64_t bytes; /* produced */
	uint8_t sha256[32];
	uint8_t truncated;
	uint8_t pad[3];
	int32_t error; /* why the client's stream took no more; 0: it did, or nobody listened */
};
struct sandbox_done {
	uint32_t type;
	int32_t exec_errno; /* nonzero: execve failed, nothing ran */
	int32_t status;	    /* of the command, as of wait(2) */
	uint32_t ended;	    /* 0: init died without telling (killed) */
	uint64_t cpu_us;    /* 0: not known */
	struct cgroup_usage usage;
	struct sandbox_stream out, err;
};

/* Sending and receiving; blocking, unless the descriptor is not. Descriptors arrive close-on-exec.
 */
#define SANDBOX_FDS_MAX PLAN_FDS_MAX
int sandbox_send(int fd, const void *data, size_t len, const int *fds, size_t n_fds) MUST_CHECK;
/* Bytes; 0: the peer has gone; negative errno. *RET_FDS are filled with -1 beyond those received. A
 * packet that does not fit is -EMSGSIZE. RET_PID (may be NULL): the sender's, where fd has
 * SO_PASSCRED. */
ssize_t sandbox_recv(int fd, void *data, size_t cap, int *ret_fds, size_t max_fds,
		     pid_t *ret_pid) MUST_CHECK;

/* Close everything above 2 that is not among FDS. Sorts FDS. */
void sandbox_keep_only(int *fds, size_t n);

/* What all keepers start from; in memory of the box when it forks the nursery. */
struct sandbox_base {
	const struct cgroups *cgroups;
	const struct filter *filters; /* FILTER_KINDS of them */
	int host_ns;		      /* mount namespace in which clients' descriptors are */
	int id_lock;		      /* held for as long as an id may be in use */
	int sessions;		      /* the directory of sessions */
	uint32_t box_filters;	      /* Seccomp_filters of the box itself */
	int landlock_abi;
	dev_t image_dev; /* of the box's own executable */
	ino_t image_ino;
};
/* What one starts from. */
struct sandbox_spawn {
	uint64_t number; /* of the cgroup */
	uint32_t host_id;
	uint32_t awaited; /* somebody waits for it now: no rehearsal */
	uint32_t prepare; /* with the workspace of the last plan, whose descriptor comes along */
	uint32_t pad;
	struct spare_for workspace;
	/* Guesses from the last plan; a wrong one costs time and nothing else. */
	struct cgroup_limits limits; /* memory 0: none yet */
	uint64_t tmp_bytes, shm_bytes;
	uint32_t owner_uid, owner_gid;
};
/* All of it, in the keeper. */
struct sandbox_park {
	const struct sandbox_base *base;
	struct sandbox_spawn spawn;
	const struct root *root;
	int box;       /* channel to the box */
	int workspace; /* with spawn.prepare, else -1 */
	pid_t parent;
};

void keeper_main(const struct sandbox_park *park) NORETURN;

/* What init starts from, in the keeper's memory. */
struct init_start {
	const struct sandbox_park *park;
	int control;	  /* channel to the keeper */
	int gate;	  /* the command's end */
	int in, out, err; /* the command's ends of the pipes */
};
void init_main(const struct init_start *start) NORETURN;

/* What the command starts from, in init's memory. */
struct command_start {
	const struct sandbox_park *park;
	const struct plan *plan;
	int gate;
	int stdio[3];
	int cwd;       /* O_PATH */
	int args, env; /* blobs; env -1: none */
	uint8_t landlock_digest[32];
};
void command_main(const struct command_start *start) NORETURN;

#endif
