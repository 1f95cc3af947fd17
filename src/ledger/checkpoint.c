/*
 * Reading goes line by line over the note's bytes, with exactly one spelling accepted for each
 * part, and nothing is believed before the signature was checked. OpenSSL is used without its
 * configuration: by the time a key is needed, this process can open no file but its own.
 */
#include "ledger/checkpoint.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define ALGORITHM_ED25519 0x01
#define ID_LEN 4
#define NAME_PREFIX "loom.invalid/"
#define NAME_KEY_BYTES 8
#define SIGNATURE_MARK "\xe2\x80\x94 " /* an em dash and a space */
#define NOTE_SIGNATURES_MAX 16

struct signer {
	EVP_PKEY *key;
	struct vkey vkey;
};

/* Key ids of signed-note: the first bytes of SHA-256(name, newline, algorithm, key). */
static uint32_t
vkey_id(const struct vkey *k)
{
	uint8_t data[VKEY_NAME_MAX + 2 + sizeof(k->key)], digest[SHA256_LEN];
	size_t n = strlen(k->name);

	memcpy(data, k->name, n);
	data[n++] = '\n';
	data[n++] = ALGORITHM_ED25519;
	memcpy(data + n, k->key, sizeof(k->key));
	sha256_of(data, n + sizeof(k->key), digest);
	return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
	       digest[3];
}

static void
put_id(uint8_t out[ID_LEN], uint32_t id)
{
	for (unsigned int i = 0; i < ID_LEN; i++)
		out[i] = (uint8_t)(id >> (24 - 8 * i));
}

/* signed-note: not empty, no spaces, no plus; ours are printable ASCII besides. */
static bool
name_ok(const char *name, size_t len)
{
	if (len == 0 || len >= VKEY_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '+')
			return false;
	return true;
}

/* Decode exactly OUT_LEN bytes of base64. */
static int
base64_exact(const char *text, size_t len, uint8_t *out, size_t out_len)
{
	CLEANUP(buf_fini) struct buf b = {0};

	buf_init(&b, out_len);
	if (base64_decode(text, len, &b) < 0 || b.failed || b.len != out_len)
		return -EBADMSG;
	memcpy(out, b.data, out_len);
	return 0;
}

int
vkey_parse(const char *text, size_t len, struct vkey *ret, struct error *err)
{
	uint8_t key[1 + sizeof(ret->key)], id[ID_LEN];
	const char *plus, *hex;
	char id_text[2 * ID_LEN + 1] = {0};
	struct vkey k = {0};
	size_t n;

	if (len > 0 && text[len - 1] == '\n')
		len--;
	plus = memchr(text, '+', len);
	n = plus != NULL ? (size_t)(plus - text) : 0;
	if (plus == NULL || !name_ok(text, n) || len - n < 1 + 2 * ID_LEN + 1)
		return error_set(err, -EBADMSG, "not a verifier key");
	memcpy(k.name, text, n);
	hex = plus + 1;
	memcpy(id_text, hex, 2 * ID_LEN);
	if (hex_decode(id_text, id, sizeof(id)) < 0 || hex[2 * ID_LEN] != '+')
		return error_set(err, -EBADMSG, "not a verifier key: no key id");
	n += 1 + 2 * ID_LEN + 1;
	if (base64_exact(text + n, len - n, key, sizeof(key)) < 0 || key[0] != ALGORITHM_ED25519)
		return error_set(err, -EBADMSG, "not a verifier key: not an Ed25519 key");
	memcpy(k.key, key + 1, sizeof(k.key));
	k.id = vkey_id(&k);
	put_id(key, k.id);
	if (memcmp(key, id, sizeof(id)) != 0)
		return error_set(err, -EBADMSG, "the verifier key's id is not its own");
	*ret = k;
	return 0;
}

void
vkey_print(const struct vkey *k, struct buf *out)
{
	uint8_t key[1 + sizeof(k->key)];

	key[0] = ALGORITHM_ED25519;
	memcpy(key + 1, k->key, sizeof(k->key));
	buf_fmt(out, "%s+%08x+", k->name, k->id);
	base64_encode(key, sizeof(key), out);
}

