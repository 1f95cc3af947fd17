/*
 * From the request to the decision. What can be refused on the message alone is refused before the
 * box is asked; what the box found is refused before anything is decided; and only what was allowed
 * gets a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/authority.h"
#include "authority/record.h"
#include "authority/run.h"
#include "base/fd.h"
#include "base/log.h"

#define FDS_PLAIN 5 /* workspace, stdin, stdout, stderr, arguments */
#define FD_ARGS 4
#define RUN_FLAGS (RUN_TTY | RUN_ENV | RUN_EXPLAIN)
#define CWD_MAX 4096
#define TERM_MAX 64
#define REFUSE_DETAIL_MAX 384

/* ---- the decision */

/* The session asked for, against what is asked of it now. */
static bool
session_fits(struct run *r, const struct workspace_facts *w)
{
	const struct session *s = r->session;

	/* One that an earlier daemon kept: the box has its device and inode, and compares them. */
	if (s->ino == 0 ? strcmp(s->path, w->path) == 0
			: s->ino == w->ino && s->dev_major == w->dev_major &&
				  s->dev_minor == w->dev_minor)
		return true;
	run_deny(r, R_CONFLICTING_CONSTRAINTS, "loom session show, or another --session",
		 "session %s is bound to another workspace, %.128s", s->id, s->path);
	return false;
}

static bool
workspace_free(struct run *r, enum workspace_mode mode, const struct workspace_facts *w)
{
	const struct session *other =
		sessions_overlap(&r->authority->sessions, mode, w, r->session);

	if (other == NULL)
		return true;
	run_deny(r, R_BUSY, "wait for it, or: loom session stop",
		 "session %s uses this workspace, or one above or beneath it, and one of the two "
		 "writes to it directly",
		 other->id);
	return false;
}

/* Allowed: it gets its session, and goes on to be recorded. */
static void
allowed(struct run *r, struct operation *op)
{
	struct authority *a = r->authority;
	struct error err = {0};
	int code = 0;

	if (!r->continues)
		code = sessions_add(&a->sessions, r->asked_session, r->uid, r->profile_name,
				    op->profile_digest, op->mode, &op->facts.workspace, &r->session,
				    &err);
	if (code < 0) {
		run_deny(r, code == -EBUSY ? R_BUSY : R_INTERNAL,
			 code == -EBUSY ? "wait, or: loom session stop" : NULL, "%s", err.text);
		return;
	}
	r->session->run = r;
	(void)snprintf(r->session->op, sizeof(r->session->op), "%s", r->op);
	(void)snprintf(r->session_id, sizeof(r->session_id), "%s", r->session->id);
	(void)snprintf(op->session, sizeof(op->session), "%s", r->session->id);
	run_record(r, op);
}

static void
decide(struct run *r, struct operation *op)
{
	char next[SESSION_ID_MAX];

	run_operation(r, op);
	/* The number it will get, if it gets one: an operation without a session is no operation.
	 */
	if (!r->continues) {
		session_id_print(r->authority->sessions.last_number + 1, next);
		(void)snprintf(op->session, sizeof(op->session), "%s", next);
	}
	run_decide(r, op, &r->verdict);
	if (r->verdict.effect == EFFECT_ALLOW && (r->flags & RUN_EXPLAIN) == 0) {
		allowed(r, op);
		return;
	}
	if (!r->continues)
		op->session[0] = '\0';
	r->facts_known = false;
	run_deny_as(r, op);
}

static int
on_facts(void *arg, const struct msg_facts *m, struct error *err)
{
	struct run *r = arg;
	struct operation *op = r->authority->scratch;
	char detail[VERDICT_DETAIL_MAX];
	int code;

	if (m->reason >= REASON_COUNT)
		return error_set(err, -EPROTO, "facts: %u is no reason", m->reason);
	if (r->state != RUN_EXAMINE) {
		/* Answered too late; the client was told so. */
		run_withdraw(r);
		run_end(r);
		return 0;
	}
	deadline_clear(&r->deadline);
	if (r->stop_why != 0) {
		run_deny(r, R_SESSION_ENDED, NULL, "stopped before it began");
		return 0;
	}
	if (m->reason != R_ALLOWED) {
		(void)snprintf(detail, sizeof(detail), "%.*s", (int)m->detail.len, m->detail.data);
		run_deny(r, (enum reason)m->reason, NULL, "%s", detail);
		return 0;
	}
	*op = (struct operation){0};
	code = exec_facts_read(m->facts.data, m->facts.len, &op->facts, err);
	if (code < 0)
		return error_prefix(err, "facts");
	r->facts_known = true;
	if (r->continues && !session_fits(r, &op->facts.workspace))
		return 0;
	if (workspace_free(r, r->slot->profile->workspace_mode, &op->facts.workspace))
		decide(r, op);
	return 0;
}

static const struct ticket_ops examine_ops = {.facts = on_facts};

/* ---- the box looks */

