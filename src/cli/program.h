/* What both programs do with their arguments: find the command, parse its options, call it. */
#ifndef LOOM_CLI_PROGRAM_H
#define LOOM_CLI_PROGRAM_H

#include "cli/spec.h"

/*
 * Run the command that ARGV names by FUNCTIONS (indexed by enum command_id; NULL: not in this
 * program) and return the status to leave with. A command of another program than SELF is passed to
 * OTHER; NULL: it is refused.
 */
int program_main(int argc, char **argv, enum cli_program self, command_fn *const *functions,
		 int (*other)(char **argv));

#endif
