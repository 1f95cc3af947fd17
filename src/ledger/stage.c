/*
 * The stage is the batch as it will lie in the journal: records one after the other. An entry is
 * judged completely before it changes anything but the end of the stage, which is cut off again
 * when it is refused; so a refusal never touches its neighbours in the batch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "ledger/record.h"
#include "ledger/state.h"
#include "model/examine.h"

static enum journal_class
class_of(const struct staged *s)
{
	if (s->kind == ENTRY_INTENT)
		return JOURNAL_INTENT;
	return s->closes != RECORD_NO_REF ? JOURNAL_OUTCOME : JOURNAL_EVENT;
}

static int
admit_intent(struct ledger *l, const struct entry_facts *e, const void *mac, struct staged *s,
	     struct error *err)
{
	if (mac != NULL)
		return error_set(err, -EINVAL, "an intent with a MAC");
	if (openset_has_op(&l->open, e->op))
		return error_set(err, -EEXIST, "op_%016llx is open already",
				 (unsigned long long)e->op);
	if (!openset_room(&l->open))
		return error_set(err, -EBUSY, "%zu intents are open already", l->open.n);
	memcpy(s->digest, e->digest, sizeof(s->digest));
	return 0;
}

/* The durable open intent that E may close. */
static int
find_closed(struct ledger *l, const struct entry_facts *e, struct open_intent **ret,
	    struct error *err)
{
	struct open_intent *intent = openset_find(&l->open, e->intent);

	if (intent == NULL || e->intent >= l->frontier.size)
		return error_set(err, -ENOENT, "entry %llu is no intent that is open",
				 (unsigned long long)e->intent);
	if (intent->closing)
		return error_set(err, -EEXIST, "intent %llu is ending already",
				 (unsigned long long)e->intent);
	if (e->has_op && e->op != intent->op)
		return error_set(err, -EBADMSG, "intent %llu is of another operation",
				 (unsigned long long)e->intent);
	if (e->has_digest && memcmp(e->digest, intent->digest, SHA256_LEN) != 0)
		return error_set(err, -EBADMSG, "intent %llu has another digest",
				 (unsigned long long)e->intent);
	*ret = intent;
	return 0;
}

static int
admit_outcome(struct ledger *l, const struct entry_facts *e, const void *mac, struct staged *s,
	      struct error *err)
{
	struct open_intent *intent;
	uint8_t want[SHA256_LEN];
	int r;

	if (mac == NULL)
		return error_set(err, -EINVAL, "an outcome without a MAC");
	r = find_closed(l, e, &intent, err);
	if (r < 0)
		return r;
	/* As it stands in the entry: canonical, and so the bytes the performer made. */
	outcome_mac(l->receipt_key.data, e->intent, e->digest, e->result.at, e->result.len, want);
	if (!bytes_equal_ct(want, mac, sizeof(want)))
		return error_set(err, -EPERM, "the outcome's MAC is no performer's");
	s->closes = e->intent;
	return 0;
}

static int
admit_event(struct ledger *l, const struct entry_facts *e, const void *mac, struct staged *s,
	    struct error *err)
{
	struct open_intent *intent;
	int r;

	if (mac != NULL)
		return error_set(err, -EINVAL, "an event with a MAC");
	if (scan_is(e->event, "recovered"))
		return error_set(err, -EPERM, "only the ledger records that it recovered");
	if (!scan_is(e->event, "indeterminate"))
		return 0;
	r = find_closed(l, e, &intent, err);
	if (r < 0)
		return r;
	/* Its performer may be at work and will say how it ended. */
	if (intent->index >= l->start_size)
		return error_set(err, -EPERM, "intent %llu is of this start: it has a performer",
				 (unsigned long long)e->intent);
	s->closes = e->intent;
	return 0;
}

/* Read blob I to the end of the stage, and hold it against what the entry says. */
static int
stage_blob(struct ledger *l, const struct entry_facts *e, uint32_t i, int fd, struct record *rec,
	   struct error *err)
{
	size_t before = l->stage.len, max = l->stage.max;
	int r;

