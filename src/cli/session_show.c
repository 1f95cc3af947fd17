/* loom session show */
#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

int
cmd_session_show(const struct parsed *args)
{
	static const struct show_column lines[] = {
		{"session", "id"},
		{"name", "name"},
		{"state", "state"},
		{"profile", "profile.name"},
		{"digest", "profile.digest"},
		{"workspace", "workspace.path"},
		{"mode", "workspace.mode"},
		{"identity", "identity"},
		{"operation", "operation"},
		{"started", "started"},
		{"ended", "ended"},
		{"kept until", "expires"},
		{"exit", "exit.kind"},
		{"value", "exit.value"},
		{"changes", "changes"},
	};
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_SESSION,
				.id = args->operands[0],
				.json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		show_line(&out, doc, lines[i].title, lines[i].path);
	return print_buf(&out);
}
