/*
 * What is decided: one request in plain values, borrowed from an operation or from a request in
 * JSON. What was not said is zero or NULL; the evaluator never takes what was not said for "any".
 */
#ifndef LOOM_POLICY_QUESTION_H
#define LOOM_POLICY_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "policy/target.h"

struct question {
	enum capability capability;

	/* exec */
	bool has_command;
	const char *argv0;	 /* raw bytes, NUL-terminated */
	size_t argv0_len;	 /* less than what was given when that has a NUL in it */
	const char *argv0_wrong; /* it could not even be read: why */
	uint64_t args_count;
	uint64_t args_bytes; /* of the blob: salt, arguments, their NULs */
	const char *cwd;     /* NULL: not said */
	bool has_timeout;
	uint64_t timeout_ms;
	uint32_t n_env; /* all; at most ENV_COUNT_MAX of them are in env */
	const char *env[ENV_COUNT_MAX];
	bool has_mode;
	enum workspace_mode mode;

	/* net.*, credential.use: normal (policy/target.h) */
	const char *host;
	uint32_t port;
	const char *method;
	const char *path; /* workspace.*: one path beneath it */

	const char *repository;
	const char *ref;
	const char *credential;
	const json_t *paths;  /* workspace.accept; NULL or empty: everything */
	const char *workflow; /* of a request that names one */
};

/* The paths of a question about the workspace: `paths`, or the one in `path`. */
size_t question_paths(const struct question *q);
/* Path I as it is escaped in records; NULL when it is no text. */
const char *question_path(const struct question *q, size_t i);

/* A question and what it points to. */
struct asked {
	struct question q;
	char argv0[PATH_BYTES_MAX];
	struct url url;
};

/*
 * Is it about anything? For what this build does not have, a question may name the capability
 * alone; then no rule of the profile is asked.
 */
bool question_is_particular(const struct question *q);

/* Allocates nothing. OP is borrowed. */
void question_from_operation(const struct operation *op, struct asked *ret);
/* REQUEST in the effective form of REQUEST_FIELDS; borrowed. -EINVAL says what is wrong with it. */
int question_from_request(const json_t *request, struct asked *ret, struct error *err) MUST_CHECK;

#endif
