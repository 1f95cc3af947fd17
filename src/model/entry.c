/*
 * Writers build the object and serialise it canonically; the reader accepts only those bytes. What
 * an intent says twice (once for people and views, once inside the operation that is performed) has
 * to be equal, so that no reader can be shown something else than what was granted.
 */
#include "model/entry.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/object.h"
#include "model/operation_known.h"
#include "model/scan.h"

#define EVENT_NAME_MAX 32

/* Said at the top of an intent and inside its operation. */
static const char *const SHARED_KEYS[] = {"op",	     "session",	 "identity",
					  "profile", "workflow", "capability"};

static void
entry_head(struct object *o, const char *kind, uint64_t wall_ms)
{
	char time[CLOCK_TEXT_MAX];

	clock_text(wall_ms, time);
	object_init(o);
	object_u64(o, "v", 1);
	object_text(o, "kind", kind);
	object_text(o, "time", time);
}

static int
entry_tail(struct object *o, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = object_end(o, err);
	size_t before = out->len;
	int r;

	if (v == NULL)
		return error_prefix(err, "entry");
	r = json_write_canonical(v, out, err);
	if (r >= 0)
		r = buf_check(out, err);
	if (r >= 0 && out->len - before > ENTRY_MAX)
		r = error_set(err, -EMSGSIZE, "more than %d bytes", ENTRY_MAX);
	if (r < 0)
		(void)error_prefix(err, "entry");
	return r < 0 ? r : 0;
}

static json_t *
rules_json(const struct verdict *v)
{
	CLEANUP(json_decrefp) json_t *list = json_array();

	for (uint32_t i = 0; i < v->n_rules && i < VERDICT_RULES_MAX; i++)
		if (json_array_append_new(list, json_string(v->rules[i])) != 0)
			return NULL;
	return TAKE_PTR(list);
}

static json_t *
blobs_json(const struct operation *op)
{
	CLEANUP(json_decrefp) json_t *list = json_array();
	char hex[2 * SHA256_LEN + 1];

	if (op->capability != C_EXEC)
		return TAKE_PTR(list);
	hex_encode(op->facts.args_sha256, SHA256_LEN, hex);
	if (json_array_append_new(list, json_string(hex)) != 0)
		return NULL;
	return TAKE_PTR(list);
}

static void
entry_verdict(struct object *o, const struct verdict *v)
{
	object_text(o, "verdict", effect_name(v->effect));
	object_text(o, "reason", v->reason < REASON_COUNT ? reason_code(v->reason) : NULL);
	object_take(o, "rules", rules_json(v));
}

static void
entry_shared(struct object *o, const json_t *operation)
{
	for (size_t i = 0; i < ARRAY_LEN(SHARED_KEYS); i++) {
		json_t *member = json_object_get(operation, SHARED_KEYS[i]);

		if (member != NULL)
			object_take(o, SHARED_KEYS[i], json_incref(member));
	}
}

int
entry_intent(const struct operation *op, const struct verdict *v, uint64_t wall_ms, struct buf *out,
	     struct error *err)
{
	CLEANUP(json_decrefp) json_t *operation = NULL;
	CLEANUP(object_fini) struct object o = {0};
	uint8_t digest[SHA256_LEN];
	int r;

	if (v->effect != EFFECT_ALLOW || v->reason != R_ALLOWED)
		return error_set(err, -EINVAL, "an intent for something that is not allowed");
	operation = operation_json(op, err);
	if (operation == NULL)
		return error_prefix(err, "entry");
	r = operation_digest(operation, digest, err);
	if (r < 0)
		return r;
	entry_head(&o, "intent", wall_ms);
	entry_shared(&o, operation);
	entry_verdict(&o, v);
	object_hex(&o, "digest", digest, sizeof(digest));
	object_take(&o, "blobs", blobs_json(op));
	object_take(&o, "operation", TAKE_PTR(operation));
	return entry_tail(&o, out, err);
}

