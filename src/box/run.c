/*
 * The life of a ticket. Everything that can be refused is refused before a sandbox is asked for;
 * from then on there is exactly one outcome, whatever happens: the command's end, a refusal by the
 * keeper, the keeper's death, or time. An outcome carries the MAC of the receipt's key, and each
 * index gets one, because each grant is taken once.
 */
#include "box/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "box/box.h"
#include "box/examine.h"
#include "box/job.h"
#include "box/procfs.h"

struct run *
run_find(struct box *b, uint64_t ticket)
{
	for (struct run *r = b->runs.first; r != NULL; r = r->next)
		if (r->ticket == ticket)
			return r;
	return NULL;
}

bool
run_session_live(const struct box *b, const char *session)
{
	for (const struct run *r = b->runs.first; r != NULL; r = r->next)
		if (r->grant != NULL && strcmp(r->grant->op.session, session) == 0)
			return true;
	return false;
}

void
run_free(struct run *r)
{
	for (struct run **at = &r->box->runs.first; *at != NULL; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			r->box->runs.n--;
			break;
		}
	for (int i = 0; i < RUN_FDS; i++)
		fd_closep(&r->fds[i]);
	sd_event_source_disable_unref(r->timer);
	if (r->sandbox != NULL)
		pool_leave(r->sandbox);
	grant_free(r->grant);
	store_session_close(&r->store);
	exec_result_fini(&r->result);
	free(r->facts);
	free(r->plan);
	free(r);
}

void
runs_fini(struct box *b)
{
	while (b->runs.first != NULL)
		run_free(b->runs.first);
}

static int
send_facts(struct box *b, uint64_t ticket, enum reason reason, const char *detail,
	   const struct exec_facts *facts, struct error *err)
{
	CLEANUP(buf_fini) struct buf out;
	int r = 0;

	buf_init(&out, WIRE_BODY_MAX);
	if (facts != NULL)
		r = exec_facts_write(facts, &out, err);
	if (r < 0)
		return r;
	return CHANNEL_SEND(&b->authority, facts, err, .ticket = ticket, .reason = (uint32_t)reason,
			    .detail = wire_text_of(detail),
			    .facts = wire_bytes_of(out.data, out.len));
}

static struct run *
run_new(struct box *b, const struct msg_examine *m, struct packet *p)
{
	struct run *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	*r = (struct run){.box = b, .ticket = m->ticket, .flags = m->flags};
	for (int i = 0; i < RUN_FDS; i++)
		r->fds[i] = (size_t)i < p->n_fds ? TAKE_FD(p->fds[i]) : -1;
	/* Too long for a name: none. */
	if (wire_text_copy(m->term, r->term, sizeof(r->term)) < 0)
		r->term[0] = '\0';
	store_session_init(&r->store);
	r->facts = calloc(1, sizeof(*r->facts));
	r->next = b->runs.first;
	b->runs.first = r;
	b->runs.n++;
	if (r->facts == NULL) {
		run_free(r);
		return NULL;
	}
	return r;
}

int
run_examine(struct box *b, const struct msg_examine *m, struct packet *p, struct error *err)
{
	struct examine_in in = {.env = -1, .cwd = m->cwd.data, .cwd_len = m->cwd.len};
	char detail[VERDICT_DETAIL_MAX] = "";
	enum reason reason = R_INTERNAL;
	struct run *r;
	int code;

	if (run_find(b, m->ticket) != NULL)
		return error_set(err, -EPROTO, "a ticket was used twice");
	if ((p->n_fds == RUN_FDS) != ((m->flags & RUN_ENV) != 0))
		return error_set(err, -EPROTO,
				 "an environment without its flag, or a flag without");
	if (b->unavailable.code != 0)
		return send_facts(b, m->ticket, (enum reason)b->unavailable.reason,
				  b->unavailable.text, NULL, err);
	r = b->runs.n < RUNS_MAX ? run_new(b, m, p) : NULL;
	if (r == NULL)
		return send_facts(b, m->ticket, R_BUSY, "too many requests at once", NULL, err);
	in.workspace = r->fds[RUN_FD_WORKSPACE];
	for (int i = 0; i < 3; i++)
		in.streams[i] = r->fds[RUN_FD_STDIN + i];
	in.args = r->fds[RUN_FD_ARGS];
	in.env = r->fds[RUN_FD_ENV];
	in.ours[in.n_ours++] = b->sessions;
	examine(&in, r->facts, &reason, detail);
	code = send_facts(b, m->ticket, reason, detail, reason == R_ALLOWED ? r->facts : NULL, err);
	if (reason != R_ALLOWED || code < 0)
		run_free(r);
	return code;
}

