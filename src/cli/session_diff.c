/*
 * loom session diff. The text is the sandbox's: on a terminal or through a pager its control bytes
 * are escaped (with backslashes kept as they are, since nothing else in a diff may change), and
 * lines are coloured by their first byte. Into a file or a pipe it goes byte for byte, so that
 * patch(1) can read it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/pager.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define LINE_MAX_BYTES ((size_t)1024 * 1024)

struct diff {
	struct pager pager;
	bool plain; /* byte for byte */
	bool colours;
	struct buf line; /* what came of an unfinished line */
	struct buf out;
};

static const char *
colour_of(const char *line, size_t len)
{
	if (len >= 4 && (memcmp(line, "+++ ", 4) == 0 || memcmp(line, "--- ", 4) == 0))
		return "\033[1m";
	switch (len > 0 ? line[0] : ' ') {
	case '+':
		return "\033[32m";
	case '-':
		return "\033[31m";
	case '@':
		return "\033[36m";
	default:
		return "";
	}
}

/* As text_escape, but tabs and backslashes are kept. */
static void
escape_line(const char *line, size_t len, struct buf *out)
{
	while (len > 0) {
		size_t n = 0;

		while (n < len && line[n] != '\t' && line[n] != '\\')
			n++;
		text_escape(line, n, out);
		if (n < len)
			buf_char(out, line[n++]);
		line += n;
		len -= n;
	}
}

static int
write_line(struct diff *d, const char *line, size_t len, struct error *err)
{
	const char *colour = d->colours ? colour_of(line, len) : "";

	buf_reset(&d->out);
	buf_str(&d->out, colour);
	escape_line(line, len, &d->out);
	buf_str(&d->out, colour[0] != '\0' ? "\033[0m\n" : "\n");
	if (buf_check(&d->out, err) < 0)
		return err->code;
	return fd_write_all(d->pager.fd, d->out.data, d->out.len, err);
}

static int
take_part(void *arg, const void *part, size_t len, struct error *err)
{
	struct diff *d = arg;
	const char *at = part;

	if (d->plain)
		return fd_write_all(d->pager.fd, part, len, err);
	while (len > 0) {
		const char *end = memchr(at, '\n', len);
		size_t n = end != NULL ? (size_t)(end - at) : len;
		int r;

		buf_add(&d->line, at, n);
		if (end == NULL)
			return buf_check(&d->line, err);
		r = buf_check(&d->line, err);
		if (r == 0)
			r = write_line(d, d->line.data, d->line.len, err);
		if (r < 0)
			return r;
		buf_reset(&d->line);
		at += n + 1;
		len -= n + 1;
	}
	return 0;
}

/* Somebody who leaves the pager early has seen enough. */
static int
take_part_quietly(void *arg, const void *part, size_t len, struct error *err)
{
	struct diff *d = arg;
	int r;

	if (d->pager.left)
		return 0;
	r = take_part(arg, part, len, err);
	if (r != -EPIPE || !d->pager.running)
		return r;
	d->pager.left = true;
	*err = (struct error){0};
	return 0;
}

static int
diff_text(const struct parsed *args, const struct ask *ask)
{
	struct diff d = {.plain = !isatty(STDOUT_FILENO), .colours = show_colours()};
	struct error err = {0};
	int r;

	buf_init(&d.line, LINE_MAX_BYTES);
	buf_init(&d.out, 4 * LINE_MAX_BYTES + 64);
	pager_start(&d.pager, !d.plain && !option_given(args, OPT_NO_PAGER));
	r = ask_parts(ask, take_part_quietly, &d, NULL);
	if (r == STATUS_OK && d.line.len > 0 && !d.pager.left &&
	    write_line(&d, d.line.data, d.line.len, &err) < 0 && err.code != -EPIPE)
		r = say_failed("internal", &err);
	pager_end(&d.pager);
	buf_fini(&d.line);
	buf_fini(&d.out);
	return r;
}

static int
diff_stat(const json_t *doc)
{
	static const struct show_column columns[] = {
		{"CHANGE", "kind"}, {"TYPE", "type"}, {"SIZE", "size"}, {"PATH", "path"}};
	CLEANUP(buf_fini) struct buf out = {0};

	buf_init(&out, SHOW_MAX);
	show_table(&out, json_object_get(doc, "changes"), columns, ARRAY_LEN(columns));
	return print_buf(&out);
}

int
cmd_session_diff(const struct parsed *args)
{
	bool json = option_given(args, OPT_JSON);
	bool list = json || option_given(args, OPT_STAT);
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf paths = {0};
	struct error err = {0};
	int r;

	buf_init(&paths, 60000);
	if (ask_paths(args, &paths, &err) < 0)
		return say_usage(args->command->words, &err);
	const struct ask ask = {
		.kind = ASK_QUERY,
		.what = list ? Q_DIFF_JSON : Q_DIFF,
		.id = args->operands[0],
		.arg = paths.data,
		.arg_len = paths.len,
		.json = json,
	};
	if (!list)
		return diff_text(args, &ask);
	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	return json ? show_json(doc) : diff_stat(doc);
}
