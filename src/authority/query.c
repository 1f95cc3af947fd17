/*
 * A table from the kind of question to the function that answers it. Some answer at once; those
 * that need the box or the ledger leave a struct question behind, into which the answers come.
 */
#include "authority/query.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "authority/authority.h"
#include "authority/query_internal.h"
#include "authority/run.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "confine/confine.h"
#include "policy/policy.h"

#define WHY_MAX (1024 * 1024)
#define KEEP_MS (UINT64_C(7) * 24 * 3600 * 1000) /* what is kept goes after so long */

/* ---- questions that wait */

struct question *
question_new(struct asker *to, bool large)
{
	struct authority *a = to->authority;
	bool room = a->n_questions < QUESTIONS_MAX && (!large || a->n_large < QUESTIONS_LARGE_MAX);
	struct question *q = room ? calloc(1, sizeof(*q)) : NULL;

	if (q == NULL) {
		reply_deny_with(to, R_BUSY, "again in a moment", "too many questions are open");
		return NULL;
	}
	asker_move(&q->asker, to);
	q->large = large;
	a->n_large += large;
	q->next = a->questions;
	if (q->next != NULL)
		q->next->prev = q;
	a->questions = q;
	a->n_questions++;
	return q;
}

void
question_end(struct question *q)
{
	struct authority *a = q->asker.authority;

	*(q->prev != NULL ? &q->prev->next : &a->questions) = q->next;
	if (q->next != NULL)
		q->next->prev = q->prev;
	a->n_questions--;
	a->n_large -= q->large;
	asker_drop(&q->asker);
	ask_detach(q->ask);
	ticket_drop(&q->ticket);
	buf_fini(&q->text);
	gather_free(q->gather);
	free(q);
	idle_touch(a);
}

void
question_deny(struct question *q, enum reason reason, const char *next, const char *fmt, ...)
{
	char detail[VERDICT_DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	reply_deny_with(&q->asker, reason, next, "%s", detail);
	question_end(q);
}

void
queries_free(struct authority *a)
{
	while (a->questions != NULL)
		question_end(a->questions);
}

/* ---- status */

/* Wall time of the start, from how long ago it is. */
static json_t *
started_json(const struct authority *a)
{
	char text[CLOCK_TEXT_MAX];

	clock_text(clock_wall_ms() - (clock_boot_ms() - a->started_ms), text);
	return json_string(text);
}

static json_t *
confinement_json(void)
{
	const struct confine_report *c = confine_report();
	char capabilities[17];

	(void)snprintf(capabilities, sizeof(capabilities), "%016llx",
		       (unsigned long long)c->capabilities);
	return json_pack("{s:i, s:i, s:b, s:s}", "landlock", c->landlock_abi, "seccomp",
			 c->seccomp ? 2 : 0, "noNewPrivs", c->no_new_privs, "capabilities",
			 capabilities);
}

/* "NAME+ID+KEY": a verifier key begins with the origin of its ledger. */
static json_t *
origin_json(const struct authority *a)
{
	return json_stringn(a->vkey, strcspn(a->vkey, "+"));
}

static void
query_status(struct asker *to, const struct query_in *in)
{
	const struct authority *a = to->authority;
	CLEANUP(json_decrefp) json_t *doc = NULL;

	doc = json_pack("{s:s, s:s, s:i, s:o, s:s?, s:s?, s:{s:I, s:I}, s:{s:o, s:I},"
			" s:[{s:s, s:i, s:o}]}",
			"version", LOOM_VERSION, "mode",
			a->settings.private_mode ? "private" : "service", "pid", (int)getppid(),
			"started", started_json(a), "state", a->settings.state, "config",
			a->settings.config, "sessions", "live", (json_int_t)a->sessions.n_live,
			"kept", (json_int_t)a->sessions.n_kept, "ledger", "origin", origin_json(a),
			"size", (json_int_t)a->history.size, "processes", "name", "loom-authority",
			"pid", (int)getpid(), "confinement", confinement_json());
	reply_json(to, doc);
}

/* ---- sessions */

static int
set_time(json_t *v, const char *key, uint64_t wall_ms)
{
	char text[CLOCK_TEXT_MAX];

	if (wall_ms == 0)
		return json_object_set_new(v, key, json_null());
	clock_text(wall_ms, text);
	return json_object_set_new(v, key, json_string(text));
}

static const char *
mode_name(enum workspace_mode m)
{
	static const char *const names[] = {
		[WORKSPACE_OVERLAY] = "overlay",
		[WORKSPACE_DIRECT] = "direct",
		[WORKSPACE_READ_ONLY] = "read-only",
	};

	return names[m];
}

static json_t *
session_json(const struct session *s)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	char hex[2 * 32 + 1];
	bool kept = s->state == SESSION_KEPT && s->ended_ms != 0;

	hex_encode(s->profile_digest, sizeof(s->profile_digest), hex);
	v = json_pack("{s:s, s:s, s:s, s:I, s:s, s:s?, s:{s:s, s:s}, s:{s:s, s:s}}", "id", s->id,
		      "name", s->name, "state", session_state_name(s->state), "changes",
		      (json_int_t)s->changes, "identity", SELF_IDENTITY, "operation",
		      s->op[0] != '\0' ? s->op : NULL, "profile", "name", s->profile, "digest", hex,
		      "workspace", "path", s->path, "mode", mode_name(s->mode));
	if (v == NULL || set_time(v, "started", s->started_ms) != 0 ||
	    set_time(v, "ended", s->ended_ms) != 0 ||
	    set_time(v, "expires", kept ? s->ended_ms + KEEP_MS : 0) != 0)
		return NULL;
	return TAKE_PTR(v);
}

