/*
 * The parent (root, a child of the box made for this) owns the session's directory: it takes the
 * lock, makes the plan's file and the stamps' and hands them to the child as open descriptors. The
 * child becomes the workspace's owner and does everything that touches the workspace. Its answer
 * comes back through shared memory; if it dies, the plan says what to undo, and another child
 * undoes it.
 */
#include "box/accept.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "box/changes.h"
#include "box/journal.h"
#include "box/owner.h"
#include "box/selection.h"
#include "box/stamps.h"
#include "box/store.h"
#include "box/takeover.h"

/* What the child leaves for the parent, in shared memory. */
struct answer {
	struct accept_result result;
	bool given; /* the child got to its end */
	bool clean; /* nothing of it is left in the workspace: the plan can go */
};

struct accept {
	const struct accept_in *in;
	struct selection sel;
	struct store_session session;
	int workspace;
	struct journal journal;
	struct stamps stamps;
	struct answer *answer; /* shared */
};

static void
accept_fini(struct accept *a)
{
	selection_fini(&a->sel);
	store_session_close(&a->session);
	fd_close(a->workspace);
	journal_fini(&a->journal);
	stamps_fini(&a->stamps);
	if (a->answer != NULL)
		(void)munmap(a->answer, sizeof(*a->answer));
}

static void put(struct accept_result *r, enum result_status status, enum reason reason,
		const char *fmt, ...) PRINTF(4, 5);

