/* Thin: one system call each, but for the user namespace, which needs somebody to be in it. */
#include "box/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

int
mounts_clone(int at, const char *path, bool recursive, struct error *err)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT |
			 AT_SYMLINK_NOFOLLOW | (recursive ? AT_RECURSIVE : 0u) |
			 (*path == '\0' ? AT_EMPTY_PATH : 0u);
	int fd = open_tree(at, path, flags);

	return fd >= 0 ? fd : error_sys(err, -errno, "clone the mount of /%s", path);
}

int
mounts_attr(int fd, bool recursive, uint64_t set, struct error *err)
{
	struct mount_attr attr = {.attr_set = set};

	if (mount_setattr(fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0u), &attr,
			  sizeof(attr)) != 0)
		return error_sys(err, -errno, "set attributes of a mount");
	return 0;
}

int
mounts_idmap(int fd, int userns, struct error *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)userns};

	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0)
		return error_sys(err, errno == EINVAL ? -EOPNOTSUPP : -errno,
				 "map the owner of a mount");
	return 0;
}

int
mounts_place(int fd, int at, const char *path, struct error *err)
{
	if (move_mount(fd, "", at, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return error_sys(err, -errno, "mount at %s", path);
	return 0;
}

int
mounts_tmpfs(int at, const char *path, uint64_t attr, const char *options, int *ret_fd,
	     struct error *err)
{
	CLEANUP(fd_closep) int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
	CLEANUP(fd_closep) int fd = -1;
	char key[64];
	char *value;
	int r;

	(void)snprintf(key, sizeof(key), "%s", options);
	value = strchr(key, '=');
	if (value == NULL)
		return error_set(err, -EINVAL, "an option of tmpfs without a value");
	*value++ = '\0';
	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, key, value, 0) != 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return error_sys(err, -errno, "make a tmpfs for %s", path);
	fd = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attr);
	if (fd < 0)
		return error_sys(err, -errno, "make a tmpfs for %s", path);
	r = mounts_place(fd, at, path, err);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int
mounts_open_plain(int at, const char *path, struct error *err)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(__NR_openat2, at, *path == '\0' ? "." : path, &how, sizeof(how));

	if (fd < 0)
		return error_sys(err, -errno, "open /%s without following links", path);
	return fd;
}

static int
stay(void *arg)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		(void)pause();
	return 0;
}

static int
write_map(pid_t pid, const char *file, unsigned on_disk, unsigned host, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char path[48], map[48];
	int n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	n = snprintf(map, sizeof(map), "%u %u 1\n", on_disk, host);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, (size_t)n) != n)
		return error_sys(err, -errno, "write %s of a user namespace", file);
	return 0;
}

int
mounts_userns(uid_t uid, gid_t gid, uint32_t host_id, struct error *err)
{
	/* It only waits to be killed, so it may share memory: nothing of it is copied. */
	_Alignas(16) static char stack[4096];
	pid_t pid = clone(stay, stack + sizeof(stack),
			  CLONE_NEWUSER | CLONE_VM | CLONE_FILES | SIGCHLD, NULL);
	char path[48];
	int fd = -1, r;

	if (pid < 0)
		return error_sys(err, -errno, "make a user namespace");
	r = write_map(pid, "uid_map", uid, host_id, err);
	if (r == 0)
		r = write_map(pid, "gid_map", gid, host_id, err);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			r = error_sys(err, -errno, "open a user namespace");
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r == 0 ? fd : r;
}
