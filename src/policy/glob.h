/*
 * Patterns over paths. `*` is any run of characters within one segment, `**` (a whole segment) any
 * run across segments: "a/" + `**` is everything beneath a, `**` + "/b" is b at any depth, the top
 * included. All else is itself; there are no classes, no escapes and no case folding.
 *
 * Matching never goes back: it keeps the set of places in the pattern where the text read so far
 * may be, and moves all of them at each character, so its time is linear in the text (and at most
 * GLOB_MAX times its length), whatever the pattern.
 */
#ifndef LOOM_POLICY_GLOB_H
#define LOOM_POLICY_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GLOB_MAX 512 /* tokens */

/* Tokens: a byte, or one of these. */
enum glob_token {
	GLOB_STAR = 256,       /* any run without a slash */
	GLOB_ACROSS = 257,     /* `**` at the end: any run */
	GLOB_DIRECTORIES = 258 /* `**` and its slash: nothing, or any run that ends in a slash */
};

struct glob {
	uint32_t n;
	const uint16_t *tokens;
};

/*
 * Translate LEN bytes of pattern into OUT, which has room for LEN tokens. Returns their number;
 * -EINVAL when `**` is only part of a segment, -EMSGSIZE when it is longer than GLOB_MAX.
 */
int glob_compile(const char *pattern, size_t len, uint16_t *out);
bool glob_match(const struct glob *g, const char *text, size_t len);

#endif
