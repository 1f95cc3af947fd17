/*
 * loomd while it serves: wait until every child said ready, then watch them, then stop them in
 * order. It reads nothing but `ready` and `stop_request`.
 */
#ifndef LOOM_LOOMD_SERVE_H
#define LOOM_LOOMD_SERVE_H

#include "base/error.h"
#include "base/macro.h"
#include "loomd/spawn.h"

struct serve_spec {
	int run_dir;  /* the sockets to unlink lie here */
	int ready_fd; /* owned; one byte is written when all are ready; -1: nobody waits */
};

#define LOOMD_EXIT_OK 0
#define LOOMD_EXIT_SERVED 75 /* another loomd serves here already */
#define LOOMD_EXIT_FAILED 125

/*
 * Run until the end. Returns the exit status: 0 after an orderly stop, 125 when a child ended or
 * broke the protocol (the rest is dead then, too). The sockets are unlinked in either case.
 */
int serve(struct child children[CHILD_COUNT], struct serve_spec *spec);

#endif
