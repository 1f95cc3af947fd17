/*
 * The authority's messages, each with its handler, as a table. Documents (diffs, lists) are made by
 * jobs and sent in parts; nothing here waits for anything but the authority reading.
 */
#include "box/box.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "box/accept.h"
#include "box/changes.h"
#include "box/job.h"
#include "box/store.h"

#define DOC_PART 60000

int
box_send_doc(struct box *b, uint64_t ticket, int status, const void *data, size_t len,
	     struct error *err)
{
	const char *at = data;
	int r = 0;

	do {
		size_t part = len < DOC_PART ? len : DOC_PART;

		r = CHANNEL_SEND(&b->authority, box_doc, err, .ticket = ticket, .status = status,
				 .last = part == len, .part = wire_bytes_of(at, part));
		at += part;
		len -= part;
	} while (r == 0 && len > 0);
	return r;
}

/* A document as a person or a program reads an error: {"detail","reason"}. */
static void
send_refusal(struct box *b, uint64_t ticket, int status, enum reason reason, const char *detail)
{
	CLEANUP(json_decrefp)
	json_t *doc = json_pack("{s:s,s:s}", "detail", detail, "reason", reason_code(reason));
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};

	buf_init(&text, 4096);
	if (doc == NULL || json_write_canonical(doc, &text, &err) < 0)
		buf_reset(&text);
	if (box_send_doc(b, ticket, status, text.data, text.len, &err) < 0)
		fatal("a document could not be sent: %s", err.text);
}

/* ---- documents made by a job ---- */

struct document {
	uint64_t ticket;
	int sessions;
	int out; /* memfd */
	enum diff_form form;
	char session[SESSION_ID_MAX];
	char *paths;
	size_t paths_len;
};
struct document_answer {
	int code;
	enum reason reason;
	struct error err;
};

static void
document_free(struct document *d)
{
	fd_closep(&d->out);
	free(d->paths);
	free(d);
}

static struct document *
document_new(struct box *b, uint64_t ticket, struct error *err)
{
	struct document *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		(void)error_set(err, -ENOMEM, "no memory for a document");
		return NULL;
	}
	*d = (struct document){.ticket = ticket, .sessions = b->sessions};
	d->out = memfd_create("document", MFD_CLOEXEC);
	if (d->out < 0) {
		(void)error_sys(err, -errno, "memfd");
		document_free(d);
		return NULL;
	}
	return d;
}

static void
work_diff(void *arg, void *answer)
{
	struct document *d = arg;
	struct document_answer *a = answer;
	const struct diff_in in = {.sessions = d->sessions,
				   .session = d->session,
				   .form = d->form,
				   .paths = d->paths,
				   .paths_len = d->paths_len,
				   .out_fd = d->out};

	a->reason = R_INTERNAL;
	a->code = diff_job(&in, &a->reason, &a->err);
}

static void
work_kept(void *arg, void *answer)
{
	struct document *d = arg;
	struct document_answer *a = answer;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 16u << 20);
	a->reason = R_INTERNAL;
	a->code = store_list(d->sessions, &out, &a->err);
	if (a->code == 0)
		a->code = fd_write_all(d->out, out.data, out.len, &a->err);
}

static void
work_remove(void *arg, void *answer)
{
	struct document *d = arg;
	struct document_answer *a = answer;

	a->code = store_remove(d->sessions, d->session, &a->err);
	a->reason = a->code == -ENOENT ? R_SESSION_ENDED : a->code == -EBUSY ? R_BUSY : R_INTERNAL;
	if (a->code == 0)
		a->code = fd_write_all(d->out, "{}", 2, &a->err);
}

static void
document_done(struct box *b, void *arg, void *answer, bool answered)
{
	struct document *d = arg;
	struct document_answer *a = answer;
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};

	buf_init(&text, CHANGES_OUTPUT_MAX);
	if (answered && a->code == 0 &&
	    (lseek(d->out, 0, SEEK_SET) != 0 || fd_read_to_end(d->out, &text, &a->err) < 0)) {
		a->code = -EIO;
		a->reason = R_INTERNAL;
	}
	if (!answered)
		send_refusal(b, d->ticket, -EPIPE, R_INTERNAL, "the work broke off");
	else if (a->code != 0)
		send_refusal(b, d->ticket, a->code, a->reason, a->err.text);
	else if (box_send_doc(b, d->ticket, 0, text.data, text.len, &err) < 0)
		fatal("a document could not be sent: %s", err.text);
	document_free(d);
}

