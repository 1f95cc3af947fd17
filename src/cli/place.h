/*
 * Where the daemon of this user is: pure, from the user and the environment.
 *
 *   run     $XDG_RUNTIME_DIR/loom, or for root without it /run/loom-root, else STATE/run
 *   state   $XDG_STATE_HOME/loom, or HOME/.local/state/loom
 *   config  $XDG_CONFIG_HOME/loom, or HOME/.config/loom
 *
 * An XDG variable that is empty or relative counts as unset, as the base directory specification
 * says.
 */
#ifndef LOOM_CLI_PLACE_H
#define LOOM_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

#define SERVICE_DIR "/run/loom"
#define ROOT_RUN_DIR "/run/loom-root"
#define CLIENT_SOCKET "cli.sock"

struct place_env {
	uid_t uid;		     /* effective */
	const char *xdg_runtime_dir; /* these as in the environment, NULL when unset */
	const char *xdg_state_home;
	const char *xdg_config_home;
	const char *home; /* of UID; NULL when unknown */
};

struct place {
	char run[PATH_MAX];
	char state[PATH_MAX];
	char config[PATH_MAX];
	char run_parent[PATH_MAX]; /* $XDG_RUNTIME_DIR when that was used, else empty */
};

/* -EINVAL when a place cannot be told (no home, too long). */
int place_find(const struct place_env *env, struct place *ret, struct error *err) MUST_CHECK;

/*
 * The same for the calling process. HOME is believed when that directory is the effective user's,
 * else the user database is asked: a HOME that sudo left behind is somebody else's.
 */
int place_here(struct place *ret, struct error *err) MUST_CHECK;

/*
 * PATH must be a directory of UID (or root's, when SERVICE) that others have no right to: a private
 * one no right at all, the service's no right to write. 0; -ENOENT when there is none; -EPERM with
 * the command that mends it.
 */
int place_check(const char *path, uid_t uid, bool service, struct error *err) MUST_CHECK;

#endif
