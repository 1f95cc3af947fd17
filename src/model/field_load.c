/*
 * Walks over the tree of field.h between effective JSON and C structures. Each walk is a switch
 * over the types; every other difference between fields is data in the tree. Text has one form, so
 * the check of the written form serves the effective one.
 */
#include "model/field.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"

static void *
place(void *base, size_t offset)
{
	return base != NULL && offset != FIELD_NOWHERE ? (char *)base + offset : NULL;
}

static void
put_number(void *at, size_t size, uint64_t v)
{
	uint8_t u8 = (uint8_t)v;
	uint32_t u32 = (uint32_t)v;

	if (at == NULL)
		return;
	if (size == sizeof(u8))
		memcpy(at, &u8, sizeof(u8));
	else if (size == sizeof(u32))
		memcpy(at, &u32, sizeof(u32));
	else
		memcpy(at, &v, sizeof(v));
}

static uint64_t
get_number(const void *at, size_t size)
{
	uint8_t u8;
	uint32_t u32;
	uint64_t u64;

	if (size == sizeof(u8)) {
		memcpy(&u8, at, sizeof(u8));
		return u8;
	}
	if (size == sizeof(u32)) {
		memcpy(&u32, at, sizeof(u32));
		return u32;
	}
	memcpy(&u64, at, sizeof(u64));
	return u64;
}

static int
load_text(const struct field *f, const json_t *v, void *base, struct error *err)
{
	char *at = place(base, f->offset);
	size_t len = json_string_length(v);
	json_t *checked = NULL;
	int r;

	if (!json_is_string(v))
		return error_set(err, -EINVAL, "this is %s", field_wants(f));
	r = field_scalar(f, json_string_value(v), len, true, &checked, err);
	json_decref(checked);
	if (r < 0)
		return r;
	if (f->type == FIELD_ENUM) {
		put_number(at, f->size, (uint64_t)field_word(f, json_string_value(v), len));
	} else if (at != NULL) {
		if (len >= f->size)
			return error_set(err, -ERANGE, "text of %zu bytes", len);
		memset(at, 0, f->size);
		memcpy(at, json_string_value(v), len);
	}
	return 0;
}

static int
load_number(const struct field *f, const json_t *v, void *base, struct error *err)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return error_set(err, -EINVAL, "this is a whole number");
	if (n < 0 || (uint64_t)n < f->min || (uint64_t)n > f->max)
		return error_set(err, -ERANGE,
				 "%" JSON_INTEGER_FORMAT " is out of range; it goes "
				 "from %" PRIu64 " to %" PRIu64,
				 n, f->min, f->max);
	put_number(place(base, f->offset), f->size, (uint64_t)n);
	return 0;
}

static int
load_bits(const struct field *f, const json_t *v, void *base, struct error *err)
{
	uint32_t bits = 0;
	size_t i;
	json_t *e;

	if (!json_is_array(v))
		return error_set(err, -EINVAL, "this is %s", field_wants(f));
	json_array_foreach(v, i, e)
	{
		int word = json_is_string(e)
				   ? field_word(f, json_string_value(e), json_string_length(e))
				   : -ENOENT;

		if (word < 0 || word > 31)
			return error_set(err, -EINVAL, "element %zu is not a word of this list", i);
		if (bits >> word != 0)
			return error_set(err, -EINVAL, "element %zu is out of order", i);
		bits |= UINT32_C(1) << word;
	}
	put_number(place(base, f->offset), sizeof(bits), bits);
	return 0;
}

static int
load_object(const struct field *f, const json_t *v, void *base, struct error *err)
{
	const char *key;
	json_t *m;
	int r;

	if (!json_is_object(v))
		return error_set(err, -EINVAL, "this is %s", field_wants(f));
	json_object_foreach((json_t *)v, key, m)
	{
		const struct field *c = field_member(f, key, strlen(key));

		if (c == NULL)
			return error_set(err, -EINVAL, "unknown key '%s'",
					 field_show(key, strlen(key)).text);
		r = field_load(c, m, base, err);
		if (r < 0)
			return error_prefix(err, "%s", c->key);
	}
	if ((f->flags & FIELD_ONE_OF) != 0)
		return json_object_size(v) == 1
			       ? 0
			       : error_set(err, -EINVAL, "exactly one of its keys may be there");
	for (const struct field *c = f->members; c->key != NULL; c++)
		if ((c->flags & FIELD_OPTIONAL) == 0 && json_object_get(v, c->key) == NULL)
			return error_set(err, -EINVAL, "'%s' is missing", c->key);
	return 0;
}

