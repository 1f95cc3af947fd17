/*
 * The three questions go out together; each answer takes one off the count, and the last one opens
 * the doors. What cannot be recorded now (a full disk) does not keep the doors shut: stopping,
 * looking and telling still work, the ledger refuses what is new, and it still knows which intents
 * are open at the next start.
 */
#include "authority/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "authority/authority.h"
#include "authority/record.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "model/entry.h"

#define KEPT_MAX (16 * 1024 * 1024)
#define OPEN_MAX 16384 /* intents; the ledger keeps no more open */
#define CLOSING_MAX 64 /* indeterminate events on their way at once */
#define WHY_LEFT "Loom ended before its outcome was known"

void
start_fini(struct authority *a)
{
	struct start *s = &a->start;

	ask_detach(s->head);
	ask_detach(s->open);
	ticket_drop(&s->kept);
	buf_fini(&s->kept_text);
	free(s->left);
	*s = (struct start){0};
}

/* ---- the end of it */

static void
names_learn(struct authority *a)
{
	for (struct session *s = a->sessions.first; s != NULL; s = s->next) {
		char name[NAME_MAX_LEN + 1];
		struct error err = {0};

		if (views_session_name(a->views, s->number, s->uid, name, &err) < 0)
			return;
		if (name[0] != '\0')
			sessions_set_name(&a->sessions, s->number, s->uid, name);
	}
}

static void
open_doors(struct authority *a)
{
	struct error err = {0};
	int r;

	names_learn(a);
	sessions_seen(&a->sessions, views_last_session(a->views));
	r = doors_open(a, &err);
	if (r == 0)
		r = PEER_SEND(&a->loomd, ready, &err, .pid = (uint32_t)getpid());
	if (r < 0) {
		authority_broken(a, "%s", err.text);
		return;
	}
	a->loomd.channel.state = S_OPEN;
	idle_start(a);
}

static void
one_less(struct authority *a)
{
	if (--a->start.waits == 0)
		open_doors(a);
}

/* ---- what the box keeps */

static int
kept_add(struct authority *a, const json_t *v, struct error *err)
{
	struct session_kept k = {0};
	const char *id, *digest;
	int64_t owner, started, ended, changes;
	int r;

	r = json_get_text(v, "session", &id, err);
	if (r == 0)
		r = json_get_text(v, "profile", &digest, err);
	if (r == 0)
		r = json_get_text(v, "path", &k.path, err);
	if (r == 0)
		r = json_get_int(v, "owner", 0, UINT32_MAX, &owner, err);
	if (r == 0)
		r = json_get_int(v, "started", 0, JSON_INT_MAX, &started, err);
	if (r == 0)
		r = json_get_int(v, "ended", 0, JSON_INT_MAX, &ended, err);
	if (r == 0)
		r = json_get_int(v, "changes", 0, JSON_INT_MAX, &changes, err);
	if (r < 0)
		return r;
	if (!session_id_parse(id, &k.number) || strlen(digest) != 64 ||
	    hex_decode(digest, k.profile_digest, 32) < 0)
		return error_set(err, -EINVAL, "no id of a session, or no digest");
	k.uid = (uint32_t)owner;
	k.profile = profiles_name_of(&a->profiles, k.profile_digest);
	k.started_ms = (uint64_t)started;
	k.ended_ms = (uint64_t)ended;
	k.changes = (uint64_t)changes;
	return sessions_add_kept(&a->sessions, &k, err);
}

static void
kept_read(struct authority *a)
{
	CLEANUP(json_decrefp) json_t *list = NULL;
	struct error err = {0};
	const json_t *item;
	size_t i;

	if (buf_check(&a->start.kept_text, &err) < 0 ||
	    json_read(a->start.kept_text.data, a->start.kept_text.len, &list, &err) < 0) {
		authority_broken(a, "what the box keeps cannot be read: %s", err.text);
		return;
	}
	json_array_foreach(list, i, item)
	{
		err = (struct error){0};
		if (kept_add(a, item, &err) < 0)
			log_warning("a kept session is left out: %s", err.text);
	}
}

static int
on_kept(void *arg, const struct msg_box_doc *m, struct error *err)
{
	struct authority *a = arg;

	buf_add(&a->start.kept_text, m->part.data, m->part.len);
	if (m->last == 0)
		return 0;
	ticket_drop(&a->start.kept);
	if (m->status < 0)
		return error_set(err, m->status, "the box cannot tell what it keeps");
	kept_read(a);
	one_less(a);
	return 0;
}

static const struct ticket_ops kept_ops = {.doc = on_kept};

/* ---- intents without an outcome */

static void close_more(struct authority *a);

