/*
 * A list of messages in their order. The jobs behind it are served one after the other: the
 * authority asks in order and is answered in order.
 */
#include "ledger/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "model/entry.h"

struct waiting {
	struct waiting *next;
	enum message_type type;
	struct buf body;
	int fd;
};

static void
waiting_free(struct waiting *w)
{
	buf_fini(&w->body);
	fd_close(w->fd);
	free(w);
}

void
outbox_init(struct outbox *o, struct channel *c)
{
	*o = (struct outbox){.channel = c};
	o->end = &o->head;
}

void
outbox_fini(struct outbox *o)
{
	struct waiting *w;

	while ((w = o->head) != NULL) {
		o->head = w->next;
		waiting_free(w);
	}
	for (size_t i = 0; i < o->n_jobs; i++)
		free(o->jobs[i].list);
	outbox_init(o, o->channel);
}

static int
send_now(struct outbox *o, enum message_type type, const struct buf *body, int fd,
	 struct error *err)
{
	struct error why = {0};
	int r;

	r = channel_send(o->channel, type, body, fd >= 0 ? &fd : NULL, fd >= 0 ? 1 : 0, &why);
	/* unix(7): a full peer and a full buffer of our own. */
	if (r == -EAGAIN || r == -ENOBUFS)
		return -EAGAIN;
	return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

int
outbox_send(struct outbox *o, enum message_type type, const struct buf *body, int fd,
	    struct error *err)
{
	CLEANUP(fd_closep) int owned = fd;
	struct waiting *w;
	int r;

	if (o->head == NULL) {
		r = send_now(o, type, body, fd, err);
		if (r != -EAGAIN)
			return r;
	}
	if (o->bytes > OUTBOX_BYTES_MAX)
		return error_set(err, -EPROTO, "the authority does not read its answers");
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	w->type = type;
	w->fd = TAKE_FD(owned);
	buf_init(&w->body, body->len);
	buf_add(&w->body, body->data, body->len);
	r = buf_check(&w->body, err);
	if (r < 0) {
		waiting_free(w);
		return r;
	}
	o->bytes += body->len;
	*o->end = w;
	o->end = &w->next;
	return 0;
}

int
outbox_job(struct outbox *o, const struct entries_job *job, struct error *err)
{
	if (o->n_jobs == OUTBOX_JOBS_MAX) {
		free(job->list);
		return error_set(err, -EPROTO, "more than %d readings at a time", OUTBOX_JOBS_MAX);
	}
	o->jobs[o->n_jobs++] = *job;
	return 0;
}

static int
pump_waiting(struct outbox *o, struct error *err)
{
	struct waiting *w;

	while ((w = o->head) != NULL) {
		int r = send_now(o, w->type, &w->body, w->fd, err);

		if (r < 0)
			return r;
		o->bytes -= w->body.len;
		o->head = w->next;
		if (o->head == NULL)
			o->end = &o->head;
		waiting_free(w);
	}
	return 0;
}

/* The next message of the first job; the job goes with its last one. */
static int
job_step(struct outbox *o, struct ledger *l, struct error *err)
{
	struct entries_job *job = &o->jobs[0];
	CLEANUP(buf_fini) struct buf entry = {0};
	uint64_t index = job->list != NULL && job->done < job->n ? job->list[job->done]
								 : job->first + job->done;
	bool last = job->done + 1 >= job->n;
	int r = -ENOENT;

	buf_init(&entry, ENTRY_MAX);
	if (job->done < job->n)
		r = ledger_entry(l, index, &entry, NULL);
	/* An entry that cannot be read ends the answer like one that is not there; what is wrong
	 * with the files is for verify to say. */
	if (r < 0) {
		buf_reset(&entry);
		last = true;
	}
	r = OUTBOX_SEND(o, err, -1, ledger_entry, .tag = job->tag, .index = index,
			.entry = wire_bytes_of(entry.data, entry.len), .last = last);
	if (r < 0)
		return r;
	job->done++;
	if (last) {
		free(job->list);
		o->n_jobs--;
		memmove(o->jobs, o->jobs + 1, o->n_jobs * sizeof(*o->jobs));
	}
	return 0;
}

int
outbox_pump(struct outbox *o, struct ledger *l, struct error *err)
{
	int r;

	do {
		r = pump_waiting(o, err);
		if (r == 0 && o->n_jobs > 0)
			r = job_step(o, l, err);
	} while (r == 0 && outbox_waits(o));
	return r == -EAGAIN ? 0 : r;
}

bool
outbox_waits(const struct outbox *o)
{
	return o->head != NULL || o->n_jobs > 0;
}
