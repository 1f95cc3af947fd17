/*
 * One field at a time: what it wants, what a written scalar means, its default, the order of its
 * list. Numbers are read by base/text.h's one spelling and never pass through a float.
 */
#include "model/field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "model/ids.h"

#define SCALAR_MAX 64 /* bytes of the longest number, size or duration */
#define CPU_PLACES 3

struct field_shown
field_show(const char *text, size_t len)
{
	struct field_shown ret = {.text = ""};
	struct buf b;
	size_t at = 0;
	uint32_t c;

	while (at < len && at < FIELD_SHOWN_MAX) {
		size_t n = utf8_next(text + at, len - at, &c);

		at += n > 0 ? n : 1;
	}
	at = at < len ? at : len;
	buf_init(&b, sizeof(ret.text) - 4);
	text_escape(text, at, &b);
	if (b.data != NULL)
		(void)snprintf(ret.text, sizeof(ret.text), "%s%s", b.data, at < len ? "…" : "");
	buf_fini(&b);
	return ret;
}

bool
variable_name_valid(const char *name, size_t len)
{
	if (len == 0 || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '_')
			return false;
	}
	return true;
}

const char *
field_wants(const struct field *f)
{
	switch (f->type) {
	case FIELD_TEXT:
		return "text";
	case FIELD_NAME:
		return "a name (a-z, 0-9, '.', '_', '-')";
	case FIELD_WORD:
	case FIELD_ENUM:
		return "one of its words";
	case FIELD_BOOL:
		return "true or false";
	case FIELD_INT:
		return "a plain decimal number";
	case FIELD_CPU:
		return "a number of CPUs such as 2 or 0.5";
	case FIELD_SIZE:
		return "a size such as 64KiB or 2GiB";
	case FIELD_DURATION:
		return "a duration such as 10s, 30m, 2h or 400d";
	case FIELD_OBJECT:
		return "a mapping of keys";
	case FIELD_LIST:
	case FIELD_BITS:
		return "a list";
	case FIELD_MAP:
		return "a mapping of names";
	}
	return "something else";
}

const struct field *
field_member(const struct field *f, const char *key, size_t len)
{
	for (const struct field *m = f->members; m != NULL && m->key != NULL; m++)
		if (strlen(m->key) == len && memcmp(m->key, key, len) == 0)
			return m;
	return NULL;
}

int
field_word(const struct field *f, const char *text, size_t len)
{
	for (int i = 0; f->words != NULL && f->words[i] != NULL; i++)
		if (strlen(f->words[i]) == len && memcmp(f->words[i], text, len) == 0)
			return i;
	return -ENOENT;
}

/* ---- written scalars --------------------------------------------------------------------- */

static int
scalar_wrong(const struct field *f, const char *text, size_t len, const char *why,
	     struct error *err)
{
	struct field_shown s = field_show(text, len);

	return error_set(err, -EINVAL, "found '%s'%s; this is %s", s.text, why, field_wants(f));
}

struct bound {
	char text[32];
};

/* V as a person would write it: in the largest unit that leaves a whole number. */
static struct bound
bound(const struct field *f, uint64_t v)
{
	static const struct {
		enum field_type type;
		uint64_t factor;
		const char *unit;
	} UNITS[] = {
		{FIELD_SIZE, UINT64_C(1) << 40, "TiB"}, {FIELD_SIZE, 1 << 30, "GiB"},
		{FIELD_SIZE, 1 << 20, "MiB"},		{FIELD_SIZE, 1 << 10, "KiB"},
		{FIELD_DURATION, 86400000, "d"},	{FIELD_DURATION, 3600000, "h"},
		{FIELD_DURATION, 60000, "m"},		{FIELD_DURATION, 1000, "s"},
	};
	struct bound ret;

	(void)snprintf(ret.text, sizeof(ret.text), "%" PRIu64, v);
	if (f->type == FIELD_CPU)
		(void)snprintf(ret.text, sizeof(ret.text), "%" PRIu64 ".%03u", v / 1000,
			       (unsigned int)(v % 1000));
	for (size_t i = 0; i < ARRAY_LEN(UNITS); i++)
		if (UNITS[i].type == f->type && v > 0 && v % UNITS[i].factor == 0) {
			(void)snprintf(ret.text, sizeof(ret.text), "%" PRIu64 "%s",
				       v / UNITS[i].factor, UNITS[i].unit);
			break;
		}
	return ret;
}

static int
scalar_range(const struct field *f, const char *text, size_t len, struct error *err)
{
	struct field_shown s = field_show(text, len);

	return error_set(err, -ERANGE, "found '%s', which is out of range; it goes from %s to %s",
			 s.text, bound(f, f->min).text, bound(f, f->max).text);
}

