/*
 * Each link starts from nothing and returns "verified" only in its last line, so that a path
 * somebody forgot is not a proof. The names of links that no performer of this build makes
 * (approval, lease, broker) are judged too: an entry that claims one cannot be checked, and is
 * false.
 */
#include "evidence/links.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "ledger/proof.h"
#include "model/profile.h"
#include "model/receipt.h"
#include "model/result.h"

void
found_id(struct found *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->id, sizeof(f->id), fmt, ap);
	va_end(ap);
}

enum link_status
found_is(struct found *f, enum link_status s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
	return s;
}

static const struct trace_blob *
walk_blob(const struct walk *w, const uint8_t digest[SHA256_LEN])
{
	for (size_t i = 0; i < w->m->n_blobs; i++) {
		if (memcmp(w->blob_digests[i], digest, SHA256_LEN) == 0)
			return &w->m->blobs[i];
	}
	return NULL;
}

static bool
entry_names_blob(const struct entry *e, const uint8_t digest[SHA256_LEN])
{
	for (uint32_t i = 0; i < e->n_blobs; i++) {
		if (memcmp(e->blobs[i], digest, SHA256_LEN) == 0)
			return true;
	}
	return false;
}

/* Is the member KEY of A the same value as that of B, and there at all? */
static bool
same_member(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key);
	const json_t *y = json_object_get(b, key);

	return x != NULL && y != NULL && json_equal(x, y);
}

static const char *
text_member(const json_t *v, const char *key)
{
	const char *s = json_string_value(json_object_get(v, key));

	return s != NULL ? s : "";
}

static enum link_status
link_profile(struct group *g, struct found *f)
{
	CLEANUP(profile_freep) struct profile *p = NULL;
	const struct trace_blob *blob;
	char hex[2 * SHA256_LEN + 1];
	struct error err = {0};

	if (g->denied != NULL)
		return found_is(f, LINK_NOT_APPLICABLE, "denied: nothing ran under it");
	if (g->read == NULL)
		return found_is(f, g->intent == NULL ? LINK_MISSING : LINK_FALSE, "%s",
				g->read_error);
	hex_encode(g->read->profile_digest, SHA256_LEN, hex);
	found_id(f, "sha256:%s", hex);
	blob = walk_blob(g->w, g->read->profile_digest);
	if (blob == NULL)
		return found_is(f, LINK_MISSING, "no text with this digest in the store");
	if (profile_read_canonical(blob->data, blob->len, &p, &err) < 0)
		return found_is(f, LINK_FALSE, "the text is no canonical profile: %s", err.text);
	if (memcmp(p->digest, g->read->profile_digest, SHA256_LEN) != 0)
		return found_is(f, LINK_FALSE, "the text has another digest");
	if (strcmp(p->name, g->read->profile_name) != 0)
		return found_is(f, LINK_FALSE, "the text is of profile %s, the record says %s",
				p->name, g->read->profile_name);
	return found_is(f, LINK_VERIFIED, "%s, as it was", p->name);
}

/* Every blob that the entry names is in the store under the digest it is named by. */
static bool
blobs_there(const struct group *g, char ret_hex[2 * SHA256_LEN + 1])
{
	const struct entry *e = &g->intent->parsed;

	for (uint32_t i = 0; i < e->n_blobs; i++) {
		hex_encode(e->blobs[i], SHA256_LEN, ret_hex);
		if (walk_blob(g->w, e->blobs[i]) == NULL)
			return false;
	}
	return true;
}

static enum link_status
decision_denied(struct group *g, struct found *f)
{
	const json_t *v = g->denied->parsed.json;
	const char *verdict = text_member(v, "verdict");
	const char *code = text_member(v, "reason");
	enum reason reason;

	if (strcmp(verdict, "deny") != 0 && strcmp(verdict, "escalate") != 0)
		return found_is(f, LINK_FALSE, "recorded as denied with the verdict \"%.32s\"",
				verdict);
	if (!reason_find(code, &reason) || reason == R_ALLOWED)
		return found_is(f, LINK_FALSE, "recorded as denied with the reason \"%.32s\"",
				code);
	if (g->n_intents != 0 || g->n_outcomes != 0)
		return found_is(f, LINK_FALSE, "denied, and yet there is an intent or an outcome");
	return found_is(f, LINK_VERIFIED, "%s: %s: %s", verdict, code, reason_sentence(reason));
}

