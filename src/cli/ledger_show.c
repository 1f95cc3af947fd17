/* loom ledger show: a line an entry, oldest first; whole entries with --json. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define NUMBER_DEFAULT 20
#define NUMBER_MAX 10000

static int
take_number(const struct parsed *args, enum option_id id, const char *name, uint64_t max,
	    uint64_t *ret, struct error *err)
{
	const char *value = option_value(args, id);

	if (value == NULL)
		return 0;
	if (decimal_parse(value, max, ret) < 0)
		return error_set(err, -EINVAL, "--%s %s: a whole number up to %" PRIu64, name,
				 value, max);
	return 0;
}

/* What happened, in a word: the event, or the kind. */
static const char *
what_of(const json_t *entry)
{
	return show_text(entry, "event")[0] != '\0' ? show_text(entry, "event")
						    : show_text(entry, "kind");
}

/* The one thing about an entry that a line has room for. */
static void
print_point(struct buf *out, const json_t *entry)
{
	static const char *const paths[] = {
		"capability",	    "profile.name",	 "result.status",
		"result.exit.kind", "result.exit.value", "reason",
	};
	CLEANUP(buf_fini) struct buf text = {0};

	buf_init(&text, 4096);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		buf_reset(&text);
		show_member(entry, paths[i], &text);
		if (text.len > 0) {
			buf_char(out, ' ');
			text_escape(text.data, text.len, out);
		}
	}
}

static void
print_entry(struct buf *out, const json_t *item)
{
	static const char *const names[] = {"op", "session"};
	const json_t *entry = json_object_get(item, "entry");

	buf_fmt(out, "%6" PRId64 "  ", show_int(item, "index", -1));
	show_add(out, SHOW_DIM, show_text(entry, "time"));
	buf_str(out, "  ");
	show_add(out, SHOW_BOLD, what_of(entry));
	for (size_t i = strlen(what_of(entry)); i < 13; i++)
		buf_char(out, ' ');
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (show_text(entry, names[i])[0] == '\0')
			continue;
		buf_char(out, ' ');
		show_add(out, SHOW_PLAIN, show_text(entry, names[i]));
	}
	print_point(out, entry);
	buf_char(out, '\n');
}

int
cmd_ledger_show(const struct parsed *args)
{
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf out = {0};
	uint64_t number = NUMBER_DEFAULT, since = 0;
	struct error err = {0};
	size_t index;
	json_t *item;
	int r;

	if (take_number(args, OPT_NUMBER, "number", NUMBER_MAX, &number, &err) < 0 ||
	    take_number(args, OPT_SINCE, "since", UINT64_MAX, &since, &err) < 0)
		return say_usage(args->command->words, &err);
	if (number == 0) {
		(void)error_set(&err, -EINVAL, "--number 0: a whole number from 1 to %d",
				NUMBER_MAX);
		return say_usage(args->command->words, &err);
	}
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_LEDGER_SHOW,
				.id = option_value(args, OPT_SINCE),
				.limit = (uint32_t)number,
				.json = option_given(args, OPT_JSON)};
	r = ask_json(&ask, &doc);
	if (r != STATUS_OK)
		return r;
	if (ask.json)
		return show_json(doc);
	buf_init(&out, SHOW_MAX);
	json_array_foreach(json_object_get(doc, "entries"), index, item)
	{
		print_entry(&out, item);
	}
	return print_buf(&out);
}
