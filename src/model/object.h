/*
 * JSON objects of the model, member by member: writing remembers the first failure until the end,
 * reading copies into the fixed-size fields of our structs. For model/ itself.
 *
 * Text "escaped" here is the reversible form of base/json.h's json_escaped: any bytes in, and the
 * same bytes out.
 */
#ifndef LOOM_MODEL_OBJECT_H
#define LOOM_MODEL_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct object {
	json_t *json;
	bool failed; /* no memory, or a text that is not UTF-8 */
};

void
object_init(struct object *o);
void
object_fini(struct object *o); /* safe after object_end */
void
object_take(struct object *o, const char *key, json_t *value); /* owns VALUE; NULL fails */
void
object_text(struct object *o, const char *key, const char *text);
void
object_escaped(struct object *o, const char *key, const char *bytes);
void
object_hex(struct object *o, const char *key, const void *data, size_t len);
void
object_u64(struct object *o, const char *key, uint64_t v); /* above 2^53-1 fails */
void
object_decimal(struct object *o, const char *key, uint64_t v); /* any 64 bits, as text */
void
object_bool(struct object *o, const char *key, bool v);
/* The object, owned by the caller; NULL with ERR set (-EINVAL) when a member failed. */
json_t *
object_end(struct object *o, struct error *err) MUST_CHECK;

/* -ENOENT missing, -EINVAL of another type or form; CAP counts the NUL. */
int
object_get_text(const json_t *obj, const char *key, char *out, size_t cap,
		struct error *err) MUST_CHECK;
/* Only the spelling json_escaped gives is accepted. */
int
object_get_escaped(const json_t *obj, const char *key, char *out, size_t cap,
		   struct error *err) MUST_CHECK;
int
object_get_hex(const json_t *obj, const char *key, void *out, size_t len,
	       struct error *err) MUST_CHECK;
int
object_get_u64(const json_t *obj, const char *key, uint64_t max, uint64_t *ret,
	       struct error *err) MUST_CHECK;
int
object_get_u32(const json_t *obj, const char *key, uint32_t *ret, struct error *err) MUST_CHECK;
int
object_get_decimal(const json_t *obj, const char *key, uint64_t *ret, struct error *err) MUST_CHECK;

/* The index of TEXT among N names, or -EINVAL naming KEY. */
int
object_word(const char *key, const char *text, const char *const *names, size_t n,
	    unsigned int *ret, struct error *err) MUST_CHECK;

#endif
