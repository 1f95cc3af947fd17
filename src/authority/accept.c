/*
 * Taking changes over, in order: what the session is bound to is read back (binding.c), the box
 * tells what would be done (the manifest), that is decided and recorded as an operation, and the
 * grant lets the box do exactly what the manifest says, which it computes anew.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/act_internal.h"
#include "authority/authority.h"
#include "authority/record.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "model/entry.h"
#include "model/result.h"
#include "policy/workflow.h"

#define MANIFEST_MAX (64 * 1024 * 1024) /* bytes */

struct accepting {
	json_t *paths;	       /* of the operation; NULL: everything */
	struct buf wire_paths; /* the same, for the box */
	struct workflow workflow;
	struct sha256 *manifest;
	size_t manifest_len;
	uint8_t manifest_digest[32];
	char op[OP_ID_MAX];
	struct buf entry;
	uint8_t digest[32];
	struct ask *profile_ask;
	const char *append_failed;
	char append_why[VERDICT_DETAIL_MAX];
	struct receipt receipt; /* of the intent; tree_size 0: none */
	struct verdict verdict;
	struct accept_result result;
	bool verified;
	uint64_t remaining;
	bool found; /* among what the box keeps */
	struct buf kept;
};

void
accepting_free(struct accepting *x)
{
	if (x == NULL)
		return;
	ask_detach(x->profile_ask);
	json_decref(x->paths);
	buf_fini(&x->wire_paths);
	buf_fini(&x->entry);
	buf_fini(&x->kept);
	sha256_free(x->manifest);
	free(x);
}

/* ---- the selection */

static int
take_path(struct accepting *x, const char *bytes, size_t len, struct error *err)
{
	char normal[PATH_BYTES_MAX];
	int r;

	r = path_relative(bytes, len, true, normal, err);
	if (r < 0)
		return r;
	/* The whole workspace is "." wherever it is written down, so that no path is empty. */
	if (normal[0] == '\0')
		memcpy(normal, ".", 2);
	buf_add(&x->wire_paths, normal, strlen(normal) + 1);
	if (x->paths == NULL)
		x->paths = json_array();
	if (json_array_append_new(x->paths, json_escaped(normal, strlen(normal))) != 0)
		return error_set(err, -ENOMEM, "out of memory for a selection");
	return buf_check(&x->wire_paths, err);
}

int
act_take_paths(struct act *act, struct wire_bytes paths, struct error *err)
{
	const char *at = paths.data;
	size_t left = paths.len;
	struct accepting *x = calloc(1, sizeof(*x));
	int r = 0;

	if (x == NULL)
		return error_set(err, -ENOMEM, "out of memory for an act");
	act->accepting = x;
	buf_init(&x->wire_paths, WIRE_BODY_MAX);
	while (r == 0 && left > 0) {
		size_t len = strnlen(at, left);

		if (len == left)
			return error_set(err, -EINVAL, "the last path has no end");
		r = take_path(x, at, len, err);
		at += len + 1;
		left -= len + 1;
	}
	return r;
}

/* ---- the end */

/* The operation was refused or failed: the denial names it, for its trace. */
static void
end_denied(struct act *act, const struct verdict *v)
{
	reply_deny(&act->asker, v, act->accepting->op);
	act_end(act);
}

static void end_with(struct act *act, enum reason reason, const char *fmt, ...) PRINTF(3, 4);

static void
end_with(struct act *act, enum reason reason, const char *fmt, ...)
{
	char detail[VERDICT_DETAIL_MAX];
	struct verdict v;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	verdict_init(&v);
	verdict_deny(&v, reason, NULL, "%s", detail);
	end_denied(act, &v);
}

static void
end_done(struct act *act)
{
	struct accepting *x = act->accepting;
	struct sessions *all = &act->asker.authority->sessions;
	struct session *s = act_session(act);
	CLEANUP(json_decrefp) json_t *doc = NULL;

	doc = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "session", act->session,
			"operation", x->op, "files", (json_int_t)x->result.files, "bytes",
			(json_int_t)x->result.bytes, "stripped", (json_int_t)x->result.stripped,
			"remaining", (json_int_t)x->remaining, "state",
			session_state_name(x->found ? SESSION_KEPT : SESSION_ENDED), "trace",
			x->verified ? "verified" : "unverified");
	if (s != NULL && x->found)
		s->changes = x->remaining;
	else if (s != NULL)
		session_drop(all, s);
	if (!x->found)
		act->holds = false;
	reply_json(&act->asker, doc);
	act_end(act);
}

/* ---- what is left */

static void
find_kept(struct act *act)
{
	struct accepting *x = act->accepting;
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct error err = {0};
	const json_t *item;
	size_t i;

	if (json_read(x->kept.data, x->kept.len, &list, &err) < 0) {
		log_warning("what the box keeps cannot be read: %s", err.text);
		return;
	}
	json_array_foreach(list, i, item)
	{
		const char *id = json_string_value(json_object_get(item, "session"));
		json_int_t changes = json_integer_value(json_object_get(item, "changes"));

		if (id == NULL || strcmp(id, act->session) != 0)
			continue;
		x->found = true;
		x->remaining = changes > 0 ? (uint64_t)changes : 0;
	}
}

