/* What the end of a run means: the status to leave with, and what to tell a person. */
#ifndef LOOM_CLI_OUTCOME_H
#define LOOM_CLI_OUTCOME_H

#include <stdbool.h>

#include "wire/message.h"

/* The command's own status, or ours (contracts: 120 to 127, 128 + n). Pure. */
int outcome_status(const struct msg_run_done *m);

/*
 * Say it on standard error: a denial with its reason, why a command did not end by itself, how many
 * files changed and where to look, a trace that is not verified. Nothing for a plain end. COMMAND
 * is what was to run. With BRIEF (a report was asked for on standard output) only what went wrong.
 */
void outcome_say(const struct msg_run_done *m, const char *command, bool brief);

/* The same for a run that a signal of ours ended. */
void outcome_say_interrupted(const struct msg_run_done *m, bool brief);

#endif