/* "2", "0.5", "1.25": thousandths, without ever being a float. */
static int
cpu_parse(const char *text, uint64_t *ret)
{
	char whole[SCALAR_MAX];
	const char *dot = strchr(text, '.');
	size_t len = dot != NULL ? (size_t)(dot - text) : strlen(text);
	uint64_t v, fraction = 0, place = 100;
	int r;

	if (len >= sizeof(whole))
		return -EINVAL;
	memcpy(whole, text, len);
	whole[len] = '\0';
	r = decimal_parse(whole, UINT32_MAX, &v);
	if (r < 0)
		return r;
	if (dot != NULL) {
		size_t places = strspn(dot + 1, "0123456789");

		if (places == 0 || places > CPU_PLACES || dot[1 + places] != '\0')
			return -EINVAL;
		for (size_t i = 0; i < places; i++, place /= 10)
			fraction += (uint64_t)(dot[1 + i] - '0') * place;
	}
	*ret = v * 1000 + fraction;
	return 0;
}

static int
number_parse(const struct field *f, const char *text, uint64_t *ret)
{
	switch (f->type) {
	case FIELD_CPU:
		return cpu_parse(text, ret);
	case FIELD_SIZE:
		return size_parse(text, ret);
	case FIELD_DURATION:
		return duration_parse(text, ret);
	default:
		return decimal_parse(text, UINT64_MAX, ret);
	}
}

static int
scalar_number(const struct field *f, const char *text, size_t len, bool plain, json_t **ret,
	      struct error *err)
{
	char number[SCALAR_MAX];
	uint64_t v;
	int r;

	if (len == 0 || len >= sizeof(number) || memchr(text, '\0', len) != NULL)
		return scalar_wrong(f, text, len, "", err);
	memcpy(number, text, len);
	number[len] = '\0';
	/* A quoted number is text; with a unit it has to be text in JSON, so there both will do. */
	if (!plain && strspn(number, "0123456789.") == len)
		return scalar_wrong(f, text, len, " in quotes", err);
	r = number_parse(f, number, &v);
	if (r == -ERANGE || (r == 0 && (v < f->min || v > f->max)))
		return scalar_range(f, text, len, err);
	if (r < 0)
		return scalar_wrong(f, text, len, "", err);
	*ret = json_integer((json_int_t)v);
	return *ret != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int
scalar_text(const struct field *f, const char *text, size_t len, json_t **ret, struct error *err)
{
	char name[NAME_MAX_LEN + 1];

	if (f->type == FIELD_WORD || f->type == FIELD_ENUM || f->type == FIELD_BITS) {
		if (field_word(f, text, len) < 0)
			return scalar_wrong(f, text, len, "", err);
	} else if (len < f->min || len > f->max) {
		if (len == 0)
			return error_set(err, -EINVAL, "found empty text; this may not be empty");
		return error_set(err, -ERANGE,
				 "found %zu bytes of text; it goes from %" PRIu64 " to %" PRIu64,
				 len, f->min, f->max);
	}
	if (f->type == FIELD_NAME) {
		if (len >= sizeof(name) || memchr(text, '\0', len) != NULL)
			return scalar_wrong(f, text, len, "", err);
		memcpy(name, text, len);
		name[len] = '\0';
		if (!name_valid(name))
			return scalar_wrong(f, text, len, "", err);
	}
	for (size_t at = 0; at < len;) {
		uint32_t c = 0;
		size_t n = utf8_next(text + at, len - at, &c);

		if (n == 0 || utf8_is_control(c))
			return scalar_wrong(f, text, len,
					    ", with a control character or invalid "
					    "UTF-8",
					    err);
		at += n;
	}
	*ret = json_stringn(text, len);
	return *ret != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int
scalar_bool(const struct field *f, const char *text, size_t len, bool plain, json_t **ret,
	    struct error *err)
{
	if (plain && len == 4 && memcmp(text, "true", 4) == 0)
		*ret = json_true();
	else if (plain && len == 5 && memcmp(text, "false", 5) == 0)
		*ret = json_false();
	else
		return scalar_wrong(f, text, len, plain ? "" : " in quotes", err);
	return 0;
}

int
field_scalar(const struct field *f, const char *text, size_t len, bool plain, json_t **ret,
	     struct error *err)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_WORD:
	case FIELD_ENUM:
	case FIELD_BITS: /* an element of it */
		return scalar_text(f, text, len, ret, err);
	case FIELD_BOOL:
		return scalar_bool(f, text, len, plain, ret, err);
	case FIELD_INT:
	case FIELD_CPU:
	case FIELD_SIZE:
	case FIELD_DURATION:
		return scalar_number(f, text, len, plain, ret, err);
	case FIELD_OBJECT:
	case FIELD_LIST:
	case FIELD_MAP:
		break;
	}
	return scalar_wrong(f, text, len, "", err);
}

