/*
 * One line is one write, so that lines of ours and of the command do not mix within a line.
 */
#include "cli/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/spec.h"

void
say(const char *fmt, ...)
{
	char text[SAY_LINE_MAX];
	struct error err = {0};
	struct buf line;
	va_list args;
	size_t len;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0)
		return;
	len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	/* Escaping makes at most four bytes of one. */
	buf_init(&line, 4 * SAY_LINE_MAX + 16);
	buf_str(&line, "loom: ");
	text_escape(text, len, &line);
	buf_char(&line, '\n');
	/* Nobody is left to be told when standard error cannot be written. */
	if (buf_check(&line, &err) == 0 &&
	    fd_write_all(STDERR_FILENO, line.data, line.len, &err) < 0)
		err.code = 0;
	buf_fini(&line);
}

int
say_failed(const char *reason, const struct error *err)
{
	say("%s: %s", reason, err->text);
	return STATUS_FAILED;
}

int
say_usage(const char *words, const struct error *err)
{
	if (words[0] == '\0') {
		say("invalid-request: %s", err->text);
		say("try 'loom help'");
		return STATUS_FAILED;
	}
	say("invalid-request: %s: %s", words, err->text);
	say("try 'loom %s --help'", words);
	return STATUS_FAILED;
}

int
print_buf(const struct buf *b)
{
	struct error err = {0};
	int r = buf_check(b, &err);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, b->data, b->len, &err);
	if (r < 0) {
		say("standard output: %s", err.text);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}
