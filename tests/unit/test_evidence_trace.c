/*
 * A small ledger in memory: entries as the writers make them, a tree over them, a signed head. Each
 * test then breaks one thing and sees which link says so.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "evidence/trace.h"
#include "ledger/checkpoint.h"
#include "ledger/merkle.h"
#include "ledger/proof.h"
#include "model/entry.h"
#include "model/operation.h"
#include "model/profile.h"
#include "model/receipt.h"
#include "model/result.h"

#define OP_A "op_000000000000000a"
#define OP_B "op_000000000000000b"
#define OP_C "op_000000000000000c"
#define ENTRIES_MAX 16
#define WALL_MS 1790000000000

struct world {
	struct profile *profile;
	struct buf profile_text;
	struct buf args;
	struct signer *signer;
	struct buf vkey;
	size_t n;
	struct buf entries[ENTRIES_MAX];
	struct buf note;
	uint8_t paths[ENTRIES_MAX][PROOF_PATH_MAX][SHA256_LEN];
	struct trace_entry material_entries[ENTRIES_MAX];
	struct trace_blob blobs[2];
	struct trace_material m;
	json_t *trace;
};

static int
set_up(void **state)
{
	static const uint8_t key[SIGNING_KEY_LEN] = {7};
	struct world *w = calloc(1, sizeof(*w));
	struct error err = {0};

	assert_non_null(w);
	w->profile = calloc(1, sizeof(*w->profile));
	assert_non_null(w->profile);
	*w->profile = (struct profile){
		.name = "default",
		.description = "for a test",
		.capabilities = CAPABILITY_BIT(C_EXEC),
		.root = "host",
		.workspace_at = "/workspace",
		.tmp_max = 1 << 20,
		.cpu_milli = 1000,
		.memory = 1 << 28,
		.pids = 64,
		.open_files = 256,
		.timeout_ms = 60000,
		.output = 1 << 20,
	};
	if (profile_seal(w->profile, NULL, &err) < 0)
		fail_msg("profile_seal: %s", err.text);
	buf_init(&w->profile_text, PROFILE_CANONICAL_MAX);
	assert_ok(profile_write_canonical(w->profile, &w->profile_text, &err));
	buf_init(&w->args, 4096);
	for (int i = 0; i < ARGS_SALT_LEN; i++)
		buf_char(&w->args, (char)i);
	buf_add(&w->args, "true", 5);
	assert_ok(signer_new(key, &w->signer, &err));
	buf_init(&w->vkey, VKEY_TEXT_MAX);
	vkey_print(signer_vkey(w->signer), &w->vkey);
	buf_init(&w->note, CHECKPOINT_NOTE_MAX);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	json_decref(w->trace);
	for (size_t i = 0; i < w->n; i++)
		buf_fini(&w->entries[i]);
	buf_fini(&w->note);
	buf_fini(&w->vkey);
	buf_fini(&w->args);
	buf_fini(&w->profile_text);
	signer_free(w->signer);
	profile_free(w->profile);
	free(w);
	return 0;
}

static struct buf *
next_entry(struct world *w)
{
	assert_true(w->n < ENTRIES_MAX);
	buf_init(&w->entries[w->n], ENTRY_MAX);
	return &w->entries[w->n++];
}

static void
operation_fill(const struct world *w, struct operation *op, const char *id, const char *session)
{
	*op = (struct operation){
		.capability = C_EXEC,
		.identity = {.name = "self/agent", .kind = "agent", .owner = "root"},
		.workflow = "self",
		.fresh = true,
		.timeout_ms = 60000,
	};
	(void)snprintf(op->op, sizeof(op->op), "%s", id);
	(void)snprintf(op->session, sizeof(op->session), "%s", session);
	(void)snprintf(op->profile_name, sizeof(op->profile_name), "%s", w->profile->name);
	memcpy(op->profile_digest, w->profile->digest, SHA256_LEN);
	(void)snprintf(op->facts.workspace.path, sizeof(op->facts.workspace.path), "/src/app");
	(void)snprintf(op->facts.workspace.fs, sizeof(op->facts.workspace.fs), "ext4");
	op->facts.workspace.ino = 1234;
	op->facts.args_count = 1;
	op->facts.args_bytes = w->args.len;
	sha256_of(w->args.data, w->args.len, op->facts.args_sha256);
	(void)snprintf(op->facts.argv0, sizeof(op->facts.argv0), "true");
}

/* Append the intent of OP; returns its index. */
static uint64_t
add_intent(struct world *w, const struct operation *op)
{
	struct verdict v;
	struct error err = {0};

	verdict_init(&v);
	v.effect = EFFECT_ALLOW;
	v.reason = R_ALLOWED;
	verdict_add_rule(&v, "self");
	if (entry_intent(op, &v, WALL_MS, next_entry(w), &err) < 0)
		fail_msg("entry_intent: %s", err.text);
	return w->n - 1;
}

