/*
 * What a file may be at all. Small oddities are folders of tests/policy; here are the ones that are
 * too large to keep, the positions, and a fault at every length.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "policy/policy.h"
#include "policy/yaml.h"

#define MIB (1024 * 1024)

/* Exactly as long as it says, so that a sanitizer sees a read past the end. */
static int
read_bytes(const char *data, size_t len, struct yaml **ret, struct error *err)
{
	char *copy = malloc(len > 0 ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = yaml_read(copy, len, "f.yaml", ret, err);
	free(copy);
	return r;
}

static void
tree(void **state)
{
	static const char TEXT[] = "# first\n"
				   "a: 1\n"
				   "ä: [x, \"y\\u0041\", 'it''s', {c: d}]\n"
				   "e:\n"
				   "  - f\n";
	CLEANUP(yaml_freep) struct yaml *y = NULL;
	struct error err = {0};
	const struct yaml_node *list, *n;

	assert_ok(read_bytes(TEXT, strlen(TEXT), &y, &err));
	assert_int_equal(yaml_root(y)->kind, YAML_MAPPING);
	assert_int_equal(yaml_root(y)->count, 3);
	n = yaml_get(yaml_root(y), "a");
	assert_string_equal(n->text, "1");
	assert_true(n->plain);
	assert_int_equal(n->at.line, 2);
	assert_int_equal(n->at.column, 4);
	assert_int_equal(yaml_where(n).column, 1);
	list = yaml_get(yaml_root(y), "\xc3\xa4");
	assert_int_equal(list->count, 4);
	assert_string_equal(yaml_at(list, 1)->text, "yA");
	assert_false(yaml_at(list, 1)->plain);
	assert_int_equal(yaml_at(list, 1)->at.column, 8); /* of its quote, in characters */
	assert_string_equal(yaml_at(list, 2)->text, "it's");
	assert_string_equal(yaml_get(yaml_at(list, 3), "c")->text, "d");
	assert_null(yaml_at(list, 4));
	assert_null(yaml_get(list, "c"));
	assert_string_equal(yaml_at(yaml_get(yaml_root(y), "e"), 0)->text, "f");
}

static void
filled(struct buf *b, const char *before, const char *part, size_t times, const char *after)
{
	buf_str(b, before);
	for (size_t i = 0; i < times; i++)
		buf_str(b, part);
	buf_str(b, after);
}

struct large {
	const char *before, *part;
	size_t times;
	const char *after;
	const char *says; /* NULL: it is taken */
};
static const struct large LARGE[] = {
	{"", "[", 100000, "", "levels of nesting"},
	{"", "[", 33, "", "more than 32 levels"},
	{"", "{a: ", 100000, "", "levels of nesting"},
	{"", "- ", 100000, "a", "more than 32 levels"},
	{"", "? ", 100000, "a", "as a key"},
	{"a: \"", "x", 50 * MIB, "\"", "at most 1048576"},
	{"a: \"", "x", MIB - 6, "\"\n", NULL},
	{"a: \"", "x", MIB - 5, "\"\n", "at most 1048576"},
	{"a: [", "b,", 500000, "b]", "more brackets, commas"},
	{"", "- a\n", 262000, "", "more than 200000 values"},
	{"", "\n", MIB - 2, "a", NULL},
	{"", "#\n", MIB / 2 - 2, "a: b", NULL},
	{"", "--- a\n", 100000, "", "second document"},
	{"a: ", "*", 100000, "", "alias"},
	{"a: ", "&", 100000, "", "anchor"},
	{"a: ", "!", 100000, "", "tag"},
	{"a: '", "''", 500000, "'", NULL},
	{"", "a: b\n", 50000, "", "a second time"},
	{"", ":", 100000, "", ""},
	{"", "\"", 100000, "", "YAML"},
	{"a: {", "b: {}, ", 20000, "b: {}}", "a second time"},
};

/* Which bounds hold: an error, in less than a second of a plain build, in bounded memory. */
static void
large(void **state)
{
	struct rusage use;
	struct buf b;

	buf_init(&b, 64 * MIB);
	for (size_t i = 0; i < ARRAY_LEN(LARGE); i++) {
		const struct large *l = &LARGE[i];
		CLEANUP(yaml_freep) struct yaml *y = NULL;
		struct error err = {0};
		clock_t before;
		int r;

		buf_reset(&b);
		filled(&b, l->before, l->part, l->times, l->after);
		assert_ok(buf_check(&b, &err));
		before = clock();
		r = yaml_read(b.data, b.len, "f.yaml", &y, &err);
		if ((l->says == NULL) != (r == 0) ||
		    (l->says != NULL && strstr(err.text, l->says) == NULL))
			fail_msg("'%s%s…': %d, %s", l->before, l->part, r, err.text);
		if (*state == NULL && (double)(clock() - before) / CLOCKS_PER_SEC > 1)
			fail_msg("'%s%s…': more than a second", l->before, l->part);
	}
	buf_fini(&b);
	assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
	if (*state == NULL)
		assert_true(use.ru_maxrss <
			    512 * 1024); /* KiB, with the 50 MiB of the test itself */
}

/* 350,000 different keys do not fit; as many as fit are one error, quickly. */
static void
many_keys(void **state)
{
	struct policy_source src = {.file = "f.yaml"};
	struct policy *p = NULL;
	struct error err = {0};
	struct buf b;

	buf_init(&b, MIB);
	for (unsigned int i = 0; b.len < MIB - 32; i++)
		buf_fmt(&b, "k%u: 1\n", i);
	src.data = b.data;
	src.len = b.len;
	assert_fails(-EINVAL, &err, policy_load(&src, &p, &err));
	assert_null(p);
	buf_fini(&b);
}

/* Cut after every byte, and with every byte turned into each of some: never more than an error. */
static void
cut_and_turned(void **state)
{
	static const char BYTES[] = "\"'[]{}:,#&*!?-|>%@`\n \\\x00\x80";
	size_t len = 0, taken = 0;
	const char *text = policy_shipped_text(0, &len);
	char *copy = malloc(len);

	assert_non_null(copy);
	for (size_t i = 0; i < len; i++) {
		CLEANUP(yaml_freep) struct yaml *y = NULL;
		struct error err = {0};
		int r = read_bytes(text, i, &y, &err);

		assert_true((r == 0) == (err.code == 0));
		taken += r == 0;
	}
	assert_true(taken > 0 && taken < len);
	for (size_t i = 0; i < len; i += 3) {
		memcpy(copy, text, len);
		for (size_t j = 0; j < sizeof(BYTES); j++) {
			CLEANUP(yaml_freep) struct yaml *y = NULL;
			struct error err = {0};

			copy[i] = BYTES[j];
			if (read_bytes(copy, len, &y, &err) < 0)
				assert_true(strncmp(err.text, "f.yaml:", 7) == 0);
		}
	}
	free(copy);
}

static void
file_names(void **state)
{
	struct yaml *y = NULL;
	struct error err = {0};
	char longest[1000];

	assert_fails(-EINVAL, &err, yaml_read("", 0, "a\nb", &y, &err));
	assert_true(yaml_read("", 0, "a\nb", &y, &err) < 0);
	assert_non_null(strstr(err.text, "a\\x0ab:1:1: "));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_fails(-EINVAL, &err, yaml_read("", 0, longest, &y, &err));
}

#if defined(__SANITIZE_ADDRESS__)
#define IS_SLOW true
#elif defined(__has_feature)
#define IS_SLOW __has_feature(address_sanitizer)
#else
#define IS_SLOW false
#endif

int
main(void)
{
	/* Under a sanitizer or valgrind, time and memory say nothing. */
	const char *preload = getenv("LD_PRELOAD");
	bool slow = IS_SLOW || (preload != NULL && strstr(preload, "vgpreload") != NULL);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree),	      cmocka_unit_test_prestate(large, slow ? &slow : NULL),
		cmocka_unit_test(many_keys),  cmocka_unit_test(cut_and_turned),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
