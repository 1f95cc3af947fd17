/*
 * loom ledger checkpoint: the newest signed tree head, as the note it is (C2SP tlog-checkpoint), so
 * that it can be kept elsewhere and compared later.
 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

/* A note is printable text and line feeds; whatever else is in it gets escaped. */
static void
print_note(struct buf *out, const char *note)
{
	while (*note != '\0') {
		size_t len = strcspn(note, "\n");

		text_escape(note, len, out);
		buf_char(out, '\n');
		note += len + (note[len] == '\n' ? 1 : 0);
	}
}

int
cmd_ledger_checkpoint(const struct parsed *args)
{
	const struct ask ask = {
		.kind = ASK_QUERY, .what = Q_LEDGER_HEAD, .json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	int r;

	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	print_note(&out, show_text(doc, "note"));
	return print_buf(&out);
}
