/*
 * The first four bytes choose a message of the table, the rest is its body. What decodes encodes to
 * the same bytes: a message has one spelling.
 */
#include "fuzz.h"

#include <string.h>

#include "wire/message.h"

static void
same(const struct buf *again, const uint8_t *body, size_t len)
{
	FUZZ_CHECK(!again->failed);
	FUZZ_CHECK(again->len == len);
	FUZZ_CHECK(len == 0 || memcmp(again->data, body, len) == 0);
}

#define F(type, name)
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	static void try_##name(const uint8_t *body, size_t len, struct buf *again)                 \
	{                                                                                          \
		struct error err = {0};                                                            \
		struct msg_##name m;                                                               \
                                                                                                   \
		if (msg_##name##_decode(body, len, &m, &err) < 0) {                                \
			FUZZ_CHECK(err.code < 0 && err.text[0] != '\0');                           \
			return;                                                                    \
		}                                                                                  \
		msg_##name##_encode(&m, again);                                                    \
		same(again, body, len);                                                            \
	}
#include "wire/messages.def"
#undef MESSAGE

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_in in = {.p = data, .left = size};
	uint32_t type = wire_get_u32(&in);
	struct buf again;

	/* No packet is larger. */
	if (in.bad || in.left > WIRE_BODY_MAX)
		return 0;
	buf_init(&again, WIRE_BODY_MAX);
	switch (type) {
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	case (number):                                                                             \
		FUZZ_CHECK(message_rule(type) != NULL);                                            \
		try_##name(in.p, in.left, &again);                                                 \
		break;
#include "wire/messages.def"
#undef MESSAGE
	default:
		FUZZ_CHECK(message_rule(type) == NULL);
		break;
	}
	buf_fini(&again);
	return 0;
}
#undef F
