/*
 * Three stages, each narrower than the one before. The bytes are screened without any notion of
 * YAML, so that the library below only ever sees ordinary text. Its events are then taken one by
 * one against a table of what may come; depth and number are counted here, and a stop is a stop:
 * nothing after it is parsed. What is left is a tree, in which every mapping is checked for keys
 * that are the same once their escapes are undone.
 *
 * Nodes and texts live in chunks that are only freed together. The number of bytes bounds the texts
 * (an escape never makes more than twice as many) and YAML_NODES_MAX the nodes.
 */
#include "policy/yaml.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "model/field.h"
#include "policy/screen.h"

#define CHUNK_BYTES (64 * 1024)
#define FILE_SHOWN_MAX 200

struct chunk {
	struct chunk *next;
	size_t used, size;
	/* data follows, aligned as malloc aligns */
	max_align_t data[];
};

struct yaml {
	char file[FILE_SHOWN_MAX];
	struct chunk *chunks;
	struct yaml_node *root;
	uint32_t nodes;
};

/* What is open while events are taken. */
struct level {
	struct yaml_node *node;
	struct yaml_node *last;
	bool has_key; /* a mapping between key and value */
	const char *key;
	size_t key_len;
	struct yaml_position key_at;
	size_t after; /* offset just past the newest child */
};

struct reader {
	struct yaml *y;
	const char *data;
	size_t len;
	struct fy_diag *diag;
	struct fy_parser *parser;
	struct level levels[YAML_DEPTH_MAX];
	uint32_t depth;
	uint32_t documents;
	bool ended;
};

/* ---- memory -------------------------------------------------------------------------------- */

static void *
yaml_alloc(struct yaml *y, size_t size, struct error *err)
{
	size_t align = _Alignof(max_align_t);
	struct chunk *c = y->chunks;
	void *ret;

	size = (size + align - 1) / align * align;
	if (c == NULL || c->size - c->used < size) {
		size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		c = calloc(1, sizeof(*c) + room);
		if (c == NULL) {
			(void)error_set(err, -ENOMEM, "out of memory");
			return NULL;
		}
		c->size = room;
		c->next = y->chunks;
		y->chunks = c;
	}
	ret = (char *)c->data + c->used;
	c->used += size;
	return ret;
}

