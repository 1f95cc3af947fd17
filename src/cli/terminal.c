/*
 * Signals come by descriptor (run.c), so no signal can end us between raw and restore, and every
 * return goes through the cleanup; only SIGKILL and SIGSTOP leave a terminal raw.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

void
terminal_size(uint32_t *ret_rows, uint32_t *ret_columns)
{
	*ret_rows = 24;
	*ret_columns = 80;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		struct winsize size;

		if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
			*ret_rows = size.ws_row;
			*ret_columns = size.ws_col;
			return;
		}
	}
}

int
terminal_raw(struct terminal *t, int fd, struct error *err)
{
	if (tcgetattr(fd, &t->saved) != 0)
		return error_sys(err, -errno, "read the terminal's settings");
	t->fd = fd;
	t->raw = true;
	terminal_again(t);
	return 0;
}

void
terminal_again(struct terminal *t)
{
	struct termios raw = t->saved;

	if (!t->raw)
		return;
	cfmakeraw(&raw);
	tcsetattr(t->fd, TCSADRAIN, &raw);
}

void
terminal_restore(struct terminal *t)
{
	sigset_t output, before;

	if (!t->raw)
		return;
	/* A background process that sets a terminal is stopped, unless it blocks the signal. */
	sigemptyset(&output);
	sigaddset(&output, SIGTTOU);
	sigprocmask(SIG_BLOCK, &output, &before);
	tcsetattr(t->fd, TCSADRAIN, &t->saved);
	sigprocmask(SIG_SETMASK, &before, NULL);
	t->raw = false;
}
