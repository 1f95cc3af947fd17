/* Bounded formatting into a fixed struct, so that it can be sent as it lies in memory. */
#include "box/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
set(struct failure *f, enum reason reason, const char *step, int code)
{
	f->code = code;
	f->reason = (uint32_t)reason;
	(void)snprintf(f->step, sizeof(f->step), "%s", step);
}

int
failure_set(struct failure *f, enum reason reason, const char *step, int code, const char *fmt, ...)
{
	va_list ap;

	if (f->code != 0)
		return code;
	set(f, reason, step, code);
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return code;
}

int
failure_sys(struct failure *f, enum reason reason, const char *step, int code, const char *fmt, ...)
{
	size_t used;
	va_list ap;

	if (f->code != 0)
		return code;
	set(f, reason, step, code);
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	used = strlen(f->text);
	/* strerrordesc_np neither allocates nor looks for translations; it is used between clone
	 * and exec. */
	(void)snprintf(f->text + used, sizeof(f->text) - used, ": %s",
		       strerrordesc_np(-code) != NULL ? strerrordesc_np(-code) : "unknown error");
	return code;
}

int
failure_error(struct failure *f, enum reason reason, const char *step, const struct error *err)
{
	return failure_set(f, reason, step, err->code != 0 ? err->code : -5, "%s", err->text);
}