void
yaml_free(struct yaml *y)
{
	if (y == NULL)
		return;
	for (struct chunk *c = y->chunks, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	free(y);
}

void
yaml_freep(struct yaml **y)
{
	yaml_free(*y);
	*y = NULL;
}

/* ---- looking at it ------------------------------------------------------------------------- */

const struct yaml_node *
yaml_root(const struct yaml *y)
{
	return y->root;
}

const char *
yaml_file(const struct yaml *y)
{
	return y->file;
}

const struct yaml_node *
yaml_get(const struct yaml_node *node, const char *key)
{
	if (node == NULL || node->kind != YAML_MAPPING)
		return NULL;
	for (const struct yaml_node *n = node->first; n != NULL; n = n->next)
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

const struct yaml_node *
yaml_at(const struct yaml_node *node, size_t i)
{
	const struct yaml_node *n;

	if (node == NULL || node->kind != YAML_LIST)
		return NULL;
	for (n = node->first; n != NULL && i > 0; i--)
		n = n->next;
	return n;
}

struct yaml_position
yaml_where(const struct yaml_node *node)
{
	return node->key != NULL ? node->key_at : node->at;
}

int
yaml_error(const struct yaml *y, struct yaml_position at, struct error *err, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(err, -EINVAL, "%s:%u:%u: %s", y->file, at.line, at.column, text);
}

/* ---- events -------------------------------------------------------------------------------- */

static struct yaml_position
mark_position(const struct fy_mark *m)
{
	struct yaml_position at = {.line = 1, .column = 1};

	if (m != NULL && m->line >= 0 && m->column >= 0) {
		at.line = (uint32_t)m->line + 1;
		at.column = (uint32_t)m->column + 1;
	}
	return at;
}

static struct yaml_position
event_position(struct fy_event *e)
{
	return mark_position(fy_event_start_mark(e));
}

static struct yaml_node *
node_new(struct reader *rd, struct fy_event *e, enum yaml_kind kind, struct error *err)
{
	struct yaml_node *n;

	if (rd->y->nodes >= YAML_NODES_MAX) {
		(void)yaml_error(rd->y, event_position(e), err, "found more than %d values",
				 YAML_NODES_MAX);
		return NULL;
	}
	n = yaml_alloc(rd->y, sizeof(*n), err);
	if (n == NULL)
		return NULL;
	rd->y->nodes++;
	*n = (struct yaml_node){.kind = kind, .at = event_position(e)};
	return n;
}

/* Put a finished scalar or an opened collection where it belongs. */
static int
node_attach(struct reader *rd, struct yaml_node *n, struct error *err)
{
	struct level *l;

	if (rd->depth == 0) {
		if (rd->y->root != NULL)
			return yaml_error(rd->y, n->at, err,
					  "found a second value; one document "
					  "is due");
		rd->y->root = n;
		return 0;
	}
	l = &rd->levels[rd->depth - 1];
	if (l->node->kind == YAML_MAPPING) {
		if (!l->has_key)
			return yaml_error(rd->y, n->at, err,
					  "found a list or mapping as a key; a "
					  "key is text");
		n->key = l->key;
		n->key_len = l->key_len;
		n->key_at = l->key_at;
		l->has_key = false;
	}
	if (l->last == NULL)
		l->node->first = n;
	else
		l->last->next = n;
	l->last = n;
	l->node->count++;
	return 0;
}

static int
key_take(struct reader *rd, struct level *l, const struct yaml_node *n, struct error *err)
{
	if (n->plain && n->len == 2 && memcmp(n->text, "<<", 2) == 0)
		return yaml_error(rd->y, n->at, err, "found a merge key; write the keys out");
	l->key = n->text;
	l->key_len = n->len;
	l->key_at = n->at;
	l->has_key = true;
	return 0;
}

static bool
is_null(const struct yaml_node *n)
{
	static const char *const NULLS[] = {"", "~", "null", "Null", "NULL"};

	for (size_t i = 0; n->plain && i < ARRAY_LEN(NULLS); i++)
		if (strlen(NULLS[i]) == n->len && memcmp(NULLS[i], n->text, n->len) == 0)
			return true;
	return false;
}

static int
null_error(struct reader *rd, struct yaml_position at, struct error *err)
{
	const struct level *l = rd->depth > 0 ? &rd->levels[rd->depth - 1] : NULL;

	/* Where nothing stands has no position of its own. */
	return yaml_error(rd->y, l != NULL && l->has_key ? l->key_at : at, err,
			  "found nothing (null); write a value, or leave the key out");
}

/* Is it written in a way that is taken? Asked before its text is, which then is on one line. */
static int
style_check(struct reader *rd, struct fy_event *e, struct error *err)
{
	const struct fy_mark *start = fy_event_start_mark(e), *end = fy_event_end_mark(e);
	enum fy_scalar_style style = fy_token_scalar_style(e->scalar.value);

	if (style != FYSS_PLAIN && style != FYSS_SINGLE_QUOTED && style != FYSS_DOUBLE_QUOTED)
		return yaml_error(rd->y, event_position(e), err,
				  "found a block of text; write plain or quoted text on one line");
	if (start == NULL || end == NULL || start->input_pos > end->input_pos ||
	    end->input_pos > rd->len)
		return null_error(rd, event_position(e), err);
	if (start->line != end->line)
		return yaml_error(rd->y, event_position(e), err,
				  "found text that goes on in the next line; write it on one line");
	return 0;
}

/*
 * The text of a scalar, copied. Plain and single-quoted text on one line is what stands there, but
 * for doubled quotes; so the library, which loses memory over many of these, is only asked to undo
 * the escapes of double quotes.
 */
static int
scalar_text(struct reader *rd, struct fy_event *e, struct yaml_node *n, struct error *err)
{
	enum fy_scalar_style style = fy_token_scalar_style(e->scalar.value);
	size_t from = fy_event_start_mark(e)->input_pos, len = 0;
	const char *raw = rd->data + from;
	char *copy;

	n->len = fy_event_end_mark(e)->input_pos - from;
	if (style == FYSS_DOUBLE_QUOTED)
		raw = fy_token_get_text(e->scalar.value, &n->len);
	if (raw == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	copy = yaml_alloc(rd->y, n->len + 1, err);
	if (copy == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n->len; i++) {
		copy[len++] = raw[i];
		if (style == FYSS_SINGLE_QUOTED && raw[i] == '\'')
			i++; /* the other one of two */
	}
	copy[len] = '\0';
	n->text = copy;
	n->len = len;
	n->plain = style == FYSS_PLAIN;
	/* The library's mark is behind the quote. */
	n->at.column -= !n->plain && n->at.column > 1;
	return 0;
}

static int
scalar_check(struct reader *rd, const struct yaml_node *n, struct error *err)
{
	if (is_null(n))
		return null_error(rd, n->at, err);
	/* {"a":1 "b":2} is a longer plain text to YAML and a missing comma to everyone else. */
	if (n->plain && memchr(n->text, '"', n->len) != NULL)
		return yaml_error(rd->y, n->at, err,
				  "found a double quote inside plain text; put "
				  "the whole text in quotes");
	for (size_t i = 0; i < n->len;) {
		uint32_t c = 0;
		size_t bytes = utf8_next(n->text + i, n->len - i, &c);

		if (bytes == 0 || c == '\n' || screen_char(c) != NULL)
			return yaml_error(rd->y, n->at, err, "found text with an escape for %s",
					  bytes == 0 ? "something that is no character"
						     : "a character that may not be in it");
		i += bytes;
	}
	return 0;
}

static int
take_scalar(struct reader *rd, struct fy_event *e, struct error *err)
{
	struct level *l = rd->depth > 0 ? &rd->levels[rd->depth - 1] : NULL;
	struct yaml_node *n = node_new(rd, e, YAML_SCALAR, err);
	int r;

	if (n == NULL)
		return err != NULL && err->code != 0 ? err->code : -ENOMEM;
	r = style_check(rd, e, err);
	if (r == 0)
		r = scalar_text(rd, e, n, err);
	if (r == 0)
		r = scalar_check(rd, n, err);
	if (r < 0)
		return r;
	if (l != NULL)
		l->after = fy_event_end_mark(e)->input_pos;
	if (l != NULL && l->node->kind == YAML_MAPPING && !l->has_key)
		return key_take(rd, l, n, err);
	return node_attach(rd, n, err);
}

static int
take_start(struct reader *rd, struct fy_event *e, struct error *err)
{
	enum yaml_kind kind = e->type == FYET_MAPPING_START ? YAML_MAPPING : YAML_LIST;
	struct yaml_node *n;
	int r;

	if (rd->depth >= YAML_DEPTH_MAX)
		return yaml_error(rd->y, event_position(e), err,
				  "found more than %d levels of "
				  "nesting",
				  YAML_DEPTH_MAX);
	n = node_new(rd, e, kind, err);
	if (n == NULL)
		return err != NULL && err->code != 0 ? err->code : -ENOMEM;
	r = node_attach(rd, n, err);
	if (r < 0)
		return r;
	rd->levels[rd->depth++] = (struct level){.node = n};
	return 0;
}

struct named {
	const struct yaml_node *node;
};

static int
named_compare(const void *a, const void *b)
{
	const struct yaml_node *x = ((const struct named *)a)->node;
	const struct yaml_node *y = ((const struct named *)b)->node;
	int r = strcmp(x->key, y->key);

	if (r != 0)
		return r;
	if (x->key_at.line != y->key_at.line)
		return x->key_at.line < y->key_at.line ? -1 : 1;
	return x->key_at.column < y->key_at.column ? -1 : x->key_at.column > y->key_at.column;
}

static int
check_duplicates(struct reader *rd, const struct yaml_node *mapping, struct error *err)
{
	struct named *all;
	size_t n = 0;
	int r = 0;

	if (mapping->count < 2)
		return 0;
	all = calloc(mapping->count, sizeof(*all));
	if (all == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (const struct yaml_node *c = mapping->first; c != NULL; c = c->next)
		all[n++].node = c;
	qsort(all, n, sizeof(*all), named_compare);
	for (size_t i = 1; i < n && r == 0; i++) {
		const struct yaml_node *a = all[i - 1].node, *b = all[i].node;

		if (strcmp(a->key, b->key) == 0)
			r = yaml_error(rd->y, b->key_at, err,
				       "found the key '%s' a second time; "
				       "the first is at %u:%u",
				       field_show(b->key, b->key_len).text, a->key_at.line,
				       a->key_at.column);
	}
	free(all);
	return r;
}

/* Between the last element and the bracket there may be blanks and comments, and no comma. */
static int
check_trailing_comma(struct reader *rd, const struct level *l, struct fy_event *e,
		     struct error *err)
{
	const struct fy_mark *m = fy_event_start_mark(e);
	size_t end = m != NULL ? m->input_pos : rd->len;

	if (l->node->first == NULL || end >= rd->len ||
	    (rd->data[end] != ']' && rd->data[end] != '}'))
		return 0; /* ended by its indentation */
	for (size_t i = l->after; i < end; i++) {
		if (rd->data[i] == '#')
			while (i + 1 < end && rd->data[i + 1] != '\n')
				i++;
		else if (rd->data[i] == ',')
			return yaml_error(rd->y, mark_position(m), err,
					  "found a comma before the "
					  "end; remove it");
	}
	return 0;
}

static int
take_end(struct reader *rd, struct fy_event *e, struct error *err)
{
	struct level *l;
	const struct fy_mark *end = fy_event_end_mark(e);
	int r = 0;

	if (rd->depth == 0)
		return yaml_error(rd->y, event_position(e), err, "found an end of nothing");
	l = &rd->levels[rd->depth - 1];
	if (l->has_key)
		r = yaml_error(rd->y, l->key_at, err, "found a key without a value");
	if (r == 0)
		r = check_trailing_comma(rd, l, e, err);
	if (r == 0 && l->node->kind == YAML_MAPPING)
		r = check_duplicates(rd, l->node, err);
	rd->depth--;
	if (rd->depth > 0 && end != NULL)
		rd->levels[rd->depth - 1].after = end->input_pos;
	return r;
}

static int
take_event(struct reader *rd, struct fy_event *e, struct error *err)
{
	if (e->type == FYET_ALIAS)
		return yaml_error(rd->y, event_position(e), err,
				  "found an alias; write the value "
				  "out");
	if (fy_event_get_anchor_token(e) != NULL)
		return yaml_error(rd->y, event_position(e), err, "found an anchor; leave it out");
	if (fy_event_get_tag_token(e) != NULL)
		return yaml_error(rd->y, event_position(e), err,
				  "found a tag; leave it out, the "
				  "schema says what a value is");
	switch (e->type) {
	case FYET_STREAM_START:
	case FYET_DOCUMENT_END:
		return 0;
	case FYET_STREAM_END:
		rd->ended = true;
		return 0;
	case FYET_DOCUMENT_START:
		if (rd->documents++ > 0)
			return yaml_error(rd->y, event_position(e), err,
					  "found a second document; "
					  "a file holds one");
		if (fy_document_state_version_explicit(e->document_start.document_state) ||
		    fy_document_state_tags_explicit(e->document_start.document_state))
			return yaml_error(rd->y, event_position(e), err,
					  "found a directive; leave "
					  "it out");
		return 0;
	case FYET_SCALAR:
		return take_scalar(rd, e, err);
	case FYET_MAPPING_START:
	case FYET_SEQUENCE_START:
		return take_start(rd, e, err);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		return take_end(rd, e, err);
	case FYET_NONE:
	case FYET_ALIAS:
		break;
	}
	return yaml_error(rd->y, event_position(e), err, "found something that is not YAML");
}

/* ---- the library --------------------------------------------------------------------------- */

static void
say_nothing(struct fy_diag *diag, void *user, const char *text, size_t len)
{
}

static int
syntax_error(struct reader *rd, struct error *err)
{
	struct yaml_position at = {.line = 1, .column = 1};
	const struct fy_diag_error *d;
	void *iter = NULL;

	d = fy_diag_errors_iterate(rd->diag, &iter);
	if (d == NULL)
		return yaml_error(rd->y, at, err, "found something that is not YAML");
	if (d->line > 0 && d->column >= 0)
		at = (struct yaml_position){(uint32_t)d->line, (uint32_t)d->column};
	return yaml_error(rd->y, at, err, "found something that is not YAML: %s",
			  field_show(d->msg, strlen(d->msg)).text);
}

static int
parser_open(struct reader *rd, struct error *err)
{
	struct fy_diag_cfg diag;
	struct fy_parse_cfg cfg = {
		.search_path = "",
		.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 |
			 FYPCF_JSON_NONE | FYPCF_DISABLE_MMAP_OPT,
	};

	fy_diag_cfg_default(&diag);
	diag.fp = NULL;
	diag.output_fn = say_nothing;
	diag.colorize = false;
	rd->diag = fy_diag_create(&diag);
	if (rd->diag == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	fy_diag_set_collect_errors(rd->diag, true);
	cfg.diag = rd->diag;
	rd->parser = fy_parser_create(&cfg);
	if (rd->parser == NULL || fy_parser_set_string(rd->parser, rd->data, rd->len) != 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int
read_events(struct reader *rd, struct error *err)
{
	int r = parser_open(rd, err);

	while (r == 0 && !rd->ended) {
		struct fy_event *e = fy_parser_parse(rd->parser);

		if (e == NULL)
			return syntax_error(rd, err);
		r = take_event(rd, e, err);
		fy_parser_event_free(rd->parser, e);
	}
	if (r == 0 && (rd->y->root == NULL || rd->depth != 0))
		return yaml_error(rd->y, (struct yaml_position){1, 1}, err,
				  "found no document; one is due");
	return r;
}

int
yaml_read(const void *data, size_t len, const char *file, struct yaml **ret, struct error *err)
{
	CLEANUP(yaml_freep) struct yaml *y = calloc(1, sizeof(*y));
	struct reader *rd = calloc(1, sizeof(*rd));
	struct buf shown;
	int r;

	if (y == NULL || rd == NULL) {
		free(rd);
		return error_set(err, -ENOMEM, "out of memory");
	}
	buf_init(&shown, sizeof(y->file) - 1);
	text_escape(file, strlen(file), &shown);
	(void)snprintf(y->file, sizeof(y->file), "%s", shown.data != NULL ? shown.data : "");
	r = shown.no_memory ? error_set(err, -ENOMEM, "out of memory") : 0;
	buf_fini(&shown);
	rd->y = y;
	rd->data = data;
	rd->len = len;
	if (r == 0)
		r = screen_bytes(y, data, len, err);
	if (r == 0)
		r = read_events(rd, err);
	if (rd->parser != NULL)
		fy_parser_destroy(rd->parser);
	if (rd->diag != NULL)
		fy_diag_destroy(rd->diag);
	free(rd);
	if (r == 0)
		*ret = TAKE_PTR(y);
	return r;
}
