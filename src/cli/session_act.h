/* Accept, stop, rm: one request that changes a session, and what it answers. */
#ifndef LOOM_CLI_SESSION_ACT_H
#define LOOM_CLI_SESSION_ACT_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/option.h"
#include "wire/message.h"

/*
 * Ask for VERB on the session named by the first operand, with the paths of --path. With --json the
 * answer is printed, else TELL appends the words for it to standard output. The status to leave
 * with.
 */
int session_act(const struct parsed *args, enum session_verb verb,
		void (*tell)(struct buf *out, const char *session, const json_t *answer));

#endif