static int
denied_write(const struct operation *op, const struct verdict *v, uint64_t wall_ms,
	     bool with_operation, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *operation = NULL;
	CLEANUP(object_fini) struct object o = {0};

	operation = operation_json_known(op, err);
	if (operation == NULL)
		return error_prefix(err, "entry");
	entry_head(&o, "event", wall_ms);
	object_text(&o, "event", "denied");
	entry_shared(&o, operation);
	entry_verdict(&o, v);
	if (with_operation)
		object_take(&o, "operation", TAKE_PTR(operation));
	return entry_tail(&o, out, err);
}

int
entry_denied(const struct operation *op, const struct verdict *v, uint64_t wall_ms, struct buf *out,
	     struct error *err)
{
	CLEANUP(buf_fini) struct buf whole = {0};
	int r;

	if (v->effect == EFFECT_ALLOW)
		return error_set(err, -EINVAL, "a denial of something that is allowed");
	buf_init(&whole, ENTRY_MAX);
	r = denied_write(op, v, wall_ms, true, &whole, NULL);
	/* Whoever asks for too much is still on record as having been denied. */
	if (r < 0)
		return denied_write(op, v, wall_ms, false, out, err);
	buf_add(out, whole.data, whole.len);
	return buf_check(out, err);
}

int
entry_outcome(const char *op, const char *session, uint64_t intent, const uint8_t digest[32],
	      const void *result, size_t result_len, uint64_t wall_ms, struct buf *out,
	      struct error *err)
{
	CLEANUP(object_fini) struct object o = {0};
	json_t *v;
	int r;

	r = json_read_canonical(result, result_len, &v, err);
	if (r < 0) {
		(void)error_prefix(err, "result");
		return r;
	}
	entry_head(&o, "outcome", wall_ms);
	object_text(&o, "op", op);
	object_text(&o, "session", session);
	object_u64(&o, "intent", intent);
	object_hex(&o, "digest", digest, SHA256_LEN);
	object_take(&o, "result", v);
	return entry_tail(&o, out, err);
}

int
entry_event(const char *event, const json_t *fields, uint64_t wall_ms, struct buf *out,
	    struct error *err)
{
	CLEANUP(object_fini) struct object o = {0};
	/* jansson's iterators are not const, though they change nothing. */
	json_t *members = (json_t *)(uintptr_t)fields;
	const char *key;
	json_t *value;

	entry_head(&o, "event", wall_ms);
	object_text(&o, "event", event);
	json_object_foreach(members, key, value)
	{
		if (json_object_get(o.json, key) != NULL)
			return error_set(err, -EINVAL, "event: %.40s is not for the caller to say",
					 key);
		object_take(&o, key, json_incref(value));
	}
	return entry_tail(&o, out, err);
}

void
entry_fini(struct entry *e)
{
	json_decrefp(&e->json);
}

