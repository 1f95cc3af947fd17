/*
 * All entries of the authority are made here and nowhere else.
 */
#include "authority/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "authority/authority.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "model/entry.h"
#include "policy/workflow.h"

void
record_identity(const struct authority *a, uint32_t uid, struct identity *ret)
{
	*ret = (struct identity){.kind = "agent", .name = SELF_IDENTITY, .uid = uid};
	/* We know the name of one user. */
	if (uid == a->settings.uid)
		(void)snprintf(ret->owner, sizeof(ret->owner), "%s", a->settings.owner);
}

int
record_intent_bytes(const struct operation *op, const struct verdict *v, struct buf *out,
		    uint8_t ret_digest[32], struct error *err)
{
	CLEANUP(json_decrefp) json_t *operation = NULL;
	int r;

	operation = operation_json(op, err);
	if (operation == NULL)
		return err->code < 0 ? err->code : -EINVAL;
	r = operation_digest(operation, ret_digest, err);
	return r < 0 ? r : entry_intent(op, v, clock_wall_ms(), out, err);
}

int
record_intent(struct authority *a, const struct operation *op, const struct verdict *v,
	      const struct buf *entry, const uint8_t digest[32], const int *fds, size_t n_fds,
	      ask_fn fn, void *arg, struct ask **ret_ask, struct error *err)
{
	struct row row;

	row_init(&row, ENTRY_INTENT, clock_wall_ms());
	row_of_operation(&row, op, v);
	return history_append(&a->history,
			      &(struct append){.kind = ENTRY_INTENT,
					       .entry = entry,
					       .digest = digest,
					       .fds = fds,
					       .n_fds = n_fds,
					       .row = &row},
			      fn, arg, ret_ask, err);
}

int
record_denied(struct authority *a, const struct operation *op, const struct verdict *v, ask_fn fn,
	      void *arg, struct ask **ret_ask, struct error *err)
{
	CLEANUP(buf_fini) struct buf entry;
	uint64_t now = clock_wall_ms();
	struct row row;
	int r;

	buf_init(&entry, ENTRY_MAX);
	r = entry_denied(op, v, now, &entry, err);
	if (r < 0)
		return r;
	row_init(&row, ENTRY_EVENT, now);
	row_of_operation(&row, op, v);
	(void)snprintf(row.event, sizeof(row.event), "denied");
	return history_append(&a->history,
			      &(struct append){.kind = ENTRY_EVENT, .entry = &entry, .row = &row},
			      fn, arg, ret_ask, err);
}

int
record_outcome(struct authority *a, const char *op, const char *session, uint64_t intent,
	       const uint8_t digest[32], const struct msg_outcome *m, ask_fn fn, void *arg,
	       struct ask **ret_ask, struct error *err)
{
	CLEANUP(buf_fini) struct buf entry;
	struct outcome_step step = {.entry = &entry, .mac = m->mac};
	uint64_t now = clock_wall_ms();
	struct row row;
	int r;

	buf_init(&entry, ENTRY_MAX);
	r = entry_outcome(op, session, intent, digest, m->result.data, m->result.len, now, &entry,
			  err);
	if (r == 0)
		r = a->hooks->outcome(a, &step, err);
	if (r < 0)
		return r;
	row_init(&row, ENTRY_OUTCOME, now);
	(void)snprintf(row.op, sizeof(row.op), "%s", op);
	(void)snprintf(row.session, sizeof(row.session), "%s", session);
	return history_append(
		&a->history,
		&(struct append){
			.kind = ENTRY_OUTCOME, .entry = step.entry, .mac = step.mac, .row = &row},
		fn, arg, ret_ask, err);
}

/* ---- events */

static void
on_forgotten(void *arg, struct answer *answer)
{
	if (answer->code < 0)
		log_warning("an event was not recorded: %s", answer->why);
}

