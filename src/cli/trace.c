/*
 * loom trace. Statuses: 0 verified, 1 unverified, 2 cannot be read or is not there (contracts).
 */
#include <string.h>

#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define LINK_COLUMNS 10

static bool
verified(const json_t *doc)
{
	return strcmp(show_text(doc, "status"), "verified") == 0;
}

static enum show_mark
mark_of(const char *status)
{
	if (strcmp(status, "verified") == 0)
		return MARK_YES;
	return strcmp(status, "not-applicable") == 0 ? MARK_NONE : MARK_NO;
}

static void
print_link(struct buf *out, const json_t *link)
{
	const char *status = show_text(link, "status");
	enum show_mark mark = mark_of(status);

	buf_str(out, "  ");
	show_mark(out, mark);
	buf_str(out, "  ");
	show_add(out, SHOW_BOLD, show_text(link, "link"));
	for (size_t i = strlen(show_text(link, "link")); i < LINK_COLUMNS; i++)
		buf_char(out, ' ');
	show_add(out, SHOW_PLAIN, show_text(link, "id"));
	if (mark == MARK_NO) {
		buf_str(out, "  ");
		show_add(out, SHOW_RED, status);
	}
	if (show_text(link, "detail")[0] != '\0') {
		buf_str(out, "  ");
		show_add(out, SHOW_DIM, show_text(link, "detail"));
	}
	buf_char(out, '\n');
}

static void
print_trace(struct buf *out, const json_t *doc)
{
	size_t index;
	json_t *item;

	show_add(out, SHOW_BOLD, show_text(doc, "id"));
	buf_char(out, ' ');
	show_add(out, verified(doc) ? SHOW_GREEN : SHOW_RED,
		 verified(doc) ? "verified" : "unverified");
	buf_char(out, '\n');
	json_array_foreach(json_object_get(doc, "links"), index, item)
	{
		print_link(out, item);
	}
}

int
cmd_trace(const struct parsed *args)
{
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_TRACE,
				.id = args->operands[0],
				.json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	int r;

	if (ask_json(&ask, &doc) != STATUS_OK)
		return STATUS_UNREADABLE;
	if (ask.json) {
		r = show_json(doc);
	} else {
		buf_init(&out, SHOW_MAX);
		print_trace(&out, doc);
		r = print_buf(&out);
	}
	if (r != STATUS_OK)
		return STATUS_UNREADABLE;
	return verified(doc) ? STATUS_OK : STATUS_NOT;
}
