/* loom profile show: the effective form, every default filled in, and its digest. */
#include <stdlib.h>

#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

int
cmd_profile_show(const struct parsed *args)
{
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_PROFILE,
				.id = args->operands[0],
				.json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	char *text;
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	show_line(&out, doc, "profile", "name");
	show_line(&out, doc, "digest", "digest");
	show_line(&out, doc, "shipped", "shipped");
	/* In ASCII: what is printed is the document, and still nothing a terminal would obey. */
	text = json_dumps(json_object_get(doc, "profile"),
			  JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	buf_fmt(&out, "%s\n", text != NULL ? text : "");
	free(text);
	return print_buf(&out);
}
