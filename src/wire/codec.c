/*
 * A wire_in that once went bad stays bad and yields zeroes and empty fields, so that a decoder
 * reads all its fields and looks at `bad` once. A length is compared with what is left, never added
 * to.
 */
#include "wire/codec.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

uint32_t
wire_len(size_t len)
{
	return len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

struct wire_text
wire_text_of(const char *s)
{
	size_t len = s != NULL ? strlen(s) : 0;

	return (struct wire_text){.data = s != NULL ? s : "", .len = wire_len(len)};
}

struct wire_bytes
wire_bytes_of(const void *data, size_t len)
{
	return (struct wire_bytes){.data = data, .len = wire_len(len)};
}

bool
wire_text_eq(struct wire_text t, const char *s)
{
	return strlen(s) == t.len && (t.len == 0 || memcmp(t.data, s, t.len) == 0);
}

int
wire_text_copy(struct wire_text t, char *out, size_t cap)
{
	if (t.len >= cap)
		return -EMSGSIZE;
	if (t.len > 0)
		memcpy(out, t.data, t.len);
	out[t.len] = '\0';
	return 0;
}

static const uint8_t *
wire_take(struct wire_in *in, size_t len)
{
	const uint8_t *p = in->p;

	if (in->bad || len > in->left) {
		in->bad = true;
		return NULL;
	}
	in->p += len;
	in->left -= len;
	return p;
}

uint32_t
wire_get_u32(struct wire_in *in)
{
	const uint8_t *p = wire_take(in, 4);

	if (p == NULL)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint64_t
wire_get_u64(struct wire_in *in)
{
	uint64_t high = wire_get_u32(in);
	uint64_t low = wire_get_u32(in);

	return in->bad ? 0 : high << 32 | low;
}

int32_t
wire_get_i32(struct wire_in *in)
{
	return (int32_t)wire_get_u32(in);
}

struct wire_bytes
wire_get_bytes(struct wire_in *in)
{
	uint32_t len = wire_get_u32(in);
	const uint8_t *p = wire_take(in, len);

	if (p == NULL)
		return (struct wire_bytes){.data = "", .len = 0};
	return (struct wire_bytes){.data = p, .len = len};
}

struct wire_text
wire_get_text(struct wire_in *in)
{
	struct wire_bytes b = wire_get_bytes(in);

	if (memchr(b.data, '\0', b.len) != NULL || !utf8_valid(b.data, b.len)) {
		in->bad = true;
		return (struct wire_text){.data = "", .len = 0};
	}
	return (struct wire_text){.data = b.data, .len = b.len};
}

void
wire_put_u32(struct buf *out, uint32_t v)
{
	uint8_t be[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	buf_add(out, be, sizeof(be));
}

void
wire_put_u64(struct buf *out, uint64_t v)
{
	wire_put_u32(out, (uint32_t)(v >> 32));
	wire_put_u32(out, (uint32_t)v);
}

void
wire_put_i32(struct buf *out, int32_t v)
{
	wire_put_u32(out, (uint32_t)v);
}

void
wire_put_bytes(struct buf *out, struct wire_bytes v)
{
	wire_put_u32(out, v.len);
	buf_add(out, v.data, v.len);
}

void
wire_put_text(struct buf *out, struct wire_text v)
{
	/* A text we could not read back ourselves is not sent. */
	if (v.len > 0 && (memchr(v.data, '\0', v.len) != NULL || !utf8_valid(v.data, v.len))) {
		out->failed = true;
		return;
	}
	wire_put_u32(out, v.len);
	buf_add(out, v.data, v.len);
}