void
run_forget(struct run *r)
{
	if (r->state == RUN_HELD)
		run_free(r);
}

static int
on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct run *r = userdata;
	struct failure f = {0};

	r->timer = sd_event_source_disable_unref(r->timer);
	if (r->state == RUN_RUNNING && r->stop == 0) {
		run_stop(r, STOP_TIMEOUT);
		return 0;
	}
	if (r->sandbox != NULL)
		pool_kill_keeper(r->sandbox);
	(void)failure_set(&f, R_INTERNAL, r->stop != 0 ? "keeper" : "start", -ETIMEDOUT,
			  r->stop != 0 ? "the keeper did not tell how the command ended"
				       : "the sandbox was not ready in time");
	run_refuse(r, r->state == RUN_RUNNING ? RESULT_FAILED : RESULT_REFUSED, &f);
	return 0;
}

static void
set_timer(struct run *r, uint64_t ms)
{
	struct run *self = r;
	int code;

	r->timer = sd_event_source_disable_unref(r->timer);
	code = sd_event_add_time_relative(r->box->event, &r->timer, CLOCK_BOOTTIME, ms * 1000, 1000,
					  on_timer, self);
	if (code < 0)
		fatal("no timer: a run would have no end");
}

/* The path the descriptor has now; it must spell as the recorded one. */
static int
workspace_path(const struct run *r, char *out, size_t cap, struct failure *f)
{
	char link[32];
	json_t *escaped;
	ssize_t n;
	bool same;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fds[RUN_FD_WORKSPACE]);
	n = readlink(link, out, cap - 1);
	if (n < 1)
		return failure_sys(f, R_INVALID_PATH, "workspace", -errno, "find its path");
	out[n] = '\0';
	escaped = json_escaped(out, (size_t)n);
	same = escaped != NULL &&
	       strcmp(json_string_value(escaped), r->grant->op.facts.workspace.path) == 0;
	json_decref(escaped);
	if (!same)
		return failure_set(f, R_INVALID_PATH, "workspace", -ESTALE,
				   "the workspace was moved while it was decided on");
	return 0;
}

/* What the record and the plan say of a session's overlay. */
static int
make_meta(const struct run *r, struct store_meta *ret, struct failure *f)
{
	const struct operation *op = &r->grant->op;
	const struct workspace_facts *w = &op->facts.workspace;

	*ret = (struct store_meta){.dev_major = w->dev_major,
				   .dev_minor = w->dev_minor,
				   .ino = w->ino,
				   .uid = w->uid,
				   .gid = w->gid,
				   .owner = op->identity.uid};
	(void)snprintf(ret->session, sizeof(ret->session), "%s", op->session);
	memcpy(ret->profile, op->profile_digest, sizeof(ret->profile));
	return workspace_path(r, ret->path, sizeof(ret->path), f);
}

static int
store_failed(struct failure *f, const struct error *err)
{
	const int code = err->code;

	return failure_error(f,
			     code == -ENOENT   ? R_SESSION_ENDED
			     : code == -ESTALE ? R_INVALID_PATH
			     : code == -EBUSY  ? R_BUSY
			     : code == -ENOSPC ? R_LIMIT_EXCEEDED
			     : code == -EROFS  ? R_CAPABILITY_UNAVAILABLE
					       : R_INTERNAL,
			     "store", err);
}

/* Layers for the session: made, reopened, or those that S (may be NULL) was prepared with. */
static int
open_store(struct run *r, struct sandbox *s, struct failure *f)
{
	const struct operation *op = &r->grant->op;
	int sessions = r->box->sessions, workspace = r->fds[RUN_FD_WORKSPACE], code;
	struct store_meta meta;
	struct error err = {0};

	if (op->mode != WORKSPACE_OVERLAY || r->stored)
		return 0;
	if (make_meta(r, &meta, f) < 0)
		return f->code;
	if (s != NULL && op->fresh && pool_prepared(s, &r->want)) {
		code = spare_adopt(sessions, s->park.number, &meta, &r->store, &err);
		s->adopted = code == 0;
		if (code == 0)
			r->plan->flags |= PLAN_PREPARED;
	} else {
		code = op->fresh
			       ? store_fresh(sessions, &meta, workspace, &r->store, &err)
			       : store_continue(sessions, op->session, workspace, &r->store, &err);
	}
	if (code < 0)
		return store_failed(f, &err);
	r->stored = true;
	/* The session's user passes through it to the layers; nobody reaches it from the host. */
	if (fchmod(r->store.dir, 0711) != 0)
		return failure_sys(f, R_INTERNAL, "store", -errno,
				   "open the layers to the session");
	return 0;
}

