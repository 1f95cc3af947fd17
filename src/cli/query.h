/*
 * Asking the daemon for documents, for loom-inspect. Errors are said here, on standard error, and
 * become the status to leave with, so that a subcommand reads as what it prints.
 */
#ifndef LOOM_CLI_QUERY_H
#define LOOM_CLI_QUERY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "cli/option.h"
#include "wire/message.h"

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

enum ask_kind { ASK_QUERY, ASK_SESSION_ACT, ASK_DAEMON_ACT };

struct ask {
	enum ask_kind kind;
	uint32_t what;	 /* enum query, session_verb or daemon_verb */
	const char *id;	 /* may be NULL */
	const void *arg; /* query: the argument; session act: paths */
	size_t arg_len;
	uint32_t limit;
	bool no_start; /* -ENOENT when no daemon runs, instead of starting one */
	bool json;     /* print a refusal as the document it is, too */
};

/* Takes a part of the answer, in order. Negative ends the asking. */
typedef int answer_fn(void *arg, const void *part, size_t len, struct error *err);

/*
 * Ask and hand every part to FN. 0, or the status to leave with: 120 denied (the reason was said),
 * 121 to be approved, 125 Loom failed. *RET_ABSENT (may be NULL) tells that no daemon runs, when
 * no_start was asked for; nothing is said then.
 */
int ask_parts(const struct ask *ask, answer_fn *fn, void *arg, bool *ret_absent) MUST_CHECK;

/* Ask for a JSON document. On 0 *RET_VALUE is a new reference. */
int ask_json(const struct ask *ask, json_t **ret_value) MUST_CHECK;

/*
 * The paths given by --path, each NUL-terminated and in its one spelling. -EINVAL names the one
 * that is none. Appends nothing when there are none.
 */
int ask_paths(const struct parsed *args, struct buf *out, struct error *err) MUST_CHECK;

#endif
