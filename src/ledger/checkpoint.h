/*
 * Tree heads as C2SP checkpoints (tlog-checkpoint) in signed notes (signed-note), with Ed25519.
 *
 * The text that is signed is "ORIGIN\nSIZE\nBASE64 ROOT\n"; the note adds an empty line and
 * "\u2014 NAME BASE64(key id, signature)\n". Our key's name is the log's origin, made from its
 * public key, so that two ledgers never share one. A verifier key is "NAME+ID+BASE64(0x01, key)".
 */
#ifndef LOOM_LEDGER_CHECKPOINT_H
#define LOOM_LEDGER_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/macro.h"
#include "base/secret.h"

#define SIGNING_KEY_LEN 32
#define VKEY_NAME_MAX 128        /* with the NUL */
#define VKEY_TEXT_MAX 256
#define CHECKPOINT_TEXT_MAX 256
#define CHECKPOINT_NOTE_MAX 4096 /* others may have cosigned it */
#define CHECKPOINT_SIGNATURE_LEN 64

struct tree_head {
	uint64_t size;
	uint8_t root[SHA256_LEN];
};

struct vkey {
	char name[VKEY_NAME_MAX];
	uint32_t id;
	uint8_t key[32];
};
/* One line, a newline at the end is allowed. -EBADMSG: not a key of ours, or its id does not fit. */
int vkey_parse(const char *text, size_t len, struct vkey *ret, struct error *err) MUST_CHECK;
void vkey_print(const struct vkey *k, struct buf *out); /* without a newline */

struct signer;
int signer_new(const uint8_t key[SIGNING_KEY_LEN], struct signer **ret, struct error *err) MUST_CHECK;
void signer_free(struct signer *s);
void signer_freep(struct signer **s);
const struct vkey *signer_vkey(const struct signer *s);
int signer_sign(struct signer *s, const struct tree_head *head,
		uint8_t ret_signature[CHECKPOINT_SIGNATURE_LEN], struct error *err) MUST_CHECK;

/* The text that is signed, with its last newline; returns its length. */
size_t checkpoint_text(const char *origin, const struct tree_head *head,
		       char out[CHECKPOINT_TEXT_MAX]);
void checkpoint_note(const struct vkey *k, const struct tree_head *head,
		     const uint8_t signature[CHECKPOINT_SIGNATURE_LEN], struct buf *out);
/* Check a bare signature (a receipt's) over HEAD. -EBADMSG when it is not K's. */
int checkpoint_signature_check(const struct vkey *k, const struct tree_head *head,
			       const uint8_t signature[CHECKPOINT_SIGNATURE_LEN],
			       struct error *err) MUST_CHECK;
/*
 * Read a note: the origin must be K's name, and a line of K's must be there and fit; lines of other
 * keys are passed over. -EBADMSG otherwise.
 */
int checkpoint_read(const void *note, size_t len, const struct vkey *k, struct tree_head *ret,
		    struct error *err) MUST_CHECK;

#endif