static void
on_examine_late(void *arg)
{
	struct run *r = arg;

	verdict_init(&r->verdict);
	verdict_deny(&r->verdict, R_INTERNAL, NULL,
		     "the workspace could not be looked at within %d s", RUN_EXAMINE_MS / 1000);
	run_answer_early(r);
}

/* Send the descriptors on. They are the packet's, but for the arguments, which the ledger gets. */
static void
run_examine(struct run *r, struct packet *p, const struct msg_run *m)
{
	struct authority *a = r->authority;
	struct error err = {0};

	ticket_take(&a->boxlink, &r->ticket, &examine_ops, r);
	r->state = RUN_EXAMINE;
	if (a->hooks->examine(a, p->fds, p->n_fds, &err) < 0 ||
	    PEER_SEND_FDS(&a->box, examine, &err, p->fds, p->n_fds, .ticket = r->ticket.number,
			  .flags = r->flags & (uint32_t)(RUN_TTY | RUN_ENV), .cwd = m->cwd,
			  .term = m->term) < 0) {
		/* It never came to the box, so there is nothing for it to forget. */
		ticket_drop(&r->ticket);
		run_deny(r, R_BUSY, "again in a moment", "the box could not be asked: %s",
			 err.text);
		return;
	}
	r->args_fd = TAKE_FD(p->fds[FD_ARGS]);
	deadline_set(&a->deadlines, &r->deadline, RUN_EXAMINE_MS, on_examine_late, r);
}

/* ---- the request */

/* Find the session that was asked for; false: denied. */
static bool
session_asked(struct run *r)
{
	struct sessions *all = &r->authority->sessions;
	struct session *s;
	uint64_t number;
	bool is_id = session_id_parse(r->asked_session, &number);
	struct error err = {0};

	if (r->asked_session[0] == '\0')
		return true;
	if (!is_id && !name_valid(r->asked_session)) {
		run_deny(r, R_INVALID_REQUEST, NULL,
			 "that is no name of a session: lower-case letters, digits, '.', '_', '-'");
		return false;
	}
	s = sessions_find(all, r->asked_session, r->uid);
	if (s == NULL && !is_id)
		return true;
	if (s != NULL && s->uid != r->uid)
		run_deny(r, R_IDENTITY_MISMATCH, NULL, "session %s is somebody else's", s->id);
	else if (s == NULL || s->state == SESSION_ENDED)
		run_deny(r, R_SESSION_ENDED, "loom session ls", "session %s is over, or never was",
			 r->asked_session);
	else if (memcmp(s->profile_digest, r->slot->profile->digest, sizeof(s->profile_digest)) !=
		 0)
		run_deny(r, R_PROFILE_MISMATCH, "loom session show",
			 "session %s is bound to %s%s, and this is another profile or another "
			 "version of it",
			 s->id, s->profile[0] != '\0' ? "profile " : "its profile", s->profile);
	else if ((r->flags & RUN_EXPLAIN) != 0)
		return true;
	else if (session_continue(all, s, &err) < 0)
		run_deny(r, R_BUSY, "wait for it, or: loom session stop", "%s", err.text);
	else {
		r->session = s;
		s->run = r;
		r->continues = true;
		(void)snprintf(r->session_id, sizeof(r->session_id), "%s", s->id);
		return true;
	}
	return false;
}

static bool
profile_asked(struct run *r)
{
	struct error err = {0};
	int code = profiles_find(&r->authority->profiles, r->profile_name, &r->slot, &err);

	if (code == 0) {
		(void)snprintf(r->profile_name, sizeof(r->profile_name), "%s", r->slot->name);
		return true;
	}
	if (code == -ENOENT)
		run_deny(r, R_INVALID_REQUEST, "loom profile ls", "there is no profile %s",
			 r->profile_name);
	else
		run_deny(r, R_INVALID_REQUEST, "loom profile check", "profile %s: %.160s",
			 r->profile_name, err.text);
	return false;
}

static bool
timeout_asked(struct run *r)
{
	uint64_t most = r->slot->profile->timeout_ms;

	if (r->timeout_ms == 0)
		r->timeout_ms = most;
	if (r->timeout_ms <= most)
		return true;
	run_deny(r, R_LIMIT_EXCEEDED, "a shorter --timeout, or another profile",
		 "profile %s allows %llu s, asked for were %llu s", r->profile_name,
		 (unsigned long long)(most / 1000), (unsigned long long)(r->timeout_ms / 1000));
	return false;
}

/* Is whoever asks served at all, now? False: denied. */
static bool
request_served(struct run *r, uint32_t version)
{
	struct authority *a = r->authority;

	if (r->client->foreign) {
		run_deny(r, R_IDENTITY_MISMATCH, NULL, "user %u is not served here", r->uid);
		return false;
	}
	if (version != WIRE_VERSION) {
		run_deny(r, R_INVALID_REQUEST, "loom daemon stop",
			 "the client speaks version %u, the daemon %d", version, WIRE_VERSION);
		return false;
	}
	if (a->stopping || r->client->excess) {
		run_deny(r, R_BUSY, "again in a moment", "%s",
			 a->stopping ? "the daemon is ending" : "too many clients are connected");
		return false;
	}
	return true;
}