/* Was the rule at AT named before? A verdict over several capabilities names a rule for each. */
static bool
rule_repeated(const json_t *ids, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (json_equal(json_array_get(ids, i), json_array_get(ids, at)))
			return true;
	}
	return false;
}

/* The verdict as recorded; on success RULES has the ids, separated by a space. */
static bool
verdict_allows(const json_t *v, char *rules, size_t cap)
{
	const json_t *ids = json_object_get(v, "rules");
	const json_t *id;
	size_t i, used = 0;

	if (strcmp(text_member(v, "verdict"), "allow") != 0 ||
	    strcmp(text_member(v, "reason"), reason_code(R_ALLOWED)) != 0)
		return false;
	if (json_array_size(ids) == 0)
		return false;
	json_array_foreach(ids, i, id)
	{
		int n;

		if (!json_is_string(id) || json_string_length(id) == 0)
			return false;
		if (rule_repeated(ids, i))
			continue;
		n = snprintf(rules + used, cap - used, "%s%s", i > 0 ? " " : "",
			     json_string_value(id));
		if (n < 0 || (size_t)n >= cap - used)
			return false;
		used += (size_t)n;
	}
	return true;
}

static enum link_status
link_decision(struct group *g, struct found *f)
{
	/* What an intent repeats of its operation, for readers; it must not tell another story. */
	static const char *const repeated[] = {"op",	  "session",  "identity",
					       "profile", "workflow", "capability"};
	char rules[VERDICT_RULES_MAX * (RULE_ID_MAX + 1)];
	char hex[2 * SHA256_LEN + 1];
	uint8_t digest[SHA256_LEN];
	struct error err = {0};
	const json_t *v;

	found_id(f, "%s", g->op);
	if (g->denied != NULL)
		return decision_denied(g, f);
	if (g->intent == NULL)
		return found_is(f, LINK_MISSING, "no decision was recorded");
	if (g->n_intents != 1)
		return found_is(f, LINK_FALSE, "%zu decisions for one operation", g->n_intents);
	if (g->read == NULL)
		return found_is(f, LINK_FALSE, "%s", g->read_error);
	v = g->intent->parsed.json;
	if (!verdict_allows(v, rules, sizeof(rules)))
		return found_is(f, LINK_FALSE,
				"entry %" PRIu64 " does not say allow with its rules",
				g->intent->e->index);
	if (operation_digest(g->operation, digest, &err) < 0)
		return found_is(f, LINK_FALSE, "the operation has no digest: %s", err.text);
	if (!g->intent->parsed.has_digest ||
	    memcmp(digest, g->intent->parsed.digest, SHA256_LEN) != 0)
		return found_is(f, LINK_FALSE, "the recorded digest is not that of the operation");
	for (size_t i = 0; i < ARRAY_LEN(repeated); i++) {
		if (!same_member(v, g->operation, repeated[i]))
			return found_is(f, LINK_FALSE, "\"%s\" differs between entry and operation",
					repeated[i]);
	}
	if (!blobs_there(g, hex))
		return found_is(f, LINK_MISSING, "text %s is not in the store", hex);
	if (g->read->capability == C_EXEC &&
	    !entry_names_blob(&g->intent->parsed, g->read->facts.args_sha256))
		return found_is(f, LINK_FALSE, "the arguments that were decided are not kept");
	hex_encode(digest, SHA256_LEN, hex);
	return found_is(f, LINK_VERIFIED, "allow %s by %s, operation sha256:%s",
			capability_name(g->read->capability), rules, hex);
}

