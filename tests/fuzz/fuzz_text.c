/* Text forms and paths: what decodes has one spelling, and what is escaped is safe to show. */
#include "fuzz.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"

static void
try_base64(const char *text, size_t len)
{
	CLEANUP(buf_fini) struct buf raw = {0};
	CLEANUP(buf_fini) struct buf again = {0};

	buf_init(&raw, len + 1);
	buf_init(&again, len + 4);
	if (base64_decode(text, len, &raw) < 0) {
		FUZZ_CHECK(raw.len == 0);
		return;
	}
	base64_encode(raw.data, raw.len, &again);
	FUZZ_CHECK(again.len == len && memcmp(again.data, text, len) == 0);
}

static void
try_escape(const char *text, size_t len)
{
	CLEANUP(buf_fini) struct buf out = {0};

	buf_init(&out, 4 * len);
	text_escape(text, len, &out);
	FUZZ_CHECK(!out.failed);
	FUZZ_CHECK(utf8_valid(out.data, out.len));
	for (size_t i = 0; i < out.len; i++)
		FUZZ_CHECK((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
}

static void
try_path(const char *text, size_t len)
{
	char one[PATH_BYTES_MAX], two[PATH_BYTES_MAX], absolute[PATH_BYTES_MAX + 1] = "/";

	if (path_relative(text, len, true, one, NULL) < 0)
		return;
	FUZZ_CHECK(path_relative(one, strlen(one), true, two, NULL) == 0);
	FUZZ_CHECK(strcmp(one, two) == 0);
	/* Beneath the root it is an absolute path in normal form. */
	memcpy(absolute + 1, one, strlen(one) + 1);
	if (strlen(absolute) < PATH_BYTES_MAX)
		FUZZ_CHECK(path_absolute_check(absolute, NULL) == 0);
}

static void
try_numbers(const char *text)
{
	uint64_t v = 0;
	char raw[4];

	(void)!duration_parse(text, &v);
	(void)!size_parse(text, &v);
	if (decimal_parse(text, UINT32_MAX, &v) == 0)
		FUZZ_CHECK(v <= UINT32_MAX);
	if (strlen(text) == 2 * sizeof(raw))
		(void)!hex_decode(text, raw, sizeof(raw));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf text = {0};

	try_base64((const char *)data, size);
	try_escape((const char *)data, size);
	try_path((const char *)data, size);
	buf_init(&text, size);
	if (size > 0)
		buf_add(&text, data, size);
	try_numbers(text.data);
	return 0;
}
