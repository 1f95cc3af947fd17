/*
 * An act is a small machine of its own, one per request: it may have to wait for a run to end, for
 * an intent to be read back, for the box, for the ledger. A session it changes is marked busy, so
 * that nobody continues on changes that are being taken over or thrown away.
 */
#include "authority/act.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/act_internal.h"
#include "authority/authority.h"
#include "authority/record.h"
#include "authority/run.h"
#include "base/log.h"

/* ---- their lives */

void
act_free(struct act *act)
{
	struct authority *a = act->asker.authority;

	*(act->prev != NULL ? &act->prev->next : &a->acts) = act->next;
	if (act->next != NULL)
		act->next->prev = act->prev;
	a->n_acts--;
	ask_detach(act->ask);
	ticket_drop(&act->ticket);
	asker_drop(&act->asker);
	slot_unref(act->binding.slot);
	accepting_free(act->accepting);
	free(act);
}

struct session *
act_session(const struct act *act)
{
	return sessions_find(&act->asker.authority->sessions, act->session, act->asker.uid);
}

void
act_end(struct act *act)
{
	struct authority *a = act->asker.authority;
	struct session *s = act->holds ? act_session(act) : NULL;

	if (s != NULL)
		s->busy = false;
	act_free(act);
	idle_touch(a);
	authority_settle(a);
}