static int
load_list(const struct field *f, const json_t *v, void *base, struct error *err)
{
	char *at = place(base, f->offset);
	size_t i;
	json_t *e, *before = NULL;
	int r;

	if (!json_is_array(v))
		return error_set(err, -EINVAL, "this is %s", field_wants(f));
	if (json_array_size(v) < f->min || json_array_size(v) > f->max)
		return error_set(err, -ERANGE, "%zu elements; it goes from %" PRIu64 " to %" PRIu64,
				 json_array_size(v), f->min, f->max);
	json_array_foreach(v, i, e)
	{
		r = field_load(&f->members[0], e, at != NULL ? at + i * f->size : NULL, err);
		if (r < 0)
			return error_prefix(err, "element %zu", i);
		if ((f->flags & FIELD_SORTED) != 0 && i > 0 &&
		    field_compare(before, e, f->sort_by) >= 0)
			return error_set(err, -EINVAL, "element %zu is out of order", i);
		before = e;
	}
	if (at != NULL)
		put_number(place(base, f->count_offset), sizeof(uint32_t), json_array_size(v));
	return 0;
}

static int
load_map(const struct field *f, const json_t *v, void *base, struct error *err)
{
	char *at = place(base, f->offset);
	const struct field *name = &f->members[0], *value = &f->members[1];
	size_t i = 0;
	const char *key;
	json_t *m;
	int r;

	if (!json_is_object(v))
		return error_set(err, -EINVAL, "this is %s", field_wants(f));
	if (json_object_size(v) > f->max)
		return error_set(err, -ERANGE, "%zu entries; at most %" PRIu64, json_object_size(v),
				 f->max);
	json_object_foreach((json_t *)v, key, m)
	{
		char *slot = at != NULL ? at + i * f->size : NULL;

		if (!variable_name_valid(key, strlen(key)) || strlen(key) > name->max)
			return error_set(err, -EINVAL, "'%s' is not a variable's name",
					 field_show(key, strlen(key)).text);
		r = field_load(value, m, slot, err);
		if (r < 0)
			return error_prefix(err, "%s", key);
		if (slot != NULL) {
			memset(slot + name->offset, 0, name->size);
			memcpy(slot + name->offset, key, strlen(key));
		}
		i++;
	}
	if (at != NULL)
		put_number(place(base, f->count_offset), sizeof(uint32_t), i);
	return 0;
}

int
field_load(const struct field *f, const json_t *v, void *base, struct error *err)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_WORD:
	case FIELD_ENUM:
		return load_text(f, v, base, err);
	case FIELD_BOOL:
		if (!json_is_boolean(v))
			return error_set(err, -EINVAL, "this is %s", field_wants(f));
		put_number(place(base, f->offset), sizeof(bool), json_is_true(v));
		return 0;
	case FIELD_INT:
	case FIELD_CPU:
	case FIELD_SIZE:
	case FIELD_DURATION:
		return load_number(f, v, base, err);
	case FIELD_BITS:
		return load_bits(f, v, base, err);
	case FIELD_OBJECT:
		return load_object(f, v, base, err);
	case FIELD_LIST:
		return load_list(f, v, base, err);
	case FIELD_MAP:
		return load_map(f, v, base, err);
	}
	return error_set(err, -EINVAL, "a field of no type");
}

