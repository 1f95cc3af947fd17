/*
 * The environment says where to look, never whom to trust: whatever it names is checked for its
 * owner and mode before anything in it is used.
 */
#include "cli/place.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
absolute(const char *path)
{
	return path != NULL && path[0] == '/' ? path : NULL;
}

static int
join(char out[PATH_MAX], const char *dir, const char *name, struct error *err)
{
	/* "/run/user/0/" and "/run/user/0" are one place, and loomd takes the normal spelling. */
	size_t len = strlen(dir);
	int n;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	n = snprintf(out, PATH_MAX, "%.*s/%s", (int)(len > PATH_MAX ? PATH_MAX : len), dir, name);
	if (n < 0 || n >= PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "%.64s...: the path is too long", dir);
	return 0;
}

/* VARIABLE/loom, else HOME/UNDER/loom. */
static int
join_home(char out[PATH_MAX], const char *variable, const char *value, const char *home,
	  const char *under, struct error *err)
{
	if (absolute(value) != NULL)
		return join(out, value, "loom", err);
	if (absolute(home) == NULL)
		return error_set(err, -EINVAL, "there is no home directory; set %s", variable);
	return join(out, home, under, err);
}

int
place_find(const struct place_env *env, struct place *ret, struct error *err)
{
	struct place p = {0};
	const char *runtime = absolute(env->xdg_runtime_dir);
	int r;

	r = join_home(p.state, "XDG_STATE_HOME", env->xdg_state_home, env->home,
		      ".local/state/loom", err);
	if (r == 0)
		r = join_home(p.config, "XDG_CONFIG_HOME", env->xdg_config_home, env->home,
			      ".config/loom", err);
	if (r == 0 && runtime != NULL) {
		r = join(p.run, runtime, "loom", err);
		if (r == 0)
			memcpy(p.run_parent, p.run, strlen(p.run) - strlen("/loom"));
	} else if (r == 0 && env->uid == 0) {
		memcpy(p.run, ROOT_RUN_DIR, sizeof(ROOT_RUN_DIR));
	} else if (r == 0) {
		r = join(p.run, p.state, "run", err);
	}
	if (r < 0)
		return r;
	*ret = p;
	return 0;
}

/*
 * From /etc/passwd itself: asking the name services would load their libraries, which a program
 * that is linked statically must not, and the user that matters is root.
 */
static int
home_in_passwd(uid_t uid, char out[PATH_MAX])
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *user;
	int r = -ENOENT;

	if (users == NULL)
		return -errno;
	while (r == -ENOENT && (user = fgetpwent(users)) != NULL) {
		if (user->pw_uid != uid || strlen(user->pw_dir) >= PATH_MAX)
			continue;
		memcpy(out, user->pw_dir, strlen(user->pw_dir) + 1);
		r = 0;
	}
	(void)fclose(users);
	return r;
}

static const char *
home_of(uid_t uid, char buffer[PATH_MAX])
{
	const char *home = absolute(getenv("HOME"));
	struct stat st;

	if (home != NULL && stat(home, &st) == 0 && st.st_uid == uid)
		return home;
	return home_in_passwd(uid, buffer) == 0 ? buffer : NULL;
}

int
place_here(struct place *ret, struct error *err)
{
	struct place_env env = {
		.uid = geteuid(),
		.xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.xdg_state_home = getenv("XDG_STATE_HOME"),
		.xdg_config_home = getenv("XDG_CONFIG_HOME"),
	};
	char home[PATH_MAX];

	if (absolute(env.xdg_state_home) == NULL || absolute(env.xdg_config_home) == NULL)
		env.home = home_of(env.uid, home);
	return place_find(&env, ret, err);
}

int
place_check(const char *path, uid_t uid, bool service, struct error *err)
{
	mode_t others = service ? S_IWGRP | S_IWOTH : S_IRWXG | S_IRWXO;
	struct stat st;

	if (lstat(path, &st) != 0)
		return error_sys(err, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, -EPERM, "%s is not a directory", path);
	if (st.st_uid != uid && !(service && st.st_uid == 0))
		return error_set(err, -EPERM, "%s belongs to user %lu, not to %lu; it is not used",
				 path, (unsigned long)st.st_uid, (unsigned long)uid);
	if ((st.st_mode & others) != 0)
		return error_set(err, -EPERM,
				 "%s is open to others (mode %04o); mend with: chmod %s %s", path,
				 (unsigned int)st.st_mode & 07777, service ? "go-w" : "0700", path);
	return 0;
}
