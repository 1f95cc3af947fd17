/*
 * Globs against a slow, obvious reference, over every short pattern and text; and their time, which
 * may not depend on how a pattern and a text meet.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "policy/glob.h"

/* By the words of glob.h, with as much going back as it takes. */
static bool
reference(const char *p, const char *t, bool at_start)
{
	if (at_start && p[0] == '*' && p[1] == '*' && (p[2] == '/' || p[2] == '\0')) {
		if (p[2] == '\0')
			return true;
		if (reference(p + 3, t, true))
			return true;
		for (; *t != '\0'; t++)
			if (*t == '/' && reference(p + 3, t + 1, true))
				return true;
		return false;
	}
	if (*p == '\0')
		return *t == '\0';
	if (*p == '*') {
		for (;; t++) {
			if (reference(p + 1, t, false))
				return true;
			if (*t == '\0' || *t == '/')
				return false;
		}
	}
	return *p == *t && reference(p + 1, t + 1, *p == '/');
}

static bool
matches(const char *pattern, const char *text)
{
	uint16_t tokens[GLOB_MAX];
	int n = glob_compile(pattern, strlen(pattern), tokens);
	struct glob g = {.n = (uint32_t)n, .tokens = tokens};

	assert_true(n >= 0);
	return glob_match(&g, text, strlen(text));
}

/* The next word over ALPHABET in order of length; false when it is longer than MOST. */
static bool
next_word(char *word, const char *alphabet, size_t most)
{
	size_t len = strlen(word), last = strlen(alphabet) - 1;

	for (size_t i = len; i > 0; i--) {
		size_t at = (size_t)(strchr(alphabet, word[i - 1]) - alphabet);

		if (at < last) {
			word[i - 1] = alphabet[at + 1];
			return true;
		}
		word[i - 1] = alphabet[0];
	}
	if (len == most)
		return false;
	word[len] = alphabet[0];
	word[len + 1] = '\0';
	return true;
}

static void
exhaustive(void **state)
{
	char pattern[8] = "", text[8];
	uint16_t tokens[GLOB_MAX];
	size_t compared = 0, matched = 0;

	do {
		struct glob g = {.tokens = tokens};
		int n = glob_compile(pattern, strlen(pattern), tokens);

		if (n < 0)
			continue;
		g.n = (uint32_t)n;
		text[0] = '\0';
		do {
			bool want = reference(pattern, text, true);

			if (glob_match(&g, text, strlen(text)) != want)
				fail_msg("'%s' and '%s': the reference says %d", pattern, text,
					 want);
			compared++;
			matched += want;
		} while (next_word(text, "a/b", 5));
	} while (next_word(pattern, "a/*", 5));
	assert_true(compared > 80000);
	assert_true(matched > 1500);
}

static void
compiling(void **state)
{
	static const char *const BAD[] = {"***", "a**", "**a", "a/**b", "/***/", "x**/y"};
	static const char *const GOOD[] = {"", "*", "**", "a*b*c", "**/a", "a/**/b", "a/**", "*/*"};
	char longest[GLOB_MAX + 2];
	uint16_t tokens[GLOB_MAX + 2];

	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		assert_int_equal(glob_compile(BAD[i], strlen(BAD[i]), tokens), -EINVAL);
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		assert_true(glob_compile(GOOD[i], strlen(GOOD[i]), tokens) >= 0);
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(glob_compile(longest, GLOB_MAX, tokens), GLOB_MAX);
	assert_int_equal(glob_compile(longest, GLOB_MAX + 1, tokens), -EMSGSIZE);
}

static void
words(void **state)
{
	assert_true(matches(".github/**", ".github/workflows/ci.yml"));
	assert_false(matches(".github/**", ".githubx/a"));
	assert_false(matches(".github/**", "a/.github/b"));
	assert_true(matches("**/.github/**", ".github/b"));
	assert_true(matches("/a/*", "/a/"));
	assert_false(matches("/a/*", "/a/b/c"));
	assert_false(matches("/a", "/A"));
	assert_true(matches("\xc3\xa4*", "\xc3\xa4\xc3\xb6"));
}

/* Every star of the pattern could stop at every character of the text, and the end never fits. */
static void
no_going_back(void **state)
{
	static char text[1 << 17];
	char pattern[GLOB_MAX + 1];
	clock_t before = clock();

	memset(text, 'a', sizeof(text) - 1);
	for (size_t i = 0; i < GLOB_MAX; i++)
		pattern[i] = i % 2 == 0 ? '*' : 'a';
	pattern[GLOB_MAX - 1] = 'b';
	pattern[GLOB_MAX] = '\0';
	assert_false(matches(pattern, text));
	/* About one second in any build; going back would take longer than anyone waits. */
	assert_true((clock() - before) / CLOCKS_PER_SEC < 60);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exhaustive),
		cmocka_unit_test(compiling),
		cmocka_unit_test(words),
		cmocka_unit_test(no_going_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
