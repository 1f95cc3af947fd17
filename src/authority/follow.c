/*
 * A recorded entry goes straight into the view's memory when it is the next one. When it is not
 * (another one's answer is late, or the ledger wrote something by itself), what lies between is
 * read from the ledger. Rows are written together a little later: who asks a question has them
 * written first, and what a kill loses is read from the ledger at the next start.
 */
#include "authority/follow.h"

#include "authority/authority.h"
#include "base/log.h"

static void follow_more(struct authority *a);

static void
write_rows(void *arg)
{
	struct authority *a = arg;

	views_flush(a->views);
}

void
follow_fini(struct authority *a)
{
	ask_detach(a->follow.ask);
	deadline_clear(&a->follow.writer);
}

static void
write_later(struct authority *a)
{
	if (a->follow.writer.list == NULL && views_waiting(a->views))
		deadline_set(&a->deadlines, &a->follow.writer, FOLLOW_WRITE_MS, write_rows, a);
}

static void
follow_done(struct authority *a)
{
	void (*fn)(struct authority *) = a->follow.caught_up;

	a->follow.caught_up = NULL;
	if (fn != NULL)
		fn(a);
}

static void
follow_failed(struct authority *a, const char *why)
{
	log_warning("the view stays behind the ledger: %s", why);
	a->follow.failed = true;
	follow_done(a);
}

static void
on_entry(void *arg, struct answer *answer)
{
	struct authority *a = arg;
	struct error err = {0};
	struct row row;

	if (answer->final)
		a->follow.ask = NULL;
	if (answer->code < 0) {
		if (!answer->final)
			ask_detach(a->follow.ask);
		a->follow.ask = NULL;
		follow_failed(a, answer->why);
		return;
	}
	if (answer->entry.len == 0) {
		follow_failed(a, "an entry is missing in the ledger");
		return;
	}
	/* An entry that cannot be understood still has its place. */
	if (row_of_entry(&row, answer->entry.data, answer->entry.len, &err) < 0) {
		log_warning("entry %llu: %s", (unsigned long long)answer->index, err.text);
		row_init(&row, ENTRY_EVENT, 0);
	}
	if (answer->index == views_size(a->views))
		views_add(a->views, answer->index, &row);
	if (answer->final)
		follow_more(a);
}

/* Read the next batch, if something is missing. */
static void
follow_more(struct authority *a)
{
	uint64_t have = views_size(a->views);
	uint64_t lack = a->follow.target > have ? a->follow.target - have : 0;
	struct error err = {0};

	write_later(a);
	if (a->follow.ask != NULL || a->follow.failed)
		return;
	if (lack == 0 || !views_ok(a->views)) {
		follow_done(a);
		return;
	}
	if (history_read(&a->history, have, lack < FOLLOW_BATCH ? (uint32_t)lack : FOLLOW_BATCH,
			 on_entry, a, &a->follow.ask, &err) < 0)
		follow_failed(a, err.text);
}

void
follow_start(struct authority *a, uint64_t size, void (*fn)(struct authority *a))
{
	a->follow.caught_up = fn;
	if (size > a->follow.target)
		a->follow.target = size;
	follow_more(a);
}

void
follow_recorded(void *authority, uint64_t index, const struct row *row)
{
	struct authority *a = authority;

	if (index + 1 > a->follow.target)
		a->follow.target = index + 1;
	if (a->views == NULL || index < views_size(a->views))
		return;
	if (index == views_size(a->views)) {
		views_add(a->views, index, row);
		write_later(a);
		return;
	}
	follow_more(a);
}
