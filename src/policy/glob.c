/*
 * The states are the positions 0..n between tokens, one bit each. A position before a run may stay
 * there; a position before a run that may be empty is also a position after it, which `enter` adds
 * at once. The exception is GLOB_DIRECTORIES, which may only be left right away or after a slash.
 */
#include "policy/glob.h"

#include <errno.h>
#include <string.h>

#define WORD_BITS 64
#define WORDS (GLOB_MAX / WORD_BITS + 1)

int
glob_compile(const char *pattern, size_t len, uint16_t *out)
{
	size_t i = 0, n = 0;

	while (i < len) {
		size_t stars = 0;
		bool starts = i == 0 || pattern[i - 1] == '/', ends;

		while (i + stars < len && pattern[i + stars] == '*')
			stars++;
		ends = i + stars == len || pattern[i + stars] == '/';
		if (n >= GLOB_MAX)
			return -EMSGSIZE;
		if (stars > 2 || (stars == 2 && !(starts && ends)))
			return -EINVAL;
		if (stars == 2 && i + 2 < len) {
			out[n++] = GLOB_DIRECTORIES;
			i += 3;
		} else if (stars == 2) {
			out[n++] = GLOB_ACROSS;
			i += 2;
		} else if (stars == 1) {
			out[n++] = GLOB_STAR;
			i++;
		} else {
			out[n++] = (uint8_t)pattern[i++];
		}
	}
	return (int)n;
}

/* Position P is reached, and with it those behind runs that may be empty. */
static void
enter(const struct glob *g, uint64_t *set, uint32_t p)
{
	for (;; p++) {
		set[p / WORD_BITS] |= UINT64_C(1) << (p % WORD_BITS);
		if (p >= g->n || g->tokens[p] < GLOB_STAR)
			return;
	}
}

static void
step(const struct glob *g, uint64_t *next, uint32_t p, unsigned char c)
{
	uint16_t token = p < g->n ? g->tokens[p] : 0;

	if (p >= g->n)
		return; /* the pattern is over and the text is not */
	switch (token) {
	case GLOB_STAR:
		if (c != '/')
			enter(g, next, p);
		break;
	case GLOB_ACROSS:
		enter(g, next, p);
		break;
	case GLOB_DIRECTORIES:
		next[p / WORD_BITS] |= UINT64_C(1) << (p % WORD_BITS);
		if (c == '/')
			enter(g, next, p + 1);
		break;
	default:
		if (token == c)
			enter(g, next, p + 1);
		break;
	}
}

bool
glob_match(const struct glob *g, const char *text, size_t len)
{
	uint64_t set[WORDS] = {0}, next[WORDS];
	uint32_t words = g->n / WORD_BITS + 1;

	if (g->n > GLOB_MAX)
		return false;
	enter(g, set, 0);
	for (size_t i = 0; i < len; i++) {
		uint64_t any = 0;

		memset(next, 0, words * sizeof(*next));
		for (uint32_t w = 0; w < words; w++)
			for (uint64_t left = set[w]; left != 0; left &= left - 1)
				step(g, next, w * WORD_BITS + (uint32_t)__builtin_ctzll(left),
				     (unsigned char)text[i]);
		for (uint32_t w = 0; w < words; w++)
			any |= next[w];
		if (any == 0)
			return false;
		memcpy(set, next, words * sizeof(*set));
	}
	return (set[g->n / WORD_BITS] >> (g->n % WORD_BITS) & 1) != 0;
}
