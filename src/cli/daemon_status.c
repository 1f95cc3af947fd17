/* loom daemon status: looks, and never starts one. Status 1 when none runs. */
#include "base/json.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

static int
collect(void *arg, const void *part, size_t len, struct error *err)
{
	struct buf *out = arg;

	buf_add(out, part, len);
	return buf_check(out, err);
}

static void
print_status(struct buf *out, const json_t *doc)
{
	static const struct show_column lines[] = {
		{"version", "version"},	    {"mode", "mode"},	       {"pid", "pid"},
		{"started", "started"},	    {"state", "state"},	       {"config", "config"},
		{"live", "sessions.live"},  {"kept", "sessions.kept"}, {"ledger", "ledger.origin"},
		{"entries", "ledger.size"},
	};
	static const struct show_column columns[] = {
		{"PROCESS", "name"},
		{"PID", "pid"},
		{"LANDLOCK", "confinement.landlock"},
		{"SECCOMP", "confinement.seccomp"},
		{"NO-NEW-PRIVS", "confinement.noNewPrivs"},
		{"CAPABILITIES", "confinement.capabilities"},
	};
	const json_t *processes = json_object_get(doc, "processes");

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		show_line(out, doc, lines[i].title, lines[i].path);
	if (json_array_size(processes) > 0) {
		buf_char(out, '\n');
		show_table(out, processes, columns, ARRAY_LEN(columns));
	}
}

int
cmd_daemon_status(const struct parsed *args)
{
	const struct ask ask = {.kind = ASK_QUERY,
				.what = Q_STATUS,
				.no_start = true,
				.json = option_given(args, OPT_JSON)};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf text = {0};
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};
	bool absent;
	int r;

	buf_init(&text, ANSWER_MAX);
	buf_init(&out, SHOW_MAX);
	r = ask_parts(&ask, collect, &text, &absent);
	if (absent) {
		buf_str(&out, ask.json ? "{\"running\":false}\n" : "no daemon is running\n");
		r = print_buf(&out);
		return r == STATUS_OK ? STATUS_NOT : r;
	}
	if (r != STATUS_OK)
		return r;
	if (json_read(text.data, text.len, &doc, &err) < 0)
		return say_failed("internal", &err);
	if (ask.json)
		return show_json(doc);
	print_status(&out, doc);
	return print_buf(&out);
}