static void
make_shape(const struct plan *plan, const struct profile *profile, struct root_shape *ret)
{
	memset(ret, 0, sizeof(*ret));
	/* Beneath /tmp the session makes the place itself, so that root will do. */
	(void)snprintf(ret->workspace_at, sizeof(ret->workspace_at), "%s",
		       strncmp(plan_workspace_at(plan), "/tmp/", 5) == 0 ? "/workspace"
									 : plan_workspace_at(plan));
	ret->n_mounts = profile->n_mounts;
	memcpy(ret->mounts, profile->mounts, sizeof(ret->mounts[0]) * profile->n_mounts);
}

/* What a crash would start on the host, as it is now. */
static int
look_at_core_pattern(struct run *r, struct failure *f)
{
	char pattern[256];
	ssize_t n =
		procfs_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));

	if (n == -ENOENT)
		return 0; /* a kernel that dumps nothing */
	if (n < 0)
		return failure_sys(f, R_CAPABILITY_UNAVAILABLE, "plan", (int)n,
				   "read kernel.core_pattern");
	return plan_core_pattern(r->plan, pattern, f);
}

static int
check_and_plan(struct run *r, const struct profile *profile, struct root_shape *shape,
	       struct failure *f)
{
	const struct operation *op = &r->grant->op;
	char path[PATH_BYTES_MAX];
	struct error err = {0};
	struct stat st;

	if ((profile->capabilities & CAPABILITY_BIT(C_EXEC)) == 0)
		return failure_set(f, R_NOT_AUTHORIZED, "grant", -EPERM,
				   "the profile does not have exec");
	if (op->tty != ((r->flags & RUN_TTY) != 0))
		return failure_set(f, R_INVALID_REQUEST, "grant", -EINVAL,
				   "the recorded terminal is not the asked one");
	if (grant_same_facts(&op->facts, r->facts, &err) < 0 ||
	    examine_workspace_is(r->fds[RUN_FD_WORKSPACE], &op->facts.workspace, &err) < 0)
		return failure_error(f, R_INVALID_PATH, "grant", &err);
	if (fstat(r->fds[RUN_FD_WORKSPACE], &st) != 0)
		return failure_sys(f, R_INTERNAL, "grant", -errno, "look at the workspace");
	spare_for_stat(&st, &r->want);
	r->plan = malloc(sizeof(*r->plan));
	if (r->plan == NULL)
		return failure_set(f, R_INTERNAL, "plan", -ENOMEM, "no memory for a plan");
	if (workspace_path(r, path, sizeof(path), f) < 0 ||
	    plan_derive(op, profile, path, r->term, r->plan, f) < 0)
		return f->code;
	if (r->fds[RUN_FD_ENV] >= 0) {
		if (fstat(r->fds[RUN_FD_ENV], &st) != 0)
			return failure_sys(f, R_INTERNAL, "grant", -errno,
					   "look at the environment");
		r->plan->env_bytes = (uint64_t)st.st_size;
		r->plan->flags |= PLAN_CLIENT_ENV;
	}
	make_shape(r->plan, profile, shape);
	if (root_mounts_judge(shape->mounts, shape->n_mounts, &err) < 0)
		return failure_error(f, R_CAPABILITY_UNAVAILABLE, "mounts", &err);
	return look_at_core_pattern(r, f);
}

/* When none is there yet, the layers are made while it comes. */
static void
ask_for_sandbox(struct run *r, const struct root_shape *shape)
{
	bool fresh = r->grant->op.mode == WORKSPACE_OVERLAY && r->grant->op.fresh;
	struct sandbox *coming;
	struct failure f = {0};
	struct error err = {0};

	if (pool_get(r->box, shape, fresh ? &r->want : NULL, r, &coming, &err) < 0) {
		(void)failure_error(
			&f, err.code == -EBUSY ? R_LIMIT_EXCEEDED : R_CAPABILITY_UNAVAILABLE,
			"sandbox", &err);
		run_refuse(r, RESULT_REFUSED, &f);
	} else if (coming != NULL && !(fresh && pool_prepared(coming, &r->want)) &&
		   open_store(r, NULL, &f) < 0) {
		run_refuse(r, RESULT_REFUSED, &f);
	}
}

