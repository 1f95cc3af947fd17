/*
 * What sessions with an overlay leave on disk: sessions/s_N/{meta.json,upper/,work/}. The directory
 * of sessions is root's and closed to others (0700), so that the walls of upper/ and work/, which
 * carry the ids and the mode of the workspace they cover, are never reached by path.
 *
 * meta.json (canonical JSON, strict on the way in):
 *   {"v":1,"session":"s_12","name":"","path":"<escaped>","dev":"254:0","ino":"1234","uid":1000,
 *    "gid":1000,"owner":1000,"profile":"<hex>","started":MS,"startedNs":N,"ended":MS or 0,
 *    "changes":N,"bytes":N}
 *   started/startedNs: when the session's overlay was made, by the clock of file times; what
 * changed in the workspace after that is a conflict for accept. owner: the uid the session belongs
 * to.
 *
 * A directory without meta.json is a leftover of a crash at creation and holds nothing of anyone's.
 * All functions block; none follows a link, crosses a mount, or recurses. Session ids are checked
 * (session_id_parse) before they become a name. The caller keeps its own list of running sessions
 * and never ends, removes or expires one of them by accident: it is asked (store_in_use).
 */
#ifndef LOOM_BOX_STORE_H
#define LOOM_BOX_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "base/path.h"
#include "model/ids.h"

#define STORE_KEEP_MS (UINT64_C(7) * 24 * 3600 * 1000)

struct store_meta {
	char session[SESSION_ID_MAX];
	char name[NAME_MAX_LEN + 1]; /* what the user calls it; empty: nothing */
	char path[PATH_BYTES_MAX];   /* of the workspace; raw bytes, absolute, NUL-terminated */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint32_t uid, gid; /* of the workspace's root */
	uint32_t owner;	   /* the session's identity */
	uint8_t profile[32];
	uint64_t started_ms; /* set by store_fresh */
	uint32_t started_ns; /* the rest below a millisecond, 0..999999 */
	uint64_t ended_ms;   /* 0: running, or cut off by a crash */
	uint64_t changes;    /* as of the end; a lower bound for absurd trees */
	uint64_t bytes;	     /* on disk in upper/, as of the end */
};

struct store_session {
	struct store_meta meta;
	int dir;   /* s_N; -1 when closed */
	int upper; /* O_RDONLY|O_DIRECTORY; for open_tree by the box */
	int work;
};

void store_session_init(struct store_session *s); /* all -1 */
void store_session_close(struct store_session *s);

/*
 * Make the layers of a new session over WORKSPACE. META gives session, name, path, dev, ino, uid,
 * gid, owner and profile. -EEXIST when that session is kept already. Nothing is left on failure.
 * No sync: until a run has ended with changes there is nothing to lose.
 */
int store_fresh(int sessions, const struct store_meta *meta, int workspace,
		struct store_session *ret, struct error *err) MUST_CHECK;
/*
 * Reopen the kept layers of SESSION for another run (work/ is made anew, ended is cleared).
 * -ENOENT: not kept. -ESTALE: WORKSPACE is not the object it was started on.
 */
int store_continue(int sessions, const char *session, int workspace, struct store_session *ret,
		   struct error *err) MUST_CHECK;
/* No file was touched: upper/ is empty and its mode is the workspace's. A few system calls. */
bool store_untouched(const struct store_session *s, int workspace);
/*
 * After the sandbox is gone and its mounts with it: count the changes. None: the session's
 * directory goes at once, *ret_kept = false. Else meta.json gets the end, the count and the size,
 * durably. Quick when store_untouched; else it takes as long as the changes are many, so run it in
 * a child. Closes nothing; the session's descriptors stay the caller's.
 */
int store_end(int sessions, struct store_session *s, int workspace, uint64_t *ret_changes,
	      bool *ret_kept, struct error *err) MUST_CHECK;

/* Write S's meta anew, durably. */
int store_update(struct store_session *s, struct error *err) MUST_CHECK;
/* Read a kept session's meta. -ENOENT: not kept; -EBADMSG: unreadable. */
int store_read(int sessions, const char *session, struct store_meta *ret,
	       struct error *err) MUST_CHECK;
/*
 * Open SESSION's layer and its workspace, the latter by the recorded path without following any
 * link; must be the same object (-ESTALE otherwise, -ENOENT when nothing is there).
 */
int store_open_kept(int sessions, const char *session, struct store_session *ret,
		    int *ret_workspace, struct error *err) MUST_CHECK;

/*
 * [{"bytes","changes","ended","name","owner","path","profile","session","started"}…], oldest first;
 * canonical JSON. Times are milliseconds since 1970; ended 0 for one that runs. Unreadable ones are
 * left out.
 */
int store_list(int sessions, struct buf *out, struct error *err) MUST_CHECK;

/*
 * Remove all of SESSION. -ENOENT: not there. -EBUSY: an accept is under way. Half a removal leaves
 * meta.json for last, so that it can be repeated. Takes as long as there are files: run it in a
 * child.
 */
int store_remove(int sessions, const char *session, struct error *err) MUST_CHECK;

typedef bool (*store_in_use)(const char *session, void *arg);
/* Remove what ended more than STORE_KEEP_MS before NOW_MS and is not in use. Run hourly, in a
 * child. */
int store_expire(int sessions, uint64_t now_ms, store_in_use in_use, void *arg,
		 uint32_t *ret_removed, struct error *err) MUST_CHECK;

struct store_recovered {
	uint32_t removed;     /* leftovers without meta or without changes, expired ones */
	uint32_t kept;	      /* cut off by a crash; now ended, changes kept */
	uint32_t rolled_back; /* accepts undone */
	uint32_t finished;    /* accepts that were complete; only the cleaning was left */
	uint32_t unreadable;  /* left where they are; somebody has to look */
};
/*
 * Once, before the first session: undo or finish interrupted accepts (accept.h), remove leftovers,
 * end what a crash cut off, expire. An error about one session does not stop the others; the first
 * is reported.
 */
int store_recover(int sessions, uint64_t now_ms, struct store_recovered *ret,
		  struct error *err) MUST_CHECK;

/*
 * Do what a kept overlay needs in the file system of SESSIONS: user.* attributes on directories,
 * O_TMPFILE, whiteout devices, d_type. 0, or -EOPNOTSUPP naming what is missing.
 */
int store_capable(int sessions, struct error *err) MUST_CHECK;

/*
 * Remove NAME beneath DIR, whatever it is and however deep: constant number of descriptors, memory
 * by the depth, modes mended through descriptors. Never follows a link; a mount point is -EXDEV.
 * -ENOENT is success.
 */
int store_remove_tree(int dir, const char *name, struct error *err) MUST_CHECK;

#endif