/* "2026-11-30T04:16:24.123Z": the shape, so that times sort as text; not the calendar. */
static int
time_check(const json_t *v, struct error *err)
{
	static const char shape[] = "0000-00-00T00:00:00.000Z";
	const char *text;
	int r;

	r = json_get_text(v, "time", &text, err);
	if (r < 0)
		return r;
	if (strlen(text) != sizeof(shape) - 1)
		return error_set(err, -EINVAL, "time: not of the form %s", shape);
	for (size_t i = 0; i < sizeof(shape) - 1; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return error_set(err, -EINVAL, "time: not of the form %s", shape);
	return 0;
}

static bool
event_name_valid(const char *s)
{
	if (*s == '\0' || strlen(s) > EVENT_NAME_MAX)
		return false;
	for (; *s != '\0'; s++)
		if (!((*s >= 'a' && *s <= 'z') || *s == '-'))
			return false;
	return true;
}

static int
ids_read(struct entry *e, struct error *err)
{
	uint64_t n;
	int r;

	if (json_object_get(e->json, "op") != NULL) {
		r = json_get_text(e->json, "op", &e->op, err);
		if (r < 0)
			return r;
		if (!op_id_valid(e->op))
			return error_set(err, -EINVAL, "op: not the id of an operation");
	}
	if (json_object_get(e->json, "session") != NULL) {
		r = json_get_text(e->json, "session", &e->session, err);
		if (r < 0)
			return r;
		if (!session_id_parse(e->session, &n))
			return error_set(err, -EINVAL, "session: not the id of a session");
	}
	return 0;
}

static int
digest_read(struct entry *e, struct error *err)
{
	int r;

	r = object_get_hex(e->json, "digest", e->digest, sizeof(e->digest), err);
	e->has_digest = r >= 0;
	return r;
}

static int
blobs_read(struct entry *e, struct error *err)
{
	json_t *list, *item;
	size_t i;
	int r;

	r = json_get_array(e->json, "blobs", &list, err);
	if (r < 0)
		return r;
	if (json_array_size(list) > ENTRY_BLOBS_MAX)
		return error_set(err, -EINVAL, "blobs: more than %d", ENTRY_BLOBS_MAX);
	json_array_foreach(list, i, item)
	{
		const char *hex = json_string_value(item);

		if (hex == NULL || strlen(hex) != 2 * sizeof(e->blobs[i]) ||
		    hex_decode(hex, e->blobs[i], sizeof(e->blobs[i])) < 0)
			return error_set(err, -EINVAL, "blobs: not SHA-256 in lower-case hex");
	}
	e->n_blobs = (uint32_t)json_array_size(list);
	return 0;
}

static int
word_is(const json_t *v, const char *key, const char *word, struct error *err)
{
	const char *text;
	int r;

	r = json_get_text(v, key, &text, err);
	if (r < 0)
		return r;
	return strcmp(text, word) == 0 ? 0 : error_set(err, -EINVAL, "%s: not \"%s\"", key, word);
}

static int
rules_check(const json_t *v, struct error *err)
{
	json_t *rules, *item;
	size_t i;
	int r;

	r = json_get_array(v, "rules", &rules, err);
	if (r < 0)
		return r;
	if (json_array_size(rules) > VERDICT_RULES_MAX)
		return error_set(err, -EINVAL, "rules: more than %d", VERDICT_RULES_MAX);
	json_array_foreach(rules, i, item)
	{
		if (!json_is_string(item) || json_string_length(item) >= RULE_ID_MAX)
			return error_set(err, -EINVAL, "rules: not the ids of rules");
	}
	return 0;
}

static int
operation_check(const struct entry *e, const json_t *operation, struct error *err)
{
	uint8_t digest[SHA256_LEN];
	int r;

	for (size_t i = 0; i < ARRAY_LEN(SHARED_KEYS); i++)
		if (!json_equal(json_object_get(e->json, SHARED_KEYS[i]),
				json_object_get(operation, SHARED_KEYS[i])))
			return error_set(err, -EINVAL, "%s: not what the operation says",
					 SHARED_KEYS[i]);
	r = operation_digest(operation, digest, err);
	if (r < 0)
		return r;
	if (memcmp(digest, e->digest, sizeof(digest)) != 0)
		return error_set(err, -EBADMSG, "digest: not that of the operation");
	return 0;
}

/* The blobs are exactly those the operation commits to. */
static int
intent_blobs_check(const struct entry *e, const struct operation *op, struct error *err)
{
	uint32_t due = op->capability == C_EXEC ? 1 : 0;

	if (e->n_blobs != due ||
	    (due == 1 && memcmp(e->blobs[0], op->facts.args_sha256, SHA256_LEN) != 0))
		return error_set(err, -EINVAL, "blobs: not those of the operation");
	return 0;
}

static int
intent_read(struct entry *e, struct error *err)
{
	static const char *const keys[] = {"v",		 "kind",     "time",	"op",
					   "session",	 "identity", "profile", "workflow",
					   "capability", "verdict",  "reason",	"rules",
					   "operation",	 "digest",   "blobs",	NULL};
	struct operation op;
	json_t *operation;
	int r;

	r = json_only_keys(e->json, keys, err);
	if (r < 0)
		return r;
	r = word_is(e->json, "verdict", effect_name(EFFECT_ALLOW), err);
	if (r < 0)
		return r;
	r = word_is(e->json, "reason", reason_code(R_ALLOWED), err);
	if (r < 0)
		return r;
	r = rules_check(e->json, err);
	if (r < 0)
		return r;
	r = digest_read(e, err);
	if (r < 0)
		return r;
	r = blobs_read(e, err);
	if (r < 0)
		return r;
	r = json_get_object(e->json, "operation", &operation, err);
	if (r < 0)
		return r;
	r = operation_check(e, operation, err);
	if (r < 0)
		return r;
	r = operation_read(operation, &op, err);
	if (r < 0)
		return r;
	r = intent_blobs_check(e, &op, err);
	operation_fini(&op);
	return r;
}

static int
intent_index_read(struct entry *e, struct error *err)
{
	uint64_t n;
	int r;

	r = object_get_u64(e->json, "intent", UINT64_MAX, &n, err);
	if (r < 0)
		return r;
	e->intent = n;
	return 0;
}

static int
outcome_read(struct entry *e, struct error *err)
{
	static const char *const keys[] = {"v",	     "kind",   "time",	 "op", "session",
					   "intent", "digest", "result", NULL};
	json_t *result;
	int r;

	r = json_only_keys(e->json, keys, err);
	if (r < 0)
		return r;
	if (e->op == NULL || e->session == NULL)
		return error_set(err, -EINVAL, "an outcome without op or session");
	r = digest_read(e, err);
	if (r < 0)
		return r;
	r = intent_index_read(e, err);
	return r < 0 ? r : json_get_object(e->json, "result", &result, err);
}

static int
event_read(struct entry *e, struct error *err)
{
	int r;

	r = json_get_text(e->json, "event", &e->event, err);
	if (r < 0)
		return r;
	if (!event_name_valid(e->event))
		return error_set(err, -EINVAL, "event: not the name of one");
	if (json_object_get(e->json, "digest") != NULL) {
		r = digest_read(e, err);
		if (r < 0)
			return r;
	}
	if (json_object_get(e->json, "blobs") != NULL) {
		r = blobs_read(e, err);
		if (r < 0)
			return r;
	}
	return strcmp(e->event, "indeterminate") == 0 ? intent_index_read(e, err) : 0;
}

static const struct {
	const char *kind;
	int (*read)(struct entry *e, struct error *err);
} KINDS[] = {
	{"intent", intent_read},
	{"outcome", outcome_read},
	{"event", event_read},
};

static int
entry_fill(struct entry *e, struct error *err)
{
	int64_t version;
	int r;

	r = json_get_int(e->json, "v", 1, 1, &version, err);
	if (r < 0)
		return r;
	r = time_check(e->json, err);
	if (r < 0)
		return r;
	r = ids_read(e, err);
	if (r < 0)
		return r;
	r = json_get_text(e->json, "kind", &e->kind, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
		if (strcmp(e->kind, KINDS[i].kind) == 0)
			return KINDS[i].read(e, err);
	return error_set(err, -EINVAL, "kind: there is no \"%.40s\"", e->kind);
}

int
entry_read(const void *data, size_t len, struct entry *ret, struct error *err)
{
	struct entry e = {.intent = UINT64_MAX};
	struct scan_entry scanned;
	int r;

	if (len > ENTRY_MAX)
		return error_set(err, -EMSGSIZE, "entry: more than %d bytes", ENTRY_MAX);
	/* As json_read_canonical, without writing it all out again to compare. */
	r = scan_object(data, len, &scanned, err);
	if (r >= 0)
		r = json_read(data, len, &e.json, err);
	if (r >= 0)
		r = entry_fill(&e, err);
	if (r < 0) {
		entry_fini(&e);
		(void)error_prefix(err, "entry");
		return r;
	}
	*ret = e;
	return 0;
}
