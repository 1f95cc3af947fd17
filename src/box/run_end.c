/*
 * The end of a run: what came of it, put into the form in which it is recorded, under our MAC.
 * There is exactly one outcome for a grant, whatever happened.
 */
#include "box/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "box/box.h"
#include "box/job.h"

json_t *
run_facts_json(const struct sandbox_facts *f)
{
	const struct cgroup_values *c = &f->cgroup;
	char filter[65], landlock[65], mounts[65], plan[65];

	hex_encode(f->filter_digest, 32, filter);
	hex_encode(f->landlock_digest, 32, landlock);
	hex_encode(f->mounts_digest, 32, mounts);
	hex_encode(f->plan_digest, 32, plan);
	return json_pack(
		"{s:{s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:b},s:{s:i,s:s},s:I,s:{s:i,s:s},s:{s:i,s:s},"
		"s:s}",
		"cgroup", "version", (int)c->version, "memory", (json_int_t)c->memory, "swap",
		(json_int_t)c->swap, "sockets", (json_int_t)c->sockets, "cpuQuota",
		(json_int_t)c->cpu_quota, "cpuPeriod", (json_int_t)c->cpu_period, "pids",
		(json_int_t)c->pids, "swapCounted", (int)c->swap_counted, "filter", "count",
		(int)f->filters, "digest", filter, "hostId", (json_int_t)f->host_id, "landlock",
		"abi", (int)f->landlock_abi, "digest", landlock, "mounts", "count", (int)f->mounts,
		"digest", mounts, "plan", plan);
}

/* Tell it. The run is over; what is left of it is freed. */
static void
send_outcome(struct run *r)
{
	struct box *b = r->box;
	CLEANUP(buf_fini) struct buf out;
	struct error err = {0};
	uint8_t mac[32];
	int code;

	buf_init(&out, WIRE_BODY_MAX);
	code = exec_result_write(&r->result, &out, &err);
	if (code == 0) {
		outcome_mac(b->key.data, r->grant->receipt.index, r->grant->receipt.digest,
			    out.data, out.len, mac);
		code = CHANNEL_SEND(&b->authority, outcome, &err, .ticket = r->ticket,
				    .result = wire_bytes_of(out.data, out.len),
				    .mac = wire_bytes_of(mac, sizeof(mac)));
	}
	if (code < 0)
		fatal("an outcome could not be told: %s", err.text);
	run_free(r);
	pool_refill_later(b);
}

struct ending {
	struct run *run;
	int sessions, workspace;
};
struct ending_answer {
	int code;
	bool kept;
	uint64_t changes;
	struct error err;
};

static void
count_changes(void *arg, void *answer)
{
	struct ending *e = arg;
	struct ending_answer *a = answer;

	a->code = store_end(e->sessions, &e->run->store, e->workspace, &a->changes, &a->kept,
			    &a->err);
}

static void
counted(struct box *b, void *arg, void *answer, bool answered)
{
	struct ending *e = arg;
	struct ending_answer *a = answer;
	struct run *r = e->run;

	free(e);
	if (!answered || a->code < 0) {
		r->result.status = RESULT_FAILED;
		r->result.reason = R_INTERNAL;
		(void)snprintf(r->result.step, sizeof(r->result.step), "changes");
		(void)snprintf(r->result.detail, sizeof(r->result.detail), "%.200s",
			       answered ? a->err.text : "counting the changes broke off");
		r->result.kept = true;
	} else {
		r->result.changes = a->changes;
		r->result.kept = a->kept;
	}
	send_outcome(r);
}

/*
 * Nothing was touched, as mostly: the answer needs no walk, and the empty layers are somebody
 * else's to remove. Else a child counts, and then it is told.
 */
void
run_end(struct run *r)
{
	struct box *b = r->box;
	struct error err = {0};
	struct ending *e;

	r->state = RUN_ENDING;
	r->timer = sd_event_source_disable_unref(r->timer);
	if (r->sandbox != NULL) {
		struct sandbox *s = r->sandbox;

		r->sandbox = NULL;
		pool_leave(s);
	}
	if (!r->stored) {
		send_outcome(r);
		return;
	}
	r->stored = false;
	if (store_untouched(&r->store, r->fds[RUN_FD_WORKSPACE])) {
		char gone[SPARE_NAME_MAX];

		if (spare_bury(b->sessions, r->grant->op.session, gone, &err) == 0)
			nursery_remove(&b->nursery, gone);
		else
			log_warning("%s", err.text);
		send_outcome(r);
		return;
	}
	e = calloc(1, sizeof(*e));
	if (e != NULL)
		*e = (struct ending){r, b->sessions, r->fds[RUN_FD_WORKSPACE]};
	if (e == NULL ||
	    job_start(b, count_changes, counted, e, sizeof(struct ending_answer), &err) < 0) {
		struct ending_answer none = {.code = -ENOMEM};

		counted(b, e, &none, false);
	}
}

