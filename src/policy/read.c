/*
 * One walk down the document and the schema together. Depth is bounded by the reader of YAML, so
 * the walk may recurse. A mapping is read key by key as it stands, so that the first mistake of a
 * file is the one that is told; what is missing comes after that.
 */
#include "policy/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/format.h"
#include "policy/suggest.h"

#define LISTED_MAX 300 /* bytes of a list of words in a message */

static const char *
kind_name(const struct yaml_node *n)
{
	switch (n->kind) {
	case YAML_LIST:
		return "a list";
	case YAML_MAPPING:
		return "a mapping";
	case YAML_SCALAR:
		break;
	}
	return "text";
}

static int
wrong_kind(const struct yaml *y, const struct yaml_node *node, const struct field *f,
	   struct error *err)
{
	if (node->kind == YAML_SCALAR)
		return yaml_error(y, node->at, err, "%s: found '%s'; this is %s", f->key,
				  field_show(node->text, node->len).text, field_wants(f));
	return yaml_error(y, node->at, err, "%s: found %s; this is %s", f->key, kind_name(node),
			  field_wants(f));
}

void
read_hint(const char *word, size_t len, const char *const *words, char out[READ_HINT_MAX])
{
	struct suggest s;
	const char *best;

	suggest_init(&s, word, len);
	for (size_t i = 0; words[i] != NULL; i++)
		suggest_try(&s, words[i]);
	best = suggest_best(&s);
	out[0] = '\0';
	if (best != NULL)
		(void)snprintf(out, READ_HINT_MAX, "; did you mean '%s'?", best);
}

static void
listed_add(char out[LISTED_MAX], const char *word)
{
	size_t used = strlen(out);

	if (used + strlen(word) + 3 < LISTED_MAX)
		(void)snprintf(out + used, LISTED_MAX - used, "%s%s", used > 0 ? ", " : "", word);
}

static int
unknown_word(const struct yaml *y, const struct yaml_node *node, const struct field *f,
	     struct error *err)
{
	char hint[READ_HINT_MAX], listed[LISTED_MAX] = "";

	for (size_t i = 0; f->words[i] != NULL; i++)
		listed_add(listed, f->words[i]);
	read_hint(node->text, node->len, f->words, hint);
	return yaml_error(y, node->at, err, "%s: found '%s'%s It is one of: %s", f->key,
			  field_show(node->text, node->len).text, hint[0] != '\0' ? hint : ".",
			  listed);
}

static int
unknown_key(const struct yaml *y, const struct yaml_node *node, const struct field *f,
	    struct error *err)
{
	char listed[LISTED_MAX] = "";
	struct suggest s;

	suggest_init(&s, node->key, node->key_len);
	for (const struct field *m = f->members; m->key != NULL; m++) {
		suggest_try(&s, m->key);
		listed_add(listed, m->key);
	}
	if (suggest_best(&s) != NULL)
		return yaml_error(
			y, node->key_at, err, "unknown key '%s' in %s; did you mean '%s'?",
			field_show(node->key, node->key_len).text, f->key, suggest_best(&s));
	return yaml_error(y, node->key_at, err, "unknown key '%s' in %s; it has: %s",
			  field_show(node->key, node->key_len).text, f->key, listed);
}

static int
read_scalar(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t **ret,
	    struct error *err)
{
	struct error why = {0};
	int r;

	if (node->kind != YAML_SCALAR)
		return wrong_kind(y, node, f, err);
	if (f->words != NULL && field_word(f, node->text, node->len) < 0)
		return unknown_word(y, node, f, err);
	r = field_scalar(f, node->text, node->len, node->plain, ret, &why);
	if (r == 0)
		r = format_check(f->format, node->text, node->len, &why);
	if (r == 0)
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return r == -ENOMEM ? error_set(err, r, "out of memory")
			    : yaml_error(y, node->at, err, "%s: %s", f->key, why.text);
}

/* {image: NAME@sha256:…} says the same as the text image:NAME@sha256:… */
static int
read_root(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t **ret,
	  struct error *err)
{
	const struct yaml_node *image = yaml_get(node, "image");
	struct yaml_node text = *node;
	char joined[512];

	if (node->kind != YAML_MAPPING)
		return read_scalar(y, node, f, ret, err);
	if (image == NULL || node->count != 1 || image->kind != YAML_SCALAR)
		return yaml_error(y, node->at, err,
				  "%s: found a mapping; this is 'host' or "
				  "{image: NAME@sha256:DIGEST}",
				  f->key);
	if (image->len > sizeof(joined) - sizeof("image:"))
		return yaml_error(y, image->at, err, "%s: found %zu bytes of text; it is too long",
				  f->key, image->len);
	text.kind = YAML_SCALAR;
	text.at = image->at;
	text.text = joined;
	text.len = (size_t)snprintf(joined, sizeof(joined), "image:%s", image->text);
	return read_scalar(y, &text, f, ret, err);
}

static int
fill_missing(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t *obj,
	     struct error *err)
{
	struct error why = {0};
	json_t *v;
	int r;

