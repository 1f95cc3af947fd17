/*
 * A list sorted by time. Most deadlines have the same length, so a new one belongs at the end,
 * where the search for its place begins.
 */
#include "authority/deadline.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define USEC_PER_MS 1000ULL

static void
timer_move(struct deadlines *l, uint64_t at_ms)
{
	int r;

	l->armed_ms = at_ms;
	r = sd_event_source_set_time(l->timer, at_ms * USEC_PER_MS);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
	if (r < 0)
		fatal("cannot set a timer");
}

static int
on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct deadlines *l = userdata;
	uint64_t now = clock_boot_ms();

	l->armed_ms = UINT64_MAX;
	while (l->first != NULL && l->first->at_ms <= now) {
		struct deadline *d = l->first;

		deadline_clear(d);
		d->fn(d->arg);
	}
	if (l->first != NULL && l->armed_ms > l->first->at_ms)
		timer_move(l, l->first->at_ms);
	return 0;
}

int
deadlines_init(struct deadlines *l, sd_event *loop, struct error *err)
{
	int r;

	*l = (struct deadlines){.armed_ms = UINT64_MAX};
	r = sd_event_add_time(loop, &l->timer, CLOCK_BOOTTIME, 0, USEC_PER_MS, on_timer, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	return r < 0 ? error_sys(err, r, "make a timer") : 0;
}

void
deadlines_fini(struct deadlines *l)
{
	while (l->first != NULL)
		deadline_clear(l->first);
	l->timer = sd_event_source_disable_unref(l->timer);
}

void
deadline_set(struct deadlines *l, struct deadline *d, uint64_t after_ms, void (*fn)(void *arg),
	     void *arg)
{
	struct deadline *before;

	deadline_clear(d);
	*d = (struct deadline){
		.list = l, .at_ms = clock_boot_ms() + after_ms, .fn = fn, .arg = arg};
	before = l->last;
	while (before != NULL && before->at_ms > d->at_ms)
		before = before->prev;
	d->prev = before;
	d->next = before != NULL ? before->next : l->first;
	*(d->prev != NULL ? &d->prev->next : &l->first) = d;
	*(d->next != NULL ? &d->next->prev : &l->last) = d;
	if (d->at_ms < l->armed_ms)
		timer_move(l, d->at_ms);
}

void
deadline_clear(struct deadline *d)
{
	struct deadlines *l = d->list;

	if (l == NULL)
		return;
	*(d->prev != NULL ? &d->prev->next : &l->first) = d->next;
	*(d->next != NULL ? &d->next->prev : &l->last) = d->prev;
	d->list = NULL;
	d->prev = d->next = NULL;
}
