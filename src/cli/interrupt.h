/*
 * What signals and messages mean during a run: a pure state machine.
 *
 *   the first SIGINT goes to the command, as soon as it has started; a second one ends the sandbox,
 *   status 130
 *   SIGTERM, SIGHUP, SIGQUIT end the sandbox, status 128 + n
 *   while it is ending, the same again makes us leave without waiting
 *
 * With a terminal of its own (--tty) the command gets 0x03 through it and no SIGINT comes from the
 * keyboard; one that comes from elsewhere is treated alike.
 */
#ifndef LOOM_CLI_INTERRUPT_H
#define LOOM_CLI_INTERRUPT_H

enum run_state {
	RUN_ASKED, /* sent, nothing started */
	RUN_STARTED,
	RUN_INTERRUPTED, /* the command has been sent SIGINT, or gets it when it starts */
	RUN_ENDING,	 /* the sandbox is being ended; waiting for the daemon's last word */
	RUN_OVER,
};

enum run_action {
	ACTION_NONE,
	ACTION_FORWARD, /* send the command SIGINT; the daemon holds it until the start */
	ACTION_END,	/* say that we are leaving, and wait */
	ACTION_LEAVE,	/* leave now with `status` */
};

struct interrupt {
	enum run_state state;
	int status; /* 128 + n once a signal of ours decided the status, else 0 */
};

/* A signal came. */
enum run_action interrupt_signal(struct interrupt *i, int signo);
/* run_started came. */
void interrupt_started(struct interrupt *i);
/* run_done came with STATUS, or the daemon left: the status to leave with. */
int interrupt_done(struct interrupt *i, int status);

#endif
