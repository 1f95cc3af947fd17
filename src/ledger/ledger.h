/*
 * The ledger: the only writer of history. One process has it open (journal.h locks), from one
 * thread. Appends are staged, then committed together: one write, one sync, one signed tree head,
 * and a receipt for each.
 *
 * What is refused and why it must be: an entry that is not canonical or not of the kind the sender
 * says; an intent whose operation is open already; an outcome without the performer's MAC, for an
 * intent that is not open, or for another digest; a second outcome; "indeterminate" for an intent
 * of this start, whose performer may still live; "recovered" from anybody. So the authority can
 * neither claim an outcome nor get a receipt that performs anything for an entry that is no intent.
 *
 * A failed write or sync is final until the next start, which looks at what is really there. A full
 * disk is not: see journal.h.
 */
#ifndef LOOM_LEDGER_LEDGER_H
#define LOOM_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "ledger/checkpoint.h"
#include "ledger/journal.h"
#include "ledger/proof.h"
#include "model/receipt.h"
#include "wire/message.h"

#define LEDGER_BATCH_MAX 128

struct ledger;

/*
 * Open the ledger in DIRFD (borrowed), which is made when it is empty, and recover what a crash left
 * (recover.c). RECEIPT_KEY is copied into locked memory.
 */
int ledger_open(int dirfd, const uint8_t receipt_key[RECEIPT_KEY_LEN],
		const struct journal_sizes *sizes, struct ledger **ret,
		struct error *err) MUST_CHECK;
void ledger_free(struct ledger *l); /* does not settle */
void ledger_freep(struct ledger **l);

struct ledger_append {
	uint32_t kind;          /* enum entry_kind, as the sender says */
	const void *entry;
	size_t len;
	const void *mac;        /* NULL: none; else 32 bytes */
	const int *blobs;       /* sealed memfds; borrowed */
	size_t n_blobs;
};
/*
 * Take an entry into the batch. -EAGAIN: commit first, then ask again. Any other failure refuses
 * this entry alone: -ENOSPC no space, -EBUSY too many open intents, -EEXIST already open or already
 * ended, -ENOENT no such open intent, -EPERM, -EBADMSG and -EINVAL for what it says; or the final
 * failure of an earlier write.
 */
int ledger_stage(struct ledger *l, const struct ledger_append *a, struct error *err) MUST_CHECK;
size_t ledger_staged(const struct ledger *l);
/* Make the batch durable. RET_RECEIPTS: one for each that was staged, in order. Failure is final. */
int ledger_commit(struct ledger *l, struct receipt *ret_receipts, struct error *err) MUST_CHECK;

uint64_t ledger_size(const struct ledger *l);
const struct vkey *ledger_vkey(const struct ledger *l);
/* The newest head, its signature, and both as a note appended to OUT. */
void ledger_head(const struct ledger *l, struct tree_head *ret_head, struct buf *out);

/* Append the bytes of entry INDEX to OUT. -ENOENT beyond the end. */
int ledger_entry(struct ledger *l, uint64_t index, struct buf *out, struct error *err) MUST_CHECK;
/* Inclusion of INDEX in the newest head. -ERANGE beyond the end. */
int ledger_prove(struct ledger *l, uint64_t index, uint8_t ret_leaf[SHA256_LEN],
		 uint8_t ret_path[PROOF_PATH_MAX][SHA256_LEN], size_t *ret_n,
		 struct error *err) MUST_CHECK;
/* Append the blob of that digest to OUT. -ENOENT: never recorded, or erased. */
int ledger_blob(struct ledger *l, const uint8_t sha256[SHA256_LEN], struct buf *out,
		struct error *err) MUST_CHECK;
/* The I-th open intent, oldest first; false when there is none. */
bool ledger_open_intent(const struct ledger *l, size_t i, uint64_t *ret_index);

/* What recovery found at ledger_open and recorded; empty text: nothing. */
const char *ledger_recovered(const struct ledger *l);

/*
 * Publishing, off the path of an append: tiles, the index of blobs, then the checkpoint that covers
 * them. ledger_follow is cheap and keeps memory flat; call it after each commit. Settling goes in
 * steps of about one sync each, between which appends may be served: 1 when there is more to do.
 * Failures (a full disk) lose nothing and can be tried again later.
 */
int ledger_follow(struct ledger *l, struct error *err) MUST_CHECK;
bool ledger_settled(const struct ledger *l);
uint64_t ledger_unsettled(const struct ledger *l); /* entries since the checkpoint */
int ledger_settle(struct ledger *l, struct error *err) MUST_CHECK;

#endif
