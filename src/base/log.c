/*
 * A line is built in memory and leaves with one write, so that lines of several processes on one
 * stderr do not mix. What does not fit is cut at a character.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

#define LOG_LINE_MAX 2048
#define LOG_EXIT_FATAL 125

static const char *const LEVELS[] = {"debug", "info", "warning", "error"};
static const char *log_process = "loom";
static enum log_level log_least = LOG_LEVEL_WARNING;

void
log_init(const char *process)
{
	const char *level = getenv("LOOM_LOG");

	log_process = process;
	for (unsigned int i = 0; level != NULL && i < ARRAY_LEN(LEVELS); i++)
		if (strcmp(level, LEVELS[i]) == 0)
			log_least = (enum log_level)i;
}

static void
log_write(const char *line, size_t len)
{
	ssize_t n;

	/* A log that cannot be written is no reason to stop. */
	do
		n = write(STDERR_FILENO, line, len);
	while (n < 0 && errno == EINTR);
}

static void
log_va(enum log_level level, const char *fmt, va_list ap) PRINTF(2, 0);

static void
log_va(enum log_level level, const char *fmt, va_list ap)
{
	char text[LOG_LINE_MAX];
	CLEANUP(buf_fini) struct buf line = {0};
	size_t len;

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	buf_init(&line, 4 * LOG_LINE_MAX + 128);
	buf_fmt(&line, "%.64s: %s: ", log_process, LEVELS[level]);
	text_escape(text, strlen(text), &line);
	if (line.failed) {
		static const char lost[] = "loom: error: no memory for a log line\n";

		log_write(lost, sizeof(lost) - 1);
		return;
	}
	len = line.len;
	if (len > LOG_LINE_MAX - 1) {
		len = LOG_LINE_MAX - 1;
		while (len > 0 && ((unsigned char)line.data[len] & 0xc0) == 0x80)
			len--;
	}
	line.data[len] = '\n';
	log_write(line.data, len + 1);
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (level < log_least)
		return;
	va_start(ap, fmt);
	log_va(level, fmt, ap);
	va_end(ap);
	errno = saved;
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_va(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
	/* Not exit: in a forked child that would flush the parent's streams a second time. */
	_exit(LOG_EXIT_FATAL);
}
