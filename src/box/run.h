/*
 * What the authority asked for, from examine to outcome, under its ticket. A ticket holds a
 * client's descriptors; a grant turns it into a run; an outcome or a forget ends it.
 */
#ifndef LOOM_BOX_RUN_H
#define LOOM_BOX_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/grant.h"
#include "box/plan.h"
#include "box/pool.h"
#include "box/sandbox.h"
#include "box/spare.h"
#include "box/store.h"
#include "model/result.h"
#include "wire/channel.h"

#define RUNS_MAX 4096
#define RUN_START_MS 30000 /* from grant to the open gate */
#define RUN_END_MS 3000	   /* for the keeper to tell, after its sandbox was killed */
#define RUN_FDS 6	   /* of examine: workspace, stdin, stdout, stderr, args, env */

enum run_fd {
	RUN_FD_WORKSPACE,
	RUN_FD_STDIN,
	RUN_FD_STDOUT,
	RUN_FD_STDERR,
	RUN_FD_ARGS,
	RUN_FD_ENV
};
enum run_state {
	RUN_HELD,     /* examined; a grant may come */
	RUN_WAITING,  /* for a sandbox */
	RUN_STARTING, /* the plan is out */
	RUN_RUNNING,  /* the gate was opened */
	RUN_ENDING,   /* over; changes are counted */
};

struct run {
	struct box *box;
	struct run *next;
	uint64_t ticket;
	enum run_state state;
	uint32_t flags; /* RUN_TTY … of examine */
	int fds[RUN_FDS];
	char term[PLAN_TERM_MAX + 1]; /* as the client said */
	struct exec_facts *facts;     /* as examined; freed with the grant */
	struct grant *grant;	      /* from WAITING on */
	struct plan *plan;
	struct spare_for want; /* the workspace as it is */
	struct store_session store;
	bool stored;
	struct sandbox *sandbox;
	sd_event_source *timer;
	uint64_t started_ms;	/* boottime at the open gate */
	uint32_t stop;		/* enum stop_why; 0: nobody asked */
	uint16_t rows, columns; /* wanted before the terminal was there */
	struct exec_result result;
	struct sandbox_facts read_back;
};
struct runs {
	struct run *first;
	uint32_t n;
};

struct run *run_find(struct box *b, uint64_t ticket);
/* Is SESSION (s_N) running? */
bool run_session_live(const struct box *b, const char *session);
void runs_fini(struct box *b);

/* examine: looks, answers facts, holds the packet's descriptors. Negative ends the process. */
int run_examine(struct box *b, const struct msg_examine *m, struct packet *p,
		struct error *err) MUST_CHECK;
void run_forget(struct run *r);
/*
 * An exec grant for R: answers with an outcome, now or later. G is taken. PROFILE is NULL when what
 * came with the grant is not the recorded one; NO_PROFILE says why.
 */
void run_start(struct run *r, struct grant *g, const struct profile *profile,
	       const struct error *no_profile);
void run_stop(struct run *r, uint32_t why);
void run_signal(struct run *r, int signo);
void run_winsize(struct run *r, uint16_t rows, uint16_t columns);

/* For run.c and run_end.c. */
void run_free(struct run *r);
/* R->result is what came of it, but for the changes: count them, tell it, and free R. */
void run_end(struct run *r);
/* Nothing came of it, and why: RESULT_REFUSED before the gate was opened, else RESULT_FAILED. */
void run_refuse(struct run *r, enum result_status status, const struct failure *f);

/* From the pool. */
void run_has_sandbox(struct run *r, struct sandbox *s);
void run_started(struct run *r, const struct sandbox_started *m);
void run_done(struct run *r, const struct sandbox_done *m);
void run_failed(struct run *r, const struct failure *f);

/* {"cgroup":{…},"filter":{…},"hostId":N,"landlock":{…},"mounts":{…},"plan":…}; NULL: no memory. */
json_t *run_facts_json(const struct sandbox_facts *f);

#endif
