/* SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), constant-time comparison. By OpenSSL 3. */
#ifndef LOOM_BASE_HASH_H
#define LOOM_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define SHA256_LEN 32

struct sha256;                                 /* a running hash */
struct sha256 *sha256_new(void) MUST_CHECK;    /* NULL when memory runs out */
void sha256_free(struct sha256 *h);
void sha256_freep(struct sha256 **h);
void sha256_add(struct sha256 *h, const void *data, size_t len);
/* Writes the digest of everything added and starts over. A failure inside aborts the process. */
void sha256_end(struct sha256 *h, uint8_t ret_digest[SHA256_LEN]);

void sha256_of(const void *data, size_t len, uint8_t ret_digest[SHA256_LEN]);
/* HMAC over the concatenation of N parts. */
struct hash_part {
	const void *data;
	size_t len;
};
void hmac_sha256(const uint8_t *key, size_t key_len, const struct hash_part *parts, size_t n,
		 uint8_t ret_mac[SHA256_LEN]);
bool bytes_equal_ct(const void *a, const void *b, size_t len);

#endif
