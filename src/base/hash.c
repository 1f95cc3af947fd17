/*
 * The algorithms are fetched once, on first use, from the built-in provider and without OpenSSL's
 * configuration file: our processes hash after they gave up opening files. Every call here can only
 * fail for want of memory or by a broken library, and a missing digest has no safe value, so a
 * failure aborts.
 */
#include "base/hash.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>

struct sha256 {
	EVP_MD_CTX *ctx;
};

static EVP_MD *hash_md;
static EVP_MAC *hash_mac;

static void
hash_must(bool ok)
{
	if (!ok)
		abort();
}

static void
hash_open(void)
{
	if (hash_md != NULL)
		return;
	hash_must(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1);
	hash_mac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
	hash_md = EVP_MD_fetch(NULL, "SHA256", NULL);
	hash_must(hash_mac != NULL && hash_md != NULL);
}

struct sha256 *
sha256_new(void)
{
	struct sha256 *h;

	hash_open();
	h = malloc(sizeof(*h));
	if (h == NULL)
		return NULL;
	h->ctx = EVP_MD_CTX_new();
	if (h->ctx == NULL || EVP_DigestInit_ex2(h->ctx, hash_md, NULL) != 1) {
		sha256_free(h);
		return NULL;
	}
	return h;
}

void
sha256_free(struct sha256 *h)
{
	if (h == NULL)
		return;
	EVP_MD_CTX_free(h->ctx);
	free(h);
}

void
sha256_freep(struct sha256 **h)
{
	sha256_free(*h);
	*h = NULL;
}

void
sha256_add(struct sha256 *h, const void *data, size_t len)
{
	hash_must(EVP_DigestUpdate(h->ctx, data, len) == 1);
}

void
sha256_end(struct sha256 *h, uint8_t ret_digest[SHA256_LEN])
{
	hash_must(EVP_DigestFinal_ex(h->ctx, ret_digest, NULL) == 1);
	hash_must(EVP_DigestInit_ex2(h->ctx, NULL, NULL) == 1);
}

void
sha256_of(const void *data, size_t len, uint8_t ret_digest[SHA256_LEN])
{
	hash_open();
	hash_must(EVP_Digest(data, len, ret_digest, NULL, hash_md, NULL) == 1);
}

void
hmac_sha256(const uint8_t *key, size_t key_len, const struct hash_part *parts, size_t n,
	    uint8_t ret_mac[SHA256_LEN])
{
	char md[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, md, 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC_CTX *ctx;
	size_t len = 0;

	hash_open();
	ctx = EVP_MAC_CTX_new(hash_mac);
	/* A NULL key would mean "the key set before" to OpenSSL. */
	hash_must(ctx != NULL &&
		  EVP_MAC_init(ctx, key_len > 0 ? key : (const uint8_t *)"", key_len, params) == 1);
	for (size_t i = 0; i < n; i++)
		hash_must(EVP_MAC_update(ctx, parts[i].data, parts[i].len) == 1);
	hash_must(EVP_MAC_final(ctx, ret_mac, &len, SHA256_LEN) == 1 && len == SHA256_LEN);
	EVP_MAC_CTX_free(ctx);
}

bool
bytes_equal_ct(const void *a, const void *b, size_t len)
{
	return len == 0 || CRYPTO_memcmp(a, b, len) == 0;
}