void
act_deny(struct act *act, enum reason reason, const char *next, const char *fmt, ...)
{
	char detail[VERDICT_DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	reply_deny_with(&act->asker, reason, next, "%s", detail);
	act_end(act);
}

/* ---- rm */

static int
on_removed(void *arg, const struct msg_box_doc *m, struct error *err)
{
	struct act *act = arg;
	struct authority *a = act->asker.authority;
	CLEANUP(json_decrefp) json_t *doc = NULL;
	struct session *s = act_session(act);

	if (m->last == 0)
		return error_set(err, -EPROTO, "a removal in parts");
	ticket_drop(&act->ticket);
	if (m->status < 0) {
		reply_box_refusal(&act->asker, "again in a moment", m->part.data, m->part.len);
		act_end(act);
		return 0;
	}
	doc = json_pack("{s:s, s:I, s:s}", "session", act->session, "discarded",
			(json_int_t)act->changes, "state", session_state_name(SESSION_ENDED));
	if (s != NULL)
		session_drop(&a->sessions, s);
	act->holds = false;
	reply_json(&act->asker, doc);
	act_end(act);
	return 0;
}

static const struct ticket_ops remove_ops = {.doc = on_removed};

static void
on_discard_recorded(void *arg, struct answer *answer)
{
	struct act *act = arg;
	struct error err = {0};

	if (!answer->final)
		ask_detach(act->ask);
	act->ask = NULL;
	if (answer->code < 0) {
		act_deny(act, R_AUDIT_UNAVAILABLE, "loom daemon status",
			 "nothing is discarded that cannot be recorded: %s", answer->why);
		return;
	}
	ticket_take(&act->asker.authority->boxlink, &act->ticket, &remove_ops, act);
	if (PEER_SEND(&act->asker.authority->box, box_rm, &err, .ticket = act->ticket.number,
		      .session = wire_text_of(act->session)) < 0)
		act_deny(act, R_INTERNAL, NULL, "the box could not be asked: %s", err.text);
}

static void
act_remove(struct act *act, struct session *s)
{
	struct error err = {0};

	if (s->state == SESSION_ENDED) {
		act_deny(act, R_SESSION_ENDED, "loom session ls", "nothing is kept of session %s",
			 act->session);
		return;
	}
	s->busy = true;
	act->holds = true;
	act->changes = s->changes;
	if (record_session_event(act->asker.authority, "discarded", s, on_discard_recorded, act,
				 &act->ask, &err) < 0)
		act_deny(act, R_AUDIT_UNAVAILABLE, "loom daemon status",
			 "nothing is discarded that cannot be recorded: %s", err.text);
}

/* ---- stop */

static void
stop_done(struct act *act, const struct session *s)
{
	CLEANUP(json_decrefp) json_t *doc = NULL;

	doc = json_pack("{s:s, s:b, s:s, s:I}", "session", act->session, "stopped", act->waited,
			"state", session_state_name(s != NULL ? s->state : SESSION_ENDED),
			"changes", (json_int_t)(s != NULL ? s->changes : 0));
	reply_json(&act->asker, doc);
	act_end(act);
}

/* The session does not run, or does not any more. */
static void
act_go_on(struct act *act)
{
	struct session *s = act_session(act);

	if (act->verb == V_STOP)
		stop_done(act, s);
	else if (s == NULL)
		act_deny(act, R_SESSION_ENDED, "loom session ls", "session %s is over",
			 act->session);
	else if (s->busy)
		act_deny(act, R_BUSY, "again in a moment", "session %s is being changed",
			 act->session);
	else if (act->verb == V_RM)
		act_remove(act, s);
	else
		act_accept(act, s);
}

void
acts_session_ended(struct authority *a)
{
	struct act *act, *next;

	for (act = a->acts; act != NULL; act = next) {
		const struct session *s;

		next = act->next;
		if (!act->waiting)
			continue;
		s = act_session(act);
		if (s != NULL && s->state == SESSION_LIVE)
			continue;
		act->waiting = false;
		act_go_on(act);
		/* Others may have gone with it, or come: look at all that wait again. */
		next = a->acts;
	}
}

/* It runs: end that, which needs no record and no permission, and go on afterwards. */
static void
stop_first(struct act *act, struct session *s)
{
	struct authority *a = act->asker.authority;
	struct error err = {0};

	act->waiting = true;
	act->waited = true;
	if (record_session_event(a, "stopped", s, NULL, NULL, NULL, &err) < 0)
		log_warning("the stop of %s was not recorded: %s", s->id, err.text);
	if (s->run != NULL) {
		s->run->discarded = act->verb == V_RM;
		run_stop(s->run, STOP_ASKED);
	}
}

static void
act_begin(struct act *act)
{
	struct authority *a = act->asker.authority;
	struct session *s = sessions_find(&a->sessions, act->session, act->asker.uid);

	if (s == NULL) {
		act_deny(act, R_SESSION_ENDED, "loom session ls",
			 "session %s is over, or never was", act->session);
		return;
	}
	if (s->uid != act->asker.uid) {
		act_deny(act, R_IDENTITY_MISMATCH, NULL, "session %s is somebody else's", s->id);
		return;
	}
	/* From here on by its number: the name may go to another one. */
	(void)snprintf(act->session, sizeof(act->session), "%s", s->id);
	if (s->state != SESSION_LIVE)
		act_go_on(act);
	else if (act->verb == V_ACCEPT)
		act_deny(act, R_BUSY, "wait for it, or: loom session stop", "session %s runs",
			 s->id);
	else
		stop_first(act, s);
}

/* ---- requests */

static struct act *
act_new(struct authority *a)
{
	struct act *act = a->n_acts < ACTS_MAX ? calloc(1, sizeof(*act)) : NULL;

	if (act == NULL)
		return NULL;
	act->asker.authority = a;
	act->next = a->acts;
	if (act->next != NULL)
		act->next->prev = act;
	a->acts = act;
	a->n_acts++;
	return act;
}

/* VERB and SESSION as they came; what cannot be is denied. */
static int
act_start(struct act *act, uint32_t verb, struct wire_text session, struct wire_bytes paths)
{
	struct error err = {0};

	act->verb = verb;
	if (verb != V_ACCEPT && verb != V_STOP && verb != V_RM)
		act_deny(act, R_INVALID_REQUEST, NULL, "there is no act %u", verb);
	else if (wire_text_copy(session, act->session, sizeof(act->session)) < 0 ||
		 act->session[0] == '\0')
		act_deny(act, R_INVALID_REQUEST, "loom session ls", "that is no session");
	else if (verb == V_ACCEPT && act_take_paths(act, paths, &err) < 0)
		act_deny(act, R_INVALID_PATH, NULL, "%s", err.text);
	else
		act_begin(act);
	return 0;
}

int
act_session_request(struct client *c, struct packet *p, struct error *err)
{
	struct msg_session_act m;
	struct asker early;
	struct act *act;
	int r;

	r = msg_session_act_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	asker_of_client(&early, c);
	if (!asker_served(&early, m.version))
		return 0;
	act = act_new(c->authority);
	if (act == NULL) {
		reply_deny_with(&early, R_BUSY, "again in a moment", "too much is under way");
		return 0;
	}
	asker_move(&act->asker, &early);
	return act_start(act, m.verb, m.session, m.paths);
}

int
act_of_api(struct authority *a, const struct conn *c, const struct msg_api_act *m,
	   struct error *err)
{
	struct asker early = {.authority = a, .conn = c->number, .request = m->request};
	struct act *act = act_new(a);

	if (act == NULL || asker_of_conn(&act->asker, a, c, m->request, err) < 0) {
		if (act != NULL)
			act_free(act);
		*err = (struct error){0};
		reply_deny_with(&early, R_BUSY, "again in a moment", "too much is under way");
		return 0;
	}
	return act_start(act, m->verb, m->session, wire_bytes_of("", 0));
}

int
act_daemon_request(struct client *c, struct packet *p, struct error *err)
{
	CLEANUP(json_decrefp) json_t *doc = NULL;
	struct msg_daemon_act m;
	struct error why = {0};
	struct asker asker;
	int r;

	r = msg_daemon_act_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	asker_of_client(&asker, c);
	/* Stopping is always allowed to whom this Loom serves, whatever version they speak. */
	if (!asker_served(&asker, m.verb == D_STOP ? WIRE_VERSION : m.version))
		return 0;
	if (m.verb != D_STOP) {
		reply_deny_with(&asker, R_INVALID_REQUEST, NULL, "there is no act %u", m.verb);
		return 0;
	}
	if (PEER_SEND(&c->authority->loomd, stop_request, &why, .why = STOP_ASKED) < 0) {
		authority_broken(c->authority, "ask loomd to end: %s", why.text);
		return 0;
	}
	doc = json_pack("{s:b}", "stopping", true);
	reply_json(&asker, doc);
	return 0;
}

void
acts_free(struct authority *a)
{
	while (a->acts != NULL)
		act_free(a->acts);
}
