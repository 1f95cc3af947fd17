/*
 * Three readings of messages.def: the table of rules, the encoders, the decoders. A decoder reads
 * every field, then refuses what is left over, and writes its result only when nothing was wrong.
 */
#include "wire/message.h"

#include <errno.h>

static const struct message_rule RULES[] = {
#define F(type, name)
#define MESSAGE(name_, number, from_, to_, states_, max, fds_min_, fds_max_, ...)                  \
	{                                                                                          \
		.type = MSG_##name_,                                                               \
		.name = #name_,                                                                    \
		.from = P_##from_,                                                                 \
		.to = P_##to_,                                                                     \
		.states = (states_),                                                               \
		.max_body = (max),                                                                 \
		.fds_min = (fds_min_),                                                             \
		.fds_max = (fds_max_),                                                             \
	},
#include "wire/messages.def"
#undef MESSAGE
#undef F
};

/* No line of the table may promise what a packet cannot hold. */
#define F(type, name)
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	_Static_assert((max) <= WIRE_BODY_MAX, #name ": body larger than a packet");               \
	_Static_assert((fds_min) <= (fds_max), #name ": descriptors");                             \
	_Static_assert((fds_max) <= WIRE_FDS_MAX, #name ": more descriptors than a packet");
#include "wire/messages.def"
#undef MESSAGE
#undef F

#define F(type, name)
enum row {
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...) ROW_##name,
#include "wire/messages.def"
#undef MESSAGE
};

const struct message_rule *
message_rule(uint32_t type)
{
	/* A number given twice does not compile here. */
	switch (type) {
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	case (number):                                                                             \
		return &RULES[ROW_##name];
#include "wire/messages.def"
#undef MESSAGE
	default:
		return NULL;
	}
}
#undef F

#define F(type, name) wire_put_##type(out, m->name);
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	void msg_##name##_encode(const struct msg_##name *m, struct buf *out)                      \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#include "wire/messages.def"
#undef MESSAGE
#undef F

static int
message_end(const struct wire_in *in, const char *name, struct error *err)
{
	if (in->bad)
		return error_set(err, -EPROTO, "%s: a field is cut short or is not text", name);
	if (in->left > 0)
		return error_set(err, -EPROTO, "%s: %zu bytes too many", name, in->left);
	return 0;
}

#define F(type, name) m.name = wire_get_##type(&in);
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	int msg_##name##_decode(const void *body, size_t len, struct msg_##name *ret,              \
				struct error *err)                                                 \
	{                                                                                          \
		struct wire_in in = {.p = body, .left = len};                                      \
		struct msg_##name m = {0};                                                         \
		int r;                                                                             \
                                                                                                   \
		__VA_ARGS__                                                                        \
		r = message_end(&in, #name, err);                                                  \
		if (r < 0)                                                                         \
			return r;                                                                  \
		*ret = m;                                                                          \
		return 0;                                                                          \
	}
#include "wire/messages.def"
#undef MESSAGE
#undef F
