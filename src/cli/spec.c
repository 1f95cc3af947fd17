/*
 * The tables. A command's row comes from commands.def; its options stand here, in the order in
 * which help prints them. Both programs link this file: it is data and needs nothing.
 */
#include "cli/spec.h"

#include <string.h>

#include "base/macro.h"

#define JSON_OPTION(text)                                                                          \
	{                                                                                          \
		OPT_JSON, "json", 0, NULL, text, false, COMPLETE_NONE                              \
	}

static const struct option_spec options_run[] = {
	{OPT_PROFILE, "profile", 0, "PROFILE", "what the session may be (default: default)", false,
	 COMPLETE_PROFILE},
	{OPT_WORKFLOW, "workflow", 0, "WORKFLOW", "under whose permission (default: self)", false,
	 COMPLETE_NONE},
	{OPT_WORKSPACE, "workspace", 'C', "DIR", "the directory to work on (default: .)", false,
	 COMPLETE_DIRECTORY},
	{OPT_CWD, "cwd", 0, "REL", "start in this directory of the workspace", false,
	 COMPLETE_NONE},
	{OPT_SESSION, "session", 0, "NAME", "name the session, or continue on its kept changes",
	 false, COMPLETE_SESSION},
	{OPT_TIMEOUT, "timeout", 0, "DURATION", "end the command after this long, as 90s, 5m, 2h",
	 false, COMPLETE_NONE},
	{OPT_ENV, "env", 'e', "NAME[=VALUE]",
	 "set a variable inside; without a value, take it from the environment", true,
	 COMPLETE_ENV},
	{OPT_TTY, "tty", 't', NULL, "give the command a terminal of its own", false, COMPLETE_NONE},
	JSON_OPTION(
		"print the report on standard output, what the command prints on standard error"),
	{OPT_REPORT, "report", 0, "FILE", "write the report to a file outside the workspace", false,
	 COMPLETE_FILE},
	{OPT_PLAN, "plan", 0, NULL, NULL, false, COMPLETE_NONE},
	{OPT_EXPLAIN, "explain", 0, NULL, NULL, false, COMPLETE_NONE},
};

static const struct option_spec options_session_ls[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_session_show[] = {JSON_OPTION("print JSON")};

static const struct option_spec options_session_diff[] = {
	{OPT_STAT, "stat", 0, NULL, "list the changed paths only", false, COMPLETE_NONE},
	{OPT_PATH, "path", 0, "PATH", "only this path of the workspace", true, COMPLETE_NONE},
	JSON_OPTION("print the list of changes as JSON"),
	{OPT_NO_PAGER, "no-pager", 0, NULL, "do not start a pager", false, COMPLETE_NONE},
};

static const struct option_spec options_session_accept[] = {
	{OPT_PATH, "path", 0, "PATH", "only this path of the workspace", true, COMPLETE_NONE},
	JSON_OPTION("print JSON"),
};

static const struct option_spec options_session_stop[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_session_rm[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_trace[] = {JSON_OPTION("print JSON")};

static const struct option_spec options_ledger_show[] = {
	{OPT_NUMBER, "number", 'n', "N", "at most this many entries (default: 20)", false,
	 COMPLETE_NONE},
	{OPT_SINCE, "since", 0, "INDEX", "from this entry on instead of the newest", false,
	 COMPLETE_NONE},
	JSON_OPTION("print JSON"),
};

static const struct option_spec options_ledger_verify[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_ledger_checkpoint[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_ledger_key[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_profile_ls[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_profile_show[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_profile_check[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_profile_schema[] = {
	JSON_OPTION("accepted for symmetry; the schema is JSON"),
};

static const struct option_spec options_why[] = {
	{OPT_CAPABILITY, "capability", 0, "CAPABILITY", "what is asked for, as exec or net.http",
	 false, COMPLETE_CAPABILITY},
	{OPT_PROFILE, "profile", 0, "PROFILE", "under which profile (default: default)", false,
	 COMPLETE_PROFILE},
	{OPT_WORKFLOW, "workflow", 0, "WORKFLOW", "under whose permission (default: self)", false,
	 COMPLETE_NONE},
	{OPT_COMMAND, "command", 0, "COMMAND", "the command, for exec", false, COMPLETE_NONE},
	{OPT_URL, "url", 0, "URL", "the address, for net.http", false, COMPLETE_NONE},
	{OPT_METHOD, "method", 0, "METHOD", "the method, for net.http", false, COMPLETE_NONE},
	{OPT_PATH, "path", 0, "PATH", "a path of the workspace", true, COMPLETE_NONE},
	JSON_OPTION("print JSON"),
};

static const struct option_spec options_daemon_status[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_daemon_stop[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_doctor[] = {JSON_OPTION("print JSON")};
static const struct option_spec options_completion[] = {
	{OPT_HELP, "help", 'h', NULL, "explain this command", false, COMPLETE_NONE},
};
static const struct option_spec options_help[] = {
	{OPT_HELP, "help", 'h', NULL, "explain this command", false, COMPLETE_NONE},
};

const struct command commands[COMMAND_COUNT] = {
#define COMMAND(handler_, words_, program_, min_, max_, completes_, page_, synopsis_, summary_)    \
	[COMMAND_##handler_] = {.words = words_,                                                   \
				.program = program_,                                               \
				.operands_min = min_,                                              \
				.operands_max = max_,                                              \
				.completes = completes_,                                           \
				.command_follows = COMMAND_##handler_ == COMMAND_run,              \
				.page = page_,                                                     \
				.synopsis = synopsis_,                                             \
				.summary = summary_,                                               \
				.options = options_##handler_,                                     \
				.n_options = ARRAY_LEN(options_##handler_)},
#define GROUP(word, summary)
#define LATER(words)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
#undef LATER
};

const struct command_group command_groups[] = {
#define COMMAND(...)
#define GROUP(word_, summary_) {word_, summary_},
#define LATER(words)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
#undef LATER
};
const size_t n_command_groups = ARRAY_LEN(command_groups);

static const char *const later[] = {
#define COMMAND(...)
#define GROUP(word, summary)
#define LATER(words_) words_,
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
#undef LATER
};

/* Do the N arguments start with WORDS ("a" or "a b")? How many they are, or 0. */
static size_t
words_match(const char *words, char *const *arguments, size_t n)
{
	const char *space = strchr(words, ' ');
	size_t first = space != NULL ? (size_t)(space - words) : strlen(words);

	if (n < 1 || strlen(arguments[0]) != first || memcmp(arguments[0], words, first) != 0)
		return 0;
	if (space == NULL)
		return 1;
	return n >= 2 && strcmp(arguments[1], space + 1) == 0 ? 2 : 0;
}

enum lookup
command_find(char *const *arguments, size_t n, enum command_id *ret_id, size_t *ret_words)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		size_t words = words_match(commands[i].words, arguments, n);

		if (words > 0) {
			*ret_id = (enum command_id)i;
			*ret_words = words;
			return LOOKUP_COMMAND;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(later); i++) {
		size_t words = words_match(later[i], arguments, n);

		if (words > 0) {
			*ret_words = words;
			return LOOKUP_LATER;
		}
	}
	if (n >= 1 && command_group_find(arguments[0]) != NULL) {
		*ret_words = 1;
		return LOOKUP_GROUP;
	}
	return LOOKUP_UNKNOWN;
}

const struct command_group *
command_group_find(const char *word)
{
	for (size_t i = 0; i < n_command_groups; i++) {
		if (strcmp(command_groups[i].word, word) == 0)
			return &command_groups[i];
	}
	return NULL;
}