int
signer_new(const uint8_t key[SIGNING_KEY_LEN], struct signer **ret, struct error *err)
{
	CLEANUP(signer_freep) struct signer *s = NULL;
	uint8_t digest[SHA256_LEN];
	char hex[2 * NAME_KEY_BYTES + 1];
	size_t len = sizeof(s->vkey.key);

	/* The first hash settles how OpenSSL is initialised for the whole process. */
	sha256_of("", 0, digest);
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	s->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key, SIGNING_KEY_LEN);
	if (s->key == NULL || EVP_PKEY_get_raw_public_key(s->key, s->vkey.key, &len) != 1 ||
	    len != sizeof(s->vkey.key))
		return error_set(err, -EIO, "make the signing key: OpenSSL refuses");
	sha256_of(s->vkey.key, sizeof(s->vkey.key), digest);
	hex_encode(digest, NAME_KEY_BYTES, hex);
	(void)snprintf(s->vkey.name, sizeof(s->vkey.name), "%s%s", NAME_PREFIX, hex);
	s->vkey.id = vkey_id(&s->vkey);
	*ret = TAKE_PTR(s);
	return 0;
}

void
signer_free(struct signer *s)
{
	if (s == NULL)
		return;
	EVP_PKEY_free(s->key);
	free(s);
}

void
signer_freep(struct signer **s)
{
	signer_free(*s);
	*s = NULL;
}

const struct vkey *
signer_vkey(const struct signer *s)
{
	return &s->vkey;
}

static void
md_ctx_freep(EVP_MD_CTX **ctx)
{
	EVP_MD_CTX_free(*ctx);
}

int
signer_sign(struct signer *s, const struct tree_head *head,
	    uint8_t ret_signature[CHECKPOINT_SIGNATURE_LEN], struct error *err)
{
	CLEANUP(md_ctx_freep) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	char text[CHECKPOINT_TEXT_MAX];
	size_t len = CHECKPOINT_SIGNATURE_LEN;
	size_t n = checkpoint_text(s->vkey.name, head, text);

	if (ctx == NULL || EVP_DigestSignInit(ctx, NULL, NULL, NULL, s->key) != 1 ||
	    EVP_DigestSign(ctx, ret_signature, &len, (const uint8_t *)text, n) != 1 ||
	    len != CHECKPOINT_SIGNATURE_LEN)
		return error_set(err, -EIO, "sign a tree head: OpenSSL refuses");
	return 0;
}

size_t
checkpoint_text(const char *origin, const struct tree_head *head, char out[CHECKPOINT_TEXT_MAX])
{
	char base64[48] = {0};
	/* On memory of its own that is large enough: it never allocates, so it cannot fail. */
	struct buf root = {.data = base64, .cap = sizeof(base64), .max = sizeof(base64) - 1};
	int n;

	base64_encode(head->root, sizeof(head->root), &root);
	/* The longest origin, 20 digits and 44 of base64 fit. */
	n = snprintf(out, CHECKPOINT_TEXT_MAX, "%s\n%llu\n%s\n", origin,
		     (unsigned long long)head->size, base64);
	return (size_t)n;
}

void
checkpoint_note(const struct vkey *k, const struct tree_head *head,
		const uint8_t signature[CHECKPOINT_SIGNATURE_LEN], struct buf *out)
{
	uint8_t line[ID_LEN + CHECKPOINT_SIGNATURE_LEN];
	char text[CHECKPOINT_TEXT_MAX];
	size_t n = checkpoint_text(k->name, head, text);

	put_id(line, k->id);
	memcpy(line + ID_LEN, signature, CHECKPOINT_SIGNATURE_LEN);
	buf_add(out, text, n);
	buf_str(out, "\n" SIGNATURE_MARK);
	buf_str(out, k->name);
	buf_char(out, ' ');
	base64_encode(line, sizeof(line), out);
	buf_char(out, '\n');
}

int
checkpoint_signature_check(const struct vkey *k, const struct tree_head *head,
			   const uint8_t signature[CHECKPOINT_SIGNATURE_LEN], struct error *err)
{
	CLEANUP(md_ctx_freep) EVP_MD_CTX *ctx = NULL;
	char text[CHECKPOINT_TEXT_MAX];
	uint8_t digest[SHA256_LEN];
	EVP_PKEY *key;
	size_t n;
	int ok;

	sha256_of("", 0, digest); /* as in signer_new */
	n = checkpoint_text(k->name, head, text);
	ctx = EVP_MD_CTX_new();
	key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, k->key, sizeof(k->key));
	ok = ctx != NULL && key != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
	     EVP_DigestVerify(ctx, signature, CHECKPOINT_SIGNATURE_LEN, (const uint8_t *)text, n) ==
		     1;
	EVP_PKEY_free(key);
	return ok ? 0
		  : error_set(err, -EBADMSG, "the signature of the tree head is not that of %s",
			      k->name);
}

