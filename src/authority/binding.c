/*
 * A session is bound for life to a workspace and a profile. Both are read back from the record, for
 * nothing else is believed: the workspace from the session's first intent, and the profile's text
 * from the store, unless the one in use is still the same.
 */
#include <errno.h>
#include <string.h>

#include "authority/act_internal.h"
#include "authority/authority.h"
#include "base/fd.h"
#include "base/json.h"
#include "model/entry.h"

static void
unbound(struct act *act, const char *why)
{
	act_deny(act, R_AUDIT_UNAVAILABLE, "loom ledger verify",
		 "what session %s is bound to cannot be read back: %s", act->session, why);
}

static void
on_profile_text(void *arg, struct answer *answer)
{
	struct act *act = arg;
	struct binding *b = &act->binding;
	CLEANUP(buf_fini) struct buf text = {0};
	struct error err = {0};
	int r = answer->code;

	if (!answer->final)
		ask_detach(act->ask);
	act->ask = NULL;
	if (r < 0) {
		unbound(act, answer->why);
		return;
	}
	buf_init(&text, PROFILE_CANONICAL_MAX);
	r = fd_memfd_read(answer->fd, &text, &err);
	if (r == 0)
		r = slot_of_canonical(text.data, text.len, &b->slot, &err);
	if (r == 0 && memcmp(b->slot->profile->digest, b->profile_digest, 32) != 0)
		r = error_set(&err, -EBADMSG, "the profile's text has another digest");
	if (r < 0)
		unbound(act, err.text);
	else
		b->found(act);
}

/* The profile as it was when the session began: the one in use if it is that, else from the store.
 */
static void
find_profile(struct act *act)
{
	struct binding *b = &act->binding;
	struct authority *a = act->asker.authority;
	struct slot *s = NULL;
	struct error err = {0};

	if (profiles_find(&a->profiles, b->profile_name, &s, &err) == 0 &&
	    memcmp(s->profile->digest, b->profile_digest, sizeof(b->profile_digest)) == 0) {
		b->slot = s;
		b->found(act);
		return;
	}
	slot_unref(s);
	err = (struct error){0};
	if (history_blob(&a->history, b->profile_digest, on_profile_text, act, &act->ask, &err) < 0)
		unbound(act, err.text);
}

static void look_next(struct act *act);

/* Is it an intent of a run in this session, under the profile it is bound to? */
static bool
binds(struct act *act, const struct wire_bytes *bytes)
{
	struct binding *b = &act->binding;
	struct operation *op = act->asker.authority->scratch;
	const struct session *s = act_session(act);
	struct error err = {0};
	struct entry e;
	bool found;

	if (entry_read(bytes->data, bytes->len, &e, &err) < 0)
		return false;
	found = s != NULL && strcmp(e.kind, "intent") == 0 &&
		operation_read(json_object_get(e.json, "operation"), op, &err) == 0;
	if (found) {
		found = op->capability == C_EXEC && strcmp(op->session, s->id) == 0 &&
			op->identity.uid == s->uid &&
			memcmp(op->profile_digest, s->profile_digest, 32) == 0;
		if (found) {
			b->workspace = op->facts.workspace;
			memcpy(b->profile_name, op->profile_name, sizeof(b->profile_name));
			memcpy(b->profile_digest, op->profile_digest, sizeof(b->profile_digest));
		}
		operation_fini(op);
	}
	entry_fini(&e);
	return found;
}

static void
on_entry(void *arg, struct answer *answer)
{
	struct act *act = arg;

	if (!answer->final)
		ask_detach(act->ask);
	act->ask = NULL;
	if (answer->code < 0)
		unbound(act, answer->why);
	else if (answer->entry.len > 0 && binds(act, &answer->entry))
		find_profile(act);
	else
		look_next(act);
}

static void
look_next(struct act *act)
{
	struct binding *b = &act->binding;
	struct error err = {0};

	if (b->at_index == b->n_indexes)
		unbound(act, "no run of it is recorded");
	else if (history_read(&act->asker.authority->history, b->indexes[b->at_index++], 1,
			      on_entry, act, &act->ask, &err) < 0)
		unbound(act, err.text);
}

void
binding_find(struct act *act, const struct session *s, void (*found)(struct act *act))
{
	struct binding *b = &act->binding;
	struct error err = {0};

	b->found = found;
	if (views_first(act->asker.authority->views, s->id, b->indexes, BINDING_LOOKS,
			&b->n_indexes, &err) < 0)
		unbound(act, err.text);
	else
		look_next(act);
}
