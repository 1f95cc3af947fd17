/*
 * Reaching the daemon: the service when it is there, else this user's own, which is started when
 * nobody serves. Used by both programs.
 */
#ifndef LOOM_CLI_DAEMON_H
#define LOOM_CLI_DAEMON_H

#include <stdbool.h>

#include "base/error.h"
#include "base/macro.h"
#include "cli/place.h"
#include "wire/channel.h"

/* An ordinary user's sandboxes are not in this version. 0 for root, else -ENOTSUP and a sentence.
 */
int daemon_user_check(struct error *err) MUST_CHECK;

/*
 * Connect. With START, start a private daemon when none serves and wait until it does; without,
 * that is -ENOENT. The peer must be the effective user, or root for the service. Errors of the
 * state directory (it cannot be written) are -EROFS, -ENOSPC and the like.
 */
int daemon_connect(bool start, struct channel *ret, struct error *err) MUST_CHECK;

/*
 * Start a private loomd with its directories in PLACE and wait until it is ready. One client at a
 * time does this; the others wait for the lock and find it done (*RET_STARTED false: another loomd
 * is there, or going; look again).
 */
int daemon_launch(const struct place *place, bool *ret_started, struct error *err) MUST_CHECK;

/*
 * Find a program of ours by the place of the running one: beside it, in ../libexec/loom, or (in a
 * build tree) in ../FOLDER. The environment is not consulted. OUT holds PATH_MAX bytes.
 */
int sibling_find(const char *folder, const char *name, char out[PATH_MAX],
		 struct error *err) MUST_CHECK;

/* The reason code (contracts) that fits an error of daemon_connect. */
const char *daemon_reason(int code);

#endif
