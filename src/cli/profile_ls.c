/* loom profile ls: the profiles this daemon knows, those that do not load with their error. */
#include <string.h>

#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define DIGEST_SHOWN 12

int
cmd_profile_ls(const struct parsed *args)
{
	static const struct show_column columns[] = {
		{"PROFILE", "name"}, {"SHIPPED", "shipped"},	     {"DIGEST", "short"},
		{"ERROR", "error"},  {"DESCRIPTION", "description"},
	};
	const struct ask ask = {
		.kind = ASK_QUERY, .what = Q_PROFILES, .json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	size_t index;
	json_t *item;
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	/* So many digits of a digest are enough to see two apart. */
	json_array_foreach(json_object_get(doc, "profiles"), index, item)
	{
		const char *digest = show_text(item, "digest");
		json_t *start = json_stringn(digest, strnlen(digest, DIGEST_SHOWN));

		if (json_object_set_new(item, "short", start) != 0)
			continue;
	}
	buf_init(&out, SHOW_MAX);
	show_table(&out, json_object_get(doc, "profiles"), columns, ARRAY_LEN(columns));
	return print_buf(&out);
}
