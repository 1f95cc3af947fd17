/* The nearest right spelling of a word, for error messages. */
#ifndef LOOM_POLICY_SUGGEST_H
#define LOOM_POLICY_SUGGEST_H

#include <stddef.h>

#define SUGGEST_WORD_MAX 64 /* bytes; longer words get no suggestion */

/* The best candidate so far; start from zero. */
struct suggest {
	const char *word;
	size_t len;
	size_t distance; /* of `best` */
	const char *best;
};

void suggest_init(struct suggest *s, const char *word, size_t len);
void suggest_try(struct suggest *s, const char *candidate);
/* NULL when nothing comes near: at most a third of the word may differ; case counts as nothing. */
const char *suggest_best(const struct suggest *s);

#endif