static enum link_status
link_approval(struct group *g, struct found *f)
{
	if (json_object_get(g->intent != NULL ? g->intent->parsed.json : NULL, "approval") != NULL)
		return found_is(f, LINK_FALSE, "an approval is named that this build cannot check");
	return found_is(f, LINK_NOT_APPLICABLE, "no approval was needed");
}

static enum link_status
link_grant(struct group *g, struct found *f)
{
	const struct entry *o;

	if (g->denied != NULL)
		return found_is(f, LINK_NOT_APPLICABLE, "denied: none was given");
	if (g->intent == NULL)
		return found_is(f, LINK_MISSING, "no intent was recorded");
	found_id(f, "#%" PRIu64, g->intent->e->index);
	if (g->outcome == NULL)
		return found_is(f, LINK_MISSING, "nobody has answered for it yet");
	if (g->n_outcomes != 1)
		return found_is(f, LINK_FALSE, "used %zu times", g->n_outcomes);
	o = &g->outcome->parsed;
	if (o->intent != g->intent->e->index)
		return found_is(f, LINK_FALSE, "the outcome is of entry %" PRIu64, o->intent);
	if (g->outcome->e->index <= g->intent->e->index)
		return found_is(f, LINK_FALSE, "the outcome was recorded before the intent");
	if (!o->has_digest || !g->intent->parsed.has_digest ||
	    memcmp(o->digest, g->intent->parsed.digest, SHA256_LEN) != 0)
		return found_is(f, LINK_FALSE, "the outcome is of another operation digest");
	return found_is(f, LINK_VERIFIED,
			"used once, by the performer that entry %" PRIu64 " is of",
			g->outcome->e->index);
}

static enum link_status
link_lease(struct group *g, struct found *f)
{
	if (json_object_get(g->intent != NULL ? g->intent->parsed.json : NULL, "lease") != NULL)
		return found_is(f, LINK_FALSE, "a lease is named that this build cannot check");
	return found_is(f, LINK_NOT_APPLICABLE, "no credential was used");
}

static enum link_status
link_broker(struct group *g, struct found *f)
{
	if (json_object_get(g->intent != NULL ? g->intent->parsed.json : NULL, "broker") != NULL)
		return found_is(f, LINK_FALSE, "a broker is named that this build cannot check");
	return found_is(f, LINK_NOT_APPLICABLE, "nothing left the sandbox");
}

static bool
same_workspace(const struct workspace_facts *a, const struct workspace_facts *b)
{
	return strcmp(a->path, b->path) == 0 && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->ino == b->ino;
}

static bool
same_identity(const struct identity *a, const struct identity *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->owner, b->owner) == 0 && a->uid == b->uid;
}

static enum link_status
link_session(struct group *g, struct found *f)
{
	const struct walk *w = g->w;
	const char *session = NULL;
	const json_t *pos;
	uint64_t n;
	size_t i;

	json_array_foreach(g->members, i, pos)
	{
		const struct item *it = &w->items[json_integer_value(pos)];

		if (it->parsed.session == NULL && it == g->denied)
			continue; /* refused before it had one */
		if (it->parsed.session == NULL)
			return found_is(f, LINK_FALSE, "entry %" PRIu64 " names no session",
					it->e->index);
		if (session != NULL && strcmp(session, it->parsed.session) != 0)
			return found_is(f, LINK_FALSE, "entry %" PRIu64 " is of session %s",
					it->e->index, it->parsed.session);
		session = it->parsed.session;
	}
	if (session == NULL)
		return found_is(f, LINK_NOT_APPLICABLE, "none was made");
	found_id(f, "%s", session);
	if (!session_id_parse(session, &n))
		return found_is(f, LINK_FALSE, "no name of a session");
	if (session_id_parse(w->m->id, &n) && strcmp(w->m->id, session) != 0)
		return found_is(f, LINK_FALSE, "of session %s, not %s", session, w->m->id);
	if (g->denied != NULL)
		return found_is(f, LINK_VERIFIED, "all entries are of it");
	if (g->read == NULL)
		return found_is(f, g->intent == NULL ? LINK_MISSING : LINK_FALSE, "%s",
				g->read_error);
	if (strcmp(g->read->session, session) != 0)
		return found_is(f, LINK_FALSE, "the operation is of session %s", g->read->session);
	if (w->first != NULL &&
	    (!same_identity(&w->first->identity, &g->read->identity) ||
	     strcmp(w->first->workflow, g->read->workflow) != 0 ||
	     memcmp(w->first->profile_digest, g->read->profile_digest, SHA256_LEN) != 0 ||
	     !same_workspace(&w->first->facts.workspace, &g->read->facts.workspace)))
		return found_is(
			f, LINK_FALSE,
			"identity, workflow, profile or workspace changed within the session");
	return found_is(f, LINK_VERIFIED, "all entries are of it, %s as %s", g->read->identity.name,
			g->read->identity.owner);
}

