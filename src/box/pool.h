/*
 * Sandboxes, made before they are asked for. The pool keeps a few parked ones of the usual shape;
 * each is used once. When none is there, one is made on demand by the very same code. New ones are
 * made after an outcome was sent, while the ledger writes and the client leaves.
 */
#ifndef LOOM_BOX_POOL_H
#define LOOM_BOX_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/roots.h"
#include "box/sandbox.h"

#define POOL_SIZE 2
#define POOL_PARK_MS 20000   /* for a keeper to park; longer is a failure */
#define POOL_END_MS 5000     /* for what was killed to be dead */
#define POOL_EXPECT_MS 10000 /* how long a workspace is expected to come again */

struct box;
struct run;
struct sandbox;

enum sandbox_state {
	SANDBOX_IS_STARTING, /* the keeper is making it */
	SANDBOX_IS_PARKED,
	SANDBOX_IS_USED, /* it has a plan */
	SANDBOX_IS_OVER, /* it said its last word; the keeper's end is awaited */
};

struct sandbox {
	struct box *box;
	struct sandbox *next;
	enum sandbox_state state;
	struct sandbox_spawn park; /* what it was made with */
	struct root *root;
	int keeper_pidfd, init_pidfd, channel;
	sd_event_source *io, *deadline;
	struct run *run; /* who waits for it or uses it */
	bool adopted;	 /* its spare layers are a session's now */
	bool told;	 /* the run knows how it ended */
};

struct pool {
	struct sandbox *first;
	uint32_t size; /* how many to keep parked */
	uint64_t next_number;
	struct roots roots;
	sd_event_source *refill, *reap;
	/* What the last plan wanted; the next is likely to want the same. */
	struct cgroup_limits limits;
	uint64_t tmp_bytes, shm_bytes;
	uint32_t owner_uid, owner_gid;
	int workspace; /* of the last plan with a fresh overlay; -1: none, or ordered */
	struct spare_for what;
	sd_event_source *forget;
	struct {
		uint64_t number;
	} left[64]; /* cgroups that could not be removed yet */
	uint32_t n_left;
};

int pool_init(struct box *b, struct error *err) MUST_CHECK;
/* Kill everything and wait for it. */
void pool_fini(struct box *b);
/* Make parked ones up to the pool's size, when the loop has nothing better to do. */
void pool_refill_later(struct box *b);

/*
 * Get a sandbox whose root has SHAPE for RUN: calls run_has_sandbox at once when one is parked,
 * else when it is; run_failed when it cannot be made. WANT: the workspace, for one that has it
 * mounted already; NULL: a fresh overlay is not what is wanted. *RET_COMING: the one that will
 * come; NULL when it has come (and RUN may be no more). Negative: nothing was started.
 */
int pool_get(struct box *b, const struct root_shape *shape, const struct spare_for *want,
	     struct run *run, struct sandbox **ret_coming, struct error *err) MUST_CHECK;
/* Is S ready for a fresh session over the workspace WANT? */
bool pool_prepared(const struct sandbox *s, const struct spare_for *want);
/*
 * The next ones are to be made ready for WORKSPACE. The descriptor is held only until they are
 * ordered, and they keep mounts of their own, so that nobody on the host finds his mount busy.
 */
void pool_expect(struct box *b, int workspace, const struct spare_for *what);
/* Send the plan; FDS as of enum plan_fd, without holes. */
int pool_use(struct sandbox *s, const struct plan *plan, const int *fds, size_t n_fds,
	     struct error *err) MUST_CHECK;
void pool_signal(struct sandbox *s, int signo);
void pool_winsize(struct sandbox *s, uint16_t rows, uint16_t columns);
/* Kill the sandbox, by its init; the keeper tells what it knows, and waits for no client. */
void pool_kill(struct sandbox *s);
/* Kill the keeper too: it did not come back in time. */
void pool_kill_keeper(struct sandbox *s);
/* RUN has no more to do with it. */
void pool_leave(struct sandbox *s);

#endif
