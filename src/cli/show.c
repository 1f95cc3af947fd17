/*
 * Values are taken from documents by path and made text before anything is measured, so that a
 * table is laid out by what is printed, not by what was received.
 */
#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/say.h"
#include "cli/spec.h"

#define CELL_MAX 8192
#define COLUMNS_MAX 12

bool
show_colours(void)
{
	const char *none = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (none == NULL || none[0] == '\0') && term != NULL &&
	       strcmp(term, "dumb") != 0;
}

bool
show_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *value = getenv(variables[i]);
		const char *set;

		if (value == NULL || value[0] == '\0')
			continue;
		set = strchr(value, '.');
		return set != NULL &&
		       (strncasecmp(set, ".utf-8", 6) == 0 || strncasecmp(set, ".utf8", 5) == 0);
	}
	return false;
}

void
show_add(struct buf *out, enum show_colour colour, const char *text)
{
	static const char *const codes[] = {
		[SHOW_PLAIN] = "",    [SHOW_BOLD] = "1",  [SHOW_RED] = "31", [SHOW_GREEN] = "32",
		[SHOW_YELLOW] = "33", [SHOW_CYAN] = "36", [SHOW_DIM] = "2",
	};
	bool coloured = colour != SHOW_PLAIN && show_colours();

	if (coloured)
		buf_fmt(out, "\033[%sm", codes[colour]);
	text_escape(text, strlen(text), out);
	if (coloured)
		buf_str(out, "\033[0m");
}

void
show_mark(struct buf *out, enum show_mark mark)
{
	static const struct {
		const char *utf8, *ascii;
		enum show_colour colour;
	} marks[] = {
		[MARK_YES] = {"\xe2\x9c\x93", "ok", SHOW_GREEN},
		[MARK_NO] = {"\xe2\x9c\x97", "NO", SHOW_RED},
		[MARK_NONE] = {"\xe2\x80\x93", "--", SHOW_DIM},
	};

	show_add(out, marks[mark].colour, show_utf8() ? marks[mark].utf8 : marks[mark].ascii);
}

const char *
show_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

int64_t
show_int(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static const json_t *
member(const json_t *object, const char *path)
{
	const json_t *at = object;

	while (at != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		at = json_object_getn(at, path, len);
		path += len + (path[len] == '.' ? 1 : 0);
	}
	return at;
}

void
show_member(const json_t *object, const char *path, struct buf *out)
{
	const json_t *value = member(object, path);

	if (json_is_string(value))
		buf_add(out, json_string_value(value), json_string_length(value));
	else if (json_is_integer(value))
		buf_fmt(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_boolean(value))
		buf_str(out, json_is_true(value) ? "yes" : "no");
}

void
show_line(struct buf *out, const json_t *object, const char *label, const char *path)
{
	CLEANUP(buf_fini) struct buf value = {0};

	buf_init(&value, CELL_MAX);
	show_member(object, path, &value);
	if (value.len == 0)
		return;
	buf_fmt(out, "%-12s", label);
	text_escape(value.data, value.len, out);
	buf_char(out, '\n');
}

/* Characters, as a terminal counts most of them. */
static size_t
width(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

static void
cell(const json_t *row, const char *path, struct buf *out)
{
	CLEANUP(buf_fini) struct buf value = {0};

	buf_init(&value, CELL_MAX);
	show_member(row, path, &value);
	buf_reset(out);
	text_escape(value.data, value.len, out);
	if (out->len == 0)
		buf_char(out, '-');
}

void
show_table(struct buf *out, const json_t *rows, const struct show_column *columns, size_t n)
{
	CLEANUP(buf_fini) struct buf text = {0};
	size_t widths[COLUMNS_MAX] = {0};
	size_t index;
	json_t *row;

	buf_init(&text, 4 * CELL_MAX);
	for (size_t c = 0; c < n && c < COLUMNS_MAX; c++) {
		widths[c] = strlen(columns[c].title);
		json_array_foreach((json_t *)rows, index, row)
		{
			cell(row, columns[c].path, &text);
			if (width(text.data, text.len) > widths[c])
				widths[c] = width(text.data, text.len);
		}
	}
	for (size_t c = 0; c < n; c++)
		buf_fmt(out, "%-*s%s", c + 1 < n ? (int)widths[c] : 0, columns[c].title,
			c + 1 < n ? "  " : "\n");
	json_array_foreach((json_t *)rows, index, row)
	{
		for (size_t c = 0; c < n; c++) {
			cell(row, columns[c].path, &text);
			buf_add(out, text.data, text.len);
			if (c + 1 == n)
				break;
			for (size_t i = width(text.data, text.len); i < widths[c] + 2; i++)
				buf_char(out, ' ');
		}
		buf_char(out, '\n');
	}
}

int
show_json(const json_t *value)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};

	buf_init(&out, SHOW_MAX);
	if (isatty(STDOUT_FILENO)) {
		char *text = json_dumps(value, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENSURE_ASCII |
						       JSON_ENCODE_ANY);

		buf_str(&out, text != NULL ? text : "");
		free(text);
	} else if (json_write_canonical(value, &out, &err) < 0) {
		return say_failed("internal", &err);
	}
	buf_char(&out, '\n');
	return print_buf(&out);
}
