/*
 * A trace is judged in evidence/, from material alone; here it is gathered. The view says which
 * entries there are, the ledger gives each with its proof, and the store the texts they name. A
 * bounded number of questions is open at a time. Whatever does not come stays out of the material,
 * and the trace then says what is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/authority.h"
#include "authority/query_internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "evidence/trace.h"

#define OPEN_MAX 32		     /* questions at a time */
#define BYTES_MAX (32 * 1024 * 1024) /* of material; more is refused */
#define BLOB_MAX (2 * 1024 * 1024 + 64)

enum piece_kind { PIECE_ENTRY, PIECE_PROOF, PIECE_BLOB };

/* Something to be asked for, with its answer. */
struct piece {
	struct question *question;
	enum piece_kind kind;
	size_t at; /* entry, proof: which entry; blob: which blob */
	struct ask *ask;
	bool asked;
	void *bytes; /* entry, blob; owned */
	size_t len;
	uint64_t tree_size; /* proof */
	char *note;
	size_t note_len;
};

struct gather {
	char id[NAME_MAX_LEN + 1];
	uint64_t *indexes;
	size_t n_entries;
	struct piece *entries, *proofs;
	struct piece **blobs;
	uint8_t (*digests)[32];
	size_t n_blobs;
	size_t next; /* entries and proofs alternate: the next one to ask for */
	size_t next_blob;
	size_t n_open;
	size_t bytes;
};

static void gather_more(struct question *q);

static void
piece_fini(struct piece *p)
{
	ask_detach(p->ask);
	free(p->bytes);
	free(p->note);
}

void
gather_free(struct gather *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; g->entries != NULL && i < g->n_entries; i++)
		piece_fini(&g->entries[i]);
	for (size_t i = 0; g->proofs != NULL && i < g->n_entries; i++)
		piece_fini(&g->proofs[i]);
	for (size_t i = 0; i < g->n_blobs; i++) {
		piece_fini(g->blobs[i]);
		free(g->blobs[i]);
	}
	free(g->indexes);
	free(g->entries);
	free(g->proofs);
	free(g->blobs);
	free(g->digests);
	free(g);
}

/* ---- answers */

static void *
copy_of(struct gather *g, const void *data, size_t len)
{
	void *copy = NULL;

	if (g->bytes + len > BYTES_MAX)
		return NULL;
	copy = malloc(len + 1);
	if (copy != NULL && len > 0)
		memcpy(copy, data, len);
	if (copy != NULL)
		g->bytes += len;
	return copy;
}

static void
take_entry(struct gather *g, struct piece *p, const struct answer *a)
{
	if (a->entry.len == 0)
		return;
	p->bytes = copy_of(g, a->entry.data, a->entry.len);
	p->len = p->bytes != NULL ? a->entry.len : 0;
}

static void
take_proof(struct gather *g, struct piece *p, const struct answer *a)
{
	p->bytes = copy_of(g, a->proof.path.data, a->proof.path.len);
	p->note = copy_of(g, a->proof.note.data, a->proof.note.len);
	if (p->bytes == NULL || p->note == NULL)
		return;
	p->len = a->proof.path.len;
	p->note_len = a->proof.note.len;
	p->tree_size = a->proof.size;
}

static void
take_blob(struct gather *g, struct piece *p, const struct answer *a)
{
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};

	buf_init(&text, BLOB_MAX);
	if (fd_memfd_read(a->fd, &text, &err) < 0)
		return;
	p->bytes = copy_of(g, text.data, text.len);
	p->len = p->bytes != NULL ? text.len : 0;
}

static void
on_piece(void *arg, struct answer *a)
{
	struct piece *p = arg;
	struct question *q = p->question;
	struct gather *g = q->gather;

	if (!a->final)
		ask_detach(p->ask);
	p->ask = NULL;
	g->n_open--;
	if (a->code == 0 && p->kind == PIECE_ENTRY)
		take_entry(g, p, a);
	else if (a->code == 0 && p->kind == PIECE_PROOF)
		take_proof(g, p, a);
	else if (a->code == 0)
		take_blob(g, p, a);
	gather_more(q);
}

/* ---- the document */

static int
material_entries(const struct gather *g, struct trace_entry *out, size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_entries; i++) {
		const struct piece *entry = &g->entries[i], *proof = &g->proofs[i];

		/* An entry that the ledger did not give is not left out silently. */
		if (entry->bytes == NULL)
			return -ENODATA;
		out[n++] = (struct trace_entry){.index = g->indexes[i],
						.bytes = entry->bytes,
						.len = entry->len,
						.tree_size = proof->tree_size,
						.path = proof->bytes,
						.path_len = proof->len,
						.note = proof->note,
						.note_len = proof->note_len};
	}
	*ret_n = n;
	return 0;
}

