/*
 * A doubly linked list: there are at most SESSIONS_LIVE_MAX that run, as many as a person left to
 * accept, and SESSIONS_ENDED_MAX more. The counts are kept so that a limit costs nothing.
 */
#include "authority/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"

static const char *const state_names[] = {
	[SESSION_LIVE] = "live",
	[SESSION_KEPT] = "kept",
	[SESSION_ENDED] = "ended",
};

const char *
session_state_name(enum session_state s)
{
	return state_names[s];
}

void
sessions_init(struct sessions *s)
{
	*s = (struct sessions){.live_max = SESSIONS_LIVE_MAX};
}

static size_t *
state_count(struct sessions *s, enum session_state state)
{
	size_t *const counts[] = {
		[SESSION_LIVE] = &s->n_live,
		[SESSION_KEPT] = &s->n_kept,
		[SESSION_ENDED] = &s->n_ended,
	};

	return counts[state];
}

static void
session_unlink(struct sessions *s, struct session *x)
{
	*(x->prev != NULL ? &x->prev->next : &s->first) = x->next;
	*(x->next != NULL ? &x->next->prev : &s->last) = x->prev;
	(*state_count(s, x->state))--;
	free(x->path);
	free(x);
}

/* Numbers mostly grow, so its place is looked for from the end. */
static void
session_link(struct sessions *s, struct session *x)
{
	struct session *before = s->last;

	while (before != NULL && before->number > x->number)
		before = before->prev;
	x->prev = before;
	x->next = before != NULL ? before->next : s->first;
	*(x->prev != NULL ? &x->prev->next : &s->first) = x;
	*(x->next != NULL ? &x->next->prev : &s->last) = x;
	(*state_count(s, x->state))++;
}

static void
session_move(struct sessions *s, struct session *x, enum session_state state)
{
	(*state_count(s, x->state))--;
	x->state = state;
	(*state_count(s, state))++;
}

void
sessions_fini(struct sessions *s)
{
	while (s->first != NULL)
		session_unlink(s, s->first);
}

void
sessions_seen(struct sessions *s, uint64_t n)
{
	if (n > s->last_number)
		s->last_number = n;
}

/* Of what has ended, the oldest is forgotten first. */
static void
forget_ended(struct sessions *s)
{
	struct session *x = s->first;

	while (s->n_ended > SESSIONS_ENDED_MAX && x != NULL) {
		struct session *next = x->next;

		if (x->state == SESSION_ENDED)
			session_unlink(s, x);
		x = next;
	}
}

static int
session_new(uint64_t number, const char *path, struct session **ret, struct error *err)
{
	struct session *x = calloc(1, sizeof(*x));

	if (x != NULL)
		x->path = strdup(path);
	if (x == NULL || x->path == NULL) {
		free(x);
		return error_set(err, -ENOMEM, "out of memory for a session");
	}
	x->number = number;
	session_id_print(number, x->id);
	*ret = x;
	return 0;
}

static int
live_room(const struct sessions *s, struct error *err)
{
	if (s->n_live < s->live_max)
		return 0;
	return error_set(err, -EBUSY, "%zu sessions run, and no more may", s->n_live);
}

int
sessions_add(struct sessions *s, const char *name, uint32_t uid, const char *profile,
	     const uint8_t profile_digest[32], enum workspace_mode mode,
	     const struct workspace_facts *w, struct session **ret, struct error *err)
{
	struct session *x = NULL;
	int r;

	r = live_room(s, err);
	if (r == 0)
		r = session_new(s->last_number + 1, w->path, &x, err);
	if (r < 0)
		return r;
	s->last_number++;
	(void)snprintf(x->name, sizeof(x->name), "%s", name);
	(void)snprintf(x->profile, sizeof(x->profile), "%s", profile);
	memcpy(x->profile_digest, profile_digest, sizeof(x->profile_digest));
	x->uid = uid;
	x->mode = mode;
	x->dev_major = w->dev_major;
	x->dev_minor = w->dev_minor;
	x->ino = w->ino;
	x->state = SESSION_LIVE;
	x->started_ms = clock_wall_ms();
	session_link(s, x);
	*ret = x;
	return 0;
}

