/*
 * Mounts as sessions have them. Everything is made in a directory of the probe's own and removed;
 * what is mounted is mounted in a namespace that ends with the check's process.
 */
#include "box/probe_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/mounts.h"
#include "box/store.h"

int
probe_read_only_root(const struct probe *p, struct buf *seen, struct error *err)
{
	CLEANUP(fd_closep) int tree = -1;
	CLEANUP(fd_closep) int fd = -1;
	int r;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_sys(err, -errno, "make a mount namespace");
	tree = mounts_clone(AT_FDCWD, "/tmp", true, err);
	if (tree < 0)
		return tree;
	r = mounts_attr(tree, true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (r < 0)
		return r;
	fd = openat(tree, ".probe-read-only", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)unlinkat(tree, ".probe-read-only", 0);
		return error_set(err, -EPERM, "a mount that was made read-only can be written to");
	}
	if (errno != EROFS)
		return error_sys(err, -errno, "write to a read-only mount");
	buf_str(seen, "a copy of a mount, made read-only with all beneath it, refuses a write");
	return 0;
}

/* See that what belongs to OWNER on DIR's file system shows as the host id through a mapped mount.
 */
static int
idmap(const struct probe *p, int dir, const struct stat *owner, struct error *err)
{
	CLEANUP(fd_closep) int userns = -1;
	CLEANUP(fd_closep) int tree = -1;
	struct stat st;
	int r;

	tree = mounts_clone(dir, "", false, err);
	if (tree < 0)
		return tree;
	userns = mounts_userns(owner->st_uid, owner->st_gid, p->host_id, err);
	if (userns < 0)
		return userns;
	r = mounts_idmap(tree, userns, err);
	if (r < 0)
		return r;
	if (fstat(tree, &st) != 0)
		return error_sys(err, -errno, "look through a mapped mount");
	if (st.st_uid != p->host_id || st.st_gid != p->host_id)
		return error_set(err, -EPERM, "a mapped mount shows owner %lu, not %u",
				 (unsigned long)st.st_uid, p->host_id);
	return 0;
}

static int
idmap_of(const struct probe *p, int dir, const char *what, struct buf *seen, struct error *err)
{
	struct stat st;
	int r;

	if (fstat(dir, &st) != 0)
		return error_sys(err, -errno, "look at the %s directory", what);
	r = idmap(p, dir, &st, err);
	if (r == -EINVAL || r == -EOPNOTSUPP)
		return error_prefix(err, "the file system of the %s directory", what);
	if (r == 0)
		buf_fmt(seen, "the owner of the %s directory shows as another id", what);
	return r;
}

int
probe_idmap_state(const struct probe *p, struct buf *seen, struct error *err)
{
	return idmap_of(p, p->state, "state", seen, err);
}

int
probe_idmap_workspace(const struct probe *p, struct buf *seen, struct error *err)
{
	return idmap_of(p, p->workspace, "workspace", seen, err);
}

int
probe_layer(const struct probe *p, struct buf *seen, struct error *err)
{
	int r = store_capable(p->state, err);

	if (r == 0)
		buf_str(seen, "user attributes, whiteouts, nameless files, types of entries");
	return r;
}

/* ---- an overlay ---- */

#define OVERLAY_OPTIONS "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr"

static int
overlay_inside(void *arg, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	if (mount("overlay", "/tmp/merged", "overlay", MS_NOSUID | MS_NODEV, OVERLAY_OPTIONS) != 0)
		return error_sys(err, -errno, "mount an overlay in a user namespace");
	fd = open("/tmp/merged/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return error_sys(err, -errno, "write a file in an overlay");
	if (unlink("/tmp/merged/gone") != 0)
		return error_sys(err, -errno, "remove a file in an overlay");
	if (rename("/tmp/merged/file", "/tmp/merged/renamed") != 0)
		return error_sys(err, -errno, "rename a file in an overlay");
	return 0;
}

static int
overlay_layers(const struct probe *p, int dir, struct error *err)
{
	static const char *const dirs[] = {"lower", "upper", "work", "merged"};
	static const char *const files[] = {"lower/gone", "lower/file"};

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (mkdirat(dir, dirs[i], 0755) != 0 ||
		    fchownat(dir, dirs[i], p->host_id, p->host_id, AT_SYMLINK_NOFOLLOW) != 0)
			return error_sys(err, -errno, "make layers");
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (mknodat(dir, files[i], S_IFREG | 0600, 0) != 0 ||
		    fchownat(dir, files[i], p->host_id, p->host_id, AT_SYMLINK_NOFOLLOW) != 0)
			return error_sys(err, -errno, "make layers");
	return 0;
}

static int
overlay_seen(int dir, struct error *err)
{
	struct stat st;

	if (fstatat(dir, "upper/new", &st, 0) != 0 || st.st_size != 1)
		return error_set(err, -EIO, "a file written in an overlay is not in its layer");
	if (fstatat(dir, "upper/gone", &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(0, 0))
		return error_set(err, -EIO,
				 "a file removed in an overlay is not marked in its layer");
	if (fstatat(dir, "lower/gone", &st, 0) != 0)
		return error_set(err, -EIO, "a file removed in an overlay is gone from beneath it");
	return 0;
}

static int
overlay_in(const struct probe *p, const char *name, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(fd_closep) int tree = -1;
	int r;

	dir = openat(p->state, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return error_sys(err, -errno, "open a directory");
	r = overlay_layers(p, dir, err);
	if (r < 0)
		return r;
	/* Before the namespace is left that the descriptor is of. */
	tree = mounts_clone(dir, "", false, err);
	if (tree < 0)
		return tree;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_sys(err, -errno, "make a mount namespace");
	r = mounts_place(tree, AT_FDCWD, "/tmp", err);
	if (r < 0)
		return r;
	r = probe_in_namespaces(p, CLONE_NEWNS, overlay_inside, NULL, err);
	return r < 0 ? r : overlay_seen(dir, err);
}

int
probe_overlay(const struct probe *p, struct buf *seen, struct error *err)
{
	char name[PROBE_NAME_MAX];
	int r = probe_dir(p->state, name, err), cleared;

	if (r < 0)
		return r;
	r = overlay_in(p, name, err);
	cleared = store_remove_tree(p->state, name, r < 0 ? NULL : err);
	if (r == 0 && cleared == 0)
		buf_str(seen, "written, removed and renamed in an overlay of a user namespace");
	return r < 0 ? r : cleared;
}
