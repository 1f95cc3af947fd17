/*
 * The deadline is not moved with every request: when it comes, it looks how long nothing has been
 * going on and waits for the rest.
 *
 * Leaving must not lose a client that connects at the same moment. So the doors are shut first:
 * connecting fails from then on, and whoever had connected but was not read from is turned away, so
 * that the client starts a new Loom. Only with nobody there is loomd asked to end.
 */
#include "authority/idle.h"

#include "authority/authority.h"
#include "base/clock.h"
#include "base/log.h"

static bool
is_idle(const struct authority *a)
{
	return a->doors.n_clients == 0 && a->doors.n_conns == 0 && a->n_runs == 0 && a->n_acts == 0;
}

static void
on_idle(void *arg)
{
	struct authority *a = arg;
	uint64_t now = clock_boot_ms();
	uint64_t quiet = now - a->idle.since_ms;
	struct error err = {0};

	if (a->stopping)
		return;
	if (!is_idle(a) || quiet < a->settings.idle_ms) {
		uint64_t rest = is_idle(a) ? a->settings.idle_ms - quiet : a->settings.idle_ms;

		deadline_set(&a->deadlines, &a->idle.deadline, rest, on_idle, a);
		return;
	}
	doors_shut(a);
	log_info("idle, leaving");
	if (PEER_SEND(&a->loomd, stop_request, &err, .why = STOP_IDLE) < 0)
		authority_broken(a, "ask loomd to end: %s", err.text);
}

void
idle_start(struct authority *a)
{
	a->idle.authority = a;
	a->idle.since_ms = clock_boot_ms();
	if (a->settings.idle_ms > 0)
		deadline_set(&a->deadlines, &a->idle.deadline, a->settings.idle_ms, on_idle, a);
}

void
idle_touch(struct authority *a)
{
	a->idle.since_ms = clock_boot_ms();
}
