/*
 * One pass over the bytes, component by component. Runs of slashes, "." and a trailing slash are
 * spellings of the same path and are all normalised, so that "a//b" and "a/./b" meet the same rule;
 * "%2e", "\" and "~" are ordinary bytes, since nothing that takes our output interprets them.
 */
#include "base/path.h"

#include <errno.h>
#include <string.h>

static bool
path_byte_ok(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0x20 && u != 0x7f;
}

static int
path_bytes_check(const char *bytes, size_t len, struct error *err)
{
	if (len >= PATH_BYTES_MAX)
		return error_set(err, -EINVAL, "path longer than %d bytes", PATH_BYTES_MAX - 1);
	for (size_t i = 0; i < len; i++)
		if (!path_byte_ok(bytes[i]))
			return error_set(err, -EINVAL, "path contains a control byte at offset %zu",
					 i);
	return 0;
}

static bool
path_is_dot(const char *name, size_t len)
{
	return len == 1 && name[0] == '.';
}

static bool
path_is_dot_dot(const char *name, size_t len)
{
	return len == 2 && name[0] == '.' && name[1] == '.';
}

static size_t
path_component(const char *p, const char *end)
{
	const char *slash = memchr(p, '/', (size_t)(end - p));

	return (size_t)((slash != NULL ? slash : end) - p);
}

int
path_relative(const char *bytes, size_t len, bool empty_ok, char out[PATH_BYTES_MAX],
	      struct error *err)
{
	char norm[PATH_BYTES_MAX];
	size_t used = 0;
	const char *end;
	int r;

	r = path_bytes_check(bytes, len, err);
	if (r < 0)
		return r;
	if (len > 0 && bytes[0] == '/')
		return error_set(err, -EINVAL, "path is absolute; a relative one is needed");
	end = bytes + len;
	for (const char *p = bytes; p < end;) {
		size_t n = path_component(p, end);

		if (path_is_dot_dot(p, n))
			return error_set(err, -EINVAL, "path contains \"..\"");
		if (n > PATH_NAME_MAX)
			return error_set(err, -EINVAL, "path component longer than %d bytes",
					 PATH_NAME_MAX);
		if (n > 0 && !path_is_dot(p, n)) {
			/* Never longer than the input, which fits. */
			if (used > 0)
				norm[used++] = '/';
			memcpy(norm + used, p, n);
			used += n;
		}
		p += n;
		if (p < end)
			p++;
	}
	if (used == 0 && !empty_ok)
		return error_set(err, -EINVAL, "path is empty");
	norm[used] = '\0';
	memcpy(out, norm, used + 1);
	return 0;
}

int
path_absolute_check(const char *path, struct error *err)
{
	size_t len = strnlen(path, PATH_BYTES_MAX);
	const char *end = path + len;
	int r;

	r = path_bytes_check(path, len, err);
	if (r < 0)
		return r;
	if (len == 0 || path[0] != '/')
		return error_set(err, -EINVAL, "path is not absolute");
	if (len == 1)
		return 0;
	for (const char *p = path + 1; p <= end;) {
		size_t n = path_component(p, end);

		if (n == 0 || path_is_dot(p, n) || path_is_dot_dot(p, n))
			return error_set(err, -EINVAL,
					 "path is not normal: \"//\", \".\", \"..\" or a slash at "
					 "the end");
		if (n > PATH_NAME_MAX)
			return error_set(err, -EINVAL, "path component longer than %d bytes",
					 PATH_NAME_MAX);
		p += n + 1;
	}
	return 0;
}

bool
path_is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return n > 0 && strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