static size_t
material_blobs(const struct gather *g, struct trace_blob *out)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_blobs; i++)
		if (g->blobs[i]->bytes != NULL)
			out[n++] = (struct trace_blob){.data = g->blobs[i]->bytes,
						       .len = g->blobs[i]->len};
	return n;
}

static void
gather_done(struct question *q)
{
	struct gather *g = q->gather;
	struct trace_entry *entries = calloc(g->n_entries + 1, sizeof(*entries));
	struct trace_blob *blobs = calloc(g->n_blobs + 1, sizeof(*blobs));
	struct trace_material m = {.id = g->id, .vkey = q->asker.authority->vkey};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	struct error err = {0};
	int r = entries != NULL && blobs != NULL ? 0 : -ENOMEM;

	if (r == 0)
		r = material_entries(g, entries, &m.n_entries);
	if (r == 0) {
		m.entries = entries;
		m.blobs = blobs;
		m.n_blobs = material_blobs(g, blobs);
		r = trace_build(&m, &doc, &err);
	} else if (r == -ENODATA) {
		(void)error_set(&err, r, "%s",
				g->bytes >= BYTES_MAX / 2
					? "there is more to it than one trace holds"
					: "the ledger did not give all its entries");
	}
	free(entries);
	free(blobs);
	if (r < 0) {
		question_deny(q, R_AUDIT_UNAVAILABLE, "loom ledger verify", "%s",
			      err.code < 0 ? err.text : "out of memory");
		return;
	}
	reply_json(&q->asker, doc);
	question_end(q);
}

/* ---- asking */

static bool
blob_known(const struct gather *g, const uint8_t digest[32])
{
	for (size_t i = 0; i < g->n_blobs; i++)
		if (memcmp(g->digests[i], digest, 32) == 0)
			return true;
	return false;
}

static int
blob_add(struct question *q, const uint8_t digest[32])
{
	struct gather *g = q->gather;
	struct piece **blobs = reallocarray(g->blobs, g->n_blobs + 1, sizeof(struct piece *));
	uint8_t(*digests)[32];

	if (blobs == NULL)
		return -ENOMEM;
	g->blobs = blobs;
	digests = reallocarray(g->digests, g->n_blobs + 1, sizeof(*digests));
	if (digests == NULL)
		return -ENOMEM;
	g->digests = digests;
	blobs[g->n_blobs] = calloc(1, sizeof(struct piece));
	if (blobs[g->n_blobs] == NULL)
		return -ENOMEM;
	*blobs[g->n_blobs] = (struct piece){.question = q, .kind = PIECE_BLOB, .at = g->n_blobs};
	memcpy(digests[g->n_blobs], digest, 32);
	g->n_blobs++;
	return 0;
}

/* Which texts do the entries need? Known when all of them are here. */
static int
blobs_wanted(struct question *q)
{
	struct gather *g = q->gather;
	uint8_t wants[TRACE_WANTS_MAX][32];
	int r = 0;

	for (size_t i = 0; i < g->n_entries && r == 0; i++) {
		size_t n = g->entries[i].bytes != NULL
				   ? trace_wants(g->entries[i].bytes, g->entries[i].len, wants)
				   : 0;

		for (size_t k = 0; k < n && r == 0; k++)
			if (!blob_known(g, wants[k]))
				r = blob_add(q, wants[k]);
	}
	return r;
}

static int
piece_ask(struct question *q, struct piece *p, struct error *err)
{
	struct gather *g = q->gather;
	struct history *h = &q->asker.authority->history;

	g->n_open++;
	switch (p->kind) {
	case PIECE_ENTRY:
		return history_read(h, g->indexes[p->at], 1, on_piece, p, &p->ask, err);
	case PIECE_PROOF:
		return history_prove(h, g->indexes[p->at], on_piece, p, &p->ask, err);
	case PIECE_BLOB:
	default:
		return history_blob(h, g->digests[p->at], on_piece, p, &p->ask, err);
	}
}

/* The next piece that is to be asked for; NULL: none is left for now. */
static struct piece *
piece_next(struct question *q)
{
	struct gather *g = q->gather;
	size_t n = g->next;

	if (n < 2 * g->n_entries) {
		g->next++;
		return n % 2 == 0 ? &g->entries[n / 2] : &g->proofs[n / 2];
	}
	return g->next_blob < g->n_blobs ? g->blobs[g->next_blob++] : NULL;
}

