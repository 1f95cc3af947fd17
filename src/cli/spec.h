/*
 * What the command line looks like, as data: commands and their options. Parsing, --help and the
 * completions are all made from these tables, so they cannot disagree.
 *
 * One command, two programs. Starting a program that is linked with libcrypto costs more than
 * everything else `loom run` does together before its sandbox starts, so `loom` links nothing but
 * the C library (statically where that can be: the loader's work is a good part of the rest) and
 * does `run` itself; what needs JSON, YAML or cryptography is in `loom-inspect`,
 * which `loom` executes with the same arguments. `program` says which of the two has a command.
 */
#ifndef LOOM_CLI_SPEC_H
#define LOOM_CLI_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/* Statuses of our own; a command's status passes through (contracts: 120 to 127, 128+n). */
enum cli_status {
	STATUS_OK = 0,
	STATUS_NOT = 1,	       /* the answer is no: unverified, unhealthy */
	STATUS_UNREADABLE = 2, /* trace, verify: cannot be read or is not there */
	STATUS_DENIED = 120,
	STATUS_APPROVAL = 121,
	STATUS_TIMEOUT = 124,
	STATUS_FAILED = 125,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128, /* plus the signal's number */
};

enum cli_program { PROGRAM_LOOM, PROGRAM_INSPECT };

/* What a value is, for the completions. */
enum completes {
	COMPLETE_NONE,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_PROFILE,
	COMPLETE_SESSION,
	COMPLETE_CAPABILITY,
	COMPLETE_SHELL,
	COMPLETE_ENV,
};

enum option_id {
	OPT_HELP,
	OPT_PROFILE,
	OPT_WORKFLOW,
	OPT_WORKSPACE,
	OPT_CWD,
	OPT_SESSION,
	OPT_TIMEOUT,
	OPT_ENV,
	OPT_TTY,
	OPT_JSON,
	OPT_REPORT,
	OPT_PLAN,
	OPT_EXPLAIN,
	OPT_STAT,
	OPT_PATH,
	OPT_NUMBER,
	OPT_SINCE,
	OPT_CAPABILITY,
	OPT_COMMAND,
	OPT_URL,
	OPT_METHOD,
	OPT_NO_PAGER,
};

struct option_spec {
	enum option_id id;
	const char *name;     /* "workspace", without the dashes */
	char letter;	      /* 'C', or 0 */
	const char *argument; /* "DIR", or NULL: a switch */
	const char *help; /* a phrase without a full stop; NULL: announced, not in this version */
	bool repeats;	  /* may be given more than once */
	enum completes completes;
};

struct command {
	const char *words; /* "session ls" */
	enum cli_program program;
	int operands_min;
	int operands_max;	  /* -1: no bound */
	enum completes completes; /* what an operand is */
	bool command_follows;	  /* takes a command after "--" */
	const char *page;	  /* "loom-session(1)" */
	const char *synopsis;	  /* what follows the words */
	const char *summary;	  /* a phrase */
	const struct option_spec *options;
	size_t n_options;
};

struct command_group {
	const char *word;
	const char *summary;
};

enum command_id {
#define COMMAND(handler, ...) COMMAND_##handler,
#define GROUP(word, summary)
#define LATER(words)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
#undef LATER
	COMMAND_COUNT,
};

extern const struct command commands[COMMAND_COUNT];
extern const struct command_group command_groups[];
extern const size_t n_command_groups;

struct parsed;
typedef int command_fn(const struct parsed *args);

/* The functions. Each is defined in the file of its name, in the program of its table row. */
#define COMMAND(handler, ...) command_fn cmd_##handler;
#define GROUP(word, summary)
#define LATER(words)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
#undef LATER

enum lookup {
	LOOKUP_COMMAND, /* *ret_id is it, *ret_words (1 or 2) arguments name it */
	LOOKUP_GROUP,	/* a group's word alone; *ret_words is 1 */
	LOOKUP_LATER,	/* announced, not in this version */
	LOOKUP_UNKNOWN,
};

/* Which command do the N arguments start with? Whole words only, no abbreviations. */
enum lookup command_find(char *const *arguments, size_t n, enum command_id *ret_id,
			 size_t *ret_words);
const struct command_group *command_group_find(const char *word);

#endif