static void
on_closed(void *arg, struct answer *answer)
{
	struct authority *a = arg;

	/* A late answer to one that was given up. */
	if (a->start.n_closing == 0)
		return;
	if (answer->code < 0) {
		log_warning("an open intent is left for the next start: %s", answer->why);
		a->start.next_left = a->start.n_left;
	}
	if (answer->final || answer->code < 0)
		a->start.n_closing--;
	close_more(a);
}

static void
close_more(struct authority *a)
{
	struct start *s = &a->start;

	while (s->next_left < s->n_left && s->n_closing < CLOSING_MAX) {
		const struct open_operation *o = &s->left[s->next_left++];
		struct error err = {0};

		if (record_indeterminate_then(a, o->intent, o->op, o->session, WHY_LEFT, on_closed,
					      a, &err) < 0) {
			log_warning("an open intent is left for the next start: %s", err.text);
			s->next_left = s->n_left;
			break;
		}
		s->n_closing++;
	}
	if (s->next_left == s->n_left && s->n_closing == 0 && !s->closed) {
		s->closed = true;
		one_less(a);
	}
}

static int
left_add(struct authority *a, const struct answer *answer, struct error *err)
{
	struct start *s = &a->start;
	struct open_operation *o;
	struct entry e;
	int r;

	if (s->n_left == OPEN_MAX)
		return error_set(err, -EPROTO, "more than %d open intents", OPEN_MAX);
	if (s->n_left == s->left_cap) {
		size_t cap = s->left_cap == 0 ? 16 : 2 * s->left_cap;
		struct open_operation *left = reallocarray(s->left, cap, sizeof(*left));

		if (left == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		s->left = left;
		s->left_cap = cap;
	}
	r = entry_read(answer->entry.data, answer->entry.len, &e, err);
	if (r < 0)
		return r;
	if (e.op == NULL || strcmp(e.kind, "intent") != 0) {
		entry_fini(&e);
		return error_set(err, -EPROTO, "an open intent that is none");
	}
	o = &s->left[s->n_left++];
	*o = (struct open_operation){.intent = answer->index};
	memcpy(o->op, e.op, strlen(e.op) + 1);
	if (e.session != NULL)
		memcpy(o->session, e.session, strlen(e.session) + 1);
	entry_fini(&e);
	return 0;
}

static void
on_open(void *arg, struct answer *answer)
{
	struct authority *a = arg;
	struct error err = {0};

	if (answer->final)
		a->start.open = NULL;
	if (answer->code < 0) {
		authority_broken(a, "the ledger does not tell its open intents: %s", answer->why);
		return;
	}
	if (answer->entry.len > 0 && left_add(a, answer, &err) < 0) {
		authority_broken(a, "open intent %llu: %s", (unsigned long long)answer->index,
				 err.text);
		return;
	}
	if (answer->final) {
		if (a->start.n_left > 0)
			log_warning("%zu operations have no outcome: indeterminate",
				    a->start.n_left);
		close_more(a);
	}
}

/* ---- the ledger's head */

static void
on_head(void *arg, struct answer *answer)
{
	struct authority *a = arg;
	struct views_spec spec = {.dir = a->views_dir, .vkey = a->vkey, .boot = a->settings.boot};
	struct error err = {0};
	bool fresh;

	if (answer->final)
		a->start.head = NULL;
	if (answer->code < 0) {
		authority_broken(a, "the ledger does not tell its head: %s", answer->why);
		return;
	}
	if (wire_text_copy(answer->head.vkey, a->vkey, sizeof(a->vkey)) < 0) {
		authority_broken(a, "the ledger's key is too long");
		return;
	}
	a->vkey[strcspn(a->vkey, "\n")] = '\0';
	a->history.size = a->history.next_index = answer->head.size;
	spec.size = answer->head.size;
	if (views_open(&spec, &a->views, &fresh, &err) < 0) {
		authority_broken(a, "%s", err.text);
		return;
	}
	if (fresh && spec.size > 0)
		log_info("the view is made anew from %llu entries", (unsigned long long)spec.size);
	follow_start(a, spec.size, one_less);
}

int
authority_start(struct authority *a, struct error *err)
{
	struct start *s = &a->start;
	int r;

	s->waits = 3;
	buf_init(&s->kept_text, KEPT_MAX);
	r = history_head(&a->history, on_head, a, &s->head, err);
	if (r == 0)
		r = history_open(&a->history, on_open, a, &s->open, err);
	if (r < 0)
		return r;
	ticket_take(&a->boxlink, &s->kept, &kept_ops, a);
	return PEER_SEND(&a->box, box_kept, err, .ticket = s->kept.number);
}