static const char *
exit_text(const struct exec_result *r, char *out, size_t cap)
{
	switch (r->exit_kind) {
	case EXIT_STATUS:
		(void)snprintf(out, cap, "exit status %" PRId32, r->exit_value);
		break;
	case EXIT_SIGNAL:
		(void)snprintf(out, cap, "signal %" PRId32, r->exit_value);
		break;
	case EXIT_TIMEOUT:
		(void)snprintf(out, cap, "timed out");
		break;
	case EXIT_NOT_FOUND:
		(void)snprintf(out, cap, "command not found");
		break;
	case EXIT_NOT_EXECUTABLE:
		(void)snprintf(out, cap, "command not executable");
		break;
	case EXIT_STOPPED:
		(void)snprintf(out, cap, "stopped");
		break;
	case EXIT_NONE:
	case EXIT_FAILED:
		(void)snprintf(out, cap, "nothing ran to its end");
		break;
	}
	return out;
}

static enum link_status
outcome_exec(struct found *f, const struct buf *bytes)
{
	struct exec_result r = {0};
	struct error err = {0};
	char text[64] = "";

	if (exec_result_read(bytes->data, bytes->len, &r, &err) < 0)
		return found_is(f, LINK_FALSE, "the result cannot be read: %s", err.text);
	(void)exit_text(&r, text, sizeof(text));
	if (r.status == RESULT_DONE)
		(void)found_is(f, LINK_VERIFIED, "%s after %" PRIu64 " ms, %" PRIu64 " change%s",
			       text, r.wall_ms, r.changes, r.changes == 1 ? "" : "s");
	else
		(void)found_is(f, LINK_VERIFIED, "%s at %s: %s",
			       r.status == RESULT_REFUSED ? "refused, nothing ran" : "failed",
			       r.step, reason_code(r.reason));
	exec_result_fini(&r);
	return LINK_VERIFIED;
}

static enum link_status
outcome_accept(struct group *g, struct found *f, const struct buf *bytes)
{
	struct accept_result r = {0};
	struct error err = {0};

	if (accept_result_read(bytes->data, bytes->len, &r, &err) < 0)
		return found_is(f, LINK_FALSE, "the result cannot be read: %s", err.text);
	if (r.status != RESULT_DONE)
		return found_is(f, LINK_VERIFIED, "refused: %s", reason_code(r.reason));
	if (memcmp(r.manifest, g->read->manifest, SHA256_LEN) != 0)
		return found_is(f, LINK_FALSE, "another manifest was applied than was decided");
	return found_is(f, LINK_VERIFIED, "%" PRIu64 " file%s taken over", r.files,
			r.files == 1 ? "" : "s");
}

