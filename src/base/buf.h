/*
 * A growable byte buffer with a hard maximum. Always NUL-terminated one past `len`, so that text
 * in it can be printed; the NUL is not counted. On overflow or failed allocation the buffer turns
 * `failed` and stays so: callers may append many times and check once. An addition that does not fit
 * adds nothing. buf_init allocates; `data` is NULL only when that failed.
 */
#ifndef LOOM_BASE_BUF_H
#define LOOM_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;   /* bytes; growth beyond it sets failed */
	bool failed;
	bool no_memory; /* failed for want of memory, not of room */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b);                  /* frees; safe on a zeroed or finished buffer */
void buf_reset(struct buf *b);                 /* len = 0, failed = false; keeps the memory */
void buf_add(struct buf *b, const void *data, size_t len);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_cut(struct buf *b, size_t len);       /* back to LEN bytes, if it is longer */
/* 0, or -EMSGSIZE when the maximum was hit, -ENOMEM when memory was. */
int buf_check(const struct buf *b, struct error *err) MUST_CHECK;

#endif