static int
on_kept(void *arg, const struct msg_box_doc *m, struct error *err)
{
	struct act *act = arg;
	struct accepting *x = act->accepting;

	buf_add(&x->kept, m->part.data, m->part.len);
	if (m->last == 0)
		return 0;
	ticket_drop(&act->ticket);
	if (m->status == 0 && !x->kept.failed)
		find_kept(act);
	end_done(act);
	return 0;
}

static const struct ticket_ops kept_ops = {.doc = on_kept};

static void
ask_what_is_left(struct act *act)
{
	struct authority *a = act->asker.authority;
	struct error err = {0};

	buf_init(&act->accepting->kept, MANIFEST_MAX);
	ticket_take(&a->boxlink, &act->ticket, &kept_ops, act);
	if (PEER_SEND(&a->box, box_kept, &err, .ticket = act->ticket.number) < 0) {
		ticket_drop(&act->ticket);
		end_done(act);
	}
}

/* ---- performing */

static void
on_outcome_recorded(void *arg, struct answer *answer)
{
	struct act *act = arg;
	struct accepting *x = act->accepting;

	if (!answer->final)
		ask_detach(act->ask);
	act->ask = NULL;
	if (answer->code == 0)
		x->verified = x->receipt.index < answer->receipt.index &&
			      answer->receipt.index < answer->receipt.tree_size;
	if (x->result.status != RESULT_DONE)
		end_with(act, x->result.reason, "%s", x->result.detail);
	else
		ask_what_is_left(act);
}

static int
on_outcome(void *arg, const struct msg_outcome *m, struct error *err)
{
	struct act *act = arg;
	struct accepting *x = act->accepting;
	struct error why = {0};
	int r;

	r = accept_result_read(m->result.data, m->result.len, &x->result, err);
	if (r < 0)
		return error_prefix(err, "the outcome of %s", x->op);
	ticket_drop(&act->ticket);
	if (record_outcome(act->asker.authority, x->op, act->session, x->receipt.index, x->digest,
			   m, on_outcome_recorded, act, &act->ask, &why) < 0)
		on_outcome_recorded(
			act, &(struct answer){.code = why.code, .why = why.text, .final = true});
	return 0;
}

static int
on_started(void *arg, struct error *err)
{
	return 0;
}

static const struct ticket_ops perform_ops = {.started = on_started, .outcome = on_outcome};

static void
perform(struct act *act)
{
	struct accepting *x = act->accepting;
	struct authority *a = act->asker.authority;
	struct error err = {0};
	struct grant_step step;

	ticket_take(&a->boxlink, &act->ticket, &perform_ops, act);
	step = (struct grant_step){.ticket = act->ticket.number,
				   .entry = &x->entry,
				   .receipt = &x->receipt,
				   .profile_fd = act->binding.slot->fd};
	if (a->hooks->grant(a, &step, &err) == 0)
		return;
	record_indeterminate(a, x->receipt.index, x->op, act->session, err.text);
	end_with(act, R_INTERNAL, "it could not be granted: %s", err.text);
}

/* ---- recording */

static void
recorded(struct act *act)
{
	struct accepting *x = act->accepting;
	bool intent = x->receipt.tree_size > 0;

	if (x->append_failed == NULL) {
		perform(act);
		return;
	}
	if (intent)
		record_indeterminate(act->asker.authority, x->receipt.index, x->op, act->session,
				     x->append_why);
	end_with(act, R_AUDIT_UNAVAILABLE, "it could not be recorded: %s", x->append_why);
}

static void
append_answered(struct act *act, struct ask **ask, struct answer *answer)
{
	struct accepting *x = act->accepting;

	if (answer->code < 0) {
		x->append_failed = x->append_why;
		(void)snprintf(x->append_why, sizeof(x->append_why), "%.200s", answer->why);
	}
	/* Told at once; but a late receipt is waited for, because the intent has to be closed then.
	 */
	if (!answer->final) {
		verdict_init(&x->verdict);
		verdict_deny(&x->verdict, R_AUDIT_UNAVAILABLE, NULL, "it could not be recorded: %s",
			     x->append_why);
		reply_deny(&act->asker, &x->verdict, x->op);
		return;
	}
	*ask = NULL;
	if (act->ask == NULL && x->profile_ask == NULL)
		recorded(act);
}

static void
on_profile_recorded(void *arg, struct answer *answer)
{
	struct act *act = arg;

	if (answer->code == 0)
		act->binding.slot->recorded = true;
	append_answered(act, &act->accepting->profile_ask, answer);
}

static void
on_intent_recorded(void *arg, struct answer *answer)
{
	struct act *act = arg;

	if (answer->code == 0)
		act->accepting->receipt = answer->receipt;
	append_answered(act, &act->ask, answer);
}

