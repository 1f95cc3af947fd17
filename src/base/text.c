/*
 * Decoders accept exactly one spelling of a value, so that text can be compared as bytes. UTF-8 is
 * read one character at a time by utf8_next (Unicode 15, table 3-7: no overlong form, no surrogate,
 * nothing past U+10FFFF).
 */
#include "base/text.h"

#include <errno.h>
#include <string.h>

static const char HEX[] = "0123456789abcdef";
static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
hex_encode(const void *data, size_t len, char *out)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++) {
		*out++ = HEX[p[i] >> 4];
		*out++ = HEX[p[i] & 15];
	}
	*out = '\0';
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int
hex_decode(const char *text, void *ret_data, size_t len)
{
	uint8_t *out = ret_data;

	/* Checked whole before the first byte is written. */
	for (size_t i = 0; i < len; i++)
		if (hex_digit(text[2 * i]) < 0 || hex_digit(text[2 * i + 1]) < 0)
			return -EINVAL;
	if (text[2 * len] != '\0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(hex_digit(text[2 * i]) * 16 + hex_digit(text[2 * i + 1]));
	return 0;
}

void
base64_encode(const void *data, size_t len, struct buf *out)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v = (uint32_t)p[i] << 16;
		char four[4];

		if (left > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (left > 2)
			v |= p[i + 2];
		four[0] = BASE64[v >> 18];
		four[1] = BASE64[v >> 12 & 63];
		four[2] = left > 1 ? BASE64[v >> 6 & 63] : '=';
		four[3] = left > 2 ? BASE64[v & 63] : '=';
		buf_add(out, four, sizeof(four));
	}
}

static int
base64_digit(char c)
{
	const char *at = c != '\0' ? strchr(BASE64, c) : NULL;

	return at != NULL ? (int)(at - BASE64) : -1;
}

/* One group of four with PAD '=' at its end; 0, or -EINVAL. */
static int
base64_group(const char *four, unsigned int pad, uint8_t ret[3])
{
	uint32_t v = 0;

	for (unsigned int i = 0; i < 4; i++) {
		int digit = i < 4 - pad ? base64_digit(four[i]) : 0;

		if (digit < 0)
			return -EINVAL;
		v = v << 6 | (uint32_t)digit;
	}
	/* The bits that fall off must be zero, or two texts would mean the same. */
	if ((pad == 1 && (v & 0xff) != 0) || (pad == 2 && (v & 0xffff) != 0))
		return -EINVAL;
	ret[0] = (uint8_t)(v >> 16);
	ret[1] = (uint8_t)(v >> 8);
	ret[2] = (uint8_t)v;
	return 0;
}

int
base64_decode(const char *text, size_t len, struct buf *out)
{
	size_t before = out->len;
	unsigned int pad = 0;

	if (len % 4 != 0)
		return -EINVAL;
	if (len > 0 && text[len - 1] == '=')
		pad = text[len - 2] == '=' ? 2 : 1;
	for (size_t i = 0; i < len; i += 4) {
		unsigned int here = i + 4 == len ? pad : 0;
		uint8_t three[3];

		if (base64_group(text + i, here, three) < 0) {
			buf_cut(out, before);
			return -EINVAL;
		}
		buf_add(out, three, 3 - here);
	}
	return 0;
}

size_t
utf8_next(const void *data, size_t len, uint32_t *ret_char)
{
	const uint8_t *p = data;
	uint32_t c, least;
	size_t n;

	if (len == 0)
		return 0;
	if (p[0] < 0x80) {
		*ret_char = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		n = 2, c = p[0] & 0x1f, least = 0x80;
	} else if (p[0] >= 0xe0 && p[0] <= 0xef) {
		n = 3, c = p[0] & 0x0f, least = 0x800;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		n = 4, c = p[0] & 0x07, least = 0x10000;
	} else {
		return 0;
	}
	if (len < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_char = c;
	return n;
}

bool
utf8_valid(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t c;

	while (len > 0) {
		size_t n = utf8_next(p, len, &c);

		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

bool
utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

static bool
utf8_is_deceptive(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 ||
	       c == 0x2029;
}

void
text_escape(const void *bytes, size_t len, struct buf *out)
{
	const uint8_t *p = bytes;

	while (len > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(p, len, &c);

		if (n == 0 || utf8_is_control(c) || utf8_is_deceptive(c)) {
			n = n > 0 ? n : 1;
			text_hex_escape(p, n, out);
		} else if (c == '\\') {
			buf_str(out, "\\\\");
		} else {
			buf_add(out, p, n);
		}
		p += n;
		len -= n;
	}
}

void
text_hex_escape(const void *bytes, size_t len, struct buf *out)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++) {
		char hex[] = {'\\', 'x', HEX[p[i] >> 4], HEX[p[i] & 15]};

		buf_add(out, hex, sizeof(hex));
	}
}

/* Digits at the start of TEXT, no leading zero but "0" itself; what follows goes to RET_REST. */
static int
number_prefix(const char *text, uint64_t *ret, const char **ret_rest)
{
	const char *p = text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9' || (p[0] == '0' && p[1] >= '0' && p[1] <= '9'))
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*ret = v;
	*ret_rest = p;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int
unit_parse(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
	const char *rest;
	uint64_t v;
	int r;

	r = number_prefix(text, &v, &rest);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(v, units[i].factor, &v))
			return -ERANGE;
		*ret = v;
		return 0;
	}
	return -EINVAL;
}

int
duration_parse(const char *text, uint64_t *ret_ms)
{
	static const struct unit units[] = {
		{"s", 1000},
		{"m", 60 * 1000},
		{"h", 60 * 60 * 1000},
		{"d", 24 * 60 * 60 * 1000},
	};

	return unit_parse(text, units, ARRAY_LEN(units), ret_ms);
}

int
size_parse(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"KiB", 1ULL << 10},
		{"MiB", 1ULL << 20},
		{"GiB", 1ULL << 30},
		{"TiB", 1ULL << 40},
	};

	return unit_parse(text, units, ARRAY_LEN(units), ret_bytes);
}

int
decimal_parse(const char *text, uint64_t max, uint64_t *ret)
{
	const char *rest;
	uint64_t v;
	int r;

	r = number_prefix(text, &v, &rest);
	if (r < 0)
		return r;
	if (*rest != '\0')
		return -EINVAL;
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}