void
run_refuse(struct run *r, enum result_status status, const struct failure *f)
{
	r->result.status = status;
	r->result.reason = (enum reason)f->reason;
	(void)snprintf(r->result.step, sizeof(r->result.step), "%s", f->step);
	(void)snprintf(r->result.detail, sizeof(r->result.detail), "%s", f->text);
	r->result.exit_kind = status == RESULT_FAILED ? EXIT_FAILED : EXIT_NONE;
	run_end(r);
}

static void
exit_of(struct exec_result *x, const struct run *r, const struct sandbox_done *m)
{
	if (m->exec_errno != 0) {
		x->exit_kind = m->exec_errno == ENOENT || m->exec_errno == ENOTDIR
				       ? EXIT_NOT_FOUND
				       : EXIT_NOT_EXECUTABLE;
		x->exit_value = m->exec_errno;
	} else if (m->ended && WIFEXITED(m->status)) {
		x->exit_kind = EXIT_STATUS;
		x->exit_value = WEXITSTATUS(m->status);
	} else if (m->ended) {
		x->exit_kind = EXIT_SIGNAL;
		x->exit_value = WTERMSIG(m->status);
	} else if (r->stop == STOP_TIMEOUT) {
		x->exit_kind = EXIT_TIMEOUT;
	} else if (r->stop != 0) {
		x->exit_kind = EXIT_STOPPED;
		x->exit_value = (int32_t)r->stop;
	} else if (m->usage.oom_kills > 0) {
		x->exit_kind = EXIT_SIGNAL;
		x->exit_value = SIGKILL;
	} else {
		x->status = RESULT_FAILED;
		x->exit_kind = EXIT_FAILED;
		x->reason = R_INTERNAL;
		(void)snprintf(x->step, sizeof(x->step), "init");
		(void)snprintf(x->detail, sizeof(x->detail), "the sandbox's init was killed");
	}
}

static void
stream_of(struct output_result *to, const struct sandbox_stream *from)
{
	to->bytes = from->bytes;
	to->truncated = from->truncated != 0;
	memcpy(to->sha256, from->sha256, sizeof(to->sha256));
}

/* Output that did not arrive whole is said, and where it was lost to a fault it is no success. */
static void
judge_delivery(struct exec_result *x, const struct sandbox_stream *s, const char *name)
{
	if (s->error != 0 && x->exit_kind == EXIT_STATUS && x->exit_value == 0) {
		x->status = RESULT_FAILED;
		x->exit_kind = EXIT_FAILED;
		x->reason = R_INTERNAL;
		(void)snprintf(x->step, sizeof(x->step), "relay");
	}
	if (x->detail[0] != '\0')
		return;
	if (s->error != 0)
		(void)snprintf(x->detail, sizeof(x->detail), "standard %s could not be written: %s",
			       name, strerror(s->error));
	else if (s->truncated != 0)
		(void)snprintf(x->detail, sizeof(x->detail),
			       "standard %s was cut: %llu bytes are more than the profile's "
			       "limits.output",
			       name, (unsigned long long)s->bytes);
}

void
run_done(struct run *r, const struct sandbox_done *m)
{
	struct exec_result *x = &r->result;

	x->status = RESULT_DONE;
	x->reason = R_ALLOWED;
	x->wall_ms = r->started_ms != 0 ? clock_boot_ms() - r->started_ms : 0;
	x->cpu_ms = (m->usage.cpu_us != 0 ? m->usage.cpu_us : m->cpu_us) / 1000;
	x->memory_peak = m->usage.memory_peak;
	x->pids_peak = m->usage.pids_peak;
	x->oom_kills = m->usage.oom_kills;
	exit_of(x, r, m);
	if (x->oom_kills > 0 && x->detail[0] == '\0')
		(void)snprintf(x->detail, sizeof(x->detail),
			       "%llu of its processes were killed for want of memory",
			       (unsigned long long)x->oom_kills);
	stream_of(&x->out, &m->out);
	stream_of(&x->err, &m->err);
	judge_delivery(x, &m->out, "output");
	judge_delivery(x, &m->err, "error");
	run_end(r);
}

void
run_failed(struct run *r, const struct failure *f)
{
	/* Killed because somebody asked, before it could start: that is no failure of anything. */
	if (r->stop != 0 && r->state != RUN_RUNNING) {
		r->result.status = RESULT_DONE;
		r->result.reason = R_ALLOWED;
		r->result.exit_kind = r->stop == STOP_TIMEOUT ? EXIT_TIMEOUT : EXIT_STOPPED;
		r->result.exit_value = (int32_t)r->stop;
		run_end(r);
		return;
	}
	run_refuse(r, r->state == RUN_RUNNING ? RESULT_FAILED : RESULT_REFUSED, f);
}
