/*
 * What is read and can be written is canonical when read again, has the same digest, and its
 * canonical form is the only one accepted as canonical.
 */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

static void
written_reads_back(const json_t *v, const struct buf *text)
{
	CLEANUP(json_decrefp) json_t *again = NULL;
	uint8_t one[SHA256_LEN], two[SHA256_LEN];

	FUZZ_CHECK(json_read_canonical(text->data, text->len, &again, NULL) == 0);
	FUZZ_CHECK(json_equal(v, again));
	FUZZ_CHECK(json_digest("fuzz", v, one, NULL) == 0);
	FUZZ_CHECK(json_digest("fuzz", again, two, NULL) == 0);
	FUZZ_CHECK(bytes_equal_ct(one, two, SHA256_LEN));
}

static void
escaped_is_text(const uint8_t *data, size_t size)
{
	CLEANUP(json_decrefp) json_t *v = json_escaped(data, size);

	FUZZ_CHECK(v != NULL);
	FUZZ_CHECK(utf8_valid(json_string_value(v), json_string_length(v)));
	FUZZ_CHECK(memchr(json_string_value(v), '\0', json_string_length(v)) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(json_decrefp) json_t *canonical = NULL;
	CLEANUP(buf_fini) struct buf text = {0};
	bool is_canonical;

	escaped_is_text(data, size);
	is_canonical = json_read_canonical(data, size, &canonical, NULL) == 0;
	if (json_read(data, size, &v, NULL) < 0) {
		FUZZ_CHECK(v == NULL && !is_canonical);
		return 0;
	}
	buf_init(&text, 6 * size + 64);
	/* Only a key that is not ASCII can be read and not written. */
	if (json_write_canonical(v, &text, NULL) == 0) {
		written_reads_back(v, &text);
		FUZZ_CHECK(is_canonical ==
			   (text.len == size && memcmp(text.data, data, size) == 0));
	} else {
		FUZZ_CHECK(!is_canonical);
	}
	return 0;
}