static void
operation_digest_of(const struct operation *op, uint8_t ret[SHA256_LEN])
{
	struct error err = {0};
	json_t *v = operation_json(op, &err);

	assert_non_null(v);
	assert_ok(operation_digest(v, ret, &err));
	json_decref(v);
}

static void
add_outcome(struct world *w, const struct operation *op, const char *session, uint64_t intent,
	    const struct buf *result)
{
	uint8_t digest[SHA256_LEN];
	struct error err = {0};

	operation_digest_of(op, digest);
	if (entry_outcome(op->op, session, intent, digest, result->data, result->len, WALL_MS,
			  next_entry(w), &err) < 0)
		fail_msg("entry_outcome: %s", err.text);
}

static void
add_exec_outcome(struct world *w, const struct operation *op, const char *session, uint64_t intent,
		 int status)
{
	struct exec_result r = {
		.status = RESULT_DONE,
		.reason = R_ALLOWED,
		.exit_kind = EXIT_STATUS,
		.exit_value = status,
		.wall_ms = 12,
		.changes = 3,
		.kept = true,
	};
	struct error err = {0};
	struct buf b;

	buf_init(&b, ENTRY_MAX);
	assert_ok(exec_result_write(&r, &b, &err));
	add_outcome(w, op, session, intent, &b);
	buf_fini(&b);
}

/* The root of the complete subtree of 2^level leaves, from the leaves each time. */
static int
node_source(void *ctx, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
	    struct error *err)
{
	struct world *w = ctx;
	struct sha256 *h = sha256_new();
	struct frontier f;

	assert_non_null(h);
	frontier_init(&f);
	for (uint64_t i = index << level; i < (index + 1) << level; i++) {
		uint8_t leaf[SHA256_LEN];

		leaf_hash(w->entries[i].data, w->entries[i].len, leaf);
		frontier_add(&f, h, leaf);
	}
	frontier_root(&f, h, ret);
	sha256_free(h);
	return 0;
}

/* Grow the tree over all entries, sign it, and gather the material of ID. */
static void
seal(struct world *w, const char *id)
{
	const struct proof_source source = {.node = node_source, .ctx = w};
	struct tree_head head = {.size = w->n};
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];
	struct sha256 *h = sha256_new();
	struct frontier f;
	struct error err = {0};

	frontier_init(&f);
	for (size_t i = 0; i < w->n; i++) {
		uint8_t leaf[SHA256_LEN];

		leaf_hash(w->entries[i].data, w->entries[i].len, leaf);
		frontier_add(&f, h, leaf);
	}
	frontier_root(&f, h, head.root);
	sha256_free(h);
	assert_ok(signer_sign(w->signer, &head, signature, &err));
	buf_reset(&w->note);
	checkpoint_note(signer_vkey(w->signer), &head, signature, &w->note);
	for (size_t i = 0; i < w->n; i++) {
		size_t n = 0;

		assert_ok(proof_make(&source, i, w->n, w->paths[i], &n, &err));
		w->material_entries[i] = (struct trace_entry){
			.index = i,
			.bytes = w->entries[i].data,
			.len = w->entries[i].len,
			.tree_size = w->n,
			.path = w->paths[i],
			.path_len = n * SHA256_LEN,
			.note = w->note.data,
			.note_len = w->note.len,
		};
	}
	w->blobs[0] = (struct trace_blob){w->profile_text.data, w->profile_text.len};
	w->blobs[1] = (struct trace_blob){w->args.data, w->args.len};
	w->m = (struct trace_material){
		.id = id,
		.vkey = w->vkey.data,
		.entries = w->material_entries,
		.n_entries = w->n,
		.blobs = w->blobs,
		.n_blobs = 2,
	};
}

