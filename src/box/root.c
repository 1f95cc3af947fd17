/*
 * Everything here is done by a table, in a namespace that nobody else sees, with sources opened
 * before the stage covers the host's root. The bind mounts are made read-only while they are still
 * detached, recursively, so there is no moment at which one is writable; afterwards the list of
 * mounts is read back, and one that is not read-only, nosuid and nodev fails the whole.
 */
#include "box/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/landlock.h"
#include "box/mounts.h"
#include "box/places.h"
#include "box/procfs.h"
#include "box/rootfiles.h"
#include "box/source.h"

#define STAGE_LOWER "/lower" /* for a moment */
#define STAGE_EMPTY "/empty"
#define MOUNTINFO_MAX (64 * 1024)

/* Directories of the host that are there, read-only; where one is a link (merged /usr), the link.
 */
static const char *const root_system[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr"};

/* What the root has besides: kind, path beneath it, mode, and the target or content. */
static const struct root_entry {
	enum { DIRECTORY, LINK, FILE_OF } kind;
	const char *path;
	mode_t mode;
	const char *text;
} root_entries[] = {
	{DIRECTORY, "etc", 0755, NULL},
	{DIRECTORY, "dev", 0755, NULL},
	{DIRECTORY, "proc", 0555, NULL},
	{DIRECTORY, "tmp", 0755, NULL},
	{DIRECTORY, "run", 0755, NULL},
	{DIRECTORY, "home", 0755, NULL},
	{DIRECTORY, "opt", 0755, NULL},
	{DIRECTORY, "var", 0755, NULL},
	{DIRECTORY, "var/lib", 0755, NULL},
	{DIRECTORY, "var/cache", 0755, NULL},
	{LINK, "var/tmp", 0, "/tmp"},
	{LINK, "var/run", 0, "/run"},
	{LINK, "etc/mtab", 0, "/proc/self/mounts"},
	{FILE_OF, "etc/passwd", 0644,
	 "root:x:0:0:root:/root:/usr/sbin/nologin\n"
	 "loom:x:1000:1000:Sandbox Loom:/tmp/home:/bin/sh\n"
	 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{FILE_OF, "etc/group", 0644, "root:x:0:\nloom:x:1000:\nnogroup:x:65534:\n"},
	{FILE_OF, "etc/hosts", 0644,
	 "127.0.0.1\tlocalhost loom\n::1\tlocalhost ip6-localhost ip6-loopback\n"},
	{FILE_OF, "etc/hostname", 0644, "loom\n"},
	{FILE_OF, "etc/resolv.conf", 0644, ""},
	{FILE_OF, &LANDLOCK_SENTRY[1], 0444,
	 "Only Landlock keeps a command from reading this. Loom tries to, before each command, and "
	 "starts none when it can.\n"},
};

static const struct {
	const char *name;
	unsigned major, minor;
} root_nodes[] = {
	{"null", 1, 3},	  {"zero", 1, 5},    {"full", 1, 7},
	{"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
};
static const struct {
	const char *name, *target;
} root_dev_links[] = {
	{"ptmx", "pts/ptmx"},	       {"fd", "/proc/self/fd"},	      {"stdin", "/proc/self/fd/0"},
	{"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
};

static int
make_entry(int root, const struct root_entry *e, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	int r = 0;

	switch (e->kind) {
	case DIRECTORY:
		r = mkdirat(root, e->path, e->mode);
		break;
	case LINK:
		r = symlinkat(e->text, root, e->path);
		break;
	case FILE_OF:
		fd = openat(root, e->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    e->mode);
		if (fd >= 0)
			return fd_write_all(fd, e->text, strlen(e->text), err);
		r = -1;
		break;
	}
	/* A place of the profile's, or the workspace's own, came first. */
	if (r != 0 && errno == EEXIST && e->kind != FILE_OF)
		return 0;
	return r == 0 ? 0 : error_sys(err, -errno, "make /%s of the root", e->path);
}

/* Make each directory of PATH (absolute) beneath ROOT that is not there. */
static int
make_path(int root, const char *path, struct error *err)
{
	char at[PROFILE_PATH_MAX];
	struct stat st;

	(void)snprintf(at, sizeof(at), "%s", path + 1);
	for (char *slash = strchr(at, '/');; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		if (mkdirat(root, at, 0755) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "make /%s of the root", at);
		if (fstatat(root, at, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
			return error_set(err, -ENOTDIR, "/%s of the root is no directory", at);
		if (slash == NULL)
			return 0;
		*slash = '/';
	}
}

static int
make_dev(int root, struct error *err)
{
	CLEANUP(fd_closep) int dev = -1;
	int r = mounts_tmpfs(root, "dev", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "mode=0755", &dev,
			     err);

	for (size_t i = 0; i < ARRAY_LEN(root_nodes) && r == 0; i++) {
		struct stat st;
		dev_t node = makedev(root_nodes[i].major, root_nodes[i].minor);

		if (mknodat(dev, root_nodes[i].name, S_IFCHR | 0666, node) != 0)
			r = error_sys(err, -errno == -EPERM ? -EOPNOTSUPP : -errno, "make /dev/%s",
				      root_nodes[i].name);
		else if (fchmodat(dev, root_nodes[i].name, 0666, 0) != 0 ||
			 fstatat(dev, root_nodes[i].name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			 !S_ISCHR(st.st_mode) || st.st_rdev != node)
			r = error_set(err, -EBADMSG, "/dev/%s is not what was made",
				      root_nodes[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(root_dev_links) && r == 0; i++)
		if (symlinkat(root_dev_links[i].target, dev, root_dev_links[i].name) != 0)
			r = error_sys(err, -errno, "make /dev/%s", root_dev_links[i].name);
	if (r == 0 && (mkdirat(dev, "pts", 0755) != 0 || mkdirat(dev, "shm", 0755) != 0))
		r = error_sys(err, -errno, "make directories of /dev");
	if (r == 0)
		r = mounts_attr(dev, false,
				MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	return r;
}

struct sources {
	int system[ARRAY_LEN(root_system)]; /* detached mounts; -1: not there, or a link */
	int mounts[PROFILE_MOUNTS_MAX];
	int host; /* the host's root */
};

static void
sources_close(struct sources *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->system); i++)
		fd_closep(&s->system[i]);
	for (size_t i = 0; i < ARRAY_LEN(s->mounts); i++)
		fd_closep(&s->mounts[i]);
	fd_closep(&s->host);
}

static int
clone_read_only(int at, const char *path, bool recursive, int *ret, struct error *err)
{
	CLEANUP(fd_closep) int fd = mounts_clone(at, path, recursive, err);
	int r = fd < 0 ? fd : 0;

	if (r == 0)
		r = mounts_attr(fd, true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				err);
	if (r == 0)
		*ret = TAKE_FD(fd);
	return r;
}

/* Loom's own is nobody's to see, wherever it lies. */
static int
judge_own(int fd, const char *path, struct error *err)
{
	const char *why;
	int r = places_judge_own(fd, &why, err);

	if (r < 0 || why == NULL)
		return r;
	return error_set(err, -EACCES, "%s cannot be shown: it %s", path, why);
}

int
root_mounts_judge(const struct profile_mount *mounts, uint32_t n, struct error *err)
{
	CLEANUP(fd_closep) int host = -1;
	int r = 0;

	if (n == 0)
		return 0;
	host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host < 0)
		return error_sys(err, -errno, "open the host's root");
	for (uint32_t i = 0; i < n && r == 0; i++) {
		CLEANUP(fd_closep) int at = mounts_open_plain(host, mounts[i].host + 1, err);

		r = at < 0 ? at : judge_own(at, mounts[i].host, err);
	}
	return r;
}

static int
sources_open(const struct root_shape *shape, struct sources *s, struct error *err)
{
	int r = 0;

	s->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->host < 0)
		return error_sys(err, -errno, "open the host's root");
	for (size_t i = 0; i < ARRAY_LEN(root_system) && r == 0; i++) {
		struct stat st;

		if (fstatat(s->host, root_system[i], &st, AT_SYMLINK_NOFOLLOW) != 0) {
			if (errno != ENOENT)
				r = error_sys(err, -errno, "look at /%s", root_system[i]);
		} else if (S_ISDIR(st.st_mode)) {
			r = clone_read_only(s->host, root_system[i], true, &s->system[i], err);
		}
	}
	for (uint32_t i = 0; i < shape->n_mounts && r == 0; i++) {
		CLEANUP(fd_closep)
		int at = mounts_open_plain(s->host, shape->mounts[i].host + 1, err);

		r = at < 0 ? at : source_judge(at, shape->mounts[i].host, err);
		if (r == 0)
			r = judge_own(at, shape->mounts[i].host, err);
		if (r == 0)
			r = clone_read_only(at, "", false, &s->mounts[i], err);
	}
	return r;
}

/* Links are copied as links only when they stay in the system directories: "usr/bin", "usr/lib64".
 */
static int
place_system(int root, const struct sources *s, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(root_system); i++) {
		char target[64];
		ssize_t n;
		int r;

		if (s->system[i] >= 0) {
			if (mkdirat(root, root_system[i], 0755) != 0)
				return error_sys(err, -errno, "make /%s of the root",
						 root_system[i]);
			r = mounts_place(s->system[i], root, root_system[i], err);
			if (r < 0)
				return r;
			continue;
		}
		n = readlinkat(s->host, root_system[i], target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (strncmp(target, "usr/", 4) != 0 && strncmp(target, "/usr/", 5) != 0)
			return error_set(err, -EOPNOTSUPP, "/%s of the host is a link to %s",
					 root_system[i], target);
		if (symlinkat(target, root, root_system[i]) != 0)
			return error_sys(err, -errno, "make /%s of the root", root_system[i]);
	}
	return 0;
}

/*
 * A directory of the profile's, as an overlay over nothing: sockets and FIFOs in it are then names
 * that lead to nobody, which a plain read-only mount does not achieve.
 */
static int
place_mount(int source, const char *at, struct error *err)
{
	char path[sizeof(ROOT_DIR) + PROFILE_PATH_MAX];
	int r = mounts_place(source, AT_FDCWD, STAGE_LOWER, err);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), ROOT_DIR "%s", at);
	if (mount("overlay", path, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		  "lowerdir=" STAGE_LOWER ":" STAGE_EMPTY) != 0)
		return error_sys(err, -errno, "mount what is to be shown at %s", at);
	if (umount2(STAGE_LOWER, MNT_DETACH) != 0)
		return error_sys(err, -errno, "leave what is shown at %s", at);
	return 0;
}

static int
fill_root(int root, const struct root_shape *shape, const struct sources *s, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < shape->n_mounts && r == 0; i++)
		r = make_path(root, shape->mounts[i].at, err);
	if (r == 0 && !path_is_beneath(shape->workspace_at, "/tmp"))
		r = make_path(root, shape->workspace_at, err);
	for (size_t i = 0; i < ARRAY_LEN(root_entries) && r == 0; i++)
		r = make_entry(root, &root_entries[i], err);
	if (r == 0)
		r = rootfiles_copy(s->host, root, err);
	if (r == 0)
		r = place_system(root, s, err);
	if (r == 0)
		r = make_dev(root, err);
	for (uint32_t i = 0; i < shape->n_mounts && r == 0; i++)
		r = place_mount(s->mounts[i], shape->mounts[i].at, err);
	return r;
}

/* Cover the host's root with the stage and leave it: what was there is not in this namespace. */
static int
enter_stage(int stage, struct error *err)
{
	if (fchdir(stage) != 0)
		return error_sys(err, -errno, "enter the stage");
	if (syscall(__NR_pivot_root, ".", ".") != 0)
		return error_sys(err, -errno, "pivot to the stage");
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return error_sys(err, -errno, "leave the host's root");
	return 0;
}

/* In the new namespace: make everything. */
static int
build(const struct root_shape *shape, struct error *err)
{
	CLEANUP(sources_close) struct sources s;
	CLEANUP(fd_closep) int stage = -1;
	CLEANUP(fd_closep) int root = -1;
	/* The modes below are meant as they stand, whatever the daemon's mask is for its own files.
	 */
	const mode_t mask = umask(0);
	int r;

	memset(&s, 0xff, sizeof(s));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		r = error_sys(err, -errno, "make mounts private");
	else
		r = sources_open(shape, &s, err);
	if (r == 0)
		r = mounts_tmpfs(AT_FDCWD, "/", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "mode=0755",
				 &stage, err);
	if (r == 0 && (mkdirat(stage, "proc", 0555) != 0 || mkdirat(stage, "root", 0755) != 0 ||
		       mkdirat(stage, &STAGE_LOWER[1], 0755) != 0 ||
		       mkdirat(stage, &STAGE_EMPTY[1], 0755) != 0))
		r = error_sys(err, -errno, "make the stage");
	if (r == 0)
		r = enter_stage(stage, err);
	if (r == 0 && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		r = error_sys(err, -errno, "mount the stage's procfs");
	if (r == 0)
		r = mounts_tmpfs(AT_FDCWD, ROOT_DIR,
				 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
				 "mode=0755", &root, err);
	if (r == 0)
		r = fill_root(root, shape, &s, err);
	if (r == 0)
		r = mounts_attr(root, false, MOUNT_ATTR_RDONLY, err);
	(void)umask(mask);
	return r;
}

/* What was made, as the kernel lists it. */
static int
read_back(struct root *root, struct error *err)
{
	char *text = malloc(MOUNTINFO_MAX), *at = text;
	struct procfs_mount m;
	int r = 0;

	if (text == NULL)
		return error_set(err, -ENOMEM, "no memory for the list of mounts");
	if (procfs_read(AT_FDCWD, "/proc/self/mountinfo", text, MOUNTINFO_MAX) < 0)
		r = error_set(err, -EIO, "cannot read the list of mounts");
	while (r == 0 && procfs_mount_next(&at, &m)) {
		struct root_mount *to = &root->mounts[root->n_mounts];
		const char *inside = m.at + strlen(ROOT_DIR);

		if (!path_is_beneath(m.at, ROOT_DIR))
			continue;
		if (root->n_mounts == ROOT_MOUNTS_MAX || strlen(inside) >= sizeof(to->at) ||
		    strlen(m.type) >= sizeof(to->type)) {
			r = error_set(err, -E2BIG,
				      "too many mounts beneath the system directories");
			break;
		}
		(void)snprintf(to->at, sizeof(to->at), "%s", *inside == '\0' ? "/" : inside);
		(void)snprintf(to->type, sizeof(to->type), "%s", m.type);
		to->dev = strcmp(to->at, "/dev") == 0;
		if (!procfs_has_option(m.options, "ro") ||
		    !procfs_has_option(m.options, "nosuid") ||
		    (!to->dev && !procfs_has_option(m.options, "nodev")))
			r = error_set(err, -EBADMSG, "%s of the root is mounted %s", to->at,
				      m.options);
		root->n_mounts++;
	}
	if (r == 0 && (*at != '\0' || root->n_mounts < 3))
		r = error_set(err, -EBADMSG, "the list of mounts is not as expected");
	free(text);
	return r;
}

int
root_make(const struct root_shape *shape, int host_ns, struct root *ret, struct error *err)
{
	CLEANUP(fd_closep) int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	CLEANUP(root_close) struct root root = {.shape = *shape, .ns = -1};
	int r = 0;

	if (own < 0)
		return error_sys(err, -errno, "open the mount namespace");
	rootfiles_watch(&root);
	if (setns(host_ns, CLONE_NEWNS) != 0 || unshare(CLONE_NEWNS) != 0)
		r = error_sys(err, -errno, "make a mount namespace");
	if (r == 0)
		r = build(shape, err);
	if (r == 0)
		r = read_back(&root, err);
	if (r == 0) {
		root.ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
		if (root.ns < 0)
			r = error_sys(err, -errno, "open the root's mount namespace");
	}
	if (setns(own, CLONE_NEWNS) != 0)
		return error_sys(err, -ENOTRECOVERABLE, "return from the root's mount namespace");
	if (r < 0)
		return r;
	*ret = root;
	root.ns = -1;
	return 0;
}

void
root_close(struct root *r)
{
	fd_closep(&r->ns);
}

bool
root_shape_same(const struct root_shape *a, const struct root_shape *b)
{
	if (strcmp(a->workspace_at, b->workspace_at) != 0 || a->n_mounts != b->n_mounts)
		return false;
	for (uint32_t i = 0; i < a->n_mounts; i++)
		if (strcmp(a->mounts[i].host, b->mounts[i].host) != 0 ||
		    strcmp(a->mounts[i].at, b->mounts[i].at) != 0)
			return false;
	return true;
}
