/*
 * Refusals as HTTP tells them: problem documents (RFC 9457, application/problem+json) that carry
 * Loom's reason code:
 *   {"detail":…,"next":[…],"operation":…,"reason":"busy","status":409,"title":…,
 *    "type":"urn:loom:reason:busy"}
 * "next" and "operation" are there when the authority gave them.
 */
#ifndef LOOM_API_PROBLEM_H
#define LOOM_API_PROBLEM_H

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"

#define PROBLEM_MEDIA_TYPE "application/problem+json"

struct problem {
	unsigned int status; /* HTTP */
	enum reason reason;
	const char *detail;   /* one sentence; borrowed */
	const json_t *denial; /* the authority's document, or NULL; borrowed */
};

/* The HTTP status that a reason code has when the authority gave it. */
unsigned int problem_status(enum reason r);

/*
 * Understand what the authority sent with a status that is not 0. Whatever it is, a problem comes
 * out: without a readable reason code it is R_INTERNAL. RET borrows from DENIAL.
 */
void problem_of_denial(const json_t *denial, struct problem *ret);

/* Append the document, canonical JSON and a newline. */
int problem_write(const struct problem *p, struct buf *out, struct error *err) MUST_CHECK;

#endif
