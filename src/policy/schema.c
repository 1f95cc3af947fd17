/*
 * The written form of the table as JSON Schema, for editors: it may let more through than the
 * reader (patterns are wider than the checks behind them), and never refuses what the reader takes.
 * Objects allow no other keys, as the reader does.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "policy/format.h"
#include "policy/policy.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SIZE_PATTERN "^(0|[1-9][0-9]*)(KiB|MiB|GiB|TiB)$"
#define DURATION_PATTERN "^(0|[1-9][0-9]*)[smhd]$"
#define NAME_PATTERN "^[a-z0-9][a-z0-9._-]*$"
#define VARIABLE_PATTERN "^[A-Za-z_][A-Za-z0-9_]*$"

static json_t *field_schema(const struct field *f);

/* Set KEY and drop what was made when that fails; a schema half made is none. */
static json_t *
with(json_t *obj, const char *key, json_t *v)
{
	if (obj != NULL && json_object_set_new(obj, key, v) == 0)
		return obj;
	if (obj == NULL)
		json_decref(v);
	json_decref(obj);
	return NULL;
}

static json_t *
words_schema(const struct field *f)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && f->words[i] != NULL; i++)
		if (json_array_append_new(list, json_string(f->words[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return with(json_object(), "enum", list);
}

static json_t *
text_schema(const struct field *f)
{
	const char *pattern = format_pattern(f->format);
	json_t *s = with(json_object(), "type", json_string("string"));

	if (f->min > 0)
		s = with(s, "minLength", json_integer(1));
	s = with(s, "maxLength", json_integer((json_int_t)f->max));
	if (f->type == FIELD_NAME)
		pattern = NAME_PATTERN;
	if (pattern != NULL)
		s = with(s, "pattern", json_string(pattern));
	if (f->format != FORMAT_ROOT)
		return s;
	return with(json_object(), "anyOf",
		    json_pack("[o,{s:s,s:{s:{s:s}},s:[s],s:b}]", s, "type", "object", "properties",
			      "image", "type", "string", "required", "image",
			      "additionalProperties", 0));
}

static json_t *
number_schema(const struct field *f)
{
	double unit = f->type == FIELD_CPU ? 1000 : 1;
	json_t *s = with(json_object(), "type",
			 json_string(f->type == FIELD_CPU ? "number" : "integer"));

	if (f->type == FIELD_CPU) {
		s = with(s, "minimum", json_real((double)f->min / unit));
		return with(s, "maximum", json_real((double)f->max / unit));
	}
	s = with(s, "minimum", json_integer((json_int_t)f->min));
	return with(s, "maximum", json_integer((json_int_t)f->max));
}

static json_t *
unit_schema(const struct field *f)
{
	json_t *text = json_pack("{s:s,s:s}", "type", "string", "pattern",
				 f->type == FIELD_SIZE ? SIZE_PATTERN : DURATION_PATTERN);

	if (f->type == FIELD_DURATION)
		return text;
	return with(json_object(), "anyOf", json_pack("[o,o]", text, number_schema(f)));
}

static json_t *
list_schema(const struct field *f)
{
	json_t *s = with(json_object(), "type", json_string("array"));

	s = with(s, "items",
		 f->type == FIELD_BITS ? words_schema(f) : field_schema(&f->members[0]));
	if (f->min > 0)
		s = with(s, "minItems", json_integer((json_int_t)f->min));
	if (f->type == FIELD_LIST)
		s = with(s, "maxItems", json_integer((json_int_t)f->max));
	if ((f->flags & FIELD_SORTED) != 0)
		s = with(s, "uniqueItems", json_true());
	return s;
}

static json_t *
map_schema(const struct field *f)
{
	json_t *s = with(json_object(), "type", json_string("object"));

	s = with(s, "propertyNames",
		 json_pack("{s:s,s:I}", "pattern", VARIABLE_PATTERN, "maxLength",
			   (json_int_t)f->members[0].max));
	s = with(s, "additionalProperties", field_schema(&f->members[1]));
	return with(s, "maxProperties", json_integer((json_int_t)f->max));
}

static json_t *
object_schema(const struct field *f)
{
	json_t *properties = json_object(), *required = json_array();
	json_t *s = with(json_object(), "type", json_string("object"));

	for (const struct field *m = f->members; m->key != NULL; m++) {
		properties = with(properties, m->key, field_schema(m));
		if ((m->flags & FIELD_REQUIRED) == 0 ||
		    json_array_append_new(required, json_string(m->key)) == 0)
			continue;
		json_decref(required);
		required = NULL;
	}
	s = with(s, "properties", properties);
	s = with(s, "required", required);
	s = with(s, "additionalProperties", json_false());
	if ((f->flags & FIELD_ONE_OF) != 0) {
		s = with(s, "minProperties", json_integer(1));
		s = with(s, "maxProperties", json_integer(1));
	}
	return s;
}

static bool
has_default(const struct field *f)
{
	return (f->flags & (FIELD_REQUIRED | FIELD_OPTIONAL)) == 0 &&
	       (f->type == FIELD_LIST || f->type == FIELD_BITS || f->fallback != NULL);
}

/* As a person would write it. NULL: out of memory. */
static json_t *
default_schema(const struct field *f)
{
	json_t *v = NULL;

	if (f->type == FIELD_LIST || f->type == FIELD_BITS)
		return field_default(f, &v, NULL) == 0 ? v : NULL;
	if (f->type == FIELD_INT || f->type == FIELD_CPU || f->type == FIELD_BOOL)
		return json_loads(f->fallback, JSON_DECODE_ANY, NULL);
	return json_string(f->fallback);
}

static json_t *
field_schema(const struct field *f)
{
	json_t *s = NULL;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_NAME:
		s = text_schema(f);
		break;
	case FIELD_WORD:
	case FIELD_ENUM:
		s = words_schema(f);
		break;
	case FIELD_BOOL:
		s = with(json_object(), "type", json_string("boolean"));
		break;
	case FIELD_INT:
	case FIELD_CPU:
		s = number_schema(f);
		break;
	case FIELD_SIZE:
	case FIELD_DURATION:
		s = unit_schema(f);
		break;
	case FIELD_LIST:
	case FIELD_BITS:
		s = list_schema(f);
		break;
	case FIELD_MAP:
		s = map_schema(f);
		break;
	case FIELD_OBJECT:
		s = object_schema(f);
		break;
	}
	s = with(s, "description", json_string(f->about));
	return has_default(f) ? with(s, "default", default_schema(f)) : s;
}

static int
add(const char *text, size_t len, void *user)
{
	struct buf *out = user;

	buf_add(out, text, len);
	return out->failed ? -1 : 0;
}

int
policy_schema(struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *s = field_schema(&PROFILE_FIELDS);

	s = with(s, "$schema", json_string(DIALECT));
	s = with(s, "title", json_string("Sandbox Loom profile (loom/v1)"));
	/* Into our own buffer: json_dumps does not see every failure of its own. */
	if (s == NULL || json_dump_callback(s, add, out, JSON_INDENT(2) | JSON_SORT_KEYS) < 0) {
		int r = buf_check(out, err);

		return r < 0 ? r : error_set(err, -ENOMEM, "out of memory");
	}
	buf_char(out, '\n');
	return buf_check(out, err);
}
