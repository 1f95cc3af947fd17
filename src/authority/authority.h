/*
 * loom-authority: who is there, may they, is it recorded, and whom to tell. One context, one event
 * loop; the parts of it lie in files of their own:
 *
 *   doors.c     accepts connections, and knows whose each one is
 *   run.c       one run, from the request to its recorded outcome (decide.c, report.c)
 *   act.c       stop, rm, accept, daemon stop
 *   query.c     questions, answered as JSON documents (trace.c gathers for one kind of them)
 *   sessions.c  what lives, what is kept
 *   profiles.c  what a session may be
 *   history.c   the channel to the ledger; boxlink.c to the box; peer.c beneath them all
 *   views.c     an index into the ledger, behind the answers; follow.c keeps it up to date
 *   start.c     what has to be known before the first client is served; idle.c when to leave
 *
 * It forks nothing, connects nowhere and opens nothing but its view. A sibling that breaks the
 * protocol, or has gone, is the end of the process, and so of all.
 */
#ifndef LOOM_AUTHORITY_AUTHORITY_H
#define LOOM_AUTHORITY_AUTHORITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "authority/boxlink.h"
#include "authority/config_path.h"
#include "authority/deadline.h"
#include "authority/doors.h"
#include "authority/follow.h"
#include "authority/history.h"
#include "authority/hooks.h"
#include "authority/idle.h"
#include "authority/peer.h"
#include "authority/profiles.h"
#include "authority/sessions.h"
#include "authority/start.h"
#include "authority/views.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/ids.h"
#include "model/operation.h"

#define AUTHORITY_EXIT_OK 0
#define AUTHORITY_EXIT_FAILED 125
#define AUTHORITY_STOP_MS 15000 /* how long an orderly stop waits for outcomes */

/* What the process was started with. */
struct settings {
	bool private_mode;
	uint64_t idle_ms;		  /* 0: never */
	uint32_t uid;			  /* ours: whom a private Loom serves */
	gid_t own_group;		  /* counts as the owner's for configuration; (gid_t)-1 */
	char owner[NAME_MAX_LEN + 1];	  /* the name of uid */
	char boot[64];			  /* of this boot of the machine */
	const char *state, *run, *config; /* the directories' paths, to be shown; NULL: none */
	const struct config_path *config_path; /* judged at each run; NULL: none */
};

/* Descriptors it is handed; all owned by the authority after authority_init. -1: none. */
struct handed {
	int loomd, ledger, box, api; /* channels */
	int cli_listen, http_listen;
	int views;
	int config;
};

struct act;
struct question;
struct run;
struct authority {
	struct settings settings;
	struct hub hub;
	struct deadlines deadlines;
	struct peer loomd, ledger, box, api;
	struct history history;
	struct boxlink boxlink;
	struct doors doors;
	struct sessions sessions;
	struct profiles profiles;
	const char *places[3]; /* what no profile may mount */
	struct views *views;   /* NULL until the ledger has told of itself */
	struct follow follow;
	struct idle idle;
	struct start start;
	const struct hooks *hooks;
	char vkey[256];	  /* of the ledger */
	int views_dir;	  /* until the view is open; -1 */
	struct run *runs; /* all of them; so the others below */
	size_t n_runs;
	struct act *acts; /* all that are under way */
	size_t n_acts;
	struct question *questions; /* those that wait for the box or the ledger */
	size_t n_questions, n_large;
	bool stopping; /* nothing new is begun */
	struct deadline stop_deadline;
	uint64_t started_ms;	   /* boot clock */
	struct operation *scratch; /* of the request being looked at; large */
};

/* Takes all of HANDED, also on failure. authority_fini is due after, also on failure. */
int authority_init(struct authority *a, const struct settings *settings,
		   const struct handed *handed, struct error *err) MUST_CHECK;
void authority_fini(struct authority *a);

/* Begin (start.c): ask what has to be known; say ready and open the doors when it is. */
int authority_start(struct authority *a, struct error *err) MUST_CHECK;

/* End in order: nothing new begins, all runs are stopped, and the loop ends when they are. */
void authority_stop(struct authority *a, uint32_t why);
/* Called whenever a run, an act or a client has ended. */
void authority_settle(struct authority *a);
/* Something that cannot be: log it and end the loop with AUTHORITY_EXIT_FAILED. */
void authority_broken(struct authority *a, const char *fmt, ...) PRINTF(2, 3);

#endif
