/* Every line of messages.def through the same checks, and the table itself. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"

static unsigned int serial;

static void
fill_u32(uint32_t *v)
{
	*v = 0x80000000U + serial++;
}

static void
fill_u64(uint64_t *v)
{
	*v = 0x8000000080000000U + serial++;
}

static void
fill_i32(int32_t *v)
{
	*v = -1 - (int32_t)serial++;
}

static void
fill_text(struct wire_text *v)
{
	*v = wire_text_of(serial++ % 2 == 0 ? "t\xc3\xa9xt with more in it" : "x");
}

static void
fill_bytes(struct wire_bytes *v)
{
	*v = wire_bytes_of("b\0\xff", serial++ % 4);
}

struct kind {
	const char *name;
	uint32_t number;
	void (*encode_full)(struct buf *out);
	void (*encode_empty)(struct buf *out);
	/* Decode BODY and encode the result again. */
	int (*again)(const void *body, size_t len, struct buf *out, struct error *err);
};

#define F(type, name) fill_##type(&m.name);
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	static void full_##name(struct buf *out)                                                   \
	{                                                                                          \
		struct msg_##name m;                                                               \
                                                                                                   \
		__VA_ARGS__                                                                        \
		msg_##name##_encode(&m, out);                                                      \
	}                                                                                          \
	static void empty_##name(struct buf *out)                                                  \
	{                                                                                          \
		msg_##name##_encode(&(struct msg_##name){0}, out);                                 \
	}                                                                                          \
	static int again_##name(const void *body, size_t len, struct buf *out, struct error *err)  \
	{                                                                                          \
		struct msg_##name m = {0};                                                         \
		int r = msg_##name##_decode(body, len, &m, err);                                   \
                                                                                                   \
		if (r == 0)                                                                        \
			msg_##name##_encode(&m, out);                                              \
		return r;                                                                          \
	}
#include "wire/messages.def"
#undef MESSAGE
#undef F

static const struct kind KINDS[] = {
#define F(type, name)
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	{#name, number, full_##name, empty_##name, again_##name},
#include "wire/messages.def"
#undef MESSAGE
#undef F
};

static void
same_again(const struct kind *k, const void *body, size_t len)
{
	struct error err = {0};
	struct buf again;

	buf_init(&again, WIRE_BODY_MAX);
	if (k->again(body, len, &again, &err) < 0)
		fail_msg("%s: %s", k->name, err.text);
	assert_ok(buf_check(&again, NULL));
	assert_int_equal(again.len, len);
	assert_memory_equal(again.data, body, len);
	buf_fini(&again);
}

static void
round_trip(void **state)
{
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
		buf_reset(&b);
		KINDS[i].encode_full(&b);
		assert_ok(buf_check(&b, NULL));
		same_again(&KINDS[i], b.data, b.len);
		buf_reset(&b);
		KINDS[i].encode_empty(&b);
		same_again(&KINDS[i], b.data, b.len);
	}
	buf_fini(&b);
}

/* On the heap at its exact size, so that reading one byte past it is seen. */
static int
decode_exact(const struct kind *k, const void *bytes, size_t len, struct error *err)
{
	char *copy = malloc(len > 0 ? len : 1);
	struct buf again;
	int r;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	buf_init(&again, WIRE_BODY_MAX);
	r = k->again(copy, len, &again, err);
	buf_fini(&again);
	free(copy);
	return r;
}

static void
cut_short_and_trailing(void **state)
{
	struct error err = {0};
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
		buf_reset(&b);
		KINDS[i].encode_full(&b);
		for (size_t len = 0; len < b.len; len++)
			assert_fails(-EPROTO, &err, decode_exact(&KINDS[i], b.data, len, &err));
		for (unsigned int more = 1; more < 6; more++) {
			buf_char(&b, '\0');
			assert_fails(-EPROTO, &err, decode_exact(&KINDS[i], b.data, b.len, &err));
		}
	}
	buf_fini(&b);
}

/* Any four bytes turned into an enormous number: refused, or they were a number. */
static void
enormous_lengths(void **state)
{
	struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
		buf_reset(&b);
		KINDS[i].encode_full(&b);
		for (size_t at = 0; at + 4 <= b.len; at++) {
			char saved[4];
			struct error err = {0};

			memcpy(saved, b.data + at, 4);
			memset(b.data + at, 0xff, 4);
			if (decode_exact(&KINDS[i], b.data, b.len, &err) == 0)
				same_again(&KINDS[i], b.data, b.len);
			memcpy(b.data + at, saved, 4);
		}
	}
	buf_fini(&b);
}

static void
a_failed_decode_writes_nothing(void **state)
{
	struct msg_started m = {.ticket = 77};
	struct msg_run_started r = {.session = wire_text_of("kept")};

	assert_int_equal(msg_started_decode("\0\0\0\0\0\0\0\1\0", 9, &m, NULL), -EPROTO);
	assert_true(m.ticket == 77);
	assert_int_equal(msg_run_started_decode("\0\0\0\1a\0\0\0\1\xff", 10, &r, NULL), -EPROTO);
	assert_true(wire_text_eq(r.session, "kept"));
	assert_int_equal(msg_run_started_decode("\0\0\0\1\0\0\0\0\0", 9, &r, NULL), -EPROTO);
	assert_int_equal(msg_started_decode(NULL, 0, &m, NULL), -EPROTO);
}

static void
the_table(void **state)
{
	unsigned int found = 0;

	for (uint32_t type = 0; type < 0x10000; type++) {
		const struct message_rule *rule = message_rule(type);

		if (rule == NULL)
			continue;
		found++;
		assert_int_equal(rule->type, type);
		assert_true(rule->from != 0 && rule->to != 0 && rule->states != 0);
		assert_int_equal(rule->from & rule->to, 0);
	}
	assert_int_equal(found, ARRAY_LEN(KINDS));
	assert_null(message_rule(0));
	assert_null(message_rule(UINT32_MAX));
	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
		struct buf b;

		assert_string_equal(message_rule(KINDS[i].number)->name, KINDS[i].name);
		/* With every text and byte field empty it fits its own bound. */
		buf_init(&b, message_rule(KINDS[i].number)->max_body);
		KINDS[i].encode_empty(&b);
		assert_ok(buf_check(&b, NULL));
		buf_fini(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(cut_short_and_trailing),
		cmocka_unit_test(enormous_lengths),
		cmocka_unit_test(a_failed_decode_writes_nothing),
		cmocka_unit_test(the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
