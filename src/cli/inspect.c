/*
 * loom-inspect: the other of the two programs (spec.h says why there are two). `loom` becomes it
 * for whatever reads or writes documents; nobody starts it by hand.
 */
#include "cli/program.h"

#include <stddef.h>

static command_fn *const functions[COMMAND_COUNT] = {
	[COMMAND_session_ls] = cmd_session_ls,
	[COMMAND_session_show] = cmd_session_show,
	[COMMAND_session_diff] = cmd_session_diff,
	[COMMAND_session_accept] = cmd_session_accept,
	[COMMAND_session_stop] = cmd_session_stop,
	[COMMAND_session_rm] = cmd_session_rm,
	[COMMAND_trace] = cmd_trace,
	[COMMAND_ledger_show] = cmd_ledger_show,
	[COMMAND_ledger_verify] = cmd_ledger_verify,
	[COMMAND_ledger_checkpoint] = cmd_ledger_checkpoint,
	[COMMAND_ledger_key] = cmd_ledger_key,
	[COMMAND_profile_ls] = cmd_profile_ls,
	[COMMAND_profile_show] = cmd_profile_show,
	[COMMAND_profile_check] = cmd_profile_check,
	[COMMAND_profile_schema] = cmd_profile_schema,
	[COMMAND_why] = cmd_why,
	[COMMAND_daemon_status] = cmd_daemon_status,
	[COMMAND_daemon_stop] = cmd_daemon_stop,
	[COMMAND_doctor] = cmd_doctor,
};

int
main(int argc, char **argv)
{
	return program_main(argc, argv, PROGRAM_INSPECT, functions, NULL);
}
