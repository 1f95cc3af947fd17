/*
 * JSON, strict on the way in, canonical on the way out.
 *
 * Canonical form is RFC 8785 narrowed: keys are ASCII, numbers are integers of magnitude at most
 * 2^53-1 written in plain decimal, strings are valid UTF-8. Reading rejects duplicate keys, trailing
 * data, NUL, floats, and nesting deeper than 32. Values are jansson's.
 */
#ifndef LOOM_BASE_JSON_H
#define LOOM_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

#define JSON_INT_MAX 9007199254740991LL /* 2^53 - 1 */
#define JSON_DEPTH_MAX 32

/* For CLEANUP jansson itself has json_decrefp. */

/*
 * Parse one document. On success *ret_value is a new reference. -EINVAL when refused; -ENOMEM, but
 * jansson reports some want of memory as a syntax error.
 */
int json_read(const void *data, size_t len, json_t **ret_value, struct error *err) MUST_CHECK;
/* As json_read, and the bytes must already be the canonical form of what they say (-EBADMSG). */
int json_read_canonical(const void *data, size_t len, json_t **ret_value,
			struct error *err) MUST_CHECK;
/* Append the canonical form of V. -EINVAL for reals, big integers, non-ASCII keys, deep nesting. */
int json_write_canonical(const json_t *v, struct buf *out, struct error *err) MUST_CHECK;

/*
 * SHA-256 over a length-prefixed encoding of V, for digests a person signs: each value is a type
 * byte ('o','a','s','i','t','f','n'), then for o/a/s a 32-bit big-endian count or length, then the
 * content; object members in byte order of their keys, each key as an 's' value; integers as 64-bit
 * big-endian two's complement. No two different values share an encoding. DOMAIN (NUL included)
 * goes first, so that digests of different kinds never meet.
 */
int json_digest(const char *domain, const json_t *v, uint8_t ret_digest[32],
		struct error *err) MUST_CHECK;

/* Typed members of OBJ; -ENOENT when missing, -EINVAL when of another type. Borrowed pointers. */
int json_get_text(const json_t *obj, const char *key, const char **ret_text,
		  struct error *err) MUST_CHECK;
int json_get_int(const json_t *obj, const char *key, int64_t min, int64_t max, int64_t *ret,
		 struct error *err) MUST_CHECK;
int json_get_bool(const json_t *obj, const char *key, bool *ret, struct error *err) MUST_CHECK;
int json_get_object(const json_t *obj, const char *key, json_t **ret, struct error *err) MUST_CHECK;
int json_get_array(const json_t *obj, const char *key, json_t **ret, struct error *err) MUST_CHECK;
/* Every key of OBJ must be in KEYS (NULL-terminated); -EINVAL names the one that is not. */
int json_only_keys(const json_t *obj, const char *const *keys, struct error *err) MUST_CHECK;

/*
 * Bytes of any kind as a JSON string: valid UTF-8 without control characters is kept, the backslash
 * is doubled, everything else becomes \xNN (of these bytes, before JSON's own escaping). Reversible.
 * NULL when memory runs out.
 */
json_t *json_escaped(const void *bytes, size_t len) MUST_CHECK;

#endif
