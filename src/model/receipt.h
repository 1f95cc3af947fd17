/*
 * The ledger's word that one entry is on disk, for whoever performs it.
 *
 * The MAC is HMAC-SHA-256 under the receipt key (made by loomd at every start, held by the ledger
 * and the performers only) over "loom-receipt-v1\0" and the fixed-size fields below in order, big
 * endian. A performer that has an entry and its receipt checks the MAC, recomputes the RFC 6962
 * leaf hash of the entry's bytes and the operation digest, and accepts each index once. Only an
 * intent has a digest here, so that no other kind of entry can ever be performed.
 *
 * The signature is Ed25519 over the note text "ORIGIN\nTREE SIZE\nBASE64 ROOT\n" of C2SP
 * tlog-checkpoint, with the ledger's own key.
 */
#ifndef LOOM_MODEL_RECEIPT_H
#define LOOM_MODEL_RECEIPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

#define RECEIPT_KEY_LEN 32
#define RECEIPT_LEN (8 + 32 + 32 + 8 + 32 + 64 + 32)

struct receipt {
	uint64_t index;          /* leaf index of the entry */
	uint8_t leaf[32];        /* SHA-256(0x00 || entry bytes), RFC 6962 */
	uint8_t digest[32];      /* operation digest; zeros when the entry has none */
	uint64_t tree_size;      /* of a signed head that covers it: index < tree_size */
	uint8_t root[32];
	uint8_t signature[64];   /* Ed25519 over the checkpoint text of that head */
	uint8_t mac[32];
};

void leaf_hash(const void *entry, size_t len, uint8_t ret[32]);
void receipt_mac(const uint8_t key[RECEIPT_KEY_LEN], const struct receipt *r, uint8_t ret_mac[32]);
void receipt_encode(const struct receipt *r, uint8_t out[RECEIPT_LEN]);
int receipt_decode(const void *data, size_t len, struct receipt *ret, struct error *err) MUST_CHECK;
/* MAC, leaf over ENTRY, index < tree_size. -EBADMSG with which one failed. */
int receipt_check(const uint8_t key[RECEIPT_KEY_LEN], const struct receipt *r, const void *entry,
		  size_t entry_len, struct error *err) MUST_CHECK;

/* HMAC under the receipt key over "loom-outcome-v1\0", intent index, operation digest, result. */
void outcome_mac(const uint8_t key[RECEIPT_KEY_LEN], uint64_t intent, const uint8_t digest[32],
		 const void *result, size_t len, uint8_t ret_mac[32]);

#endif
