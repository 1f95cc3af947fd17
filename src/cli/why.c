/*
 * loom why: the daemon's evaluator, asked without anything being done. Statuses follow the verdict:
 * 0 allow, 120 deny, 121 escalate.
 */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

/* Options that become members of the request as they are. */
static const struct {
	enum option_id id;
	const char *key;
} members[] = {
	{OPT_CAPABILITY, "capability"}, {OPT_WORKFLOW, "workflow"}, {OPT_URL, "url"},
	{OPT_COMMAND, "command"},	{OPT_METHOD, "method"},	    {OPT_PATH, "path"},
};

static int
build_request(const struct parsed *args, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *request = json_object();

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const char *value = option_value(args, members[i].id);

		if (value != NULL && json_object_set_new(request, members[i].key,
							 json_escaped(value, strlen(value))) != 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return json_write_canonical(request, out, err);
}

static void
print_why(struct buf *out, const char *capability, const char *profile, const json_t *doc)
{
	const char *verdict = show_text(doc, "verdict");
	bool allow = strcmp(verdict, "allow") == 0;
	size_t index;
	json_t *item;

	show_add(out, allow ? SHOW_GREEN : SHOW_RED, verdict);
	buf_str(out, "  ");
	show_add(out, SHOW_BOLD, capability);
	buf_str(out, " under profile ");
	show_add(out, SHOW_PLAIN, profile);
	buf_char(out, '\n');
	show_line(out, doc, "reason", "reason");
	show_line(out, doc, "because", "detail");
	show_line(out, doc, "rule", "rule");
	show_line(out, doc, "digest", "profile.digest");
	json_array_foreach(json_object_get(doc, "next"), index, item)
	{
		if (json_is_string(item)) {
			buf_fmt(out, "%-12s", "next");
			show_add(out, SHOW_PLAIN, json_string_value(item));
			buf_char(out, '\n');
		}
	}
}

static int
status_of(const json_t *doc)
{
	const char *verdict = show_text(doc, "verdict");

	if (strcmp(verdict, "allow") == 0)
		return STATUS_OK;
	return strcmp(verdict, "escalate") == 0 ? STATUS_APPROVAL : STATUS_DENIED;
}

int
cmd_why(const struct parsed *args)
{
	const char *capability = option_value(args, OPT_CAPABILITY);
	const char *profile = option_value(args, OPT_PROFILE);
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf request = {0};
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};
	int r;

	buf_init(&request, 32768);
	if (capability == NULL)
		error_set(&err, -EINVAL, "--capability is missing");
	if (err.code < 0 || build_request(args, &request, &err) < 0)
		return say_usage(args->command->words, &err);
	if (profile == NULL)
		profile = "default";
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_WHY,
				.id = profile,
				.arg = request.data,
				.arg_len = request.len,
				.json = option_given(args, OPT_JSON)};
	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json) {
		r = show_json(doc);
	} else {
		buf_init(&out, SHOW_MAX);
		print_why(&out, capability, profile, doc);
		r = print_buf(&out);
	}
	return r != STATUS_OK ? r : status_of(doc);
}
