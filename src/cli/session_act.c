/* What the three have in common; each has its words in a file of its own. */
#include "cli/session_act.h"

#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define PATHS_MAX 60000 /* bytes; a message's body holds no more */

int
session_act(const struct parsed *args, enum session_verb verb,
	    void (*tell)(struct buf *out, const char *session, const json_t *answer))
{
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf paths = {0};
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};
	int r;

	buf_init(&paths, PATHS_MAX);
	if (ask_paths(args, &paths, &err) < 0)
		return say_usage(args->command->words, &err);
	const struct ask ask = {
		.kind = ASK_SESSION_ACT,
		.what = verb,
		.id = args->operands[0],
		.arg = paths.data,
		.arg_len = paths.len,
		.json = option_given(args, OPT_JSON),
	};
	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	tell(&out, args->operands[0], doc);
	return print_buf(&out);
}
