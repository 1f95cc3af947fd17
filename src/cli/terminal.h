/* The user's terminal: its size, and raw mode for as long as a command with a terminal of its own
 * runs. */
#ifndef LOOM_CLI_TERMINAL_H
#define LOOM_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "base/error.h"
#include "base/macro.h"

struct terminal {
	int fd; /* borrowed; -1: none */
	bool raw;
	struct termios saved; /* as it was before raw mode */
};

/* Rows and columns of the first terminal among 0, 1, 2; 24 and 80 when there is none. */
void terminal_size(uint32_t *ret_rows, uint32_t *ret_columns);

/* Remember how FD is and make it raw: every key goes to the command, 0x03 included. */
int terminal_raw(struct terminal *t, int fd, struct error *err) MUST_CHECK;
/* Raw again, after a shell changed it while we were stopped. */
void terminal_again(struct terminal *t);
/* As it was. For CLEANUP; safe when it was never raw, also from the background. */
void terminal_restore(struct terminal *t);

#endif