	l->stage.max = before + RECORD_BLOB_MAX;
	r = fd_memfd_read(fd, &l->stage, err);
	l->stage.max = max;
	if (r < 0) {
		(void)error_prefix(err, "blob %u", i);
		return r;
	}
	rec->blobs[i].len = (uint32_t)(l->stage.len - before);
	sha256_of(l->stage.data + before, rec->blobs[i].len, rec->blobs[i].sha256);
	if (memcmp(rec->blobs[i].sha256, e->blobs[i], SHA256_LEN) != 0)
		return error_set(err, -EBADMSG, "blob %u is not the one the entry names", i);
	return 0;
}

/* Put the whole record at the end of the stage. */
static int
stage_record(struct ledger *l, const struct ledger_append *a, const struct entry_facts *e,
	     struct staged *s, bool lost_blobs, struct error *err)
{
	static const uint8_t zeros[RECORD_HEADER_MAX];
	size_t start = l->stage.len;
	struct record rec = {
		.kind = s->kind,
		.index = s->index,
		.batch = l->frontier.size,
		.ref = s->kind == ENTRY_INTENT ? e->op : s->closes,
		.entry_len = (uint32_t)a->len,
		.n_blobs = e->n_blobs,
	};
	int r;

	merkle_leaf(l->sha, a->entry, a->len, s->leaf);
	memcpy(rec.leaf, s->leaf, sizeof(rec.leaf));
	memcpy(rec.digest, s->digest, sizeof(rec.digest));
	buf_add(&l->stage, zeros, record_header_len(&rec));
	buf_add(&l->stage, a->entry, a->len);
	for (uint32_t i = 0; i < e->n_blobs; i++) {
		memcpy(s->blobs[i], e->blobs[i], SHA256_LEN);
		memcpy(rec.blobs[i].sha256, e->blobs[i], SHA256_LEN);
		r = lost_blobs ? 0 : stage_blob(l, e, i, a->blobs[i], &rec, err);
		if (r < 0)
			return r;
	}
	buf_add(&l->stage, zeros, start + record_len(&rec) - l->stage.len);
	r = buf_check(&l->stage, err);
	if (r < 0)
		return r;
	record_encode(&rec, (uint8_t *)l->stage.data + start);
	s->offset = start;
	s->n_blobs = lost_blobs ? 0 : e->n_blobs;
	return 0;
}

/* Space on disk for the end of the stage that begins at START. */
static int
stage_room(struct ledger *l, const struct staged *s, size_t start, struct error *err)
{
	size_t len = l->stage.len - start;
	struct segment_head head = {
		.key_id = signer_vkey(l->signer)->id,
		.frontier = l->frontier,
	};

	if (l->n_staged > 0) {
		/* Only a batch that has nothing else in it may begin a segment. */
		if (l->stage.len > STAGE_BYTES || l->journal.in_reserve ||
		    !journal_fits(&l->journal, start, len))
			return -EAGAIN;
		return 0;
	}
	return journal_room(&l->journal, len, class_of(s), &head, &l->open, err);
}

static int
stage_one(struct ledger *l, const struct ledger_append *a, const struct entry_facts *e,
	  bool trusted, bool lost_blobs, struct error *err)
{
	static int (*const admit[])(struct ledger * l, const struct entry_facts *e, const void *mac,
				    struct staged *s, struct error *err) = {
		[ENTRY_INTENT] = admit_intent,
		[ENTRY_OUTCOME] = admit_outcome,
		[ENTRY_EVENT] = admit_event,
	};
	struct staged s = {
		.kind = e->kind,
		.index = l->frontier.size + l->n_staged,
		.closes = RECORD_NO_REF,
	};
	size_t start = l->stage.len;
	int r = 0;

	if (a->kind != e->kind)
		return error_set(err, -EINVAL, "the entry is no entry of kind %u", a->kind);
	if (!lost_blobs && a->n_blobs != e->n_blobs)
		return error_set(err, -EINVAL, "%zu blobs came with an entry that names %u",
				 a->n_blobs, e->n_blobs);
	if (trusted && a->kind != ENTRY_INTENT)
		s.closes = e->intent;
	else
		r = admit[e->kind](l, e, a->mac, &s, err);
	if (r < 0)
		return r;
	r = stage_record(l, a, e, &s, lost_blobs, err);
	if (r == 0)
		r = stage_room(l, &s, start, err);
	if (r < 0) {
		buf_cut(&l->stage, start);
		l->stage.failed = false;
		return r;
	}
	if (s.kind == ENTRY_INTENT)
		openset_add(&l->open, s.index, e->op, s.digest);
	if (s.closes != RECORD_NO_REF) {
		struct open_intent *intent = openset_find(&l->open, s.closes);

		if (intent != NULL)
			intent->closing = true;
	}
	l->staged[l->n_staged++] = s;
	return 0;
}

