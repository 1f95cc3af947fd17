/*
 * Two readers of entries that share no code agree on what is canonical; an entry that is accepted
 * says the same to both, and its bytes are the only spelling of it.
 */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "ledger/openset.h"
#include "model/entry.h"
#include "model/examine.h"
#include "model/scan.h"

static void
same_to_both(const struct entry *e, const struct scan_entry *s)
{
	uint8_t hashes[ENTRY_BLOBS_MAX][SHA256_LEN], digest[SHA256_LEN];
	uint64_t n;
	uint32_t count;

	FUZZ_CHECK(scan_u64(s->v, &n) == 0 && n == 1);
	FUZZ_CHECK(scan_is(s->kind, e->kind));
	if (e->op != NULL)
		FUZZ_CHECK(scan_op(s->op, &n) == 0 && n == op_number(e->op));
	if (e->event != NULL)
		FUZZ_CHECK(scan_is(s->event, e->event));
	if (e->intent != UINT64_MAX)
		FUZZ_CHECK(scan_u64(s->intent, &n) == 0 && n == e->intent);
	if (e->has_digest)
		FUZZ_CHECK(scan_hash(s->digest, digest) == 0 &&
			   memcmp(digest, e->digest, sizeof(digest)) == 0);
	FUZZ_CHECK(scan_hashes(s->blobs, hashes, &count) == 0 && count == e->n_blobs);
	FUZZ_CHECK(memcmp(hashes, e->blobs, count * SHA256_LEN) == 0);
}

static void
same_facts(const struct entry *e, const struct entry_facts *f)
{
	FUZZ_CHECK((e->op != NULL) == f->has_op && e->intent == f->intent);
	FUZZ_CHECK(e->op == NULL || op_number(e->op) == f->op);
	FUZZ_CHECK(e->has_digest == f->has_digest && e->n_blobs == f->n_blobs);
	FUZZ_CHECK(!f->has_digest || memcmp(e->digest, f->digest, SHA256_LEN) == 0);
	FUZZ_CHECK(memcmp(e->blobs, f->blobs, f->n_blobs * SHA256_LEN) == 0);
	FUZZ_CHECK((strcmp(e->kind, "outcome") == 0) == (f->result.len > 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct scan_entry scanned;
	struct entry_facts facts;
	struct entry e;
	bool canonical, accepted, examined;

	accepted = scan_object(data, size, &scanned, NULL) == 0;
	canonical = json_read_canonical(data, size, &v, NULL) == 0 && json_is_object(v);
	FUZZ_CHECK(accepted == canonical);
	examined = entry_examine(data, size, &facts, NULL) == 0;
	if (entry_read(data, size, &e, NULL) < 0) {
		FUZZ_CHECK(!examined);
		return 0;
	}
	FUZZ_CHECK(accepted && examined);
	same_to_both(&e, &scanned);
	same_facts(&e, &facts);
	entry_fini(&e);
	return 0;
}
