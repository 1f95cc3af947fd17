/*
 * The way of a run, in the order in which it goes: each state has the function that enters it and
 * the one that handles what ends it. Whatever goes wrong before the grant ends in run_deny; after
 * the grant only an outcome ends a run, for something may be running.
 *
 * The bytes of the intent are kept from the append to the grant, for the box checks exactly them.
 * Whether the client is still there is asked only when it is to be told something.
 */
#include "authority/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/act.h"
#include "authority/authority.h"
#include "authority/record.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#define REPORT_MAX 32768

/* ---- telling the client */

/* What others said may be cut in the middle of a character, or no text at all. */
static void
make_plain(char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(text, left, &c);

		if (n == 0 || utf8_is_control(c)) {
			n = n == 0 ? 1 : n;
			memset(text, '?', n);
		}
		text += n;
		left -= n;
	}
}

static void
tell_done(struct run *r)
{
	struct verdict *v = &r->verdict;
	CLEANUP(buf_fini) struct buf report;
	struct error err = {0};

	if (r->client == NULL)
		return;
	make_plain(v->detail);
	make_plain(v->next);
	buf_init(&report, REPORT_MAX);
	if (run_report(r, &report, &err) < 0) {
		log_warning("no report for %s: %s", r->op, err.text);
		buf_reset(&report);
	}
	if (PEER_SEND(&r->client->peer, run_done, &err, .effect = v->effect,
		      .reason = wire_text_of(reason_code(v->reason)),
		      .rule = wire_text_of(v->n_rules > 0 ? v->rules[0] : ""),
		      .detail = wire_text_of(v->detail), .next = wire_text_of(v->next),
		      .session = wire_text_of(r->session_id), .op = wire_text_of(r->op),
		      .exit_kind = r->has_result ? r->result.exit_kind : EXIT_NONE,
		      .exit_value = r->has_result ? r->result.exit_value : 0,
		      .changes = r->has_result && !r->discarded ? r->result.changes : 0,
		      .traced = r->verified, .report = wire_text_of(report.data)) < 0)
		client_lost(r->client, &err);
	client_idle(r->client);
	r->client = NULL;
}

/* ---- the end */

void
run_free(struct run *r)
{
	struct authority *a = r->authority;

	*(r->prev != NULL ? &r->prev->next : &a->runs) = r->next;
	if (r->next != NULL)
		r->next->prev = r->prev;
	a->n_runs--;
	for (size_t i = 0; i < RUN_APPENDS; i++)
		ask_detach(r->asks[i]);
	if (r->client != NULL)
		client_idle(r->client);
	ticket_drop(&r->ticket);
	deadline_clear(&r->deadline);
	slot_unref(r->slot);
	fd_close(r->args_fd);
	buf_fini(&r->entry);
	exec_result_fini(&r->result);
	free(r);
}

/* The session is over, too, unless a result has said what is kept. */
static void
leave_session(struct run *r, bool kept, uint64_t changes)
{
	struct session *s = r->session;

	r->session = NULL;
	if (s == NULL)
		return;
	session_end(&r->authority->sessions, s, kept, changes);
	acts_session_ended(r->authority);
}

void
run_end(struct run *r)
{
	struct authority *a = r->authority;

	tell_done(r);
	run_free(r);
	idle_touch(a);
	authority_settle(a);
}

/* ---- denying */

static void
on_denial_recorded(void *arg, struct answer *answer)
{
	struct run *r = arg;

	if (answer->code < 0)
		log_warning("denial of %s not recorded: %s", r->op, answer->why);
	else
		r->verified = answer->receipt.index < answer->receipt.tree_size;
	if (!answer->final)
		ask_detach(r->asks[0]);
	r->asks[0] = NULL;
	run_end(r);
}

void
run_withdraw(struct run *r)
{
	struct error err = {0};

	deadline_clear(&r->deadline);
	if (ticket_held(&r->ticket)) {
		if (PEER_SEND(&r->authority->box, forget, &err, .ticket = r->ticket.number) < 0)
			log_warning("forget: %s", err.text);
		ticket_drop(&r->ticket);
	}
	if (r->session != NULL)
		leave_session(r, r->continues, r->session->changes);
}

