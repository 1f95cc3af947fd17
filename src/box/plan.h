/*
 * The plan of one run: everything that is to be done, decided before anything is done, in one flat
 * piece of memory without pointers that goes from the box to the keeper and on to init as it is.
 * plan_derive is pure: the recorded operation and the effective profile go in, and nothing else.
 * What a plan cannot say (descriptors) rides along, in the order of enum plan_fd.
 */
#ifndef LOOM_BOX_PLAN_H
#define LOOM_BOX_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/cgroup.h"
#include "box/failure.h"
#include "model/ids.h"
#include "model/operation.h"
#include "model/profile.h"

#define PLAN_VERSION 1
#define PLAN_STRINGS_MAX 32768
#define PLAN_ENV_MAX (PROFILE_ENV_MAX + 8)
#define PLAN_INSIDE_ID 1000u	    /* uid and gid of everything in a sandbox */
#define PLAN_LOCKED_MAX (64u << 10) /* bytes: RLIMIT_MEMLOCK */
#define PLAN_QUEUES_MAX (64u << 10) /* bytes: RLIMIT_MSGQUEUE */
#define PLAN_SIGNALS_MAX 1024u	    /* RLIMIT_SIGPENDING */
#define PLAN_NAMESPACES 7

enum plan_flag {
	PLAN_TTY = 1 << 0,
	PLAN_CLIENT_ENV = 1 << 1, /* an environment blob is among the descriptors */
	PLAN_PTRACE = 1 << 2,
	PLAN_PREPARED = 1 << 3, /* the sandbox has its workspace already (spare.h) */
	PLAN_CORE = 1 << 4,	/* the host's core_pattern is a pipe */
};
/* Descriptors that go with a plan, in this order; optional ones are left out when not due. */
enum plan_fd {
	PLAN_FD_STDIN,
	PLAN_FD_STDOUT,
	PLAN_FD_STDERR,
	PLAN_FD_WORKSPACE,
	PLAN_FD_ARGS,
	PLAN_FD_ENV,	/* with PLAN_CLIENT_ENV */
	PLAN_FD_LAYERS, /* with WORKSPACE_OVERLAY, not PREPARED: the session's directory */
	PLAN_FDS_MAX,
};

struct plan {
	uint32_t version;
	uint32_t size;		       /* bytes of the whole, strings included */
	uint32_t flags;		       /* enum plan_flag */
	uint32_t mode;		       /* enum workspace_mode */
	uint32_t owner_uid, owner_gid; /* of the workspace's root, on disk */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint64_t tmp_bytes, shm_bytes;
	uint64_t output_bytes; /* delivered per stream */
	uint64_t open_files;
	struct cgroup_limits limits;
	uint64_t args_bytes, env_bytes; /* of the blobs, salt included */
	uint32_t args_count, client_env_count;
	uint32_t n_env; /* NAME=VALUE strings, after the two paths */
	uint32_t strings_len;
	char session[SESSION_ID_MAX];
	/* workspace_at, cwd (relative, may be empty), then the environment; each NUL-terminated. */
	char strings[PLAN_STRINGS_MAX];
};
#define PLAN_TERM_MAX 64
#define PLAN_FIXED offsetof(struct plan, strings)

/* WORKSPACE_PATH: raw, absolute, for workspace.at: host. TERM: of a terminal, as the client says;
 * what is not 1 to PLAN_TERM_MAX of A-Z a-z 0-9 + . _ - becomes "dumb". */
int plan_derive(const struct operation *op, const struct profile *profile,
		const char *workspace_path, const char *term, struct plan *ret,
		struct failure *f) MUST_CHECK;
/* Bounds and shape, for whoever receives one. */
bool plan_valid(const struct plan *p, size_t len);
const char *plan_workspace_at(const struct plan *p);
const char *plan_cwd(const struct plan *p);
/*
 * What the host's core_pattern, PATTERN, asks of a run; it is looked at when the run starts. A pipe
 * to a program, which the kernel runs as the host's root: PLAN_CORE. A socket, which no limit of a
 * process stops (core(5), Linux 6.16): the run is refused.
 */
int plan_core_pattern(struct plan *p, const char *pattern, struct failure *f) MUST_CHECK;
/* RLIMIT_CORE, soft and hard. 0: no file. 1: no file either (less than the smallest), and the one
 * value with which the kernel leaves a piped handler out (fs/coredump.c). */
uint64_t plan_core_limit(const struct plan *p);
/* Which filter: enum filter_flag. */
unsigned plan_filter(const struct plan *p);
/* The I-th of the environment's strings; they lie one after the other from the first. */
const char *plan_env(const struct plan *p);

#endif