static void
query_sessions(struct asker *to, const struct query_in *in)
{
	const struct sessions *all = &to->authority->sessions;
	CLEANUP(json_decrefp) json_t *list = json_array();
	CLEANUP(json_decrefp) json_t *doc = NULL;
	int r = 0;

	for (const struct session *s = all->first; s != NULL && r == 0; s = s->next)
		if (s->uid == to->uid)
			r = json_array_append_new(list, session_json(s));
	if (r == 0)
		doc = json_pack("{s:O}", "sessions", list);
	reply_json(to, doc);
}

/* The session that is asked about; NULL: denied. */
static struct session *
session_asked(struct asker *to, const struct query_in *in)
{
	char id[NAME_MAX_LEN + 1];
	struct session *s;

	if (wire_text_copy(in->id, id, sizeof(id)) < 0) {
		reply_deny_with(to, R_INVALID_REQUEST, "loom session ls", "that is no session");
		return NULL;
	}
	s = sessions_find(&to->authority->sessions, id, to->uid);
	if (s != NULL && s->uid == to->uid)
		return s;
	if (s != NULL)
		reply_deny_with(to, R_IDENTITY_MISMATCH, NULL, "session %s is somebody else's", id);
	else
		reply_deny_with(to, R_SESSION_ENDED, "loom session ls, or loom trace",
				"session %s is over, or never was", id);
	return NULL;
}

static void
query_session(struct asker *to, const struct query_in *in)
{
	const struct session *s = session_asked(to, in);
	CLEANUP(json_decrefp) json_t *doc = NULL;

	if (s == NULL)
		return;
	doc = session_json(s);
	reply_json(to, doc);
}

/* ---- changes */

static int
on_diff(void *arg, const struct msg_box_doc *m, struct error *err)
{
	struct question *q = arg;

	if (m->part.len > REPLY_PART_MAX)
		return error_set(err, -EPROTO, "a part of %u bytes", m->part.len);
	if (m->last == 0 && m->status < 0)
		return error_set(err, -EPROTO, "a refusal in parts");
	if (m->last == 0) {
		reply_part(&q->asker, 0, m->part.data, m->part.len, false);
		return 0;
	}
	ticket_drop(&q->ticket);
	if (m->status < 0)
		reply_box_refusal(&q->asker, "loom session show", m->part.data, m->part.len);
	else
		reply_part(&q->asker, 0, m->part.data, m->part.len, true);
	question_end(q);
	return 0;
}

static const struct ticket_ops diff_ops = {.doc = on_diff};

static void
ask_diff(struct asker *to, const struct query_in *in, enum diff_form form)
{
	struct authority *a = to->authority;
	const struct session *s = session_asked(to, in);
	struct question *q;
	struct error err = {0};

	if (s == NULL)
		return;
	if (s->state != SESSION_KEPT) {
		bool live = s->state == SESSION_LIVE;

		reply_deny_with(to, live ? R_BUSY : R_SESSION_ENDED, "loom session ls",
				"session %s %s", s->id,
				live ? "runs; its changes can be told when it has ended"
				     : "keeps no changes");
		return;
	}
	q = question_new(to, false);
	if (q == NULL)
		return;
	ticket_take(&a->boxlink, &q->ticket, &diff_ops, q);
	if (PEER_SEND(&a->box, box_diff, &err, .ticket = q->ticket.number,
		      .session = wire_text_of(s->id), .form = form, .paths = in->arg) < 0)
		question_deny(q, R_INTERNAL, NULL, "the box could not be asked: %s", err.text);
}