void
run_start(struct run *r, struct grant *g, const struct profile *profile,
	  const struct error *no_profile)
{
	struct root_shape shape;
	struct failure f = {0};

	r->grant = g;
	r->state = RUN_WAITING;
	r->result.reason = R_ALLOWED;
	if (profile == NULL) {
		(void)failure_error(&f, R_PROFILE_MISMATCH, "grant", no_profile);
		run_refuse(r, RESULT_REFUSED, &f);
		return;
	}
	if (check_and_plan(r, profile, &shape, &f) < 0) {
		run_refuse(r, RESULT_REFUSED, &f);
		return;
	}
	free(r->facts);
	r->facts = NULL;
	set_timer(r, RUN_START_MS);
	ask_for_sandbox(r, &shape);
}

void
run_has_sandbox(struct run *r, struct sandbox *s)
{
	int fds[PLAN_FDS_MAX];
	struct failure f = {0};
	struct error err = {0};
	size_t n = 0;

	r->sandbox = s;
	if (r->stop != 0) {
		run_failed(r, &f);
		return;
	}
	if (open_store(r, s, &f) < 0) {
		run_refuse(r, RESULT_REFUSED, &f);
		return;
	}
	fds[n++] = r->fds[RUN_FD_STDIN];
	fds[n++] = r->fds[RUN_FD_STDOUT];
	fds[n++] = r->fds[RUN_FD_STDERR];
	fds[n++] = r->fds[RUN_FD_WORKSPACE];
	fds[n++] = r->fds[RUN_FD_ARGS];
	if ((r->plan->flags & PLAN_CLIENT_ENV) != 0)
		fds[n++] = r->fds[RUN_FD_ENV];
	if (r->plan->mode == WORKSPACE_OVERLAY && (r->plan->flags & PLAN_PREPARED) == 0)
		fds[n++] = r->store.dir;
	if (pool_use(s, r->plan, fds, n, &err) < 0) {
		(void)failure_error(&f, R_INTERNAL, "sandbox", &err);
		run_refuse(r, RESULT_REFUSED, &f);
		return;
	}
	r->state = RUN_STARTING;
	if ((r->plan->flags & PLAN_PREPARED) != 0 &&
	    spare_settle(&r->store, r->fds[RUN_FD_WORKSPACE], &err) < 0) {
		(void)store_failed(&f, &err);
		run_refuse(r, RESULT_FAILED, &f);
		return;
	}
	if (r->plan->mode == WORKSPACE_OVERLAY && r->grant->op.fresh)
		pool_expect(r->box, r->fds[RUN_FD_WORKSPACE], &r->want);
	/* The keeper has its own now; a stream held here would never end for the client. */
	for (int i = RUN_FD_STDIN; i < RUN_FDS; i++)
		fd_closep(&r->fds[i]);
}

void
run_started(struct run *r, const struct sandbox_started *m)
{
	struct error err = {0};

	r->state = RUN_RUNNING;
	r->started_ms = clock_boot_ms();
	r->read_back = m->facts;
	set_timer(r, r->grant->op.timeout_ms);
	if (CHANNEL_SEND(&r->box->authority, started, &err, .ticket = r->ticket) < 0)
		fatal("a start could not be told: %s", err.text);
	if (r->rows != 0 || r->columns != 0)
		pool_winsize(r->sandbox, r->rows, r->columns);
	if (r->stop != 0)
		run_stop(r, r->stop);
	r->result.box = run_facts_json(&r->read_back);
}

void
run_stop(struct run *r, uint32_t why)
{
	if (r->state == RUN_HELD) {
		run_free(r);
		return;
	}
	if (r->state == RUN_ENDING)
		return;
	if (r->stop == 0)
		r->stop = why;
	if (r->sandbox == NULL)
		return; /* run_has_sandbox will see it */
	pool_kill(r->sandbox);
	cgroup_kill(&r->box->cgroups, r->sandbox->park.number, false);
	if (r->state == RUN_RUNNING)
		set_timer(r, RUN_END_MS);
}

void
run_signal(struct run *r, int signo)
{
	if (r->sandbox != NULL && (r->state == RUN_RUNNING || r->state == RUN_STARTING))
		pool_signal(r->sandbox, signo);
}

void
run_winsize(struct run *r, uint16_t rows, uint16_t columns)
{
	r->rows = rows;
	r->columns = columns;
	if (r->sandbox != NULL && r->state == RUN_RUNNING)
		pool_winsize(r->sandbox, rows, columns);
}