static enum link_status
link_outcome(struct group *g, struct found *f)
{
	struct error err = {0};
	enum link_status s;
	json_t *result;
	struct buf bytes;

	if (g->denied != NULL)
		return found_is(f, LINK_NOT_APPLICABLE, "denied: nothing happened");
	if (g->lost != NULL) {
		found_id(f, "#%" PRIu64, g->lost->e->index);
		return found_is(f, LINK_MISSING, "indeterminate: what happened was lost");
	}
	if (g->outcome == NULL)
		return found_is(f, LINK_MISSING, "none was recorded");
	found_id(f, "#%" PRIu64, g->outcome->e->index);
	if (g->read == NULL)
		return found_is(f, LINK_FALSE, "%s", g->read_error);
	result = json_object_get(g->outcome->parsed.json, "result");
	if (!json_is_object(result))
		return found_is(f, LINK_FALSE, "the outcome has no result");
	buf_init(&bytes, ENTRY_MAX);
	if (json_write_canonical(result, &bytes, &err) < 0 || buf_check(&bytes, &err) < 0)
		s = found_is(f, LINK_FALSE, "the result cannot be read: %s", err.text);
	else if (g->read->capability == C_EXEC)
		s = outcome_exec(f, &bytes);
	else if (g->read->capability == C_WORKSPACE_ACCEPT)
		s = outcome_accept(g, f, &bytes);
	else
		s = found_is(f, LINK_FALSE, "nothing performs %s",
			     capability_name(g->read->capability));
	buf_fini(&bytes);
	return s;
}

/* The signed head of E's proof, verified, into w->head. */
static int
head_verify(struct walk *w, const struct trace_entry *e, struct error *err)
{
	struct tree_head head;
	int r;

	if (w->note != NULL && w->note_len == e->note_len &&
	    memcmp(w->note, e->note, e->note_len) == 0)
		return 0;
	r = checkpoint_read(e->note, e->note_len, &w->vkey, &head, err);
	if (r < 0)
		return r;
	w->head = head;
	w->note = e->note;
	w->note_len = e->note_len;
	return 0;
}

/* Is E where its proof says, under its signed head? */
static int
entry_included(struct walk *w, const struct trace_entry *e, struct error *err)
{
	uint8_t path[PROOF_PATH_MAX][SHA256_LEN];
	uint8_t leaf[SHA256_LEN];
	int r;

	r = head_verify(w, e, err);
	if (r < 0)
		return r;
	if (w->head.size != e->tree_size)
		return error_set(err, -EBADMSG, "the proof is for another tree");
	if (e->path_len % SHA256_LEN != 0 || e->path_len > sizeof(path))
		return error_set(err, -EBADMSG, "the proof is no list of hashes");
	if (e->path_len > 0)
		memcpy(path, e->path, e->path_len);
	leaf_hash(e->bytes, e->len, leaf);
	return proof_check(leaf, e->index, w->head.size, path, e->path_len / SHA256_LEN,
			   w->head.root, err);
}

static enum link_status
link_ledger(struct group *g, struct found *f)
{
	struct walk *w = g->w;
	const json_t *pos;
	uint64_t first = UINT64_MAX, last = 0;
	size_t i;

	if (!w->have_vkey)
		return found_is(f, LINK_FALSE, "the ledger's key cannot be read");
	json_array_foreach(g->members, i, pos)
	{
		const struct trace_entry *e = w->items[json_integer_value(pos)].e;
		struct error err = {0};

		if (e->note == NULL)
			return found_is(f, LINK_MISSING, "no proof for entry %" PRIu64, e->index);
		if (entry_included(w, e, &err) < 0)
			return found_is(f, LINK_FALSE, "entry %" PRIu64 ": %s", e->index, err.text);
		first = e->index < first ? e->index : first;
		last = e->index > last ? e->index : last;
	}
	if (first == UINT64_MAX)
		return found_is(f, LINK_MISSING, "no entry");
	found_id(f, "#%" PRIu64 "..#%" PRIu64, first, last);
	return found_is(f, LINK_VERIFIED, "%zu entries in the signed tree of %" PRIu64,
			json_array_size(g->members), w->head.size);
}

const struct link LINK_TABLE[LINKS] = {
	{"profile", link_profile}, {"decision", link_decision}, {"approval", link_approval},
	{"grant", link_grant},	   {"lease", link_lease},	{"broker", link_broker},
	{"session", link_session}, {"outcome", link_outcome},	{"ledger", link_ledger},
};