static void
query_diff(struct asker *to, const struct query_in *in)
{
	ask_diff(to, in, DIFF_UNIFIED);
}

static void
query_diff_json(struct asker *to, const struct query_in *in)
{
	ask_diff(to, in, DIFF_LIST);
}

/* ---- profiles */

static void
query_profiles(struct asker *to, const struct query_in *in)
{
	CLEANUP(json_decrefp) json_t *list = profiles_list(&to->authority->profiles);
	CLEANUP(json_decrefp) json_t *doc = NULL;

	if (list != NULL)
		doc = json_pack("{s:O}", "profiles", list);
	reply_json(to, doc);
}

/* The profile that is asked about; NULL: denied. */
static struct slot *
profile_asked(struct asker *to, const struct query_in *in)
{
	char name[NAME_MAX_LEN + 1] = "";
	struct slot *s = NULL;
	struct error err = {0};
	int r;

	r = wire_text_copy(in->id, name, sizeof(name)) < 0
		    ? error_set(&err, -EINVAL, "the name is too long")
		    : profiles_find(&to->authority->profiles, name, &s, &err);
	if (r == 0)
		return s;
	if (r == -ENOENT)
		reply_deny_with(to, R_INVALID_REQUEST, "loom profile ls", "there is no profile %s",
				name);
	else
		reply_deny_with(to, R_INVALID_REQUEST, "loom profile check", "profile %s: %s", name,
				err.text);
	return NULL;
}

static void
query_profile(struct asker *to, const struct query_in *in)
{
	CLEANUP(slot_unrefp) struct slot *s = profile_asked(to, in);
	CLEANUP(json_decrefp) json_t *doc = NULL;

	if (s == NULL)
		return;
	doc = json_pack("{s:s, s:s, s:b, s:O}", "name", s->name, "digest", s->hex, "shipped",
			s->profile->shipped, "profile", s->profile->json);
	reply_json(to, doc);
}

/* ---- why */

static void
query_why(struct asker *to, const struct query_in *in)
{
	CLEANUP(slot_unrefp) struct slot *s = profile_asked(to, in);
	CLEANUP(buf_fini) struct buf out = {0};
	struct workflow w;
	struct error err = {0};

	if (s == NULL)
		return;
	buf_init(&out, WHY_MAX);
	if (workflow_find("", to->uid, &w, &err) < 0)
		reply_error(to, R_NOT_AUTHORIZED, &err);
	else if (policy_why(s->policy, &w, in->arg.data, in->arg.len, &out, &err) < 0)
		reply_error(to, R_INTERNAL, &err);
	else
		reply_bytes(to, out.data, out.len);
}

/* ---- the table */

static const struct {
	enum query what;
	void (*answer)(struct asker *to, const struct query_in *in);
} answers[] = {
	{Q_STATUS, query_status},
	{Q_SESSIONS, query_sessions},
	{Q_SESSION, query_session},
	{Q_DIFF, query_diff},
	{Q_DIFF_JSON, query_diff_json},
	{Q_TRACE, query_trace},
	{Q_PROFILES, query_profiles},
	{Q_PROFILE, query_profile},
	{Q_WHY, query_why},
	{Q_LEDGER_HEAD, query_ledger_head},
	{Q_LEDGER_SHOW, query_ledger_show},
};

static void
answer(struct asker *to, const struct query_in *in)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		if (answers[i].what != in->what)
			continue;
		answers[i].answer(to, in);
		return;
	}
	reply_deny_with(to, R_INVALID_REQUEST, NULL, "there is no question %u", in->what);
}

int
query_request(struct client *c, struct packet *p, struct error *err)
{
	struct msg_query m;
	struct asker to;
	int r;

	r = msg_query_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	asker_of_client(&to, c);
	if (asker_served(&to, m.version))
		answer(&to, &(struct query_in){m.what, m.id, m.arg, m.limit});
	return 0;
}

int
query_of_api(struct authority *a, const struct conn *c, const struct msg_api_query *m,
	     struct error *err)
{
	struct asker early = {.authority = a, .conn = c->number, .request = m->request};
	struct asker to;

	if (asker_of_conn(&to, a, c, m->request, err) < 0) {
		*err = (struct error){0};
		reply_deny_with(&early, R_BUSY, "again in a moment", "too much is under way");
		return 0;
	}
	answer(&to, &(struct query_in){m->what, m->id, m->arg, m->limit});
	return 0;
}