void
run_deny_as(struct run *r, const struct operation *op)
{
	struct error err = {0};

	run_withdraw(r);
	/* Explaining acts on nothing, and so records nothing. */
	if ((r->flags & RUN_EXPLAIN) != 0) {
		run_end(r);
		return;
	}
	r->state = RUN_DENY;
	if (record_denied(r->authority, op, &r->verdict, on_denial_recorded, r, &r->asks[0], &err) <
	    0) {
		log_warning("denial of %s not recorded: %s", r->op, err.text);
		run_end(r);
	}
}

static PRINTF(4, 0) void verdict_set(struct verdict *v, enum reason reason, const char *next,
				     const char *fmt, va_list ap)
{
	char detail[VERDICT_DETAIL_MAX];

	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	verdict_init(v);
	verdict_deny(v, reason, NULL, "%s", detail);
	if (next != NULL)
		verdict_next(v, "%s", next);
}

void
run_deny(struct run *r, enum reason reason, const char *next, const char *fmt, ...)
{
	struct operation *op = r->authority->scratch;
	va_list ap;

	va_start(ap, fmt);
	verdict_set(&r->verdict, reason, next, fmt, ap);
	va_end(ap);
	if (!r->facts_known)
		*op = (struct operation){0};
	r->facts_known = false;
	run_operation(r, op);
	run_deny_as(r, op);
}

/*
 * An intent was recorded, so no denial may be: it is closed as indeterminate, and the client is
 * told why nothing came of it.
 */
static void run_unused(struct run *r, enum reason reason, const char *fmt, ...) PRINTF(3, 4);

static void
run_unused(struct run *r, enum reason reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verdict_set(&r->verdict, reason, NULL, fmt, ap);
	va_end(ap);
	record_indeterminate(r->authority, r->receipt.index, r->op, r->session_id,
			     r->verdict.detail);
	run_withdraw(r);
	run_end(r);
}

void
run_answer_early(struct run *r)
{
	struct authority *a = r->authority;

	if (r->session != NULL)
		leave_session(r, r->continues, r->session->changes);
	tell_done(r);
	r->state = RUN_LATE;
	authority_settle(a);
}

/* ---- the end of it */

static void
on_outcome_recorded(void *arg, struct answer *answer)
{
	struct run *r = arg;

	if (!answer->final)
		ask_detach(r->asks[0]);
	r->asks[0] = NULL;
	if (answer->code < 0) {
		/* It ran, but nobody can prove how it ended: that is no success. */
		r->verdict.reason = R_AUDIT_UNAVAILABLE;
		(void)snprintf(r->verdict.detail, sizeof(r->verdict.detail),
			       "it ran, but its outcome could not be recorded: %s", answer->why);
		r->result.exit_kind = EXIT_FAILED;
	} else {
		/* One signed head covers what was decided and what came of it. */
		r->verified = r->receipt.index < answer->receipt.index &&
			      answer->receipt.index < answer->receipt.tree_size;
	}
	run_end(r);
}

static int
on_outcome(void *arg, const struct msg_outcome *m, struct error *err)
{
	struct run *r = arg;
	struct authority *a = r->authority;
	struct error why = {0};
	int code;

	code = exec_result_read(m->result.data, m->result.len, &r->result, err);
	if (code < 0)
		return error_prefix(err, "the outcome of %s", r->op);
	r->has_result = true;
	ticket_drop(&r->ticket);
	leave_session(r, r->result.kept, r->result.changes);
	r->verdict.reason = r->result.reason;
	if (r->result.status == RESULT_REFUSED) {
		/* Refused by the walls, not by the rules that allowed it. */
		r->verdict.effect = EFFECT_DENY;
		r->verdict.n_rules = 0;
	}
	(void)snprintf(r->verdict.detail, sizeof(r->verdict.detail), "%s", r->result.detail);
	r->state = RUN_CLOSE;
	if (record_outcome(a, r->op, r->session_id, r->receipt.index, r->digest, m,
			   on_outcome_recorded, r, &r->asks[0], &why) == 0)
		return 0;
	on_outcome_recorded(r, &(struct answer){.code = why.code, .why = why.text, .final = true});
	return 0;
}