static void
put(struct accept_result *r, enum result_status status, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	r->status = status;
	r->reason = reason;
	va_start(ap, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
}

/* An error of the child's work before or after which nothing is changed. */
static void
put_error(struct accept_result *r, int code, const char *text)
{
	switch (code) {
	case -E2BIG:
	case -EFBIG:
		put(r, RESULT_REFUSED, R_LIMIT_EXCEEDED, "%.240s", text);
		break;
	case -ENOSPC:
	case -EDQUOT:
		put(r, RESULT_REFUSED, R_LIMIT_EXCEEDED,
		    "no room in the workspace; nothing was changed "
		    "(%.180s)",
		    text);
		break;
	case -ESTALE:
		put(r, RESULT_REFUSED, R_CONFLICTING_CONSTRAINTS, "%.200s; nothing was changed",
		    text);
		break;
	case -EACCES:
	case -EPERM:
	case -EROFS:
		put(r, RESULT_REFUSED, R_INVALID_PATH,
		    "the owner of the workspace may not do it: %.140s; nothing was changed", text);
		break;
	default:
		put(r, RESULT_FAILED, R_INTERNAL, "%.200s; nothing was changed", text);
		break;
	}
}

/* ---- in the child ---- */

/*
 * Become the workspace's owner, and go with the parent: nobody would record what an orphan does. A
 * change of ids unties a process from its parent, so it is tied after the last one.
 */
static int
become_owner(const struct accept *a, pid_t parent, struct error *err)
{
	int r = owner_become(a->session.meta.uid, a->session.meta.gid, err);

	if (r < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return error_sys(err, -errno, "tie the child of an accept to its parent");
	if (getppid() != parent)
		_exit(1);
	return 0;
}

static struct takeover
takeover_of(struct accept *a)
{
	const struct store_meta *m = &a->session.meta;

	return (struct takeover){
		.upper = a->session.upper,
		.workspace = a->workspace,
		.stage = -1,
		.fresh = -1,
		.old = -1,
		.sel = &a->sel,
		.started = {.tv_sec = (time_t)(m->started_ms / 1000),
			    .tv_nsec = (long)(m->started_ms % 1000) * 1000000 + m->started_ns},
		.stamps = &a->stamps,
	};
}

/* Back to exactly before, or as near as somebody else left room for; then the answer says so. */
static void
roll_back(struct accept *a, struct takeover *t, int code, const char *text)
{
	struct error why = {0};
	int r = 0;

	if (a->journal.state == JOURNAL_COMMITTING)
		r = takeover_undo(t, &a->journal, &why);
	if (r == 0)
		r = takeover_clear(t, a->journal.stage, &why);
	a->answer->clean = r == 0;
	if (r == 0)
		put_error(&a->answer->result, code, text);
	else
		put(&a->answer->result, RESULT_FAILED, R_INTERNAL,
		    "%.80s; and it is not undone (%.60s): what was replaced is in %s", text,
		    why.text, a->journal.stage);
}

static int
carry_out(struct accept *a, struct takeover *t, struct error *err)
{
	int r = takeover_stage(t, a->journal.stage, err);

	if (r == 0)
		r = takeover_plan(t, &a->journal, err);
	if (r == 0)
		r = journal_commit(&a->journal, err);
	if (r == 0)
		r = takeover_commit(t, &a->journal, err);
	return r < 0 ? r : journal_state(&a->journal, JOURNAL_DONE, err);
}

static void
accept_child(struct accept *a, pid_t parent)
{
	struct takeover t = takeover_of(a);
	struct accept_result *result = &a->answer->result;
	struct error err = {0};
	int r;

	r = become_owner(a, parent, &err);
	if (r == 0)
		r = takeover_gather(&t, a->in->manifest, result, &err);
	if (r < 0) {
		put_error(result, r, err.text);
		a->answer->clean = true;
	} else if (result->status != RESULT_DONE) {
		a->answer->clean = true;
	} else {
		r = carry_out(a, &t, &err);
		/* Once the plan says done, nothing is undone any more: only clearing away is left.
		 */
		if (r < 0 && a->journal.state != JOURNAL_DONE)
			roll_back(a, &t, r, err.text);
		else
			a->answer->clean = takeover_clear(&t, a->journal.stage, &err) == 0;
	}
	a->answer->given = true;
	takeover_fini(&t);
}

/* Undo or finish by the plan; exit status 0: it can go. */
static int
recover_child(struct accept *a, pid_t parent)
{
	struct takeover t = takeover_of(a);
	struct error err = {0};
	int r;

	r = become_owner(a, parent, &err);
	if (r == 0 && a->journal.state == JOURNAL_COMMITTING)
		r = takeover_undo(&t, &a->journal, &err);
	if (r == 0)
		r = takeover_clear(&t, a->journal.stage, &err);
	if (r < 0)
		(void)snprintf(a->answer->result.detail, sizeof(a->answer->result.detail), "%.200s",
			       err.text);
	takeover_fini(&t);
	return r < 0 ? 1 : 0;
}

/* ---- in the parent ---- */

static int
wait_for(pid_t pid, int *ret_status, struct error *err)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return error_sys(err, -errno, "wait for the child of an accept");
	return 0;
}

static int
answer_map(struct accept *a, struct error *err)
{
	void *p = mmap(NULL, sizeof(*a->answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return error_sys(err, -errno, "memory for the child's answer");
	a->answer = p;
	return 0;
}

/* The plan of A is open. 1: undone, 2: finished. */
static int
recover_run(struct accept *a, struct error *err)
{
	pid_t parent = getpid(), pid = fork();
	int status, r;

	if (pid < 0)
		return error_sys(err, -errno, "fork");
	if (pid == 0)
		_exit(recover_child(a, parent));
	r = wait_for(pid, &status, err);
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, -EIO, "an accept of %s cannot be undone: %s",
				 a->session.meta.session, a->answer->result.detail);
	r = journal_remove(a->session.dir, err);
	if (r < 0)
		return r;
	return a->journal.state == JOURNAL_DONE ? 2 : 1;
}

static int
recover_locked(struct accept *a, struct error *err)
{
	int r = journal_open(a->session.dir, &a->journal, err);

	if (r < 0)
		return r;
	r = answer_map(a, err);
	if (r == 0)
		r = stamps_open(a->session.dir, &a->stamps, err);
	return r < 0 ? r : recover_run(a, err);
}

bool
accept_pending(int session_dir)
{
	return faccessat(session_dir, JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int
accept_recover(int sessions, const char *session, struct error *err)
{
	CLEANUP(accept_fini) struct accept a = {.workspace = -1, .journal.fd = -1, .stamps.fd = -1};
	CLEANUP(fd_closep) int dir = -1;
	int r;

	store_session_init(&a.session);
	dir = fd_open_beneath(sessions, session, O_RDONLY | O_DIRECTORY, 0, err);
	if (dir < 0)
		return dir;
	if (!accept_pending(dir))
		return 0;
	if (flock(dir, LOCK_EX | LOCK_NB) != 0)
		return error_set(err, -EBUSY, "%s is being accepted", session);
	r = store_open_kept(sessions, session, &a.session, &a.workspace, err);
	return r < 0 ? r : recover_locked(&a, err);
}

/* The child's work, and what the parent makes of how it ended. */
static int
accept_run(struct accept *a, struct error *err)
{
	pid_t parent = getpid(), pid = fork();
	int status, r;

	if (pid < 0)
		return error_sys(err, -errno, "fork");
	if (pid == 0) {
		accept_child(a, parent);
		_exit(0);
	}
	r = wait_for(pid, &status, err);
	if (r < 0)
		return r;
	if (a->answer->given && a->answer->clean)
		return journal_remove(a->session.dir, err);
	/* The file knows the state; what was read of it before the child wrote to it does not. */
	journal_fini(&a->journal);
	r = journal_open(a->session.dir, &a->journal, err);
	if (r == 0)
		r = recover_run(a, err);
	/* What the child said stands, and the next start tries again to clear away. */
	if (a->answer->given || r == 2)
		return 0;
	return r < 0 ? r : error_set(err, -EIO, "the child died; nothing was changed");
}

static bool
is_recorded_workspace(const struct accept *a)
{
	const struct workspace_facts *w = a->in->workspace;
	const struct store_meta *m = &a->session.meta;

	return w == NULL || (w->dev_major == m->dev_major && w->dev_minor == m->dev_minor &&
			     w->ino == m->ino && w->uid == m->uid && w->gid == m->gid);
}

/* Everything that has to be there before a child can start. False: RET says why not. */
static bool
accept_prepare(struct accept *a, struct accept_result *ret)
{
	const char *session = a->in->session;
	struct error err = {0};
	int r;

	if (selection_read_json(a->in->paths, &a->sel, &err) < 0) {
		put(ret, RESULT_REFUSED, R_INVALID_PATH, "%.240s", err.text);
		return false;
	}
	r = store_open_kept(a->in->sessions, session, &a->session, &a->workspace, &err);
	if (r < 0) {
		put(ret, r == -ENOENT || r == -ESTALE ? RESULT_REFUSED : RESULT_FAILED,
		    r == -ENOENT   ? R_SESSION_ENDED
		    : r == -ESTALE ? R_INVALID_PATH
				   : R_INTERNAL,
		    "%.240s", err.text);
		return false;
	}
	if (a->session.meta.ended_ms == 0 || flock(a->session.dir, LOCK_EX | LOCK_NB) != 0) {
		put(ret, RESULT_REFUSED, R_BUSY, "%s is still at work", session);
		return false;
	}
	if (!is_recorded_workspace(a)) {
		put(ret, RESULT_REFUSED, R_CONFLICTING_CONSTRAINTS,
		    "the operation names another workspace than %s was started on", session);
		return false;
	}
	r = answer_map(a, &err);
	if (r == 0)
		r = stamps_open(a->session.dir, &a->stamps, &err);
	if (r == 0)
		r = journal_create(a->session.dir, &a->journal, &err);
	if (r == -EEXIST)
		put(ret, RESULT_REFUSED, R_BUSY,
		    "an accept of %s was cut off and is not undone yet", session);
	else if (r < 0)
		put(ret, RESULT_FAILED, R_INTERNAL, "%.240s", err.text);
	return r == 0;
}

/* What is left of the session's changes: nothing ends it, something is counted. */
static void
accept_settle(struct accept *a)
{
	uint64_t changes, bytes;
	struct error err = {0};

	if (changes_count(a->session.upper, a->workspace, &changes, &bytes, &err) < 0) {
		log_warning("%s: %s", a->in->session, err.text);
		return;
	}
	if (changes > 0) {
		a->session.meta.changes = changes;
		a->session.meta.bytes = bytes;
		/* The count is for people; an old one is no reason to call the accept a failure. */
		if (store_update(&a->session, &err) < 0)
			log_warning("%s: %s", a->in->session, err.text);
		return;
	}
	/* The lock is this descriptor's, and removal takes it anew. */
	store_session_close(&a->session);
	if (store_remove(a->in->sessions, a->in->session, &err) < 0)
		log_warning("%s: %s", a->in->session, err.text);
}

void
accept_job(const struct accept_in *in, struct accept_result *ret)
{
	CLEANUP(accept_fini)
	struct accept a = {.in = in, .workspace = -1, .journal.fd = -1, .stamps.fd = -1};
	struct error err = {0};
	int r;

	*ret = (struct accept_result){0};
	store_session_init(&a.session);
	if (!accept_prepare(&a, ret))
		return;
	put(&a.answer->result, RESULT_FAILED, R_INTERNAL, "the accept did not come to an end");
	r = accept_run(&a, &err);
	*ret = a.answer->result;
	if (r < 0)
		put(ret, RESULT_FAILED, R_INTERNAL, "%.240s", err.text);
	else if (ret->status == RESULT_DONE)
		accept_settle(&a);
}
