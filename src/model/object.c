/*
 * jansson's setters refuse what is not UTF-8 and fail without memory; both are remembered, so that
 * a dozen members can be written before one check. Reading never truncates: what does not fit is an
 * error.
 */
#include "model/object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

#define OBJECT_HEX_MAX 64 /* bytes */

void
object_init(struct object *o)
{
	*o = (struct object){.json = json_object()};
	o->failed = o->json == NULL;
}

void
object_fini(struct object *o)
{
	json_decrefp(&o->json);
}

void
object_take(struct object *o, const char *key, json_t *value)
{
	if (o->failed) {
		json_decref(value);
		return;
	}
	/* Releases VALUE itself when it fails. */
	if (json_object_set_new(o->json, key, value) != 0)
		o->failed = true;
}

void
object_text(struct object *o, const char *key, const char *text)
{
	object_take(o, key, json_string(text));
}

void
object_escaped(struct object *o, const char *key, const char *bytes)
{
	object_take(o, key, json_escaped(bytes, strlen(bytes)));
}

void
object_hex(struct object *o, const char *key, const void *data, size_t len)
{
	char hex[2 * OBJECT_HEX_MAX + 1];

	if (len > OBJECT_HEX_MAX) {
		o->failed = true;
		return;
	}
	hex_encode(data, len, hex);
	object_text(o, key, hex);
}

void
object_u64(struct object *o, const char *key, uint64_t v)
{
	if (v > JSON_INT_MAX) {
		o->failed = true;
		return;
	}
	object_take(o, key, json_integer((json_int_t)v));
}

void
object_decimal(struct object *o, const char *key, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	object_text(o, key, text);
}

void
object_bool(struct object *o, const char *key, bool v)
{
	object_take(o, key, json_boolean(v));
}

json_t *
object_end(struct object *o, struct error *err)
{
	if (o->failed) {
		(void)error_set(err, -EINVAL, "a value that JSON cannot hold, or no memory for it");
		return NULL;
	}
	return TAKE_PTR(o->json);
}

int
object_get_text(const json_t *obj, const char *key, char *out, size_t cap, struct error *err)
{
	const char *text;
	size_t len;
	int r;

	r = json_get_text(obj, key, &text, err);
	if (r < 0)
		return r;
	len = strlen(text);
	if (len >= cap)
		return error_set(err, -EINVAL, "%s: longer than %zu bytes", key, cap - 1);
	memcpy(out, text, len + 1);
	return 0;
}

/* Undo json_escaped: a doubled backslash is one, \xNN is a byte. */
static int
unescape(const char *text, char *out, size_t cap)
{
	size_t n = 0;

	for (const char *p = text; *p != '\0';) {
		char c = *p++;

		if (c == '\\' && *p == '\\') {
			p++;
		} else if (c == '\\') {
			char two[3] = {0};

			if (*p++ != 'x' || p[0] == '\0' || p[1] == '\0')
				return -EINVAL;
			two[0] = p[0];
			two[1] = p[1];
			p += 2;
			if (hex_decode(two, &c, 1) < 0 || c == '\0')
				return -EINVAL;
		}
		if (n + 1 >= cap)
			return -EINVAL;
		out[n++] = c;
	}
	out[n] = '\0';
	return 0;
}

int
object_get_escaped(const json_t *obj, const char *key, char *out, size_t cap, struct error *err)
{
	CLEANUP(json_decrefp) json_t *again = NULL;
	const char *text;
	int r;

	r = json_get_text(obj, key, &text, err);
	if (r < 0)
		return r;
	if (unescape(text, out, cap) < 0)
		return error_set(err, -EINVAL, "%s: not escaped bytes, or longer than %zu", key,
				 cap - 1);
	/* One spelling for each value, so that texts can be compared where they are recorded. */
	again = json_escaped(out, strlen(out));
	if (again == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (strcmp(json_string_value(again), text) != 0)
		return error_set(err, -EINVAL, "%s: escaped where it need not be", key);
	return 0;
}

int
object_get_hex(const json_t *obj, const char *key, void *out, size_t len, struct error *err)
{
	const char *text;
	int r;

	r = json_get_text(obj, key, &text, err);
	if (r < 0)
		return r;
	if (strlen(text) != 2 * len || hex_decode(text, out, len) < 0)
		return error_set(err, -EINVAL, "%s: not %zu bytes in lower-case hex", key, len);
	return 0;
}

int
object_get_u64(const json_t *obj, const char *key, uint64_t max, uint64_t *ret, struct error *err)
{
	int64_t v = 0;
	int r;

	r = json_get_int(obj, key, 0, max < JSON_INT_MAX ? (int64_t)max : JSON_INT_MAX, &v, err);
	if (r < 0)
		return r;
	*ret = (uint64_t)v;
	return 0;
}

int
object_get_u32(const json_t *obj, const char *key, uint32_t *ret, struct error *err)
{
	uint64_t v;
	int r;

	r = object_get_u64(obj, key, UINT32_MAX, &v, err);
	if (r < 0)
		return r;
	*ret = (uint32_t)v;
	return 0;
}

int
object_get_decimal(const json_t *obj, const char *key, uint64_t *ret, struct error *err)
{
	const char *text;
	int r;

	r = json_get_text(obj, key, &text, err);
	if (r < 0)
		return r;
	if (decimal_parse(text, UINT64_MAX, ret) < 0)
		return error_set(err, -EINVAL, "%s: not a decimal number", key);
	return 0;
}

int
object_word(const char *key, const char *text, const char *const *names, size_t n,
	    unsigned int *ret, struct error *err)
{
	for (unsigned int i = 0; i < n; i++) {
		if (names[i] != NULL && strcmp(names[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "%s: there is no \"%.40s\"", key, text);
}
