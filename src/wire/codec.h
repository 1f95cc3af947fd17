/*
 * Message bodies: fields in the order of the table, big-endian integers, texts and bytes as a
 * 32-bit length and the content. A decoder checks every bound, refuses trailing bytes, and borrows
 * from the receive buffer. wire_text is bytes that must be valid UTF-8 without NUL.
 */
#ifndef LOOM_WIRE_CODEC_H
#define LOOM_WIRE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

struct wire_bytes {
	const void *data;
	uint32_t len;
};
struct wire_text {
	const char *data; /* not NUL-terminated */
	uint32_t len;
};

/* A length beyond 32 bits becomes the largest one, which no message can hold. */
uint32_t wire_len(size_t len);
struct wire_text wire_text_of(const char *s);            /* NULL gives the empty text */
struct wire_bytes wire_bytes_of(const void *data, size_t len);
bool wire_text_eq(struct wire_text t, const char *s);
/* Copy into OUT with a NUL; -EMSGSIZE when it does not fit. */
int wire_text_copy(struct wire_text t, char *out, size_t cap) MUST_CHECK;

/* A reader that went `bad` stays so and yields zeroes and empty fields. */
struct wire_in {
	const uint8_t *p;
	size_t left;
	bool bad;
};
uint32_t wire_get_u32(struct wire_in *in);
uint64_t wire_get_u64(struct wire_in *in);
int32_t wire_get_i32(struct wire_in *in);
struct wire_bytes wire_get_bytes(struct wire_in *in);
struct wire_text wire_get_text(struct wire_in *in);

void wire_put_u32(struct buf *out, uint32_t v);
void wire_put_u64(struct buf *out, uint64_t v);
void wire_put_i32(struct buf *out, int32_t v);
void wire_put_bytes(struct buf *out, struct wire_bytes v);
/* Text that is not valid UTF-8 or has a NUL turns OUT `failed`: nobody could decode it. */
void wire_put_text(struct buf *out, struct wire_text v);

#endif