int
sessions_add_kept(struct sessions *s, const struct session_kept *k, struct error *err)
{
	char id[SESSION_ID_MAX];
	struct session *x = NULL;
	int r;

	session_id_print(k->number, id);
	if (sessions_find(s, id, k->uid) != NULL)
		return error_set(err, -EEXIST, "%s is there twice", id);
	r = session_new(k->number, k->path, &x, err);
	if (r < 0)
		return r;
	x->uid = k->uid;
	if (k->profile != NULL)
		(void)snprintf(x->profile, sizeof(x->profile), "%s", k->profile);
	memcpy(x->profile_digest, k->profile_digest, sizeof(x->profile_digest));
	x->mode = WORKSPACE_OVERLAY;
	x->state = SESSION_KEPT;
	x->started_ms = k->started_ms;
	x->ended_ms = k->ended_ms;
	x->changes = k->changes;
	session_link(s, x);
	sessions_seen(s, k->number);
	return 0;
}

void
sessions_set_name(struct sessions *s, uint64_t number, uint32_t uid, const char *name)
{
	for (struct session *x = s->first; x != NULL; x = x->next)
		if (x->number == number && x->uid == uid)
			(void)snprintf(x->name, sizeof(x->name), "%s", name);
}

struct session *
sessions_find(const struct sessions *s, const char *id_or_name, uint32_t uid)
{
	uint64_t number;

	if (session_id_parse(id_or_name, &number)) {
		for (struct session *x = s->last; x != NULL; x = x->prev)
			if (x->number == number)
				return x;
		return NULL;
	}
	if (id_or_name[0] == '\0')
		return NULL;
	/* From the newest on: a name may have been used before. */
	for (struct session *x = s->last; x != NULL; x = x->prev)
		if (x->uid == uid && x->state != SESSION_ENDED && strcmp(x->name, id_or_name) == 0)
			return x;
	return NULL;
}

int
session_continue(struct sessions *s, struct session *x, struct error *err)
{
	int r;

	if (x->state != SESSION_KEPT || x->busy)
		return error_set(err, -EBUSY, "session %s is in use", x->id);
	r = live_room(s, err);
	if (r < 0)
		return r;
	session_move(s, x, SESSION_LIVE);
	x->was_kept = true;
	return 0;
}

void
session_end(struct sessions *s, struct session *x, bool kept, uint64_t changes)
{
	x->run = NULL;
	x->was_kept = false;
	x->changes = changes;
	x->ended_ms = clock_wall_ms();
	session_move(s, x, kept ? SESSION_KEPT : SESSION_ENDED);
	forget_ended(s);
}

void
session_drop(struct sessions *s, struct session *x)
{
	x->busy = false;
	x->changes = 0;
	session_move(s, x, SESSION_ENDED);
	forget_ended(s);
}

/* Escaping keeps the slash and is one to one, so escaped paths compare as the paths do. */
static bool
paths_overlap(const char *a, const char *b)
{
	return path_is_beneath(a, b) || path_is_beneath(b, a);
}

const struct session *
sessions_overlap(const struct sessions *s, enum workspace_mode mode,
		 const struct workspace_facts *w, const struct session *except)
{
	for (const struct session *x = s->last; x != NULL; x = x->prev) {
		bool same = x->ino == w->ino && x->dev_major == w->dev_major &&
			    x->dev_minor == w->dev_minor;

		if (x == except || x->state != SESSION_LIVE)
			continue;
		if (mode != WORKSPACE_DIRECT && x->mode != WORKSPACE_DIRECT)
			continue;
		if (same || paths_overlap(x->path, w->path))
			return x;
	}
	return NULL;
}
