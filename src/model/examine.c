/*
 * The same rules as in entry.c, on the bytes of the members: in canonical JSON a value has one
 * spelling, so ids, hashes, times and names can be judged as they stand. That the two readers agree
 * is what the fuzzer of entries looks for.
 */
#include "model/examine.h"

#include <errno.h>
#include <string.h>

#define EVENT_NAME_MAX 32

static int
refuse(struct error *err, int code, const char *what)
{
	return error_set(err, code, "entry: %s", what);
}

static bool
time_ok(struct scan_span s)
{
	static const char shape[] = "\"0000-00-00T00:00:00.000Z\"";

	if (s.len != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (shape[i] == '0' ? s.at[i] < '0' || s.at[i] > '9' : s.at[i] != shape[i])
			return false;
	return true;
}

static bool
session_ok(struct scan_span s)
{
	char text[SESSION_ID_MAX];
	uint64_t n;

	if (s.len < 2 || s.len - 2 >= sizeof(text) || s.at[0] != '"')
		return false;
	memcpy(text, s.at + 1, s.len - 2);
	text[s.len - 2] = '\0';
	return session_id_parse(text, &n);
}

static bool
event_ok(struct scan_span s)
{
	if (s.len < 3 || s.len - 2 > EVENT_NAME_MAX || s.at[0] != '"')
		return false;
	for (size_t i = 1; i + 1 < s.len; i++)
		if (!((s.at[i] >= 'a' && s.at[i] <= 'z') || s.at[i] == '-'))
			return false;
	return true;
}

/* What any entry may have, and must have right then. */
static int
common_examine(const struct scan_entry *s, struct entry_facts *f, struct error *err)
{
	uint64_t version;

	if (scan_u64(s->v, &version) < 0 || version != 1)
		return refuse(err, -EINVAL, "v: not 1");
	if (!time_ok(s->time))
		return refuse(err, -EINVAL, "time: not of the form 0000-00-00T00:00:00.000Z");
	f->has_op = s->op.len > 0;
	if (f->has_op && scan_op(s->op, &f->op) < 0)
		return refuse(err, -EINVAL, "op: not the id of an operation");
	if (s->session.len > 0 && !session_ok(s->session))
		return refuse(err, -EINVAL, "session: not the id of a session");
	return 0;
}

static int
intent_examine(const void *data, size_t len, const struct scan_entry *s, struct entry_facts *f,
	       struct error *err)
{
	struct entry e;
	int r;

	(void)s;
	r = entry_read(data, len, &e, err);
	if (r < 0)
		return r;
	f->has_digest = true;
	memcpy(f->digest, e.digest, sizeof(f->digest));
	f->n_blobs = e.n_blobs;
	memcpy(f->blobs, e.blobs, sizeof(f->blobs));
	entry_fini(&e);
	return 0;
}

static int
outcome_examine(const void *data, size_t len, const struct scan_entry *s, struct entry_facts *f,
		struct error *err)
{
	(void)data, (void)len;
	/* v, kind, time, op, session, intent, digest, result, and nothing else. */
	if (s->n_members != 8)
		return refuse(err, -EINVAL, "an outcome with other members than it has");
	if (!f->has_op || s->session.len == 0)
		return refuse(err, -EINVAL, "an outcome without op or session");
	f->has_digest = scan_hash(s->digest, f->digest) == 0;
	if (!f->has_digest)
		return refuse(err, -EINVAL, "digest: not 32 bytes in lower-case hex");
	if (scan_u64(s->intent, &f->intent) < 0)
		return refuse(err, -EINVAL, "intent: not the index of an entry");
	if (s->result.len == 0 || s->result.at[0] != '{')
		return refuse(err, -EINVAL, "result: not an object");
	f->result = s->result;
	return 0;
}

static int
event_examine(const void *data, size_t len, const struct scan_entry *s, struct entry_facts *f,
	      struct error *err)
{
	(void)data, (void)len;
	if (!event_ok(s->event))
		return refuse(err, -EINVAL, "event: not the name of one");
	f->event = s->event;
	f->has_digest = s->digest.len > 0;
	if (f->has_digest && scan_hash(s->digest, f->digest) < 0)
		return refuse(err, -EINVAL, "digest: not 32 bytes in lower-case hex");
	if (scan_hashes(s->blobs, f->blobs, &f->n_blobs) < 0)
		return refuse(err, -EINVAL, "blobs: not SHA-256 in lower-case hex");
	if (scan_is(s->event, "indeterminate") && scan_u64(s->intent, &f->intent) < 0)
		return refuse(err, -EINVAL, "intent: not the index of an entry");
	return 0;
}

static const struct {
	const char *name;
	enum entry_kind kind;
	int (*examine)(const void *data, size_t len, const struct scan_entry *s,
		       struct entry_facts *f, struct error *err);
} kinds[] = {
	{"intent", ENTRY_INTENT, intent_examine},
	{"outcome", ENTRY_OUTCOME, outcome_examine},
	{"event", ENTRY_EVENT, event_examine},
};

int
entry_examine(const void *data, size_t len, struct entry_facts *ret, struct error *err)
{
	struct entry_facts f = {.intent = UINT64_MAX};
	struct scan_entry s;
	int r;

	if (len > ENTRY_MAX)
		return error_set(err, -EMSGSIZE, "entry: more than %d bytes", ENTRY_MAX);
	r = scan_object(data, len, &s, err);
	if (r < 0) {
		(void)error_prefix(err, "entry");
		return r;
	}
	r = common_examine(&s, &f, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!scan_is(s.kind, kinds[i].name))
			continue;
		f.kind = kinds[i].kind;
		r = kinds[i].examine(data, len, &s, &f, err);
		if (r == 0)
			*ret = f;
		return r;
	}
	return refuse(err, -EINVAL, "kind: not intent, outcome or event");
}
