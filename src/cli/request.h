/*
 * Asking for a run: what goes into the sealed blobs and the message.
 *
 * The blobs are 32 bytes of fresh salt and then texts, each NUL-terminated: the arguments, and with
 * -e NAME=VALUE pairs. The values are in no message and on no command line: the blob's descriptor
 * travels to the box, which alone reads it.
 */
#ifndef LOOM_CLI_REQUEST_H
#define LOOM_CLI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "cli/option.h"
#include "model/verdict.h"
#include "wire/channel.h"

enum request_fd {
	REQUEST_WORKSPACE,
	REQUEST_STDIN,
	REQUEST_STDOUT,
	REQUEST_STDERR,
	REQUEST_ARGS,
	REQUEST_ENV,
	REQUEST_FDS
};

struct request {
	const char *profile; /* borrowed texts; NULL or empty: the daemon's default */
	const char *workflow;
	const char *session;
	const char *cwd;     /* "" = the workspace */
	uint64_t timeout_ms; /* 0 = the profile's */
	bool tty;
	uint32_t rows, columns;
	const char *term;
	int fds[REQUEST_FDS]; /* workspace, args and env are owned; -1 when there is none */
};

void request_init(struct request *r);
void request_fini(struct request *r);

/*
 * Open PATH as the workspace: a directory, and no link, however many slashes or "/." follow it.
 * -ENOENT, -ENOTDIR, -ELOOP with the reason.
 */
int request_workspace(struct request *r, const char *path, struct error *err) MUST_CHECK;
/* Seal N arguments. -E2BIG beyond the model's bounds. */
int request_args(struct request *r, char *const *arguments, size_t n, struct error *err) MUST_CHECK;
/*
 * Seal every -e of P: NAME=VALUE, or NAME, whose value is taken from the environment (-ENOENT when
 * it is not there). A name is a letter or underscore, then letters, digits, underscores.
 */
int request_env(struct request *r, const struct parsed *p, struct error *err) MUST_CHECK;

/* Send it. -EPIPE: the daemon was on its way out and has not read it. */
int request_send(const struct request *r, struct channel *c, struct error *err) MUST_CHECK;

/* In its place: what this side found against it. REASON: R_INVALID_PATH or R_INVALID_ARGUMENT. */
int request_refuse(enum reason reason, const char *why, struct channel *c,
		   struct error *err) MUST_CHECK;

#endif
