/*
 * The directories are those of the resolved path: what may be written is the directory a link
 * points to, whoever owns the link.
 */
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

int
config_file_read(const char *path, struct buf *out, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	/* Nonblocking, so that a FIFO is an error and not a wait. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_sys(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s is not a regular file", path);
	return fd_read_to_end(fd, out, err);
}

/* Is GID the group of USER alone? */
static bool
own_group(uid_t uid, gid_t gid)
{
	const struct passwd *user = getpwuid(uid);
	const struct group *group;
	char name[256];

	if (user == NULL || user->pw_gid != gid || strlen(user->pw_name) >= sizeof(name))
		return false;
	memcpy(name, user->pw_name, strlen(user->pw_name) + 1);
	group = getgrgid(gid);
	if (group == NULL || strcmp(group->gr_name, name) != 0)
		return false;
	for (char **member = group->gr_mem; *member != NULL; member++) {
		if (strcmp(*member, name) != 0)
			return false;
	}
	return true;
}

static int
check_one(const char *path, bool above, struct error *err)
{
	struct stat st;
	mode_t others;

	if (stat(path, &st) != 0)
		return error_sys(err, -errno, "%s", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(err, -EPERM,
				 "%s belongs to user %lu: configuration is read only from what you "
				 "or root own",
				 path, (unsigned long)st.st_uid);
	others = st.st_mode & (S_IWGRP | S_IWOTH);
	if ((others & S_IWGRP) != 0 && own_group(st.st_uid, st.st_gid))
		others &= ~(mode_t)S_IWGRP;
	if (others == 0 || (above && (st.st_mode & S_ISVTX) != 0))
		return 0;
	return error_set(err, -EPERM,
			 "%s may be written by others (mode %04o); mend with: chmod go-w %s", path,
			 (unsigned int)st.st_mode & 07777, path);
}

int
config_file_check(const char *path, struct error *err)
{
	char full[PATH_MAX];
	int r;

	if (realpath(path, full) == NULL)
		return error_sys(err, -errno, "%s", path);
	r = check_one(full, false, err);
	while (r == 0 && full[1] != '\0') {
		char *slash = strrchr(full, '/');

		slash[slash == full ? 1 : 0] = '\0';
		r = check_one(full, true, err);
	}
	return r;
}
