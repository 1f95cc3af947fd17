/*
 * The sessions of this daemon: those that run, those whose changes are kept, and the last few that
 * ended. A session is bound for life to one identity (its uid), one profile digest and one
 * workspace (device, inode); a request that names it with anything else is refused.
 *
 * What is kept on disk is known by the box (message box_kept) and learned from it at the start; the
 * numbers of sessions go on after the highest that the record or the box has seen. A name a user
 * gave is only a way to find a session of that same user.
 */
#ifndef LOOM_AUTHORITY_SESSIONS_H
#define LOOM_AUTHORITY_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/ids.h"
#include "model/operation.h"
#include "model/profile.h"

#define SESSIONS_LIVE_MAX 64
#define SESSIONS_ENDED_MAX 64 /* remembered for a listing */

enum session_state {
	SESSION_LIVE, /* something runs in it, or is about to */
	SESSION_KEPT, /* nothing runs; its changes wait to be accepted or removed */
	SESSION_ENDED,
};
const char *session_state_name(enum session_state s); /* "live", "kept", "ended" */

struct run;
struct session {
	struct session *prev, *next; /* by number, oldest first */
	uint64_t number;
	char id[SESSION_ID_MAX];
	char name[NAME_MAX_LEN + 1]; /* empty: none */
	uint32_t uid;
	char profile[NAME_MAX_LEN + 1]; /* empty: not known (kept since an earlier daemon) */
	uint8_t profile_digest[32];
	char *path; /* of the workspace, escaped; owned */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	enum workspace_mode mode;
	enum session_state state;
	bool was_kept;		       /* live again on what an earlier run left */
	bool busy;		       /* an accept or a removal is under way */
	uint64_t started_ms, ended_ms; /* wall clock; 0: not known, not yet */
	uint64_t changes;
	char op[OP_ID_MAX]; /* of its newest run; empty: not known */
	struct run *run;    /* of a live one */
};

struct sessions {
	struct session *first, *last;
	uint64_t last_number;
	size_t n_live, n_kept, n_ended;
	size_t live_max;
};

void sessions_init(struct sessions *s);
void sessions_fini(struct sessions *s);

/* Numbers up to N are taken. */
void sessions_seen(struct sessions *s, uint64_t n);

/*
 * A new live session with the next number. -EBUSY: as many as may live do; -ENOMEM. NAME may be
 * empty; a session that has that name and has ended gives it up.
 */
int sessions_add(struct sessions *s, const char *name, uint32_t uid, const char *profile,
		 const uint8_t profile_digest[32], enum workspace_mode mode,
		 const struct workspace_facts *w, struct session **ret,
		 struct error *err) MUST_CHECK;

/* One that the box keeps. -EEXIST when the number is there already. */
struct session_kept {
	uint64_t number;
	uint32_t uid;
	const char *profile; /* its name; NULL: not known */
	uint8_t profile_digest[32];
	const char *path;
	uint64_t started_ms, ended_ms, changes;
};
int sessions_add_kept(struct sessions *s, const struct session_kept *k,
		      struct error *err) MUST_CHECK;
/* The name of a kept one, from the view; ignored when the session is not there or is another's. */
void sessions_set_name(struct sessions *s, uint64_t number, uint32_t uid, const char *name);

/* "s_N", or a name of UID's. NULL: there is none. Ended ones are found only by their "s_N". */
struct session *sessions_find(const struct sessions *s, const char *id_or_name, uint32_t uid);

/* Live again for another run on what it keeps. -EBUSY. */
int session_continue(struct sessions *s, struct session *x, struct error *err) MUST_CHECK;
/*
 * The run is over, or was never begun: KEPT or ENDED by KEPT. One that ended may be forgotten at
 * once: X is not valid afterwards. So it is with session_drop.
 */
void session_end(struct sessions *s, struct session *x, bool kept, uint64_t changes);
/* Its changes were taken over or thrown away. */
void session_drop(struct sessions *s, struct session *x);

/*
 * A live session whose workspace overlaps that of W (the same object, or one beneath the other by
 * path), when either of the two is `direct`; NULL: none. EXCEPT is not looked at.
 */
const struct session *sessions_overlap(const struct sessions *s, enum workspace_mode mode,
				       const struct workspace_facts *w,
				       const struct session *except);

#endif
