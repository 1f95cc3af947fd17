/*
 * The parts are put together here, and taken apart in the opposite order.
 */
#include "authority/authority.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "authority/act.h"
#include "authority/query.h"
#include "authority/run.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

/* What a sibling may have left unread: several of the largest messages for each client. */
#define SIBLING_QUEUE_MAX (64 * 1024 * 1024)

void
authority_broken(struct authority *a, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s", text);
	(void)sd_event_exit(a->hub.loop, AUTHORITY_EXIT_FAILED);
}

/* ---- siblings */

static int
loomd_packet(struct peer *peer, struct packet *p, struct error *err)
{
	struct msg_stop m;
	int r;

	if (p->type != MSG_stop)
		return error_set(err, -EPROTO, "message %#x is not loomd's to send", p->type);
	r = msg_stop_decode(p->body, p->len, &m, err);
	if (r < 0)
		return r;
	authority_stop(peer->owner, STOP_SHUTDOWN);
	return 0;
}

static int
ledger_packet(struct peer *peer, struct packet *p, struct error *err)
{
	struct authority *a = peer->owner;

	return history_packet(&a->history, p, err);
}

static int
box_packet(struct peer *peer, struct packet *p, struct error *err)
{
	struct authority *a = peer->owner;

	return boxlink_packet(&a->boxlink, p, err);
}

static int
api_packet(struct peer *peer, struct packet *p, struct error *err)
{
	return doors_api_packet(peer->owner, p, err);
}

/* Half a Loom must not go on. */
static void
sibling_gone(struct peer *peer, int code, const struct error *err)
{
	struct authority *a = peer->owner;
	const char *name = peer == &a->loomd	? "loomd"
			   : peer == &a->ledger ? "loom-ledger"
			   : peer == &a->box	? "loom-box"
						: "loom-api";

	if (code < 0)
		authority_broken(a, "%s: %s", name, err->text);
	else
		authority_broken(a, "%s has gone", name);
}

static int
sibling_open(struct authority *a, struct peer *peer, int fd, uint32_t party, peer_packet_fn fn,
	     struct error *err)
{
	int r;

	r = peer_open(peer, &a->hub, fd, party, S_OPEN, SIBLING_QUEUE_MAX, err);
	peer->packet = fn;
	peer->gone = sibling_gone;
	peer->owner = a;
	return r;
}

static int
siblings_open(struct authority *a, struct handed *h, struct error *err)
{
	const struct {
		struct peer *peer;
		int *fd;
		uint32_t party;
		peer_packet_fn fn;
	} siblings[] = {
		{&a->loomd, &h->loomd, P_LOOMD, loomd_packet},
		{&a->ledger, &h->ledger, P_LEDGER, ledger_packet},
		{&a->box, &h->box, P_BOX, box_packet},
		{&a->api, &h->api, P_API, api_packet},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(siblings); i++)
		r = sibling_open(a, siblings[i].peer, TAKE_FD(*siblings[i].fd), siblings[i].party,
				 siblings[i].fn, err);
	return r;
}

/* ---- stopping */

static void
on_stop_late(void *arg)
{
	struct authority *a = arg;

	log_warning("%zu runs have not ended; they are left to the box", a->n_runs);
	(void)sd_event_exit(a->hub.loop, AUTHORITY_EXIT_OK);
}

void
authority_stop(struct authority *a, uint32_t why)
{
	struct run *r, *next;

	if (a->stopping)
		return;
	a->stopping = true;
	doors_shut(a);
	for (r = a->runs; r != NULL; r = next) {
		next = r->next;
		run_stop(r, why);
	}
	deadline_set(&a->deadlines, &a->stop_deadline, AUTHORITY_STOP_MS, on_stop_late, a);
	authority_settle(a);
}

void
authority_settle(struct authority *a)
{
	if (a->stopping && a->n_runs == 0 && a->n_acts == 0)
		(void)sd_event_exit(a->hub.loop, AUTHORITY_EXIT_OK);
}

/* ---- the whole */

/* No profile of a user's may show a sandbox the places we live in. */
static void
places_init(struct authority *a)
{
	const char *const paths[] = {a->settings.state, a->settings.run, a->settings.config};

	a->profiles.places = a->places;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (paths[i] != NULL)
			a->places[a->profiles.n_places++] = paths[i];
}

static int
parts_init(struct authority *a, struct handed *h, struct error *err)
{
	int r;

	r = hub_init(&a->hub, err);
	if (r == 0)
		r = deadlines_init(&a->deadlines, a->hub.loop, err);
	if (r == 0)
		r = doors_init(a, TAKE_FD(h->cli_listen), TAKE_FD(h->http_listen), err);
	if (r == 0)
		r = siblings_open(a, h, err);
	if (r == 0)
		r = profiles_init(&a->profiles, TAKE_FD(h->config), a->settings.uid,
				  a->settings.own_group, err);
	if (r < 0)
		return r;
	places_init(a);
	history_init(&a->history, &a->ledger, &a->deadlines);
	a->history.recorded = follow_recorded;
	a->history.recorded_arg = a;
	boxlink_init(&a->boxlink, &a->box);
	sessions_init(&a->sessions);
	return 0;
}

int
authority_init(struct authority *a, const struct settings *settings, const struct handed *handed,
	       struct error *err)
{
	struct handed h = *handed;
	int r;

	*a = (struct authority){.settings = *settings, .hooks = &authority_hooks};
	a->doors.cli_fd = a->doors.http_fd = a->profiles.config = -1;
	a->views_dir = TAKE_FD(h.views);
	a->started_ms = clock_boot_ms();
	a->scratch = calloc(1, sizeof(*a->scratch));
	r = a->scratch != NULL ? parts_init(a, &h, err) : error_set(err, -ENOMEM, "out of memory");
	/* What was not taken because an earlier step failed. */
	fd_close(h.loomd);
	fd_close(h.ledger);
	fd_close(h.box);
	fd_close(h.api);
	fd_close(h.cli_listen);
	fd_close(h.http_listen);
	fd_close(h.config);
	return r;
}

void
authority_fini(struct authority *a)
{
	runs_free(a);
	acts_free(a);
	queries_free(a);
	start_fini(a);
	follow_fini(a);
	history_fini(&a->history);
	doors_fini(a);
	peer_close(&a->loomd);
	peer_close(&a->ledger);
	peer_close(&a->box);
	peer_close(&a->api);
	sessions_fini(&a->sessions);
	profiles_fini(&a->profiles);
	views_close(a->views);
	fd_close(a->views_dir);
	deadlines_fini(&a->deadlines);
	hub_fini(&a->hub);
	free(a->scratch);
}
