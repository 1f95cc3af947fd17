/*
 * The material is read once (entries parsed, blobs hashed), sorted by index and grouped by
 * operation; then each group is walked through the table of links.
 */
#include "evidence/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "evidence/links.h"
#include "model/ids.h"

static const char *const link_status_names[] = {
	[LINK_VERIFIED] = "verified",
	[LINK_MISSING] = "missing",
	[LINK_FALSE] = "false",
	[LINK_NOT_APPLICABLE] = "not-applicable",
};

static int
walk_add(struct walk *w, const char *link, enum link_status status, const struct found *f,
	 struct error *err)
{
	json_t *id = json_escaped(f->id, strlen(f->id));
	json_t *detail = json_escaped(f->detail, strlen(f->detail));
	json_t *v = json_pack("{s:s, s:o*, s:s, s:o*}", "link", link, "id", id, "status",
			      link_status_names[status], "detail", detail);

	if (status == LINK_MISSING || status == LINK_FALSE)
		w->broken = true;
	if (id == NULL || detail == NULL) {
		json_decref(v);
		v = NULL;
	}
	if (json_array_append_new(w->links, v) < 0)
		return error_set(err, -ENOMEM, "out of memory for a trace");
	return 0;
}

/* Sort the members of a group by what they are. */
static void
group_fill(struct group *g)
{
	const json_t *pos;
	size_t i;

	json_array_foreach(g->members, i, pos)
	{
		const struct item *it = &g->w->items[json_integer_value(pos)];
		const char *kind = it->parsed.kind;
		const char *event = it->parsed.event != NULL ? it->parsed.event : "";

		if (strcmp(kind, "intent") == 0) {
			g->n_intents++;
			g->intent = it;
		} else if (strcmp(kind, "outcome") == 0) {
			g->n_outcomes++;
			g->outcome = it;
		} else if (strcmp(event, "denied") == 0) {
			g->denied = it;
		} else if (strcmp(event, "indeterminate") == 0) {
			g->lost = it;
		}
	}
}

/* Understand the operation of the intent, or say in read_error why not. */
static int
group_read(struct group *g, struct error *err)
{
	struct error why = {0};

	if (g->intent == NULL) {
		(void)snprintf(g->read_error, sizeof(g->read_error), "no intent was recorded");
		return 0;
	}
	g->operation = json_object_get(g->intent->parsed.json, "operation");
	g->read = calloc(1, sizeof(*g->read));
	if (g->read == NULL)
		return error_set(err, -ENOMEM, "out of memory for a trace");
	if (operation_read(g->operation, g->read, &why) == 0)
		return 0;
	free(g->read);
	g->read = NULL;
	(void)snprintf(g->read_error, sizeof(g->read_error), "the operation cannot be read: %.200s",
		       why.text);
	return 0;
}

static void
operation_drop(struct operation *op)
{
	if (op == NULL)
		return;
	operation_fini(op);
	free(op);
}

static int
walk_group(struct walk *w, const char *op, const json_t *members, struct error *err)
{
	struct group g = {.w = w, .op = op, .members = members};
	int r;

	group_fill(&g);
	r = group_read(&g, err);
	for (size_t i = 0; r == 0 && i < LINKS; i++) {
		struct found f = {0};
		enum link_status s = LINK_TABLE[i].check(&g, &f);

		r = walk_add(w, LINK_TABLE[i].name, s, &f, err);
	}
	w->n_operations++;
	if (w->first == NULL)
		w->first = TAKE_PTR(g.read);
	operation_drop(g.read);
	return r;
}

static int
item_order(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	return x->e->index < y->e->index ? -1 : x->e->index > y->e->index;
}

