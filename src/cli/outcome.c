/*
 * One row per kind of exit: the status (or how it follows from the value) and the words.
 */
#include "cli/outcome.h"

#include "base/macro.h"
#include "cli/say.h"
#include "cli/spec.h"

#define TEXT(t) (int)(t).len, (t).data

enum how { FIXED, VALUE, SIGNAL };

struct ending {
	enum how how;
	int status;	   /* FIXED: it; SIGNAL: to this the value is added */
	const char *words; /* NULL: nothing to say unless there is a detail */
	bool names_command;
};

static const struct ending endings[] = {
	[EXIT_NONE] = {FIXED, STATUS_FAILED, "failed", false},
	[EXIT_STATUS] = {VALUE, 0, NULL, false},
	[EXIT_SIGNAL] = {SIGNAL, STATUS_SIGNAL, NULL, false},
	[EXIT_TIMEOUT] = {FIXED, STATUS_TIMEOUT, "timed out", false},
	[EXIT_NOT_FOUND] = {FIXED, STATUS_NOT_FOUND, "not found", true},
	[EXIT_NOT_EXECUTABLE] = {FIXED, STATUS_NOT_EXECUTABLE, "not executable", true},
	/* Ended from outside, as by "loom session stop": what SIGKILL would have given. */
	[EXIT_STOPPED] = {FIXED, STATUS_SIGNAL + 9, "stopped", false},
	[EXIT_FAILED] = {FIXED, STATUS_FAILED, "failed", false},
};

static const struct ending *
ending_of(const struct msg_run_done *m)
{
	return &endings[m->exit_kind < ARRAY_LEN(endings) ? m->exit_kind : EXIT_FAILED];
}

int
outcome_status(const struct msg_run_done *m)
{
	const struct ending *ending = ending_of(m);

	/* enum effect: 0 deny, 1 escalate, 2 allow; whatever is none of them is a denial. */
	if (m->effect == 1)
		return STATUS_APPROVAL;
	if (m->effect != 2)
		return STATUS_DENIED;
	switch (ending->how) {
	case VALUE:
		return m->exit_value >= 0 && m->exit_value <= 255 ? m->exit_value : STATUS_FAILED;
	case SIGNAL:
		return m->exit_value > 0 && m->exit_value < 64 ? ending->status + m->exit_value
							       : STATUS_FAILED;
	case FIXED:
	default:
		return ending->status;
	}
}

static void
say_trace(const char *what, struct wire_text reason, struct wire_text text, struct wire_text op)
{
	say("%s%s%.*s%s%.*s%s%.*s%s", what, reason.len > 0 ? ": " : "", TEXT(reason),
	    text.len > 0 ? ": " : "", TEXT(text), op.len > 0 ? " (trace " : "", TEXT(op),
	    op.len > 0 ? ")" : "");
}

static void
say_denied(const struct msg_run_done *m)
{
	say_trace(m->effect == 1 ? "waiting for approval" : "denied", m->reason, m->detail, m->op);
	if (m->rule.len > 0)
		say("decided by rule %.*s", TEXT(m->rule));
	if (m->next.len > 0)
		say("next: %.*s", TEXT(m->next));
}

static void
say_ending(const struct msg_run_done *m, const char *command)
{
	const struct ending *ending = ending_of(m);
	const struct wire_text none = {0};
	bool ours = m->exit_kind == EXIT_NONE || m->exit_kind >= EXIT_FAILED;

	if (ending->words == NULL && m->exit_kind == EXIT_SIGNAL && m->detail.len > 0)
		say("killed by signal %d: %.*s", m->exit_value, TEXT(m->detail));
	else if (ending->words == NULL && m->detail.len > 0)
		say("%.*s", TEXT(m->detail));
	if (ending->words == NULL)
		return;
	if (ending->names_command)
		say("%s: %s%s%.*s (trace %.*s)", ending->words, command,
		    m->detail.len > 0 ? ": " : "", TEXT(m->detail), TEXT(m->op));
	else
		say_trace(ending->words, ours ? m->reason : none, m->detail, m->op);
	if (m->next.len > 0)
		say("next: %.*s", TEXT(m->next));
}

static void
say_changes(const struct msg_run_done *m, bool brief)
{
	if (m->changes > 0 && !brief)
		say("%llu file%s changed: loom session diff %.*s", (unsigned long long)m->changes,
		    m->changes == 1 ? "" : "s", TEXT(m->session));
}

void
outcome_say_interrupted(const struct msg_run_done *m, bool brief)
{
	say("interrupted; the sandbox was ended");
	say_changes(m, brief);
}

void
outcome_say(const struct msg_run_done *m, const char *command, bool brief)
{
	if (m->effect != 2) {
		say_denied(m);
		return;
	}
	say_ending(m, command);
	if (m->traced == 0)
		say("the trace is unverified: loom trace %.*s", TEXT(m->op));
	say_changes(m, brief);
}
