/*
 * Mounts are made with the box's rights, in the mount namespace that clients are in, and handed to
 * init detached: it can put them where they belong, and change nothing about them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box/keeper.h"
#include "box/mounts.h"
#include "box/setid.h"
#include "box/spare.h"

int
keeper_idmap(struct keeper *k, uint32_t uid, uint32_t gid)
{
	struct error err = {0};

	fd_closep(&k->idmap);
	k->idmap = mounts_userns(uid, gid, k->park->spawn.host_id, &err);
	if (k->idmap < 0)
		return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", &err);
	return 0;
}

/*
 * The client's directory as a mount: of the mount namespace that clients are in, or else by its
 * path, and then it must be the same object.
 */
static int
clone_workspace(struct keeper *k, int workspace, uint64_t ino, uint32_t dev_major,
		uint32_t dev_minor)
{
	char path[2 * PATH_BYTES_MAX], link[32];
	struct error err = {0}, again = {0};
	CLEANUP(fd_closep) int by_path = -1;
	int fd = mounts_clone(workspace, "", false, &err);
	struct stat st;
	ssize_t n;

	if (fd != -EINVAL)
		return fd >= 0 ? fd
			       : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "workspace",
					       &err);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", workspace);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 1)
		return KEEPER_FAIL(k, "workspace", "find the workspace's path");
	path[n] = '\0';
	by_path = mounts_open_plain(AT_FDCWD, path, &again);
	if (by_path < 0 || fstat(by_path, &st) != 0 || st.st_ino != ino ||
	    major(st.st_dev) != dev_major || minor(st.st_dev) != dev_minor)
		return failure_set(&k->failure, R_INVALID_PATH, "workspace", -ESTALE,
				   "the workspace is not to be seen where the box is");
	fd = mounts_clone(by_path, "", false, &again);
	return fd >= 0 ? fd
		       : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "workspace", &again);
}

static int
idmapped(struct keeper *k, int fd, uint64_t attr)
{
	struct error err = {0};
	int r = mounts_idmap(fd, k->idmap, &err);

	if (r == -EOPNOTSUPP)
		return failure_set(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", r,
				   "the workspace's file system has no idmapped mounts");
	if (r == 0)
		r = mounts_attr(fd, false, attr, &err);
	return r == 0 ? 0 : failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "idmap", &err);
}

/*
 * The last plan's workspace is likely to be the next one's: mount it now, on layers that become a
 * session's if it is. The box sees to it that it is the same object then, or that it goes.
 */
int
keeper_prepare(struct keeper *k)
{
	const struct spare_for *w = &k->park->spawn.workspace;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	struct sandbox_prepare m = {.type = SANDBOX_PREPARE};
	CLEANUP(fd_closep) int dir = -1;
	CLEANUP(fd_closep) int lower = -1;
	CLEANUP(fd_closep) int layers = -1;
	union init_message answer = {0};
	struct error err = {0};
	int none;

	(void)snprintf(m.at, sizeof(m.at), "%s", k->park->root->shape.workspace_at);
	dir = spare_make(k->park->base->sessions, k->park->spawn.number, w, &err);
	layers = dir >= 0 ? mounts_clone(dir, "", false, &err) : dir;
	if (layers < 0)
		return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "layers", &err);
	lower = clone_workspace(k, k->park->workspace, w->ino, major(w->dev), minor(w->dev));
	if (lower < 0 || idmapped(k, lower, safe | MOUNT_ATTR_RDONLY) < 0 ||
	    idmapped(k, layers, safe) < 0)
		return k->failure.code;
	if (sandbox_send(k->control, &m, sizeof(m), (const int[]){lower, layers}, 2) < 0 ||
	    keeper_hear_init(k, &answer, &none) == 0)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPIPE,
				   "init died while it was prepared");
	fd_close(none);
	if (k->failure.code == 0 && answer.type != SANDBOX_PREPARED)
		return failure_set(&k->failure, R_INTERNAL, "init", -EPROTO,
				   "init said something out of turn");
	return k->failure.code;
}

/* The client's directory, and the session's layers, as mounts for init. */
int
keeper_mounts(struct keeper *k, int workspace, int session, int *ret_workspace, int *ret_layers)
{
	const struct plan *p = &k->message.plan;
	const uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	CLEANUP(fd_closep) int lower = -1;
	CLEANUP(fd_closep) int layers = -1;
	struct error err = {0};

	if (p->owner_uid != k->park->spawn.owner_uid || p->owner_gid != k->park->spawn.owner_gid)
		if (keeper_idmap(k, p->owner_uid, p->owner_gid) < 0)
			return k->failure.code;
	lower = clone_workspace(k, workspace, p->ino, p->dev_major, p->dev_minor);
	/* On the clone, where what the host has mounted over does not hide anything, and before its
	 * ids are mapped, which is what we could not see through. */
	if (lower >= 0 && p->mode == WORKSPACE_DIRECT &&
	    setid_look(lower, SETID_ENTRIES_MAX, &k->failure) < 0)
		return k->failure.code;
	if (lower < 0 ||
	    idmapped(k, lower, safe | (p->mode == WORKSPACE_DIRECT ? 0 : MOUNT_ATTR_RDONLY)) < 0)
		return k->failure.code;
	if (p->mode == WORKSPACE_OVERLAY) {
		layers = mounts_clone(session, "", false, &err);
		if (layers < 0)
			return failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "layers", &err);
		if (idmapped(k, layers, safe) < 0)
			return k->failure.code;
	}
	*ret_workspace = TAKE_FD(lower);
	*ret_layers = TAKE_FD(layers);
	return 0;
}