/* Everything that the message alone can be refused for; false: denied. */
static bool
request_fits(struct run *r, const struct msg_run *m, const char *workflow)
{
	struct authority *a = r->authority;
	struct error err = {0};

	if (!request_served(r, m->version))
		return false;
	if (a->settings.config_path != NULL &&
	    config_path_check(a->settings.config_path, a->settings.uid, a->settings.own_group,
			      &err) < 0) {
		run_deny(r, R_INVALID_REQUEST, NULL, "%s", err.text);
		return false;
	}
	if (workflow_find(workflow, r->uid, &r->workflow, &err) < 0) {
		run_deny(r, R_NOT_AUTHORIZED, "without --workflow", "%s", err.text);
		return false;
	}
	return profile_asked(r) && timeout_asked(r) && session_asked(r);
}

/* The texts of the request, where they are texts of their kind at all; false: denied. */
static bool
request_texts(struct run *r, const struct msg_run *m, char workflow[NAME_MAX_LEN + 1])
{
	if (wire_text_copy(m->profile, r->profile_name, sizeof(r->profile_name)) == 0 &&
	    wire_text_copy(m->workflow, workflow, NAME_MAX_LEN + 1) == 0 &&
	    wire_text_copy(m->session, r->asked_session, sizeof(r->asked_session)) == 0 &&
	    m->cwd.len < CWD_MAX && m->term.len <= TERM_MAX &&
	    (r->profile_name[0] == '\0' || name_valid(r->profile_name)))
		return true;
	/* What is no name is not recorded as one. */
	r->profile_name[0] = '\0';
	run_deny(r, R_INVALID_REQUEST, "loom profile ls",
		 "the name of a profile, workflow or session, or a path, is none, or too long");
	return false;
}

static int
run_new(struct client *c, struct run **ret, struct error *err)
{
	struct authority *a = c->authority;
	struct run *r = calloc(1, sizeof(*r));
	int code;

	if (r == NULL)
		return error_set(err, -ENOMEM, "out of memory for a run");
	code = op_id_new(r->op, err);
	if (code < 0) {
		free(r);
		return code;
	}
	r->authority = a;
	r->client = c;
	r->uid = c->uid;
	r->args_fd = -1;
	verdict_init(&r->verdict);
	r->next = a->runs;
	if (r->next != NULL)
		r->next->prev = r;
	a->runs = r;
	a->n_runs++;
	c->run = r;
	*ret = r;
	return 0;
}

int
run_request(struct client *c, struct packet *p, struct error *err)
{
	char workflow[NAME_MAX_LEN + 1] = "";
	struct run *r = NULL;
	struct msg_run m;
	int code;

	code = msg_run_decode(p->body, p->len, &m, err);
	if (code < 0)
		return code;
	if ((m.flags & ~(uint32_t)RUN_FLAGS) != 0 ||
	    p->n_fds != FDS_PLAIN + ((m.flags & RUN_ENV) != 0 ? 1u : 0u))
		return error_set(err, -EPROTO, "a run with flags %#x and %zu descriptors", m.flags,
				 p->n_fds);
	code = run_new(c, &r, err);
	if (code < 0)
		return code;
	r->flags = m.flags;
	r->timeout_ms = m.timeout_ms;
	r->rows = m.rows;
	r->columns = m.columns;
	if (request_texts(r, &m, workflow) && request_fits(r, &m, workflow))
		run_examine(r, p, &m);
	return 0;
}

/* The words are the client's, and are marked so; of them the record has the reason alone. */
int
run_refuse_request(struct client *c, struct packet *p, struct error *err)
{
	char detail[REFUSE_DETAIL_MAX + 1];
	struct run *r = NULL;
	struct msg_refuse m;
	int code;

	code = msg_refuse_decode(p->body, p->len, &m, err);
	if (code < 0)
		return code;
	if ((m.reason != R_INVALID_PATH && m.reason != R_INVALID_ARGUMENT) ||
	    wire_text_copy(m.detail, detail, sizeof(detail)) < 0)
		return error_set(err, -EPROTO, "that is no refusal of a client's");
	code = run_new(c, &r, err);
	if (code < 0)
		return code;
	if (request_served(r, m.version))
		run_deny(r, (enum reason)m.reason, NULL, "the client says: %s", detail);
	return 0;
}

void
run_record_foreign(struct authority *a, uint32_t uid)
{
	struct operation *op = a->scratch;
	struct error err = {0};
	struct verdict v;

	*op = (struct operation){0};
	record_identity(a, uid, &op->identity);
	op->capability = C_EXEC;
	verdict_init(&v);
	verdict_deny(&v, R_IDENTITY_MISMATCH, NULL, "user %u is not served here", uid);
	if (record_denied(a, op, &v, NULL, NULL, NULL, &err) < 0)
		log_warning("user %u was turned away, and that was not recorded: %s", uid,
			    err.text);
}