static int
walk_read(struct walk *w, struct error *err)
{
	const struct trace_material *m = w->m;

	for (size_t i = 0; i < m->n_blobs; i++)
		sha256_of(m->blobs[i].data, m->blobs[i].len, w->blob_digests[i]);
	for (size_t i = 0; i < m->n_entries; i++)
		w->items[i].e = &m->entries[i];
	qsort(w->items, m->n_entries, sizeof(w->items[0]), item_order);
	for (size_t i = 0; i < m->n_entries; i++) {
		struct item *it = &w->items[i];
		struct error why = {0};
		struct found f = {0};
		int r;

		if (i > 0 && w->items[i - 1].e->index == it->e->index)
			return error_set(err, -EINVAL, "entry %" PRIu64 " is there twice",
					 it->e->index);
		if (entry_read(it->e->bytes, it->e->len, &it->parsed, &why) == 0) {
			it->readable = true;
			continue;
		}
		found_id(&f, "#%" PRIu64, it->e->index);
		(void)found_is(&f, LINK_FALSE, "the entry cannot be read: %s", why.text);
		r = walk_add(w, "ledger", LINK_FALSE, &f, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* {"op_…": [positions]…}, in the order of the first entry of each. */
static json_t *
walk_group_by_op(const struct walk *w, bool of_one)
{
	json_t *groups = json_object();

	for (size_t i = 0; groups != NULL && i < w->m->n_entries; i++) {
		const char *op = w->items[i].parsed.op;
		json_t *members;

		if (!w->items[i].readable || op == NULL || !op_id_valid(op))
			continue;
		if (of_one && strcmp(op, w->m->id) != 0)
			continue;
		members = json_object_get(groups, op);
		if (members == NULL) {
			members = json_array();
			/* A failure leaves MEMBERS freed; the append below then fails on NULL. */
			if (json_object_set_new(groups, op, members) < 0)
				members = NULL;
		}
		if (json_array_append_new(members, json_integer((json_int_t)i)) < 0) {
			json_decref(groups);
			return NULL;
		}
	}
	return groups;
}

static int
walk_run(struct walk *w, bool of_one, struct error *err)
{
	CLEANUP(json_decrefp) json_t *groups = NULL;
	const char *op;
	json_t *members;
	int r;

	r = walk_read(w, err);
	if (r < 0)
		return r;
	groups = walk_group_by_op(w, of_one);
	if (groups == NULL)
		return error_set(err, -ENOMEM, "out of memory for a trace");
	json_object_foreach(groups, op, members)
	{
		r = walk_group(w, op, members, err);
		if (r < 0)
			return r;
	}
	if (w->n_operations == 0) {
		struct found f = {0};

		found_id(&f, "%s", w->m->id);
		(void)found_is(&f, LINK_MISSING, "nothing is recorded under this id");
		return walk_add(w, "ledger", LINK_MISSING, &f, err);
	}
	return 0;
}

static void
walk_fini(struct walk *w)
{
	for (size_t i = 0; w->items != NULL && i < w->m->n_entries; i++) {
		if (w->items[i].readable)
			entry_fini(&w->items[i].parsed);
	}
	free(w->items);
	free(w->blob_digests);
	operation_drop(w->first);
	json_decref(w->links);
}

int
trace_build(const struct trace_material *m, json_t **ret, struct error *err)
{
	struct walk w = {.m = m};
	bool of_one = op_id_valid(m->id);
	json_t *v;
	uint64_t n;
	int r;

	if (!of_one && !session_id_parse(m->id, &n))
		return error_set(err, -EINVAL, "\"%.32s\" is no operation and no session", m->id);
	if (m->n_entries > TRACE_ENTRIES_MAX)
		return error_set(err, -E2BIG, "%zu entries are more than one trace can hold",
				 m->n_entries);
	w.items = calloc(m->n_entries + 1, sizeof(w.items[0]));
	w.blob_digests = calloc(m->n_blobs + 1, sizeof(w.blob_digests[0]));
	w.links = json_array();
	w.have_vkey = m->vkey != NULL && vkey_parse(m->vkey, strlen(m->vkey), &w.vkey, NULL) == 0;
	if (w.items == NULL || w.blob_digests == NULL || w.links == NULL)
		r = error_set(err, -ENOMEM, "out of memory for a trace");
	else
		r = walk_run(&w, of_one, err);
	if (r == 0) {
		v = json_pack("{s:s, s:s, s:O}", "id", m->id, "status",
			      w.broken ? "unverified" : "verified", "links", w.links);
		if (v == NULL)
			r = error_set(err, -ENOMEM, "out of memory for a trace");
		else
			*ret = v;
	}
	walk_fini(&w);
	return r;
}

size_t
trace_wants(const void *entry, size_t len, uint8_t ret[TRACE_WANTS_MAX][SHA256_LEN])
{
	struct entry e = {0};
	const char *hex;
	size_t n = 0;

	if (entry_read(entry, len, &e, NULL) < 0)
		return 0;
	if (strcmp(e.kind, "intent") == 0) {
		hex = json_string_value(
			json_object_get(json_object_get(e.json, "profile"), "digest"));
		if (hex != NULL && hex_decode(hex, ret[n], SHA256_LEN) == 0)
			n++;
		for (uint32_t i = 0; i < e.n_blobs; i++)
			memcpy(ret[n++], e.blobs[i], SHA256_LEN);
	}
	entry_fini(&e);
	return n;
}

bool
trace_is_verified(const json_t *trace)
{
	const char *s = json_string_value(json_object_get(trace, "status"));

	return s != NULL && strcmp(s, "verified") == 0;
}
