/*
 * Optimal string alignment distance (insert, drop, replace, swap of neighbours), with letters
 * compared without case and '-', '_' and '.' taken for the same. Three rows are enough.
 */
#include "policy/suggest.h"

#include <stdint.h>
#include <string.h>

static char
fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '_' || c == '.' ? '-' : c;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][SUGGEST_WORD_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2], *spare;

	for (size_t j = 0; j <= b_len; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			char x = fold(a[i - 1]), y = fold(b[j - 1]);

			row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y)
				row[j] = least(row[j], before[j - 2] + 1);
		}
		spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[b_len];
}

void
suggest_init(struct suggest *s, const char *word, size_t len)
{
	*s = (struct suggest){.word = word, .len = len, .distance = SIZE_MAX};
}

void
suggest_try(struct suggest *s, const char *candidate)
{
	size_t len = strlen(candidate), d;

	if (s->len == 0 || s->len > SUGGEST_WORD_MAX || len > SUGGEST_WORD_MAX)
		return;
	d = distance(s->word, s->len, candidate, len);
	if (d < s->distance) {
		s->distance = d;
		s->best = candidate;
	}
}

const char *
suggest_best(const struct suggest *s)
{
	size_t far = s->len / 3 > 1 ? s->len / 3 : 1;

	return s->best != NULL && s->distance <= far ? s->best : NULL;
}
