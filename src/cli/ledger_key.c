/* loom ledger key: the verifier key (C2SP signed-note), a line that others check checkpoints with.
 */
#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

int
cmd_ledger_key(const struct parsed *args)
{
	const struct ask ask = {
		.kind = ASK_QUERY, .what = Q_LEDGER_HEAD, .json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	buf_init(&out, SHOW_MAX);
	if (ask.json) {
		CLEANUP(json_decrefp)
		json_t *key = json_pack("{s:O?}", "vkey", json_object_get(doc, "vkey"));

		return show_json(key);
	}
	show_add(&out, SHOW_PLAIN, show_text(doc, "vkey"));
	buf_char(&out, '\n');
	return print_buf(&out);
}
