/* The files show the namespace of whoever opens them, so only a process inside can do this. */
#include "box/quotas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static const struct {
	const char *file;
	unsigned most;
} quotas[] = {
	/* Half of what one user of a host has by default, and watches of a large source tree. */
	{"max_inotify_instances", 64},
	{"max_inotify_watches", 16384},
	/* The filter refuses these anyway. */
	{"max_fanotify_groups", 0},
	{"max_fanotify_marks", 0},
	{"max_cgroup_namespaces", 0},
	{"max_ipc_namespaces", 0},
	{"max_mnt_namespaces", 0},
	{"max_net_namespaces", 0},
	{"max_pid_namespaces", 0},
	{"max_time_namespaces", 0},
	{"max_user_namespaces", 0},
	{"max_uts_namespaces", 0},
};

static int
bound(int dir, const char *file, unsigned most, struct error *err)
{
	CLEANUP(fd_closep) int fd = openat(dir, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	char text[32], back[32];
	int len = snprintf(text, sizeof(text), "%u\n", most);
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return error_sys(err, -errno, "bound %s", file);
	n = pread(fd, back, sizeof(back), 0);
	if (n != len || memcmp(back, text, (size_t)len) != 0)
		return error_set(err, -EBADMSG, "%s reads otherwise than it was written", file);
	return 0;
}

int
quotas_bound(const char *path, struct error *err)
{
	CLEANUP(fd_closep) int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = dir >= 0 ? 0 : error_sys(err, -errno, "open %s", path);

	for (size_t i = 0; i < ARRAY_LEN(quotas) && r == 0; i++)
		r = bound(dir, quotas[i].file, quotas[i].most, err);
	return r;
}
