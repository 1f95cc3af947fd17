/*
 * The table has a row per state and a column per kind of signal.
 */
#include "cli/interrupt.h"

#include <signal.h>

#include "cli/spec.h"

struct step {
	enum run_state next;
	enum run_action action;
};

/* [state][0: SIGINT, 1: another that ends] */
static const struct step steps[][2] = {
	[RUN_ASKED] = {{RUN_INTERRUPTED, ACTION_FORWARD}, {RUN_ENDING, ACTION_END}},
	[RUN_STARTED] = {{RUN_INTERRUPTED, ACTION_FORWARD}, {RUN_ENDING, ACTION_END}},
	[RUN_INTERRUPTED] = {{RUN_ENDING, ACTION_END}, {RUN_ENDING, ACTION_END}},
	[RUN_ENDING] = {{RUN_OVER, ACTION_LEAVE}, {RUN_OVER, ACTION_LEAVE}},
	[RUN_OVER] = {{RUN_OVER, ACTION_LEAVE}, {RUN_OVER, ACTION_LEAVE}},
};

enum run_action
interrupt_signal(struct interrupt *i, int signo)
{
	const struct step *step;

	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP && signo != SIGQUIT)
		return ACTION_NONE;
	step = &steps[i->state][signo == SIGINT ? 0 : 1];
	i->state = step->next;
	if (step->action == ACTION_END)
		i->status = STATUS_SIGNAL + signo;
	return step->action;
}

void
interrupt_started(struct interrupt *i)
{
	if (i->state == RUN_ASKED)
		i->state = RUN_STARTED;
}

int
interrupt_done(struct interrupt *i, int status)
{
	i->state = RUN_OVER;
	return i->status != 0 ? i->status : status;
}