struct line {
	const char *at;
	size_t len;
};

/* Take the next line off TEXT; false when no newline is left. */
static bool
line_next(struct line *text, struct line *ret)
{
	const char *end = text->len > 0 ? memchr(text->at, '\n', text->len) : NULL;

	if (end == NULL)
		return false;
	*ret = (struct line){text->at, (size_t)(end - text->at)};
	text->len -= ret->len + 1;
	text->at = end + 1;
	return true;
}

static bool
line_is(struct line l, const char *s)
{
	return l.len == strlen(s) && memcmp(l.at, s, l.len) == 0;
}

static int
head_read(struct line *text, const struct vkey *k, struct tree_head *ret, struct error *err)
{
	char digits[24] = {0};
	struct line l;

	if (!line_next(text, &l) || !line_is(l, k->name))
		return error_set(err, -EBADMSG, "checkpoint: its origin is not %s", k->name);
	if (!line_next(text, &l) || l.len >= sizeof(digits))
		return error_set(err, -EBADMSG, "checkpoint: no tree size");
	memcpy(digits, l.at, l.len);
	if (decimal_parse(digits, UINT64_MAX, &ret->size) < 0)
		return error_set(err, -EBADMSG, "checkpoint: no tree size");
	if (!line_next(text, &l) || base64_exact(l.at, l.len, ret->root, sizeof(ret->root)) < 0)
		return error_set(err, -EBADMSG, "checkpoint: no root hash");
	if (!line_next(text, &l) || l.len != 0)
		return error_set(err, -EBADMSG, "checkpoint: more than three lines");
	return 0;
}

/* A signature line of K's: false when it is not one, or is somebody else's. */
static bool
signature_of(struct line l, const struct vkey *k, uint8_t ret[CHECKPOINT_SIGNATURE_LEN])
{
	uint8_t data[ID_LEN + CHECKPOINT_SIGNATURE_LEN], id[ID_LEN];
	size_t name = strlen(k->name), before = strlen(SIGNATURE_MARK) + name + 1;

	if (l.len <= before || memcmp(l.at, SIGNATURE_MARK, strlen(SIGNATURE_MARK)) != 0 ||
	    memcmp(l.at + strlen(SIGNATURE_MARK), k->name, name) != 0 || l.at[before - 1] != ' ')
		return false;
	if (base64_exact(l.at + before, l.len - before, data, sizeof(data)) < 0)
		return false;
	put_id(id, k->id);
	if (memcmp(id, data, sizeof(id)) != 0)
		return false;
	memcpy(ret, data + ID_LEN, CHECKPOINT_SIGNATURE_LEN);
	return true;
}

int
checkpoint_read(const void *note, size_t len, const struct vkey *k, struct tree_head *ret,
		struct error *err)
{
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];
	struct line text = {note, len}, l;
	struct tree_head head;
	bool found = false;
	int r;

	if (len > CHECKPOINT_NOTE_MAX)
		return error_set(err, -EBADMSG, "checkpoint: more than %d bytes",
				 CHECKPOINT_NOTE_MAX);
	r = head_read(&text, k, &head, err);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < NOTE_SIGNATURES_MAX && text.len > 0; i++) {
		if (!line_next(&text, &l) || l.len < strlen(SIGNATURE_MARK) ||
		    memcmp(l.at, SIGNATURE_MARK, strlen(SIGNATURE_MARK)) != 0)
			return error_set(err, -EBADMSG, "checkpoint: not a signature line");
		found = found || signature_of(l, k, signature);
	}
	if (text.len > 0 || !found)
		return error_set(err, -EBADMSG, "checkpoint: not signed by %s", k->name);
	r = checkpoint_signature_check(k, &head, signature, err);
	if (r < 0)
		return r;
	*ret = head;
	return 0;
}