static void
build(struct world *w)
{
	struct error err = {0};

	json_decref(w->trace);
	w->trace = NULL;
	if (trace_build(&w->m, &w->trace, &err) < 0)
		fail_msg("trace_build: %s", err.text);
}

/* The status of the Nth link of that name. */
static const char *
link_status(const struct world *w, const char *name, size_t n)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(w->trace, "links"), i, v)
	{
		if (strcmp(json_string_value(json_object_get(v, "link")), name) == 0 && n-- == 0)
			return json_string_value(json_object_get(v, "status"));
	}
	return "absent";
}

static void
assert_links(const struct world *w, const char *const want[9])
{
	static const char *const names[] = {"profile", "decision", "approval", "grant", "lease",
					    "broker",  "session",  "outcome",  "ledger"};

	assert_int_equal(json_array_size(json_object_get(w->trace, "links")), ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(link_status(w, names[i], 0), want[i]) == 0)
			continue;
		fail_msg("%s: %s wanted: %s", names[i], want[i],
			 json_dumps(w->trace, JSON_INDENT(1)));
	}
}

static void
assert_unverified(const struct world *w, const char *link, const char *status)
{
	assert_false(trace_is_verified(w->trace));
	assert_string_equal(json_string_value(json_object_get(w->trace, "status")), "unverified");
	assert_string_equal(link_status(w, link, 0), status);
}

/* One operation, whole; with another's entries around it so that the proofs are not trivial. */
static void
one_operation(struct world *w, struct operation *op)
{
	struct operation *other = calloc(1, sizeof(*other));
	uint64_t i;

	operation_fill(w, other, OP_B, "s_2");
	operation_fill(w, op, OP_A, "s_1");
	(void)add_intent(w, other);
	i = add_intent(w, op);
	add_exec_outcome(w, other, "s_2", 0, 1);
	add_exec_outcome(w, op, "s_1", i, 0);
	assert_ok(entry_event("started", NULL, WALL_MS, next_entry(w), NULL));
	seal(w, OP_A);
	free(other);
}

#define V "verified"
#define NA "not-applicable"

static void
a_whole_walk_is_verified(void **state)
{
	static const char *const want[] = {V, V, NA, V, NA, NA, V, V, V};
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));

	one_operation(w, op);
	build(w);
	assert_links(w, want);
	assert_true(trace_is_verified(w->trace));
	assert_string_equal(json_string_value(json_object_get(w->trace, "id")), OP_A);
	free(op);
}

static void
order_does_not_matter(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	struct trace_entry first;

	one_operation(w, op);
	first = w->material_entries[0];
	w->material_entries[0] = w->material_entries[3];
	w->material_entries[3] = first;
	build(w);
	assert_true(trace_is_verified(w->trace));
	free(op);
}

static void
a_missing_blob_is_named(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));

	one_operation(w, op);
	w->m.n_blobs = 1; /* without the arguments */
	build(w);
	assert_unverified(w, "decision", "missing");
	w->m.n_blobs = 2;
	w->blobs[0].len--; /* another text is as good as none */
	build(w);
	assert_unverified(w, "profile", "missing");
	assert_string_equal(link_status(w, "decision", 0), V);
	free(op);
}

static void
a_profile_that_is_none_is_false(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	uint64_t i;

	/* The digest fits the text, and the text is no profile. */
	operation_fill(w, op, OP_A, "s_1");
	sha256_of("{}", 2, op->profile_digest);
	i = add_intent(w, op);
	add_exec_outcome(w, op, "s_1", i, 0);
	seal(w, OP_A);
	w->blobs[0] = (struct trace_blob){"{}", 2};
	build(w);
	assert_unverified(w, "profile", "false");
	free(op);
}

static void
an_altered_entry_is_not_in_the_tree(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	char *p;

	one_operation(w, op);
	/* 12 ms become 13: still canonical, still an outcome. */
	p = strstr(w->entries[3].data, "\"wallMs\":12");
	assert_non_null(p);
	p[10] = '3';
	build(w);
	assert_unverified(w, "ledger", "false");
	assert_string_equal(link_status(w, "outcome", 0), V);
	free(op);
}

