/*
 * The usual case is a daemon that serves, and is four system calls: look whether there is a
 * service, look at the directory of one's own, connect, ask who answered. Only when nobody answers
 * the slow path (launch.c) is taken, a few times over, because a daemon may be on its way out
 * (idle) or in (another client's) at the same moment.
 */
#include "cli/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define SERVICE_SOCKET SERVICE_DIR "/" CLIENT_SOCKET
#define START_WITHIN_MS 20000
#define RETRY_PAUSE_MS 20

int
daemon_user_check(struct error *err)
{
	if (geteuid() == 0)
		return 0;
	return error_set(err, -ENOTSUP,
			 "running as an ordinary user is not in this version of Loom; run as root "
			 "(sudo loom ...)");
}

const char *
daemon_reason(int code)
{
	switch (-code) {
	case EROFS:
	case ENOSPC:
	case EDQUOT:
		return "audit-unavailable";
	case ENOTSUP:
		return "runtime-unavailable";
	case EPERM:
		return "conflicting-constraints";
	default:
		return "internal";
	}
}

/* Whoever answers must be one who may: the directory's check and this one have no gap between. */
static int
peer_check(int fd, bool service, struct error *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return error_sys(err, -errno, "ask who serves");
	if (peer.uid != geteuid() && !(service && peer.uid == 0))
		return error_set(err, -EPERM, "user %lu answers at the daemon's socket; not used",
				 (unsigned long)peer.uid);
	return 0;
}

static int
connect_checked(const char *path, bool service, struct channel *ret, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	int r;

	r = channel_connect(path, &fd, err);
	if (r == 0)
		r = peer_check(fd, service, err);
	if (r < 0)
		return r;
	channel_init(ret, TAKE_FD(fd), P_CLIENT, P_AUTHORITY, S_RUNNING);
	return 0;
}

static int
connect_service(struct channel *ret, struct error *err)
{
	int r;

	r = place_check(SERVICE_DIR, geteuid(), true, err);
	if (r == 0)
		r = connect_checked(SERVICE_SOCKET, true, ret, err);
	if (r < 0)
		return error_prefix(err, "the Loom service is installed but cannot be used");
	return 0;
}

/* -ENOENT or -ECONNREFUSED: nobody serves. */
static int
connect_private(const struct place *place, struct channel *ret, struct error *err)
{
	char path[PATH_MAX + sizeof(CLIENT_SOCKET) + 1];
	int r;

	if (place->run_parent[0] != '\0') {
		struct stat st;

		/* What others may rename is not ours, however it is named. */
		if (stat(place->run_parent, &st) == 0 &&
		    (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0))
			return error_set(
				err, -EPERM,
				"XDG_RUNTIME_DIR is %s, which belongs to or may be written "
				"by others: unset it, or name a directory of your own",
				place->run_parent);
	}
	r = place_check(place->run, geteuid(), false, err);
	if (r < 0)
		return r;
	if (snprintf(path, sizeof(path), "%s/%s", place->run, CLIENT_SOCKET) < 0)
		return error_set(err, -EINVAL, "%s: no path", place->run);
	return connect_checked(path, false, ret, err);
}

static bool
nobody_serves(int code)
{
	return code == -ENOENT || code == -ECONNREFUSED;
}

static int
connect_or_launch(const struct place *place, struct channel *ret, struct error *err)
{
	uint64_t until = clock_boot_ms() + START_WITHIN_MS;
	const struct timespec pause = {.tv_nsec = RETRY_PAUSE_MS * 1000000L};

	for (;;) {
		struct error attempt = {0};
		bool started = false;
		int r;

		r = daemon_launch(place, &started, err);
		if (r < 0)
			return r;
		r = connect_private(place, ret, &attempt);
		if (r == 0 || !nobody_serves(r) || clock_boot_ms() >= until) {
			if (r < 0)
				r = error_set(err, r, "%s", attempt.text);
			return r;
		}
		nanosleep(&pause, NULL);
	}
}

int
daemon_connect(bool start, struct channel *ret, struct error *err)
{
	struct error attempt = {0};
	struct place place;
	struct stat st;
	int r;

	if (lstat(SERVICE_SOCKET, &st) == 0)
		return connect_service(ret, err);
	r = place_here(&place, err);
	if (r < 0)
		return r;
	r = connect_private(&place, ret, &attempt);
	if (r == 0)
		return 0;
	if (nobody_serves(r) && start)
		return connect_or_launch(&place, ret, err);
	return error_set(err, nobody_serves(r) ? -ENOENT : r, "%s",
			 nobody_serves(r) ? "no daemon is running" : attempt.text);
}
