/*
 * A pager for long texts on a terminal: PAGER as a program and its arguments (no shell reads it),
 * else less. "cat", an empty PAGER or a program that is not there: none.
 */
#ifndef LOOM_CLI_PAGER_H
#define LOOM_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	int fd; /* write here: to the pager, or standard output */
	pid_t pid;
	bool running;
	bool left; /* it has gone while there was more to show */
};

void pager_start(struct pager *p, bool wanted);
/* Close our end and wait for the reader to finish. */
void pager_end(struct pager *p);

#endif
