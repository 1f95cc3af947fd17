/*
 * loom: the thin one of the two programs (spec.h says why there are two). It finds the command in
 * the table, does `run` and what only prints by itself, and becomes loom-inspect for the rest, with
 * the same arguments and descriptors.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "cli/program.h"
#include "cli/say.h"

static command_fn *const functions[COMMAND_COUNT] = {
	[COMMAND_run] = cmd_run,
	[COMMAND_completion] = cmd_completion,
	[COMMAND_help] = cmd_help,
};

static int
become_inspect(char **argv)
{
	char program[PATH_MAX];
	struct error err = {0};

	if (sibling_find("cli", "loom-inspect", program, &err) == 0) {
		execv(program, argv);
		error_sys(&err, -errno, "%s", program);
	}
	return say_failed("internal", &err);
}

int
main(int argc, char **argv)
{
	return program_main(argc, argv, PROGRAM_LOOM, functions, become_inspect);
}
