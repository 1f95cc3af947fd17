/*
 * Reading the ledger aloud: its head, and a stretch of its entries. Entries are asked for in
 * batches, so that the ledger and this process have time for others in between.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "authority/authority.h"
#include "authority/query_internal.h"
#include "base/json.h"
#include "base/text.h"

#define SHOW_DEFAULT 20
#define SHOW_MAX 10000
#define SHOW_BYTES (15 * 1024 * 1024) /* of a document; what does not fit is left out */
#define SHOW_BATCH 64

/* ---- head */

static void
on_head(void *arg, struct answer *a)
{
	struct question *q = arg;
	struct authority *self = q->asker.authority;
	CLEANUP(json_decrefp) json_t *doc = NULL;

	if (!a->final)
		ask_detach(q->ask);
	q->ask = NULL;
	if (a->code < 0) {
		question_deny(q, R_AUDIT_UNAVAILABLE, "loom daemon status", "%s", a->why);
		return;
	}
	doc = json_pack("{s:s%, s:s%, s:I, s:o}", "note", a->head.note.data,
			(size_t)a->head.note.len, "vkey", a->head.vkey.data,
			(size_t)a->head.vkey.len, "size", (json_int_t)a->head.size, "origin",
			json_stringn(self->vkey, strcspn(self->vkey, "+")));
	reply_json(&q->asker, doc);
	question_end(q);
}

void
query_ledger_head(struct asker *to, const struct query_in *in)
{
	struct question *q = question_new(to, false);
	struct error err = {0};

	if (q != NULL && history_head(&q->asker.authority->history, on_head, q, &q->ask, &err) < 0)
		question_deny(q, R_AUDIT_UNAVAILABLE, "loom daemon status", "%s", err.text);
}

/* ---- a stretch of entries */

static void show_more(struct question *q);

static void
show_done(struct question *q)
{
	buf_fmt(&q->text, "],\"size\":%" PRIu64 "}", q->asker.authority->history.size);
	if (q->text.failed)
		question_deny(q, R_INTERNAL, NULL, "out of memory for a document");
	else {
		reply_bytes(&q->asker, q->text.data, q->text.len);
		question_end(q);
	}
}

static void
on_entry(void *arg, struct answer *a)
{
	struct question *q = arg;

	if (a->code < 0) {
		if (!a->final)
			ask_detach(q->ask);
		q->ask = NULL;
		question_deny(q, R_AUDIT_UNAVAILABLE, "loom ledger verify", "%s", a->why);
		return;
	}
	if (a->final)
		q->ask = NULL;
	/* Entries are canonical JSON; they go in as they were recorded. */
	if (a->entry.len > 0 && q->text.len + a->entry.len < SHOW_BYTES) {
		if (q->index > q->first)
			buf_char(&q->text, ',');
		buf_str(&q->text, "{\"entry\":");
		buf_add(&q->text, a->entry.data, a->entry.len);
		buf_fmt(&q->text, ",\"index\":%" PRIu64 "}", a->index);
		q->index++;
		q->left--;
	} else {
		q->left = 0;
	}
	if (a->final)
		show_more(q);
}

static void
show_more(struct question *q)
{
	uint64_t n = q->left < SHOW_BATCH ? q->left : SHOW_BATCH;
	struct error err = {0};

	if (n == 0)
		show_done(q);
	else if (history_read(&q->asker.authority->history, q->index, (uint32_t)n, on_entry, q,
			      &q->ask, &err) < 0)
		question_deny(q, R_AUDIT_UNAVAILABLE, "loom daemon status", "%s", err.text);
}

void
query_ledger_show(struct asker *to, const struct query_in *in)
{
	uint64_t size = to->authority->history.size;
	uint64_t limit = in->limit == 0 ? SHOW_DEFAULT : in->limit;
	uint64_t first;
	struct question *q;
	char id[32];

	if (limit > SHOW_MAX)
		limit = SHOW_MAX;
	first = size > limit ? size - limit : 0;
	if (wire_text_copy(in->id, id, sizeof(id)) < 0 ||
	    (id[0] != '\0' && decimal_parse(id, UINT64_MAX, &first) < 0)) {
		reply_deny_with(to, R_INVALID_REQUEST, NULL, "that is no index of an entry");
		return;
	}
	q = question_new(to, true);
	if (q == NULL)
		return;
	q->first = q->index = first;
	q->left = first >= size ? 0 : size - first < limit ? size - first : limit;
	buf_init(&q->text, SHOW_BYTES + 64);
	buf_str(&q->text, "{\"entries\":[");
	show_more(q);
}
