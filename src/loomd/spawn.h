/*
 * The four children of loomd and what each is handed. Wiring is a table: which descriptor goes to
 * which child under which number of wire/inherit.h. A child gets exactly those, /dev/null as
 * standard input and output, our standard error for its log, an environment made here, default
 * signals, an empty mask, a session of its own, and dies with us (PR_SET_PDEATHSIG).
 */
#ifndef LOOM_LOOMD_SPAWN_H
#define LOOM_LOOMD_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "loomd/places.h"
#include "wire/channel.h"
#include "wire/inherit.h"

/* In the order in which they are stopped: who asks goes before who serves, history is last. */
enum child_id { CHILD_AUTHORITY, CHILD_API, CHILD_BOX, CHILD_LEDGER, CHILD_COUNT };

struct child {
	const char *name;	/* "loom-ledger" */
	struct channel channel; /* ours; the child's end is at INHERIT_LOOMD */
	pid_t pid;
	int pidfd; /* -1: not there, or ended and reaped */
	bool ready;
};

struct spawn_spec {
	const struct places *places;
	const struct places_spec *paths; /* of the same, to be shown */
	int cli_listen, http_listen;
	bool private_mode;
	uint64_t idle_ms; /* 0: never leave by ourselves */
};

/*
 * Make the receipt key, all channels, and start everybody. On an error nothing of it is left
 * behind. The key is wiped here as soon as it is in the pipes.
 */
int spawn_all(struct child children[CHILD_COUNT], const struct spawn_spec *spec,
	      struct error *err) MUST_CHECK;

/* SIGKILL for all that live, then reap them. */
void spawn_kill_all(struct child children[CHILD_COUNT]);
void spawn_fini(struct child children[CHILD_COUNT]);

#endif