static int
stage(struct ledger *l, const struct ledger_append *a, bool trusted, bool lost_blobs,
      struct error *err)
{
	struct entry_facts e;
	int r;

	if (l->journal.failure.code != 0)
		return error_set(err, l->journal.failure.code, "%s", l->journal.failure.text);
	if (l->n_staged == LEDGER_BATCH_MAX)
		return -EAGAIN;
	if (l->n_recent + l->n_staged >= RECENT_MAX)
		return error_set(err, -ENOSPC, "the tiles cannot be written");
	r = entry_examine(a->entry, a->len, &e, err);
	return r < 0 ? r : stage_one(l, a, &e, trusted, lost_blobs, err);
}

int
ledger_stage(struct ledger *l, const struct ledger_append *a, struct error *err)
{
	return stage(l, a, false, false, err);
}

int
ledger_stage_trusted(struct ledger *l, const struct ledger_append *a, bool lost_blobs,
		     struct error *err)
{
	return stage(l, a, true, lost_blobs, err);
}

size_t
ledger_staged(const struct ledger *l)
{
	return l->n_staged;
}

/* What is durable now becomes what is known. */
static int
apply(struct ledger *l, const struct staged *s, uint64_t base, struct error *err)
{
	uint64_t offset = base + s->offset;
	int r;

	r = ledger_recent_add(l, l->journal.first, offset, s->leaf, err);
	if (r < 0)
		return r;
	if (s->closes != RECORD_NO_REF)
		openset_remove(&l->open, s->closes);
	for (uint32_t i = 0; i < s->n_blobs; i++) {
		struct blob_place place = {.segment = l->journal.first, .offset = offset};

		memcpy(place.sha256, s->blobs[i], SHA256_LEN);
		r = blob_index_add(&l->blobs, &place, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The stage to the disk. The head that will cover it is signed while it is on its way. */
static int
make_durable(struct ledger *l, size_t n, struct error *err)
{
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];
	struct frontier f = l->frontier;
	uint64_t base = l->journal.tail;
	struct tree_head head;
	int r;

	r = journal_put(&l->journal, l->stage.data, l->stage.len, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		frontier_add(&f, l->sha, l->staged[i].leaf);
	r = ledger_sign(l, &f, &head, signature, err);
	if (r == 0)
		r = journal_sync(&l->journal, l->stage.len, err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = apply(l, &l->staged[i], base, err);
	if (r < 0)
		return r;
	l->frontier = f;
	l->head = head;
	memcpy(l->signature, signature, sizeof(signature));
	return 0;
}

static void
receipt_fill(const struct ledger *l, const struct staged *s, struct receipt *ret)
{
	*ret = (struct receipt){.index = s->index, .tree_size = l->head.size};
	memcpy(ret->leaf, s->leaf, sizeof(ret->leaf));
	/* Zeros but for an intent: nothing else is ever performed. */
	memcpy(ret->digest, s->digest, sizeof(ret->digest));
	memcpy(ret->root, l->head.root, sizeof(ret->root));
	memcpy(ret->signature, l->signature, sizeof(ret->signature));
	receipt_mac(l->receipt_key.data, ret, ret->mac);
}

int
ledger_commit(struct ledger *l, struct receipt *ret_receipts, struct error *err)
{
	size_t n = l->n_staged;
	struct error why = {0};
	int r;

	if (n == 0)
		return 0;
	l->n_staged = 0;
	r = ledger_place_look(l, &why);
	if (r == 0)
		r = make_durable(l, n, &why);
	buf_cut(&l->stage, 0);
	if (l->stage.cap > 2 * STAGE_BYTES) {
		buf_fini(&l->stage);
		buf_init(&l->stage, l->stage.max);
	}
	if (r < 0) {
		if (l->journal.failure.code == 0)
			l->journal.failure = why;
		return error_set(err, r, "%s", why.text);
	}
	for (size_t i = 0; i < n; i++)
		receipt_fill(l, &l->staged[i], &ret_receipts[i]);
	return 0;
}
