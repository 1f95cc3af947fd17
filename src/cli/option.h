/*
 * Options by table. "--name value", "--name=value", "-n value", "-nvalue", switches bundled ("-tC
 * dir"); names are whole, never abbreviated; options and operands mix until "--". What follows "--"
 * is the command of a command that takes one, else operands.
 */
#ifndef LOOM_CLI_OPTION_H
#define LOOM_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "cli/spec.h"

struct given {
	const struct option_spec *spec;
	const char *value; /* NULL for a switch; borrowed from the arguments */
};

struct parsed {
	const struct command *command;
	struct given *given; /* in the order of the command line */
	size_t n_given;
	char **operands; /* NULL-terminated */
	size_t n_operands;
	char **follows; /* what follows "--" of a command that takes a command, or NULL */
	size_t n_follows;
	bool help; /* --help or -h: nothing else was judged */
	void *store;
};

/*
 * Parse the N ARGUMENTS after the command's words. -EINVAL with a sentence on an unknown option, a
 * value missing or too much, an option given twice, too few or too many operands; -ENOTSUP for an
 * option that is announced but not in this version. On success parsed_fini is due.
 */
int option_parse(const struct command *command, char **arguments, size_t n, struct parsed *ret,
		 struct error *err) MUST_CHECK;
void parsed_fini(struct parsed *p);

bool option_given(const struct parsed *p, enum option_id id);
/* The value of the only (or last) one, or NULL. */
const char *option_value(const struct parsed *p, enum option_id id);

/*
 * May VALUE go to the daemon as a name? At most 255 bytes of valid UTF-8; what it means is judged
 * there. NULL is no name and passes. -EINVAL: WHAT is not.
 */
int name_check(const char *what, const char *value, struct error *err) MUST_CHECK;

/* The text of --help for a command, a group, and all of loom. */
void help_command(const struct command *command, struct buf *out);
void help_group(const struct command_group *group, struct buf *out);
void help_overview(struct buf *out);

#endif
