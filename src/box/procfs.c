/*
 * The formats are proc(5)'s. The cgroup a process is in is told by /proc/self/cgroup as a path from
 * the root of the hierarchy; where in the file system that is, by the mount whose root is that path
 * or lies above it.
 */
#include "box/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define PROCFS_FILE_MAX (256 * 1024)

ssize_t
procfs_read(int dirfd, const char *file, char *buf, size_t cap)
{
	CLEANUP(fd_closep) int fd = openat(dirfd, file, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buf + used, cap - used);

		if (n < 0)
			return -errno;
		used += (size_t)n;
		if (used == cap)
			return -EMSGSIZE;
		if (n == 0)
			break;
	}
	buf[used] = '\0';
	return (ssize_t)used;
}

int
procfs_open(pid_t pid, struct error *err)
{
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, -errno, "open %s", path);
}

const char *
procfs_field(const char *status, const char *key, size_t *ret_len)
{
	size_t len = strlen(key);

	for (const char *line = status; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && line[len] == ':') {
			line += len + 1;
			line += strspn(line, "\t ");
			*ret_len = strcspn(line, "\n");
			while (*ret_len > 0 && line[*ret_len - 1] == ' ')
				--*ret_len;
			return line;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return NULL;
}

/* Cut the next word off *AT. */
static const char *
word(char **at)
{
	char *start = *at;
	size_t n = strcspn(start, " ");

	if (start[n] == ' ')
		start[n++] = '\0';
	*at = start + n;
	return start;
}

bool
procfs_mount_next(char **at, struct procfs_mount *ret)
{
	char *line = *at;
	size_t n = strcspn(line, "\n");
	const char *w;

	if (*line == '\0')
		return false;
	*at = line + n + (line[n] == '\n');
	line[n] = '\0';
	for (int i = 0; i < 3; i++)
		(void)word(&line);
	ret->root = word(&line);
	ret->at = word(&line);
	ret->options = word(&line);
	do
		w = word(&line);
	while (*w != '\0' && strcmp(w, "-") != 0);
	ret->type = word(&line);
	(void)word(&line);
	ret->super = word(&line);
	if (*ret->super == '\0' || *ret->at != '/') {
		*at = line;
		return false;
	}
	return true;
}

bool
procfs_has_option(const char *options, const char *option)
{
	size_t len = strlen(option);

	while (*options != '\0') {
		size_t n = strcspn(options, ",");

		if (n == len && memcmp(options, option, n) == 0)
			return true;
		options += n + (options[n] == ',');
	}
	return false;
}

/* The path of the line for CONTROLLER in /proc/self/cgroup. */
static int
own_path(const char *text, const char *controller, char *ret, size_t cap, struct error *err)
{
	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *list = strchr(line, ':');
		const char *path = list != NULL ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			break;
		for (const char *c = list + 1; c <= path;) {
			size_t n = strcspn(c, ",:");

			if (n == strlen(controller) && strncmp(c, controller, n) == 0) {
				size_t len = strcspn(path + 1, "\n");

				if (len >= cap)
					return error_set(err, -ENAMETOOLONG,
							 "cgroup path too long");
				(void)snprintf(ret, cap, "%.*s", (int)len, path + 1);
				return 0;
			}
			c += n + 1;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	if (*controller == '\0')
		return error_set(err, -EOPNOTSUPP, "there is no unified cgroup hierarchy");
	return error_set(err, -EOPNOTSUPP, "the \"%s\" controller is in no version 1 hierarchy",
			 controller);
}

static int
mounted_at(char *mountinfo, const char *controller, struct procfs_cgroup *g, struct error *err)
{
	char full[2 * PROCFS_CGROUP_MAX];
	struct procfs_mount m;
	int n;

	while (procfs_mount_next(&mountinfo, &m)) {
		const char *rest = g->path;

		if (*controller == '\0' ? strcmp(m.type, "cgroup2") != 0
					: strcmp(m.type, "cgroup") != 0 ||
						  !procfs_has_option(m.super, controller))
			continue;
		if (!path_is_beneath(g->path, m.root))
			continue;
		if (strcmp(m.root, "/") != 0)
			rest += strlen(m.root);
		(void)snprintf(g->mount, sizeof(g->mount), "%s", m.at);
		n = snprintf(full, sizeof(full), "%s/%s", m.at, rest);
		if (n < 0 || (size_t)n >= sizeof(full))
			return error_set(err, -ENAMETOOLONG, "the path of the cgroup is too long");
		g->dir = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (g->dir < 0)
			return error_sys(err, -EOPNOTSUPP, "open cgroup %s", full);
		return 0;
	}
	return error_set(err, -EOPNOTSUPP, "the cgroup hierarchy of \"%s\" is not mounted",
			 *controller == '\0' ? "unified" : controller);
}

int
procfs_cgroup(const char *controller, struct procfs_cgroup *ret, struct error *err)
{
	char *text = malloc(PROCFS_FILE_MAX);
	int r;

	*ret = (struct procfs_cgroup){.dir = -1};
	if (text == NULL)
		return error_set(err, -ENOMEM, "no memory to read cgroups");
	r = (int)procfs_read(AT_FDCWD, "/proc/self/cgroup", text, PROCFS_FILE_MAX);
	if (r < 0)
		r = error_sys(err, -EOPNOTSUPP, "read /proc/self/cgroup");
	else
		r = own_path(text, controller, ret->path, sizeof(ret->path), err);
	if (r == 0) {
		r = (int)procfs_read(AT_FDCWD, "/proc/self/mountinfo", text, PROCFS_FILE_MAX);
		if (r < 0)
			r = error_sys(err, r, "read /proc/self/mountinfo");
		else
			r = mounted_at(text, controller, ret, err);
	}
	free(text);
	return r;
}

bool
procfs_same_dir(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}