static void
proofs_are_checked(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	static const char other_key[] = "loom.example+00000000+AAAA";
	struct trace_entry kept;
	uint8_t bad[PROOF_PATH_MAX][SHA256_LEN];

	one_operation(w, op);
	kept = w->material_entries[1];

	w->material_entries[1].note = NULL;
	build(w);
	assert_unverified(w, "ledger", "missing");

	w->material_entries[1] = kept;
	w->material_entries[1].path_len -= SHA256_LEN;
	build(w);
	assert_unverified(w, "ledger", "false");

	w->material_entries[1] = kept;
	memcpy(bad, kept.path, kept.path_len);
	bad[0][0] ^= 1;
	w->material_entries[1].path = bad;
	build(w);
	assert_unverified(w, "ledger", "false");

	w->material_entries[1] = kept;
	w->material_entries[1].tree_size++;
	build(w);
	assert_unverified(w, "ledger", "false");

	w->material_entries[1] = kept;
	w->material_entries[1].index = 9; /* another place than the proof says */
	build(w);
	assert_unverified(w, "ledger", "false");

	w->material_entries[1] = kept;
	w->m.vkey = other_key;
	build(w);
	assert_unverified(w, "ledger", "false");
	w->m.vkey = NULL;
	build(w);
	assert_unverified(w, "ledger", "false");

	w->m.vkey = w->vkey.data;
	w->note.data[w->note.len - 10] ^= 1; /* in the signature */
	build(w);
	assert_unverified(w, "ledger", "false");
	w->note.data[w->note.len - 10] ^= 1;
	build(w);
	assert_true(trace_is_verified(w->trace));
	free(op);
}

static void
a_lost_outcome_is_missing(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	json_t *fields;

	operation_fill(w, op, OP_A, "s_1");
	(void)add_intent(w, op);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "outcome", "missing");
	assert_string_equal(link_status(w, "grant", 0), "missing");

	fields = json_pack("{s:s, s:s, s:i}", "op", OP_A, "session", "s_1", "intent", 0);
	assert_ok(entry_event("indeterminate", fields, WALL_MS, next_entry(w), NULL));
	json_decref(fields);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "outcome", "missing");
	assert_string_equal(link_status(w, "ledger", 0), V);
	free(op);
}

static void
an_outcome_must_fit_its_intent(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	struct operation *wider = calloc(1, sizeof(*wider));
	uint64_t i;

	/* Of another intent; then of another digest; then twice; then of another session. */
	operation_fill(w, op, OP_A, "s_1");
	i = add_intent(w, op);
	add_exec_outcome(w, op, "s_1", i + 7, 0);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "grant", "false");

	buf_fini(&w->entries[--w->n]);
	operation_fill(w, wider, OP_A, "s_1");
	wider->timeout_ms++;
	add_exec_outcome(w, wider, "s_1", i, 0);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "grant", "false");

	buf_fini(&w->entries[--w->n]);
	add_exec_outcome(w, op, "s_1", i, 0);
	add_exec_outcome(w, op, "s_1", i, 1);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "grant", "false");

	buf_fini(&w->entries[--w->n]);
	buf_fini(&w->entries[--w->n]);
	add_exec_outcome(w, op, "s_2", i, 0);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "session", "false");

	buf_fini(&w->entries[--w->n]);
	add_exec_outcome(w, op, "s_1", i, 0);
	seal(w, OP_A);
	build(w);
	assert_true(trace_is_verified(w->trace));
	free(op);
	free(wider);
}

static void
an_outcome_before_its_intent_is_false(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));

	operation_fill(w, op, OP_A, "s_1");
	add_exec_outcome(w, op, "s_1", 1, 0);
	(void)add_intent(w, op);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "grant", "false");
	free(op);
}

static void
a_result_must_be_readable(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	const struct buf odd = {.data = (char[]){"{\"status\":\"done\"}"}, .len = 17};

	operation_fill(w, op, OP_A, "s_1");
	(void)add_intent(w, op);
	add_outcome(w, op, "s_1", 0, &odd);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "outcome", "false");
	free(op);
}

static void
two_intents_are_no_decision(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));

	operation_fill(w, op, OP_A, "s_1");
	(void)add_intent(w, op);
	(void)add_intent(w, op);
	add_exec_outcome(w, op, "s_1", 1, 0);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "decision", "false");
	free(op);
}