/* ---- performing */

static void
forward_signal(struct run *r, int signo)
{
	struct error err = {0};

	if (signo == SIGKILL)
		run_stop(r, STOP_INTERRUPT);
	else if (PEER_SEND(&r->authority->box, box_signal, &err, .ticket = r->ticket.number,
			   .signo = signo) < 0)
		log_warning("signal: %s", err.text);
}

static int
on_started(void *arg, struct error *err)
{
	struct run *r = arg;
	struct error why = {0};

	if (r->started)
		return error_set(err, -EPROTO, "%s was started before", r->op);
	r->started = true;
	if (r->client != NULL &&
	    PEER_SEND(&r->client->peer, run_started, &why, .session = wire_text_of(r->session_id),
		      .op = wire_text_of(r->op)) < 0)
		log_info("client of %s: %s", r->op, why.text);
	for (int signo = 1; r->signals != 0; signo++) {
		uint64_t bit = UINT64_C(1) << (signo - 1);

		if ((r->signals & bit) != 0)
			forward_signal(r, signo);
		r->signals &= ~bit;
	}
	return 0;
}

static const struct ticket_ops granted_ops = {.started = on_started, .outcome = on_outcome};

static void
run_grant(struct run *r)
{
	struct authority *a = r->authority;
	const struct grant_step step = {.ticket = r->ticket.number,
					.entry = &r->entry,
					.receipt = &r->receipt,
					.profile_fd = r->slot->fd};
	struct error err = {0};

	if (a->hooks->grant(a, &step, &err) < 0) {
		run_unused(r, R_INTERNAL, "it could not be granted: %s", err.text);
		return;
	}
	buf_fini(&r->entry);
	r->state = RUN_GRANTED;
	r->ticket.ops = &granted_ops;
	if ((r->flags & RUN_TTY) != 0 && r->rows > 0 && r->columns > 0 &&
	    PEER_SEND(&a->box, box_winsize, &err, .ticket = r->ticket.number, .rows = r->rows,
		      .columns = r->columns) < 0)
		log_warning("window size: %s", err.text);
}

/* ---- recording */

static bool
appends_open(const struct run *r)
{
	for (size_t i = 0; i < RUN_APPENDS; i++)
		if (r->asks[i] != NULL)
			return true;
	return false;
}

/* Told and over; what the ledger still owes is waited for, to be closed as never granted. */
static void
run_too_late(struct run *r)
{
	verdict_init(&r->verdict);
	verdict_deny(&r->verdict, R_AUDIT_UNAVAILABLE, NULL, "it could not be recorded: %s",
		     r->append_why);
	verdict_next(&r->verdict, "loom daemon status");
	run_withdraw(r);
	run_answer_early(r);
}

/* Everything that was to be recorded has been answered. */
static void
run_recorded(struct run *r)
{
	bool intent = r->receipt.tree_size > 0;

	if (r->state == RUN_LATE && !intent)
		run_end(r);
	else if (r->state == RUN_LATE)
		run_unused(r, R_AUDIT_UNAVAILABLE, "the record came too late to be granted");
	else if (r->append_failed && intent)
		run_unused(r, R_AUDIT_UNAVAILABLE, "it could not be recorded whole: %s",
			   r->append_why);
	else if (r->append_failed)
		run_deny(r, R_AUDIT_UNAVAILABLE, "loom daemon status",
			 "it could not be recorded: %s", r->append_why);
	else if (r->stop_why != 0)
		run_unused(r, R_SESSION_ENDED, "stopped before it began");
	else
		run_grant(r);
}

/* One of the appends was answered; which one, the caller has told by clearing it. */
static void
append_answered(struct run *r, struct ask **ask, struct answer *answer)
{
	if (answer->code < 0) {
		r->append_failed = true;
		(void)snprintf(r->append_why, sizeof(r->append_why), "%.200s", answer->why);
	}
	if (!answer->final) {
		if (r->state == RUN_RECORD)
			run_too_late(r);
		return;
	}
	*ask = NULL;
	if (!appends_open(r))
		run_recorded(r);
}