static void
gather_more(struct question *q)
{
	struct gather *g = q->gather;
	struct error err = {0};
	bool entries_here;

	for (;;) {
		struct piece *p = g->n_open < OPEN_MAX ? piece_next(q) : NULL;

		if (p == NULL)
			break;
		if (piece_ask(q, p, &err) < 0) {
			question_deny(q, R_AUDIT_UNAVAILABLE, "again in a moment", "%s", err.text);
			return;
		}
	}
	entries_here = g->next == 2 * g->n_entries && g->n_open == 0;
	if (!entries_here)
		return;
	if (g->n_blobs > 0 || g->next_blob > 0) {
		gather_done(q);
		return;
	}
	if (blobs_wanted(q) < 0)
		question_deny(q, R_INTERNAL, NULL, "out of memory for a trace");
	else if (g->n_blobs > 0)
		gather_more(q);
	else
		gather_done(q);
}

static struct gather *
gather_new(struct question *q, const char *id)
{
	struct gather *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	(void)snprintf(g->id, sizeof(g->id), "%s", id);
	g->indexes = calloc(TRACE_ENTRIES_MAX, sizeof(*g->indexes));
	q->gather = g;
	return g->indexes != NULL ? g : NULL;
}

static int
gather_begin(struct question *q)
{
	struct gather *g = q->gather;

	g->entries = calloc(g->n_entries, sizeof(*g->entries));
	g->proofs = calloc(g->n_entries, sizeof(*g->proofs));
	if (g->entries == NULL || g->proofs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_entries; i++) {
		g->entries[i] = (struct piece){.question = q, .kind = PIECE_ENTRY, .at = i};
		g->proofs[i] = (struct piece){.question = q, .kind = PIECE_PROOF, .at = i};
	}
	return 0;
}

/* Operation, session, or what somebody calls a session: its id. */
static int
trace_id(struct asker *to, const struct query_in *in, char id[NAME_MAX_LEN + 1], struct error *err)
{
	struct authority *a = to->authority;
	const struct session *s;
	char found[SESSION_ID_MAX];
	uint64_t number;
	int r;

	if (wire_text_copy(in->id, id, NAME_MAX_LEN + 1) < 0)
		return error_set(err, -EINVAL, "that is no id of an operation or a session");
	if (op_id_valid(id) || session_id_parse(id, &number))
		return 0;
	if (!name_valid(id))
		return error_set(err, -EINVAL, "that is no id of an operation or a session");
	s = sessions_find(&a->sessions, id, to->uid);
	if (s == NULL) {
		r = views_session_of_name(a->views, id, to->uid, found, err);
		if (r < 0)
			return r;
	}
	(void)snprintf(id, NAME_MAX_LEN + 1, "%s", s != NULL ? s->id : found);
	return 0;
}

void
query_trace(struct asker *to, const struct query_in *in)
{
	struct authority *a = to->authority;
	char id[NAME_MAX_LEN + 1];
	struct error err = {0};
	struct question *q;
	uint32_t uid = ROW_NO_UID;
	int r;

	r = trace_id(to, in, id, &err);
	if (r < 0) {
		reply_error(to, r == -ENOENT ? R_SESSION_ENDED : R_INVALID_REQUEST, &err);
		return;
	}
	q = question_new(to, true);
	if (q == NULL)
		return;
	if (gather_new(q, id) == NULL) {
		question_deny(q, R_INTERNAL, NULL, "out of memory for a trace");
		return;
	}
	r = views_find(a->views, id, q->gather->indexes, TRACE_ENTRIES_MAX, &q->gather->n_entries,
		       &uid, &err);
	if (r < 0)
		question_deny(q, r == -E2BIG ? R_LIMIT_EXCEEDED : R_AUDIT_UNAVAILABLE, NULL, "%s",
			      err.text);
	else if (q->gather->n_entries == 0)
		question_deny(q, R_SESSION_ENDED, "loom ledger show",
			      "nothing is recorded under %s", id);
	else if (uid != ROW_NO_UID && uid != q->asker.uid)
		question_deny(q, R_IDENTITY_MISMATCH, NULL, "%s is somebody else's", id);
	else if (gather_begin(q) < 0)
		question_deny(q, R_INTERNAL, NULL, "out of memory for a trace");
	else
		gather_more(q);
}