static int
start_document(struct box *b, struct document *d, job_work work, struct error *err)
{
	int r = job_start(b, work, document_done, d, sizeof(struct document_answer), err);

	if (r < 0)
		document_free(d);
	return r;
}

/* ---- accept ---- */

struct acceptance {
	uint64_t ticket;
	struct grant *grant;
	int sessions;
};

static void
work_accept(void *arg, void *answer)
{
	struct acceptance *a = arg;
	const struct accept_in in = {.sessions = a->sessions,
				     .session = a->grant->op.session,
				     .manifest = a->grant->op.manifest,
				     .paths = a->grant->op.paths,
				     .workspace = &a->grant->op.facts.workspace};

	accept_job(&in, answer);
}

static void
send_accepted(struct box *b, const struct acceptance *a, const struct accept_result *result)
{
	CLEANUP(buf_fini) struct buf out;
	struct error err = {0};
	uint8_t mac[32];
	int r;

	buf_init(&out, WIRE_BODY_MAX);
	r = accept_result_write(result, &out, &err);
	if (r == 0) {
		outcome_mac(b->key.data, a->grant->receipt.index, a->grant->receipt.digest,
			    out.data, out.len, mac);
		r = CHANNEL_SEND(&b->authority, outcome, &err, .ticket = a->ticket,
				 .result = wire_bytes_of(out.data, out.len),
				 .mac = wire_bytes_of(mac, sizeof(mac)));
	}
	if (r < 0)
		fatal("an outcome could not be told: %s", err.text);
}

static void
accepted(struct box *b, void *arg, void *answer, bool answered)
{
	struct acceptance *a = arg;
	struct accept_result broken = {.status = RESULT_FAILED, .reason = R_INTERNAL};

	(void)snprintf(broken.detail, sizeof(broken.detail),
		       "the accept broke off; what it did is undone at the next start");
	memcpy(broken.manifest, a->grant->op.manifest, sizeof(broken.manifest));
	send_accepted(b, a, answered ? answer : &broken);
	grant_free(a->grant);
	free(a);
}

static void
refuse_accept(struct box *b, struct acceptance *a, enum reason reason, const char *detail)
{
	struct accept_result no = {.status = RESULT_REFUSED, .reason = reason};

	(void)snprintf(no.detail, sizeof(no.detail), "%.*s", (int)sizeof(no.detail) - 1, detail);
	send_accepted(b, a, &no);
	grant_free(a->grant);
	free(a);
}

static int
start_accept(struct box *b, uint64_t ticket, struct grant *g, const struct profile *profile,
	     const struct error *no_profile, struct error *err)
{
	struct acceptance *a = calloc(1, sizeof(*a));
	struct error why = {0};

	if (a == NULL) {
		grant_free(g);
		return error_set(err, -ENOMEM, "no memory for an accept");
	}
	*a = (struct acceptance){.ticket = ticket, .grant = g, .sessions = b->sessions};
	if (profile == NULL)
		refuse_accept(b, a, R_PROFILE_MISMATCH, no_profile->text);
	else if ((profile->capabilities & CAPABILITY_BIT(C_WORKSPACE_ACCEPT)) == 0)
		refuse_accept(b, a, R_NOT_AUTHORIZED, "the profile does not have workspace.accept");
	else if (run_session_live(b, a->grant->op.session))
		refuse_accept(b, a, R_BUSY, "the session is running");
	else if (job_start(b, work_accept, accepted, a, sizeof(struct accept_result), &why) < 0)
		refuse_accept(b, a, R_INTERNAL, why.text);
	return 0;
}

/* ---- messages ---- */

#define DECODE(b, name, m, err)                                                                    \
	struct msg_##name m;                                                                       \
	int code_ = msg_##name##_decode((b)->packet.body, (b)->packet.len, &(m), err);             \
	if (code_ < 0)                                                                             \
	return code_

static int
on_examine(struct box *b, struct error *err)
{
	DECODE(b, examine, m, err);
	return run_examine(b, &m, &b->packet, err);
}

static int
on_forget(struct box *b, struct error *err)
{
	struct run *r;

	DECODE(b, forget, m, err);
	r = run_find(b, m.ticket);
	if (r != NULL)
		run_forget(r);
	return 0;
}

/*
 * What is wrong with the record ends us: an honest authority never sends it, and an answer under
 * our MAC could stand for an operation that was not refused. What is wrong with the rest is an
 * outcome.
 */