static void
record(struct act *act, const struct operation *op)
{
	struct accepting *x = act->accepting;
	struct authority *a = act->asker.authority;
	struct error err = {0};
	int r;

	buf_init(&x->entry, ENTRY_MAX);
	r = record_intent_bytes(op, &x->verdict, &x->entry, x->digest, &err);
	if (r == 0 && !act->binding.slot->recorded)
		r = record_profile(a, act->binding.slot, on_profile_recorded, act, &x->profile_ask,
				   &err);
	if (r == 0)
		r = record_intent(a, op, &x->verdict, &x->entry, x->digest, NULL, 0,
				  on_intent_recorded, act, &act->ask, &err);
	if (r == 0)
		return;
	x->append_failed = x->append_why;
	(void)snprintf(x->append_why, sizeof(x->append_why), "%.200s", err.text);
	if (x->profile_ask == NULL)
		recorded(act);
}

/* ---- deciding */

static void
on_denial_recorded(void *arg, struct answer *answer)
{
	struct act *act = arg;

	if (!answer->final)
		ask_detach(act->ask);
	act->ask = NULL;
	end_denied(act, &act->accepting->verdict);
}

static void
operation_fill(const struct act *act, struct operation *op)
{
	const struct accepting *x = act->accepting;

	*op = (struct operation){.capability = C_WORKSPACE_ACCEPT, .mode = WORKSPACE_OVERLAY};
	record_identity(act->asker.authority, act->asker.uid, &op->identity);
	memcpy(op->op, x->op, sizeof(op->op));
	(void)snprintf(op->session, sizeof(op->session), "%s", act_session(act)->id);
	(void)snprintf(op->workflow, sizeof(op->workflow), "%s", x->workflow.name);
	(void)snprintf(op->profile_name, sizeof(op->profile_name), "%s", act->binding.profile_name);
	memcpy(op->profile_digest, act->binding.profile_digest, sizeof(op->profile_digest));
	op->facts.workspace = act->binding.workspace;
	memcpy(op->manifest, x->manifest_digest, sizeof(op->manifest));
	op->paths = x->paths;
}

static void
decide(struct act *act)
{
	struct accepting *x = act->accepting;
	struct authority *a = act->asker.authority;
	struct operation *op = a->scratch;
	struct error err = {0};

	if (act_session(act) == NULL || workflow_find("", act->asker.uid, &x->workflow, &err) < 0) {
		end_with(act, R_SESSION_ENDED, "session %s is over", act->session);
		return;
	}
	operation_fill(act, op);
	policy_decide(act->binding.slot->policy, &x->workflow, op, &x->verdict);
	if (x->verdict.effect == EFFECT_ALLOW)
		record(act, op);
	else if (record_denied(a, op, &x->verdict, on_denial_recorded, act, &act->ask, &err) < 0)
		end_denied(act, &x->verdict);
	/* It is borrowed, and the scratch is everybody's. */
	op->paths = NULL;
}

/* ---- the manifest */

static int
on_manifest(void *arg, const struct msg_box_doc *m, struct error *err)
{
	struct act *act = arg;
	struct accepting *x = act->accepting;

	if (m->status == 0) {
		sha256_add(x->manifest, m->part.data, m->part.len);
		x->manifest_len += m->part.len;
	}
	if (m->last == 0)
		return 0;
	ticket_drop(&act->ticket);
	if (m->status < 0) {
		reply_box_refusal(&act->asker, "loom session diff", m->part.data, m->part.len);
		act_end(act);
		return 0;
	}
	sha256_end(x->manifest, x->manifest_digest);
	decide(act);
	return 0;
}

static const struct ticket_ops manifest_ops = {.doc = on_manifest};

static void
ask_manifest(struct act *act)
{
	struct accepting *x = act->accepting;
	struct authority *a = act->asker.authority;
	struct error err = {0};

	x->manifest = sha256_new();
	if (x->manifest == NULL || op_id_new(x->op, &err) < 0) {
		act_deny(act, R_INTERNAL, NULL, "out of memory for a manifest");
		return;
	}
	ticket_take(&a->boxlink, &act->ticket, &manifest_ops, act);
	if (PEER_SEND(&a->box, box_diff, &err, .ticket = act->ticket.number,
		      .session = wire_text_of(act->session), .form = DIFF_MANIFEST,
		      .paths = wire_bytes_of(x->wire_paths.data, x->wire_paths.len)) < 0)
		act_deny(act, R_INTERNAL, NULL, "the box could not be asked: %s", err.text);
}

void
act_accept(struct act *act, struct session *s)
{
	if (s->state != SESSION_KEPT) {
		act_deny(act, R_SESSION_ENDED, "loom session ls", "nothing is kept of session %s",
			 s->id);
		return;
	}
	s->busy = true;
	act->holds = true;
	binding_find(act, s, ask_manifest);
}
