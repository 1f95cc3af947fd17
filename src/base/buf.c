/*
 * Growth doubles up to the maximum. One byte more than `len` is always allocated for the NUL, so
 * `cap` may be max + 1. An addition that does not fit adds nothing.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_BYTES 64

/* Make room for ADD more bytes and the NUL. */
static bool
buf_room(struct buf *b, size_t add)
{
	size_t need, cap;
	char *data;

	if (b->failed)
		return false;
	if (b->max < b->len || add > b->max - b->len) {
		b->failed = true;
		return false;
	}
	need = b->len + add + 1;
	if (need <= b->cap)
		return true;
	cap = b->cap < BUF_FIRST_BYTES ? BUF_FIRST_BYTES : b->cap;
	while (cap < need && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap < need || cap > b->max + 1)
		cap = b->max + 1;
	data = realloc(b->data, cap);
	if (data == NULL) {
		b->failed = true;
		b->no_memory = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void
buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){.max = max_bytes < SIZE_MAX ? max_bytes : SIZE_MAX - 1};
	if (buf_room(b, 0))
		b->data[0] = '\0';
}

void
buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	b->no_memory = false;
	if (buf_room(b, 0))
		b->data[0] = '\0';
}

void
buf_add(struct buf *b, const void *data, size_t len)
{
	if (!buf_room(b, len))
		return;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if (!buf_room(b, (size_t)n))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void
buf_cut(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}

int
buf_check(const struct buf *b, struct error *err)
{
	if (!b->failed)
		return 0;
	if (b->no_memory)
		return error_set(err, -ENOMEM, "out of memory at %zu bytes", b->len);
	return error_set(err, -EMSGSIZE, "more than the maximum of %zu bytes", b->max);
}
