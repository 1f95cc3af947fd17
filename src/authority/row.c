/*
 * The same row comes about in two ways: from what we are about to record, without parsing anything
 * on the way of a run, and from the recorded bytes, when the view is made anew. The
 * latter believes what it reads: a view proves nothing, and the ledger has checked these bytes.
 */
#include "authority/row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* Copies what fits; everything here is an id, a code or a name that was checked before. */
static void
word_set(char *out, size_t cap, const char *text)
{
	(void)snprintf(out, cap, "%s", text != NULL ? text : "");
}

void
row_init(struct row *r, enum entry_kind kind, uint64_t time_ms)
{
	*r = (struct row){.kind = kind, .uid = ROW_NO_UID};
	clock_text(time_ms, r->time);
}

void
row_of_operation(struct row *r, const struct operation *op, const struct verdict *v)
{
	word_set(r->op, sizeof(r->op), op->op);
	word_set(r->session, sizeof(r->session), op->session);
	r->uid = op->identity.uid;
	if (v == NULL)
		return;
	word_set(r->verdict, sizeof(r->verdict), effect_name(v->effect));
	word_set(r->reason, sizeof(r->reason), reason_code(v->reason));
}

static const char *
text_of(const json_t *v, const char *key)
{
	return json_string_value(json_object_get(v, key));
}

static int
kind_of(const json_t *v, enum entry_kind *ret)
{
	static const struct {
		const char *name;
		enum entry_kind kind;
	} kinds[] = {{"intent", ENTRY_INTENT}, {"outcome", ENTRY_OUTCOME}, {"event", ENTRY_EVENT}};
	const char *kind = text_of(v, "kind");

	for (size_t i = 0; kind != NULL && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		*ret = kinds[i].kind;
		return 0;
	}
	return -EINVAL;
}

int
row_of_entry(struct row *r, const void *bytes, size_t len, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	enum entry_kind kind;
	const json_t *uid;
	const char *id;
	uint64_t number;
	int code;

	code = json_read(bytes, len, &v, err);
	if (code < 0)
		return code;
	if (kind_of(v, &kind) < 0)
		return error_set(err, -EINVAL, "an entry of no kind");
	row_init(r, kind, 0);
	word_set(r->time, sizeof(r->time), text_of(v, "time"));
	id = text_of(v, "op");
	if (id != NULL && op_id_valid(id))
		word_set(r->op, sizeof(r->op), id);
	id = text_of(v, "session");
	if (id != NULL && session_id_parse(id, &number))
		word_set(r->session, sizeof(r->session), id);
	word_set(r->event, sizeof(r->event), text_of(v, "event"));
	word_set(r->verdict, sizeof(r->verdict), text_of(v, "verdict"));
	word_set(r->reason, sizeof(r->reason), text_of(v, "reason"));
	if (strcmp(r->event, "session") == 0)
		word_set(r->name, sizeof(r->name), text_of(v, "name"));
	uid = json_object_get(json_object_get(v, "identity"), "uid");
	if (json_is_integer(uid) && json_integer_value(uid) >= 0 &&
	    json_integer_value(uid) < ROW_NO_UID)
		r->uid = (uint32_t)json_integer_value(uid);
	return 0;
}
