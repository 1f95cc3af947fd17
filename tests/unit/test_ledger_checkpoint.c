#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "ledger/checkpoint.h"

/* RFC 8032, 7.1, test 2. */
static const char SEED[] = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
static const char PUBLIC[] = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

static struct signer *
signer_of(const char *hex)
{
	uint8_t seed[SIGNING_KEY_LEN];
	struct signer *s = NULL;

	assert_ok(hex_decode(hex, seed, sizeof(seed)));
	assert_ok(signer_new(seed, &s, NULL));
	return s;
}

static void
key_is_rfc8032(void **state)
{
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	const struct vkey *k = signer_vkey(s);
	char hex[65];

	hex_encode(k->key, sizeof(k->key), hex);
	assert_string_equal(hex, PUBLIC);
	assert_int_equal(strncmp(k->name, "loom.invalid/", 13), 0);
}

/* The example key in the documentation of Go's note package. */
static void
vkey_of_another_implementation(void **state)
{
	static const char text[] =
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
	CLEANUP(buf_fini) struct buf again = {0};
	struct vkey k;

	assert_ok(vkey_parse(text, strlen(text), &k, NULL));
	assert_string_equal(k.name, "PeterNeumann");
	assert_true(k.id == 0xc74f20a3);
	buf_init(&again, VKEY_TEXT_MAX);
	vkey_print(&k, &again);
	assert_string_equal(again.data, text);
}

static void
vkey_round_trip(void **state)
{
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	CLEANUP(buf_fini) struct buf text = {0};
	struct error err = {0};
	struct vkey k;

	buf_init(&text, VKEY_TEXT_MAX);
	vkey_print(signer_vkey(s), &text);
	assert_ok(vkey_parse(text.data, text.len, &k, NULL));
	assert_memory_equal(&k, signer_vkey(s), sizeof(k));
	buf_char(&text, '\n');
	assert_ok(vkey_parse(text.data, text.len, &k, NULL));
	buf_char(&text, '\n');
	assert_fails(-EBADMSG, &err, vkey_parse(text.data, text.len, &k, &err));
	buf_cut(&text, text.len - 2);
	/* Every byte matters. */
	for (size_t i = 0; i < text.len; i++) {
		text.data[i] ^= 1;
		assert_fails(-EBADMSG, &err, vkey_parse(text.data, text.len, &k, &err));
		text.data[i] ^= 1;
		assert_fails(-EBADMSG, &err, vkey_parse(text.data, i, &k, &err));
	}
}

static void
note_of(struct signer *s, const struct tree_head *head, struct buf *note)
{
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];

	assert_ok(signer_sign(s, head, signature, NULL));
	buf_reset(note);
	checkpoint_note(signer_vkey(s), head, signature, note);
	assert_ok(buf_check(note, NULL));
	assert_ok(checkpoint_signature_check(signer_vkey(s), head, signature, NULL));
}

static void
note_round_trip(void **state)
{
	static const uint64_t sizes[] = {0, 1, 255, UINT64_MAX};
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	CLEANUP(signer_freep) struct signer *other = signer_of(PUBLIC);
	CLEANUP(buf_fini) struct buf note = {0};
	struct tree_head head = {0}, got;
	struct error err = {0};

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		head.size = sizes[i];
		memset(head.root, (int)i, sizeof(head.root));
		note_of(s, &head, &note);
		assert_ok(checkpoint_read(note.data, note.len, signer_vkey(s), &got, NULL));
		assert_int_equal(got.size, head.size);
		assert_memory_equal(got.root, head.root, sizeof(head.root));
		assert_fails(-EBADMSG, &err,
			     checkpoint_read(note.data, note.len, signer_vkey(other), &got, &err));
	}
}

static void
note_text(void **state)
{
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	CLEANUP(buf_fini) struct buf note = {0};
	const struct tree_head head = {.size = 20852163};
	char want[512];

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	note_of(s, &head, &note);
	(void)snprintf(want, sizeof(want),
		       "%s\n20852163\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n\xe2\x80\x94 %s ",
		       signer_vkey(s)->name, signer_vkey(s)->name);
	assert_int_equal(strncmp(note.data, want, strlen(want)), 0);
	/* Id and signature: 68 bytes in base64, and the newline. */
	assert_int_equal(note.len, strlen(want) + 92 + 1);
}

/* Whatever single bit is turned, or wherever it is cut, it is not the note any more. */
static void
note_mutations(void **state)
{
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	CLEANUP(buf_fini) struct buf note = {0};
	const struct tree_head head = {.size = 1234567, .root = {1, 2, 3}};
	struct tree_head got;
	struct error err = {0};

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	note_of(s, &head, &note);
	for (size_t i = 0; i < note.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			note.data[i] = (char)(note.data[i] ^ 1 << bit);
			assert_fails(-EBADMSG, &err,
				     checkpoint_read(note.data, note.len, signer_vkey(s), &got,
						     &err));
			note.data[i] = (char)(note.data[i] ^ 1 << bit);
		}
		assert_fails(-EBADMSG, &err,
			     checkpoint_read(note.data, i, signer_vkey(s), &got, &err));
	}
	buf_char(&note, 'x');
	assert_fails(-EBADMSG, &err,
		     checkpoint_read(note.data, note.len, signer_vkey(s), &got, &err));
}

/* A witness's line beside ours is passed over; without ours it is nothing. */
static void
note_with_other_signatures(void **state)
{
	static const char line[] = "\xe2\x80\x94 witness.example/w AAAAAAAA\n";
	CLEANUP(signer_freep) struct signer *s = signer_of(SEED);
	CLEANUP(buf_fini) struct buf note = {0}, other = {0};
	const struct tree_head head = {.size = 5};
	struct tree_head got;
	struct error err = {0};
	size_t body;

	buf_init(&note, CHECKPOINT_NOTE_MAX);
	buf_init(&other, CHECKPOINT_NOTE_MAX);
	note_of(s, &head, &note);
	body = (size_t)(strstr(note.data, "\n\n") + 2 - note.data);
	buf_add(&other, note.data, body);
	buf_str(&other, line);
	assert_fails(-EBADMSG, &err,
		     checkpoint_read(other.data, other.len, signer_vkey(s), &got, &err));
	buf_add(&other, note.data + body, note.len - body);
	assert_ok(checkpoint_read(other.data, other.len, signer_vkey(s), &got, NULL));
	buf_str(&other, line);
	assert_ok(checkpoint_read(other.data, other.len, signer_vkey(s), &got, NULL));
	for (int i = 0; i < 16; i++)
		buf_str(&other, line);
	assert_fails(-EBADMSG, &err,
		     checkpoint_read(other.data, other.len, signer_vkey(s), &got, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_is_rfc8032),
		cmocka_unit_test(vkey_of_another_implementation),
		cmocka_unit_test(vkey_round_trip),
		cmocka_unit_test(note_round_trip),
		cmocka_unit_test(note_text),
		cmocka_unit_test(note_mutations),
		cmocka_unit_test(note_with_other_signatures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
