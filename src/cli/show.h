/*
 * Printing for people: tables, marks and colours, and JSON. Every text that comes from a document
 * goes through text_escape here, so a subcommand cannot forget it. Colours only on a terminal and
 * without NO_COLOR; marks are UTF-8 where the locale is, else ASCII.
 */
#ifndef LOOM_CLI_SHOW_H
#define LOOM_CLI_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macro.h"

#define SHOW_MAX ((size_t)64 * 1024 * 1024)

enum show_colour { SHOW_PLAIN, SHOW_BOLD, SHOW_RED, SHOW_GREEN, SHOW_YELLOW, SHOW_CYAN, SHOW_DIM };
enum show_mark { MARK_YES, MARK_NO, MARK_NONE };

/* May what goes to standard output be coloured? */
bool show_colours(void);
/* Is the locale's character encoding UTF-8 (LC_ALL, LC_CTYPE, LANG in that order)? */
bool show_utf8(void);

/* Append TEXT, escaped and coloured. */
void show_add(struct buf *out, enum show_colour colour, const char *text);
void show_mark(struct buf *out, enum show_mark mark);

/* Members of a document: a text, or "" when it is missing or of another type; borrowed. */
const char *show_text(const json_t *object, const char *key);
/* The member at "a.b" as a text: strings as they are, numbers in decimal, true and false; "". */
void show_member(const json_t *object, const char *path, struct buf *out);
int64_t show_int(const json_t *object, const char *key, int64_t otherwise);

/* "LABEL: value", the value at PATH of OBJECT; nothing when there is none. */
void show_line(struct buf *out, const json_t *object, const char *label, const char *path);

/*
 * A table: a row of titles, then one row per element of ROWS, columns as wide as their widest cell
 * and separated by two spaces. PATHS as in show_member.
 */
struct show_column {
	const char *title;
	const char *path;
};
void show_table(struct buf *out, const json_t *rows, const struct show_column *columns, size_t n);

/* Write a document to standard output: canonical, or indented and in ASCII on a terminal. */
int show_json(const json_t *value) MUST_CHECK;

#endif