static int
on_grant(struct box *b, struct error *err)
{
	CLEANUP(grant_freep) struct grant *g = NULL;
	struct error why = {0};
	struct run *r;
	int code;

	DECODE(b, grant, m, err);
	code = grant_read(&b->key, &b->seen, &m, &g, err);
	if (code < 0)
		return code;
	code = grant_profile(g, b->packet.fds[0], &b->profile, &why);
	r = run_find(b, m.ticket);
	if (g->op.capability == C_WORKSPACE_ACCEPT && r == NULL)
		return start_accept(b, m.ticket, TAKE_PTR(g), code == 0 ? b->profile : NULL, &why,
				    err);
	if (g->op.capability != C_EXEC || r == NULL || r->state != RUN_HELD)
		return error_set(err, -EPROTO, "a grant of %s that belongs to no ticket",
				 capability_name(g->op.capability));
	run_start(r, TAKE_PTR(g), code == 0 ? b->profile : NULL, &why);
	return 0;
}

static int
on_signal(struct box *b, struct error *err)
{
	struct run *r;

	DECODE(b, box_signal, m, err);
	r = run_find(b, m.ticket);
	if (r != NULL)
		run_signal(r, m.signo);
	return 0;
}

static int
on_winsize(struct box *b, struct error *err)
{
	struct run *r;

	DECODE(b, box_winsize, m, err);
	r = run_find(b, m.ticket);
	if (r != NULL)
		run_winsize(r, (uint16_t)m.rows, (uint16_t)m.columns);
	return 0;
}

static int
on_stop(struct box *b, struct error *err)
{
	struct run *r;

	DECODE(b, box_stop, m, err);
	r = run_find(b, m.ticket);
	if (r != NULL)
		run_stop(r, m.why != 0 ? m.why : STOP_ASKED);
	return 0;
}

static int
on_diff(struct box *b, struct error *err)
{
	struct document *d;

	DECODE(b, box_diff, m, err);
	d = document_new(b, m.ticket, err);
	if (d == NULL)
		return err->code;
	d->form = (enum diff_form)m.form;
	if (wire_text_copy(m.session, d->session, sizeof(d->session)) < 0 ||
	    m.form > DIFF_MANIFEST) {
		document_free(d);
		send_refusal(b, m.ticket, -EINVAL, R_INVALID_REQUEST, "no such session or form");
		return 0;
	}
	if (m.paths.len > 0) {
		d->paths = malloc(m.paths.len);
		if (d->paths == NULL) {
			document_free(d);
			return error_set(err, -ENOMEM, "no memory for a selection");
		}
		memcpy(d->paths, m.paths.data, m.paths.len);
		d->paths_len = m.paths.len;
	}
	return start_document(b, d, work_diff, err);
}

static int
on_kept(struct box *b, struct error *err)
{
	struct document *d;

	DECODE(b, box_kept, m, err);
	d = document_new(b, m.ticket, err);
	return d != NULL ? start_document(b, d, work_kept, err) : err->code;
}

static int
on_rm(struct box *b, struct error *err)
{
	struct document *d;

	DECODE(b, box_rm, m, err);
	d = document_new(b, m.ticket, err);
	if (d == NULL)
		return err->code;
	if (wire_text_copy(m.session, d->session, sizeof(d->session)) < 0)
		send_refusal(b, m.ticket, -EINVAL, R_INVALID_REQUEST, "no such session");
	else if (run_session_live(b, d->session))
		send_refusal(b, m.ticket, -EBUSY, R_BUSY, "the session is running; stop it first");
	else
		return start_document(b, d, work_remove, err);
	document_free(d);
	return 0;
}

static const struct {
	uint32_t type;
	int (*handle)(struct box *b, struct error *err);
} box_handlers[] = {
	{MSG_examine, on_examine},     {MSG_forget, on_forget}, {MSG_grant, on_grant},
	{MSG_box_signal, on_signal},   {MSG_box_stop, on_stop}, {MSG_box_diff, on_diff},
	{MSG_box_winsize, on_winsize}, {MSG_box_kept, on_kept}, {MSG_box_rm, on_rm},
};

int
box_on_packet(struct box *b, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(box_handlers); i++)
		if (box_handlers[i].type == b->packet.type)
			return box_handlers[i].handle(b, err);
	return error_set(err, -EPROTO, "a message with no handler");
}