/* "a,b": each an element. */
static int
default_list(const struct field *f, json_t **ret, struct error *err)
{
	const char *text = f->fallback != NULL ? f->fallback : "";
	json_t *list = json_array(), *v;
	int r = list != NULL ? 0 : error_set(err, -ENOMEM, "out of memory");

	while (r == 0 && *text != '\0') {
		size_t len = strcspn(text, ",");

		v = NULL;
		r = field_scalar(f->type == FIELD_BITS ? f : &f->members[0], text, len, true, &v,
				 err);
		if (r == 0 && json_array_append_new(list, v) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
		text += len + (text[len] == ',');
	}
	if (r == 0 && (f->flags & FIELD_SORTED) != 0)
		r = field_sort(f, list, err);
	if (r < 0) {
		json_decref(list);
		return r;
	}
	*ret = list;
	return 0;
}

int
field_default(const struct field *f, json_t **ret, struct error *err)
{
	json_t *v, *m;
	int r = 0;

	*ret = NULL;
	if ((f->flags & FIELD_OPTIONAL) != 0)
		return 0;
	if ((f->flags & FIELD_REQUIRED) != 0)
		return error_set(err, -EINVAL, "'%s' is missing; it has no default", f->key);
	if (f->type == FIELD_LIST || f->type == FIELD_BITS)
		return default_list(f, ret, err);
	if (f->fallback != NULL)
		return field_scalar(f, f->fallback, strlen(f->fallback), true, ret, err);
	v = json_object();
	if (v == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (const struct field *c = f->members; f->type == FIELD_OBJECT && c->key != NULL; c++) {
		r = field_default(c, &m, err);
		if (r == 0 && m != NULL && json_object_set_new(v, c->key, m) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
		if (r < 0) {
			json_decref(v);
			return r;
		}
	}
	*ret = v;
	return 0;
}

/* ---- order ------------------------------------------------------------------------------- */

int
field_compare(const json_t *a, const json_t *b, const char *by)
{
	if (by != NULL) {
		a = json_object_get(a, by);
		b = json_object_get(b, by);
	}
	if (json_is_integer(a) && json_is_integer(b)) {
		json_int_t x = json_integer_value(a), y = json_integer_value(b);

		return (x > y) - (x < y);
	}
	if (json_is_string(a) && json_is_string(b))
		return strcmp(json_string_value(a), json_string_value(b));
	return 0;
}

struct sorted {
	json_t *value;
	const char *by;
};

static int
sorted_compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	return field_compare(x->value, y->value, x->by);
}

static int
sorted_twice(const json_t *v, const char *by, struct error *err)
{
	const json_t *k = by != NULL ? json_object_get(v, by) : v;
	struct field_shown s;

	if (json_is_integer(k))
		return error_set(err, -EEXIST, "%" JSON_INTEGER_FORMAT " is there twice",
				 json_integer_value(k));
	s = field_show(json_string_value(k) != NULL ? json_string_value(k) : "",
		       json_string_length(k));
	return error_set(err, -EEXIST, "'%s' is there twice", s.text);
}

/* FIELD_BITS: in the order of the words, which is not that of the alphabet. */
static int
bits_sort(const struct field *f, json_t *list, struct error *err)
{
	uint32_t bits = 0;
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		int word = field_word(f, json_string_value(v), json_string_length(v));

		if (word < 0 || word > 31)
			return error_set(err, -EINVAL, "an unknown word");
		if ((bits & UINT32_C(1) << word) != 0)
			return sorted_twice(v, NULL, err);
		bits |= UINT32_C(1) << word;
	}
	json_array_clear(list);
	for (int word = 0; word < 32; word++)
		if ((bits & UINT32_C(1) << word) != 0 &&
		    json_array_append_new(list, json_string(f->words[word])) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

int
field_sort(const struct field *f, json_t *list, struct error *err)
{
	size_t n = json_array_size(list);
	struct sorted *s;
	int r = 0;

	if (f->type == FIELD_BITS)
		return bits_sort(f, list, err);
	if (n == 0)
		return 0;
	s = calloc(n, sizeof(*s));
	if (s == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		s[i] = (struct sorted){json_incref(json_array_get(list, i)), f->sort_by};
	qsort(s, n, sizeof(*s), sorted_compare);
	for (size_t i = 1; i < n && r == 0; i++)
		if (sorted_compare(&s[i - 1], &s[i]) == 0)
			r = sorted_twice(s[i].value, f->sort_by, err);
	for (size_t i = 0; i < n; i++)
		(void)json_array_set_new(list, i, s[i].value);
	free(s);
	return r;
}
