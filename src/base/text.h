/* Text forms: hex, base64, escaped bytes, durations and sizes as people write them. */
#ifndef LOOM_BASE_TEXT_H
#define LOOM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

/* OUT holds 2 * len + 1 bytes. Lower case. */
void hex_encode(const void *data, size_t len, char *out);
/* Exactly 2 * len lower-case digits, NUL after them. -EINVAL otherwise. */
int hex_decode(const char *text, void *ret_data, size_t len) MUST_CHECK;

void base64_encode(const void *data, size_t len, struct buf *out); /* RFC 4648, padded */
/* Appends the decoded bytes; -EINVAL on anything but the one padded spelling, nothing added then. */
int base64_decode(const char *text, size_t len, struct buf *out) MUST_CHECK;

bool utf8_valid(const void *data, size_t len);
/* Bytes of the character at DATA (1 to 4), or 0 when it is not well-formed or LEN is 0. */
size_t utf8_next(const void *data, size_t len, uint32_t *ret_char);
bool utf8_is_control(uint32_t c);              /* C0, DEL, C1 */
/* Append every byte as \xNN, lower case. */
void text_hex_escape(const void *bytes, size_t len, struct buf *out);

/*
 * Append bytes for a person's terminal: printable UTF-8 is kept, the backslash doubled, control
 * bytes (C0, DEL, C1), bidi controls (U+202A..E, U+2066..9), U+2028/9 and invalid bytes become \xNN.
 */
void text_escape(const void *bytes, size_t len, struct buf *out);

/* "10s", "5m", "2h", "400d", plain decimal without sign; result in milliseconds. -EINVAL, -ERANGE. */
int duration_parse(const char *text, uint64_t *ret_ms) MUST_CHECK;
/* "512", "64KiB", "2GiB", "1TiB": bytes. */
int size_parse(const char *text, uint64_t *ret_bytes) MUST_CHECK;
/* Plain decimal digits, no sign, no leading zero (but "0"). -EINVAL; -ERANGE above MAX. */
int decimal_parse(const char *text, uint64_t max, uint64_t *ret) MUST_CHECK;

#endif
