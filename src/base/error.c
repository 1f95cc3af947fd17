/*
 * The text is formatted straight into the caller's struct; what does not fit is cut. A code that is
 * not negative would be read as success by the caller's caller, so it is recorded as -EIO.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int
error_code(int code)
{
	return code < 0 ? code : -EIO;
}

int
error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	code = error_code(code);
	if (err == NULL || err->code != 0)
		return code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int
error_sys(struct error *err, int code, const char *fmt, ...)
{
	const char *why;
	size_t used;
	va_list ap;

	code = error_code(code);
	if (err == NULL || err->code != 0)
		return code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	/* Not strerror: it may allocate and translate. */
	why = strerrordesc_np(-code);
	if (why != NULL)
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", why);
	else
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": error %d", -code);
	return code;
}

int
error_prefix(struct error *err, const char *fmt, ...)
{
	char old[ERROR_TEXT_MAX];
	size_t used;
	va_list ap;

	if (err == NULL)
		return -EIO;
	err->code = error_code(err->code);
	memcpy(old, err->text, sizeof(old));
	old[sizeof(old) - 1] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
	return err->code;
}