static void
a_denial_is_proved_too(void **state)
{
	static const char *const want[] = {NA, V, NA, NA, NA, NA, V, NA, V};
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	struct verdict v;
	struct error err = {0};

	operation_fill(w, op, OP_A, "s_1");
	verdict_init(&v);
	verdict_deny(&v, R_INVALID_PATH, "workspace", "it is no directory");
	if (entry_denied(op, &v, WALL_MS, next_entry(w), &err) < 0)
		fail_msg("entry_denied: %s", err.text);
	seal(w, OP_A);
	build(w);
	assert_links(w, want);
	assert_true(trace_is_verified(w->trace));

	/* Denied, and done all the same. */
	add_exec_outcome(w, op, "s_1", 0, 0);
	seal(w, OP_A);
	build(w);
	assert_unverified(w, "decision", "false");
	free(op);
}

static void
a_session_is_all_its_operations(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	uint64_t i;

	operation_fill(w, op, OP_A, "s_1");
	i = add_intent(w, op);
	add_exec_outcome(w, op, "s_1", i, 0);
	operation_fill(w, op, OP_B, "s_1");
	op->fresh = false;
	i = add_intent(w, op);
	add_exec_outcome(w, op, "s_1", i, 1);
	seal(w, "s_1");
	build(w);
	assert_true(trace_is_verified(w->trace));
	assert_int_equal(json_array_size(json_object_get(w->trace, "links")), 18);

	/* A third one that changed who asks. */
	operation_fill(w, op, OP_C, "s_1");
	op->identity.uid = 1000;
	i = add_intent(w, op);
	add_exec_outcome(w, op, "s_1", i, 0);
	seal(w, "s_1");
	build(w);
	assert_false(trace_is_verified(w->trace));
	assert_string_equal(link_status(w, "session", 1), V);
	assert_string_equal(link_status(w, "session", 2), "false");

	/* Asked for by the name of another session, none of it is right. */
	seal(w, "s_2");
	build(w);
	assert_unverified(w, "session", "false");
	free(op);
}

static void
nothing_is_not_verified(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	struct error err = {0};
	json_t *v = NULL;

	one_operation(w, op);
	w->m.id = OP_C;
	build(w);
	assert_unverified(w, "ledger", "missing");
	w->m.n_entries = 0;
	build(w);
	assert_false(trace_is_verified(w->trace));
	assert_false(trace_is_verified(NULL));

	w->m.id = "default";
	assert_fails(-EINVAL, &err, trace_build(&w->m, &v, &err));
	w->m.id = OP_A;
	w->m.n_entries = TRACE_ENTRIES_MAX + 1;
	assert_fails(-E2BIG, &err, trace_build(&w->m, &v, &err));
	w->m.n_entries = 2;
	w->material_entries[1].index = 0;
	assert_fails(-EINVAL, &err, trace_build(&w->m, &v, &err));
	assert_null(v);
	free(op);
}

static void
an_unreadable_entry_spoils_it(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));

	one_operation(w, op);
	w->material_entries[4].bytes = "{} ";
	w->material_entries[4].len = 3;
	build(w);
	assert_unverified(w, "ledger", "false");
	free(op);
}

static void
wants_are_what_is_needed(void **state)
{
	struct world *w = *state;
	struct operation *op = calloc(1, sizeof(*op));
	uint8_t want[TRACE_WANTS_MAX][SHA256_LEN];

	one_operation(w, op);
	assert_int_equal(trace_wants(w->entries[1].data, w->entries[1].len, want), 2);
	assert_memory_equal(want[0], op->profile_digest, SHA256_LEN);
	assert_memory_equal(want[1], op->facts.args_sha256, SHA256_LEN);
	assert_int_equal(trace_wants(w->entries[3].data, w->entries[3].len, want), 0);
	assert_int_equal(trace_wants("{", 1, want), 0);
	free(op);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_walk_is_verified),
		TEST(order_does_not_matter),
		TEST(a_missing_blob_is_named),
		TEST(a_profile_that_is_none_is_false),
		TEST(an_altered_entry_is_not_in_the_tree),
		TEST(proofs_are_checked),
		TEST(a_lost_outcome_is_missing),
		TEST(an_outcome_must_fit_its_intent),
		TEST(an_outcome_before_its_intent_is_false),
		TEST(a_result_must_be_readable),
		TEST(two_intents_are_no_decision),
		TEST(a_denial_is_proved_too),
		TEST(a_session_is_all_its_operations),
		TEST(nothing_is_not_verified),
		TEST(an_unreadable_entry_spoils_it),
		TEST(wants_are_what_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
