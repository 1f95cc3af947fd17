/* loom session ls */
#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

int
cmd_session_ls(const struct parsed *args)
{
	static const struct show_column columns[] = {
		{"SESSION", "id"},
		{"NAME", "name"},
		{"STATE", "state"},
		{"PROFILE", "profile.name"},
		{"CHANGES", "changes"},
		{"STARTED", "started"},
		{"WORKSPACE", "workspace.path"},
	};
	const struct ask ask = {
		.kind = ASK_QUERY, .what = Q_SESSIONS, .json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	show_table(&out, json_object_get(doc, "sessions"), columns, ARRAY_LEN(columns));
	return print_buf(&out);
}