	for (const struct field *m = f->members; m->key != NULL; m++) {
		if (json_object_get(obj, m->key) != NULL)
			continue;
		r = field_default(m, &v, &why);
		if (r == -ENOMEM || (v != NULL && json_object_set_new(obj, m->key, v) < 0))
			return error_set(err, -ENOMEM, "out of memory");
		if (r < 0)
			return yaml_error(y, yaml_where(node), err, "%s: %s", f->key, why.text);
	}
	return 0;
}

static int
read_object(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t *obj,
	    struct error *err)
{
	json_t *v;
	int r;

	if (node->kind != YAML_MAPPING)
		return wrong_kind(y, node, f, err);
	for (const struct yaml_node *n = node->first; n != NULL; n = n->next) {
		const struct field *m = field_member(f, n->key, n->key_len);

		if (m == NULL)
			return unknown_key(y, n, f, err);
		v = NULL;
		r = read_value(y, n, m, &v, err);
		if (r < 0)
			return r;
		if (json_object_set_new(obj, m->key, v) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if ((f->flags & FIELD_ONE_OF) == 0)
		return fill_missing(y, node, f, obj, err);
	if (node->count != 1) {
		char listed[LISTED_MAX] = "";

		for (const struct field *m = f->members; m->key != NULL; m++)
			listed_add(listed, m->key);
		return yaml_error(y, yaml_where(node), err,
				  "%s: found %u keys; this has exactly one "
				  "of: %s",
				  f->key, node->count, listed);
	}
	return 0;
}

static int
read_map(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t *obj,
	 struct error *err)
{
	json_t *v;
	int r;

	if (node->kind != YAML_MAPPING)
		return wrong_kind(y, node, f, err);
	if (node->count > f->max)
		return yaml_error(y, yaml_where(node), err,
				  "%s: found %u entries; at most %" PRIu64 " may be", f->key,
				  node->count, f->max);
	for (const struct yaml_node *n = node->first; n != NULL; n = n->next) {
		if (!variable_name_valid(n->key, n->key_len) || n->key_len > f->members[0].max)
			return yaml_error(y, n->key_at, err,
					  "%s: found '%s'; a name is letters, "
					  "digits and '_', does not start with a digit, and has at "
					  "most %" PRIu64 " of them",
					  f->key, field_show(n->key, n->key_len).text,
					  f->members[0].max);
		v = NULL;
		r = read_scalar(y, n, &f->members[1], &v, err);
		if (r < 0)
			return r;
		if (json_object_set_new(obj, n->key, v) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* The position of the second of two equal elements; the list's own when they are not scalars. */
static struct yaml_position
twice_position(const struct yaml_node *node)
{
	for (const struct yaml_node *a = node->first; a != NULL; a = a->next)
		for (const struct yaml_node *b = a->next; b != NULL; b = b->next)
			if (a->kind == YAML_SCALAR && b->kind == YAML_SCALAR &&
			    strcmp(a->text, b->text) == 0)
				return b->at;
	return yaml_where(node);
}

static int
read_list(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t *list,
	  struct error *err)
{
	const struct field *element = f->type == FIELD_BITS ? f : &f->members[0];
	struct error why = {0};
	json_t *v;
	int r;

	if (node->kind != YAML_LIST)
		return wrong_kind(y, node, f, err);
	if (f->type == FIELD_LIST && (node->count < f->min || node->count > f->max))
		return yaml_error(y, yaml_where(node), err,
				  "%s: found %u elements; it goes from "
				  "%" PRIu64 " to %" PRIu64,
				  f->key, node->count, f->min, f->max);
	for (const struct yaml_node *n = node->first; n != NULL; n = n->next) {
		v = NULL;
		r = f->type == FIELD_BITS ? read_scalar(y, n, element, &v, err)
					  : read_value(y, n, element, &v, err);
		if (r < 0)
			return r;
		if (json_array_append_new(list, v) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if ((f->flags & FIELD_SORTED) == 0)
		return 0;
	r = field_sort(f, list, &why);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	return r < 0 ? yaml_error(y, twice_position(node), err, "%s: %s", f->key, why.text) : 0;
}

int
read_value(const struct yaml *y, const struct yaml_node *node, const struct field *f, json_t **ret,
	   struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	int r;

	if (f->format == FORMAT_ROOT)
		return read_root(y, node, f, ret, err);
	switch (f->type) {
	case FIELD_OBJECT:
		v = json_object();
		r = v != NULL ? read_object(y, node, f, v, err) : -ENOMEM;
		break;
	case FIELD_MAP:
		v = json_object();
		r = v != NULL ? read_map(y, node, f, v, err) : -ENOMEM;
		break;
	case FIELD_LIST:
	case FIELD_BITS:
		v = json_array();
		r = v != NULL ? read_list(y, node, f, v, err) : -ENOMEM;
		break;
	default:
		return read_scalar(y, node, f, ret, err);
	}
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (r == 0)
		*ret = TAKE_PTR(v);
	return r;
}
