/* The table PA-06 of the attack corpus, and the limits around it. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

static void
relative_forms(void **state)
{
	static const struct {
		const char *in;
		const char *out; /* NULL: refused */
	} table[] = {
		{"", NULL},
		{".", NULL},
		{"./", NULL},
		{"././/.", NULL},
		{"/", NULL},
		{"//etc/x", NULL},
		{"/a", NULL},
		{"a//b", "a/b"},
		{"a/./b", "a/b"},
		{"a/../b", NULL},
		{"..", NULL},
		{"../a", NULL},
		{"a/..", NULL},
		{"a/../", NULL},
		{"./../a", NULL},
		{"a/b/", "a/b"},
		{"a/b/.", "a/b"},
		{"./a", "a"},
		{".//a", "a"},
		{"~/.ssh", "~/.ssh"},
		{"%2e%2e/x", "%2e%2e/x"},
		{"a\\..\\b", "a\\..\\b"},
		{"-rf", "-rf"},
		{"...", "..."},
		{"..a", "..a"},
		{".a", ".a"},
		{"a..", "a.."},
		{"a b", "a b"},
		{"\xff\xfe", "\xff\xfe"},
		{"\xe2\x80\xae", "\xe2\x80\xae"},
		{"a\nb", NULL},
		{"a\x1b[2J", NULL},
		{"a\x7f", NULL},
	};
	char out[PATH_BYTES_MAX];
	struct error err = {0};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *in = table[i].in;

		strcpy(out, "untouched");
		if (table[i].out == NULL) {
			assert_fails(-EINVAL, &err,
				     path_relative(in, strlen(in), false, out, &err));
			assert_string_equal(out, "untouched");
		} else {
			assert_ok(path_relative(in, strlen(in), false, out, &err));
			assert_string_equal(out, table[i].out);
			/* The one spelling of the one spelling is itself. */
			assert_ok(path_relative(table[i].out, strlen(table[i].out), false, out,
						&err));
			assert_string_equal(out, table[i].out);
		}
	}
}

static void
empty_when_asked_for(void **state)
{
	static const char *const table[] = {"", ".", "./", "./."};
	char out[PATH_BYTES_MAX];

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		strcpy(out, "untouched");
		assert_ok(path_relative(table[i], strlen(table[i]), true, out, NULL));
		assert_string_equal(out, "");
	}
	assert_int_equal(path_relative("..", 2, true, out, NULL), -EINVAL);
	assert_int_equal(path_relative("/", 1, true, out, NULL), -EINVAL);
}

static void
nul_is_refused_not_cut(void **state)
{
	char out[PATH_BYTES_MAX];

	assert_int_equal(path_relative("a\0b", 3, false, out, NULL), -EINVAL);
	assert_int_equal(path_relative("\0", 1, true, out, NULL), -EINVAL);
	assert_int_equal(path_relative("a\0", 2, false, out, NULL), -EINVAL);
}

static void
lengths(void **state)
{
	char in[PATH_BYTES_MAX + 1], out[PATH_BYTES_MAX], name[PATH_NAME_MAX + 1];

	memset(name, 'a', sizeof(name));
	assert_ok(path_relative(name, PATH_NAME_MAX, false, out, NULL));
	assert_int_equal(strlen(out), PATH_NAME_MAX);
	assert_int_equal(path_relative(name, PATH_NAME_MAX + 1, false, out, NULL), -EINVAL);
	memset(in, 'a', sizeof(in));
	for (size_t i = 1; i < sizeof(in); i += 2)
		in[i] = '/';
	assert_ok(path_relative(in, PATH_BYTES_MAX - 1, false, out, NULL));
	assert_int_equal(strlen(out), PATH_BYTES_MAX - 1);
	assert_int_equal(path_relative(in, PATH_BYTES_MAX, false, out, NULL), -EINVAL);
}

static void
absolute_forms(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/b", "/...", "/.a", "/a b", "/-rf"};
	static const char *const bad[] = {"",	   "a",	    "//",   "//a",   "/a/",
					  "/a//b", "/.",    "/..",  "/a/.",  "/./a",
					  "/a/..", "/../a", "/a\n", "/\x7f", "/a/../b"};
	char big[PATH_BYTES_MAX + 1];
	struct error err = {0};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_ok(path_absolute_check(good[i], &err));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_fails(-EINVAL, &err, path_absolute_check(bad[i], &err));
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = i % 2 == 0 ? '/' : 'a';
	big[PATH_BYTES_MAX] = '\0';
	assert_int_equal(path_absolute_check(big, NULL), -EINVAL);
	big[PATH_BYTES_MAX - 2] = '\0';
	assert_ok(path_absolute_check(big, NULL));
	memset(big + 1, 'a', 256);
	big[256] = '\0';
	assert_ok(path_absolute_check(big, NULL));
	big[256] = 'a';
	big[257] = '\0';
	assert_int_equal(path_absolute_check(big, NULL), -EINVAL);
}

/* PA-01: a sibling that shares the prefix is not beneath. */
static void
beneath_is_by_component(void **state)
{
	assert_true(path_is_beneath("/ws/proj", "/ws/proj"));
	assert_true(path_is_beneath("/ws/proj/a", "/ws/proj"));
	assert_true(path_is_beneath("/", "/"));
	assert_true(path_is_beneath("/a", "/"));
	assert_false(path_is_beneath("/ws/proj-evil/canary", "/ws/proj"));
	assert_false(path_is_beneath("/ws/pro", "/ws/proj"));
	assert_false(path_is_beneath("/ws", "/ws/proj"));
	assert_false(path_is_beneath("a", "/"));
	assert_false(path_is_beneath("/a", ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relative_forms),	  cmocka_unit_test(empty_when_asked_for),
		cmocka_unit_test(nul_is_refused_not_cut), cmocka_unit_test(lengths),
		cmocka_unit_test(absolute_forms),	  cmocka_unit_test(beneath_is_by_component),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