static void
on_profile_recorded(void *arg, struct answer *answer)
{
	struct run *r = arg;

	if (answer->code == 0)
		r->slot->recorded = true;
	append_answered(r, &r->asks[0], answer);
}

static void
on_name_recorded(void *arg, struct answer *answer)
{
	struct run *r = arg;

	append_answered(r, &r->asks[1], answer);
}

static void
on_intent_recorded(void *arg, struct answer *answer)
{
	struct run *r = arg;

	if (answer->code == 0)
		r->receipt = answer->receipt;
	append_answered(r, &r->asks[2], answer);
}

/*
 * The profile's text and the session's name go ahead of the intent that relies on them; the ledger
 * keeps the order, and one sync is for all of them.
 */
static int
record_all(struct run *r, const struct operation *op, struct error *err)
{
	struct authority *a = r->authority;
	int code;

	buf_init(&r->entry, ENTRY_MAX);
	code = record_intent_bytes(op, &r->verdict, &r->entry, r->digest, err);
	if (code == 0 && !r->slot->recorded)
		code = record_profile(a, r->slot, on_profile_recorded, r, &r->asks[0], err);
	if (code == 0 && !r->continues && r->session->name[0] != '\0')
		code = record_session_name(a, r->session, on_name_recorded, r, &r->asks[1], err);
	if (code == 0)
		code = record_intent(a, op, &r->verdict, &r->entry, r->digest, &r->args_fd, 1,
				     on_intent_recorded, r, &r->asks[2], err);
	return code;
}

void
run_record(struct run *r, const struct operation *op)
{
	struct error err = {0};
	int code;

	r->state = RUN_RECORD;
	r->facts_known = false;
	code = record_all(r, op, &err);
	if (code == 0) {
		fd_closep(&r->args_fd);
		return;
	}
	r->append_failed = true;
	(void)snprintf(r->append_why, sizeof(r->append_why), "%.200s", err.text);
	/* Some of it may be on its way; the denial waits for that. */
	if (!appends_open(r))
		run_recorded(r);
}

/* ---- from outside */

void
run_stop(struct run *r, uint32_t why)
{
	struct error err = {0};

	if (r->stop_why == 0)
		r->stop_why = why;
	/* Before the grant it is enough to know; after the outcome there is nothing to stop. */
	if (r->state != RUN_GRANTED || r->stop_sent)
		return;
	r->stop_sent = true;
	if (PEER_SEND(&r->authority->box, box_stop, &err, .ticket = r->ticket.number, .why = why) <
	    0)
		authority_broken(r->authority, "stop %s: %s", r->op, err.text);
}

void
run_client_gone(struct run *r)
{
	r->client = NULL;
	run_stop(r, STOP_CLIENT_GONE);
}

int
run_signal_request(struct client *c, struct packet *p, struct error *err)
{
	struct run *r = c->run;
	struct msg_signal m;
	int code;

	code = msg_signal_decode(p->body, p->len, &m, err);
	if (code < 0)
		return code;
	if (r == NULL || m.signo < 1 || m.signo > RUN_SIGNAL_MAX)
		return error_set(err, -EPROTO, "signal %d is not due", m.signo);
	if (r->state == RUN_GRANTED && r->started)
		forward_signal(r, m.signo);
	else
		r->signals |= UINT64_C(1) << (m.signo - 1);
	return 0;
}

int
run_winsize_request(struct client *c, struct packet *p, struct error *err)
{
	struct run *r = c->run;
	struct msg_winsize m;
	int code;

	code = msg_winsize_decode(p->body, p->len, &m, err);
	if (code < 0)
		return code;
	if (r == NULL)
		return error_set(err, -EPROTO, "a window size without a run");
	r->rows = m.rows;
	r->columns = m.columns;
	if (r->state != RUN_GRANTED || (r->flags & RUN_TTY) == 0)
		return 0;
	if (PEER_SEND(&r->authority->box, box_winsize, err, .ticket = r->ticket.number,
		      .rows = m.rows, .columns = m.columns) < 0) {
		log_warning("window size: %s", err->text);
		*err = (struct error){0};
	}
	return 0;
}

void
runs_free(struct authority *a)
{
	while (a->runs != NULL)
		run_free(a->runs);
}