/* FIELDS is taken; NULL: memory ran out while it was made. */
static int
event_append(struct authority *a, const char *event, json_t *fields, struct row *row,
	     const int *fds, size_t n_fds, ask_fn fn, void *arg, struct ask **ret_ask,
	     struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = fields;
	CLEANUP(buf_fini) struct buf entry;
	int r;

	if (v == NULL)
		return error_set(err, -ENOMEM, "out of memory for an event");
	buf_init(&entry, ENTRY_MAX);
	r = entry_event(event, v, clock_wall_ms(), &entry, err);
	if (r < 0)
		return r;
	(void)snprintf(row->event, sizeof(row->event), "%s", event);
	return history_append(&a->history,
			      &(struct append){.kind = ENTRY_EVENT,
					       .entry = &entry,
					       .fds = fds,
					       .n_fds = n_fds,
					       .row = row},
			      fn != NULL ? fn : on_forgotten, arg, ret_ask, err);
}

static json_t *
identity_json(const struct authority *a, uint32_t uid)
{
	struct identity id;

	record_identity(a, uid, &id);
	return json_pack("{s:s, s:s, s:s, s:I}", "kind", id.kind, "name", id.name, "owner",
			 id.owner, "uid", (json_int_t)id.uid);
}

int
record_profile(struct authority *a, const struct slot *slot, ask_fn fn, void *arg,
	       struct ask **ret_ask, struct error *err)
{
	struct row row;

	row_init(&row, ENTRY_EVENT, clock_wall_ms());
	return event_append(a, "profile",
			    json_pack("{s:[s], s:{s:s, s:s}}", "blobs", slot->hex, "profile",
				      "name", slot->name, "digest", slot->hex),
			    &row, &slot->fd, 1, fn, arg, ret_ask, err);
}

int
record_session_name(struct authority *a, const struct session *s, ask_fn fn, void *arg,
		    struct ask **ret_ask, struct error *err)
{
	struct row row;

	row_init(&row, ENTRY_EVENT, clock_wall_ms());
	(void)snprintf(row.session, sizeof(row.session), "%s", s->id);
	(void)snprintf(row.name, sizeof(row.name), "%s", s->name);
	row.uid = s->uid;
	return event_append(a, "session",
			    json_pack("{s:s, s:s, s:o}", "session", s->id, "name", s->name,
				      "identity", identity_json(a, s->uid)),
			    &row, NULL, 0, fn, arg, ret_ask, err);
}

int
record_session_event(struct authority *a, const char *name, const struct session *s, ask_fn fn,
		     void *arg, struct ask **ret_ask, struct error *err)
{
	struct row row;

	row_init(&row, ENTRY_EVENT, clock_wall_ms());
	(void)snprintf(row.session, sizeof(row.session), "%s", s->id);
	row.uid = s->uid;
	return event_append(
		a, name,
		json_pack("{s:s, s:o}", "session", s->id, "identity", identity_json(a, s->uid)),
		&row, NULL, 0, fn, arg, ret_ask, err);
}

int
record_indeterminate_then(struct authority *a, uint64_t intent, const char *op, const char *session,
			  const char *why, ask_fn fn, void *arg, struct error *err)
{
	struct row row;

	row_init(&row, ENTRY_EVENT, clock_wall_ms());
	(void)snprintf(row.op, sizeof(row.op), "%s", op);
	(void)snprintf(row.session, sizeof(row.session), "%s", session);
	return event_append(a, "indeterminate",
			    json_pack("{s:I, s:s, s:s*, s:o}", "intent", (json_int_t)intent, "op",
				      op, "session", session[0] != '\0' ? session : NULL, "detail",
				      json_escaped(why, strlen(why))),
			    &row, NULL, 0, fn, arg, NULL, err);
}

void
record_indeterminate(struct authority *a, uint64_t intent, const char *op, const char *session,
		     const char *why)
{
	struct error err = {0};

	if (record_indeterminate_then(a, intent, op, session, why, NULL, NULL, &err) < 0)
		log_warning("%s is indeterminate, and that was not recorded: %s", op, err.text);
}
