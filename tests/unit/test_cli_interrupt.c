/* Signals during a run, and the statuses runs end with. */
#include "unit.h"

#include <signal.h>
#include <string.h>

#include "base/macro.h"
#include "cli/interrupt.h"
#include "cli/outcome.h"
#include "cli/spec.h"

#define STARTED -1

static void
sequences(void **state)
{
	static const struct {
		int events[6];	      /* a signal, STARTED, or 0: no more */
		enum run_action last; /* what the last signal asks for */
		int status;	      /* when the command itself ends with 7 then */
	} table[] = {
		{{0}, ACTION_NONE, 7},
		{{STARTED}, ACTION_NONE, 7},
		{{STARTED, SIGINT}, ACTION_FORWARD, 7},
		{{STARTED, SIGINT, SIGINT}, ACTION_END, 130},
		{{STARTED, SIGINT, SIGINT, SIGINT}, ACTION_LEAVE, 130},
		{{STARTED, SIGTERM}, ACTION_END, 143},
		{{STARTED, SIGHUP}, ACTION_END, 129},
		{{STARTED, SIGQUIT}, ACTION_END, 131},
		{{STARTED, SIGINT, SIGTERM}, ACTION_END, 143},
		{{STARTED, SIGTERM, SIGINT}, ACTION_LEAVE, 143},
		{{STARTED, SIGTERM, SIGTERM}, ACTION_LEAVE, 143},
		{{SIGINT}, ACTION_FORWARD, 7},
		{{SIGINT, STARTED}, ACTION_FORWARD, 7},
		{{SIGINT, STARTED, SIGINT}, ACTION_END, 130},
		{{SIGINT, SIGINT}, ACTION_END, 130},
		{{SIGINT, SIGINT, STARTED, SIGINT}, ACTION_LEAVE, 130},
		{{SIGINT, SIGTERM}, ACTION_END, 143},
		{{SIGTERM}, ACTION_END, 143},
		{{STARTED, SIGWINCH}, ACTION_NONE, 7},
		{{STARTED, SIGCHLD}, ACTION_NONE, 7},
		{{STARTED, SIGINT, SIGWINCH, SIGINT}, ACTION_END, 130},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct interrupt in = {0};
		enum run_action last = ACTION_NONE;

		for (size_t k = 0; table[i].events[k] != 0; k++) {
			if (table[i].events[k] == STARTED)
				interrupt_started(&in);
			else
				last = interrupt_signal(&in, table[i].events[k]);
		}
		if (last != table[i].last)
			fail_msg("row %zu: action %d, not %d", i, (int)last, (int)table[i].last);
		assert_int_equal(interrupt_done(&in, 7), table[i].status);
		assert_int_equal(in.state, RUN_OVER);
	}
}

static void
statuses(void **state)
{
	static const struct {
		uint32_t effect, kind;
		int32_t value;
		int status;
	} table[] = {
		{2, EXIT_STATUS, 0, 0},
		{2, EXIT_STATUS, 3, 3},
		{2, EXIT_STATUS, 120, 120},
		{2, EXIT_STATUS, 255, 255},
		{2, EXIT_STATUS, 256, 125},
		{2, EXIT_STATUS, -1, 125},
		{2, EXIT_SIGNAL, 9, 137},
		{2, EXIT_SIGNAL, 2, 130},
		{2, EXIT_SIGNAL, 0, 125},
		{2, EXIT_SIGNAL, 1000, 125},
		{2, EXIT_TIMEOUT, 0, 124},
		{2, EXIT_NOT_FOUND, 0, 127},
		{2, EXIT_NOT_EXECUTABLE, 0, 126},
		{2, EXIT_STOPPED, 0, 137},
		{2, EXIT_FAILED, 0, 125},
		{2, EXIT_NONE, 0, 125},
		{2, 8, 0, 125},
		{2, UINT32_MAX, 0, 125},
		{1, EXIT_NONE, 0, 121},
		{0, EXIT_NONE, 0, 120},
		/* Whatever else is claimed, a denial is a denial, and so is an effect nobody knows.
		 */
		{0, EXIT_STATUS, 0, 120},
		{3, EXIT_STATUS, 0, 120},
		{UINT32_MAX, EXIT_STATUS, 0, 120},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct msg_run_done m = {.effect = table[i].effect,
					       .exit_kind = table[i].kind,
					       .exit_value = table[i].value};

		if (outcome_status(&m) != table[i].status)
			fail_msg("row %zu: %d, not %d", i, outcome_status(&m), table[i].status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences),
		cmocka_unit_test(statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