static int
store_bits(const struct field *f, const void *at, json_t **ret, struct error *err)
{
	uint64_t bits = get_number(at, sizeof(uint32_t));
	json_t *list = json_array();

	for (int word = 0; list != NULL && f->words[word] != NULL; word++) {
		if ((bits & UINT64_C(1) << word) == 0 ||
		    json_array_append_new(list, json_string(f->words[word])) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	*ret = list;
	return list != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int
store_object(const struct field *f, const void *base, const json_t *kept, json_t **ret,
	     struct error *err)
{
	json_t *v = json_object(), *m;
	int r = v != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");

	for (const struct field *c = f->members; r == 0 && c->key != NULL; c++) {
		m = NULL;
		r = field_store(c, base, json_object_get(kept, c->key), &m, err);
		if (r < 0)
			(void)error_prefix(err, "%s", c->key);
		else if (m != NULL && json_object_set_new(v, c->key, m) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0) {
		json_decref(v);
		return r;
	}
	*ret = v;
	return 0;
}

/* The elements of a list or the entries of a map that has a place. */
static int
store_many(const struct field *f, const void *base, json_t **ret, struct error *err)
{
	const char *at = (const char *)base + f->offset;
	uint64_t n = get_number((const char *)base + f->count_offset, sizeof(uint32_t));
	bool map = f->type == FIELD_MAP;
	json_t *v = map ? json_object() : json_array(), *m;
	int r = v != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");

	if (r == 0 && n > f->max)
		r = error_set(err, -ERANGE, "%" PRIu64 " elements", n);
	for (uint64_t i = 0; r == 0 && i < n; i++, at += f->size) {
		m = NULL;
		r = field_store(&f->members[map ? 1 : 0], at, NULL, &m, err);
		if (r < 0)
			break;
		if (map ? json_object_set_new(v, at + f->members[0].offset, m) < 0
			: json_array_append_new(v, m) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
	}
	if (r == 0 && !map && (f->flags & FIELD_SORTED) != 0)
		r = field_sort(f, v, err);
	if (r < 0) {
		json_decref(v);
		return r;
	}
	*ret = v;
	return 0;
}

static int
store_scalar(const struct field *f, const void *at, json_t **ret, struct error *err)
{
	uint64_t n = 0;

	if (f->type == FIELD_TEXT || f->type == FIELD_NAME || f->type == FIELD_WORD) {
		/* Not beyond the place, whatever is in it. */
		*ret = json_stringn(at, strnlen(at, f->size));
		return *ret != NULL ? 0 : error_set(err, -EINVAL, "text that is not UTF-8");
	}
	n = get_number(at, f->type == FIELD_BOOL ? sizeof(bool) : f->size);
	if (f->type == FIELD_ENUM) {
		uint64_t words = 0;

		while (f->words[words] != NULL)
			words++;
		if (n >= words)
			return error_set(err, -ERANGE, "there is no word %" PRIu64, n);
		*ret = json_string(f->words[n]);
	} else if (f->type == FIELD_BOOL) {
		*ret = json_boolean(n != 0);
	} else if (n == 0 && (f->flags & FIELD_OPTIONAL) != 0) {
		return 0; /* zero is how a structure says that it was left out */
	} else if (n > JSON_INT_MAX) {
		return error_set(err, -ERANGE, "%" PRIu64 " is too large", n);
	} else {
		*ret = json_integer((json_int_t)n);
	}
	return *ret != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");
}

int
field_store(const struct field *f, const void *base, const json_t *kept, json_t **ret,
	    struct error *err)
{
	*ret = NULL;
	if (f->type == FIELD_OBJECT && f->members != NULL && (f->flags & FIELD_OPTIONAL) == 0)
		return store_object(f, base, kept, ret, err);
	if (f->offset == FIELD_NOWHERE) {
		if (kept == NULL && f->type == FIELD_WORD && (f->flags & FIELD_REQUIRED) != 0)
			*ret = json_string(f->words[0]); /* apiVersion, kind: nothing else to be */
		else if (kept == NULL)
			return field_default(f, ret, err);
		else
			*ret = json_deep_copy(kept);
		return *ret != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");
	}
	if (f->type == FIELD_BITS)
		return store_bits(f, (const char *)base + f->offset, ret, err);
	if (f->type == FIELD_LIST || f->type == FIELD_MAP)
		return store_many(f, base, ret, err);
	return store_scalar(f, (const char *)base + f->offset, ret, err);
}
