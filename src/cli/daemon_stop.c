/*
 * loom daemon stop: returns when the daemon has really gone: nobody answers at the socket, and the
 * lock that loomd holds to its end is free, which is after the ledger's last write. None running is
 * what was wanted, status 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/daemon.h"
#include "cli/place.h"
#include "cli/query.h"
#include "cli/say.h"
#include "cli/show.h"

#define GONE_WITHIN_MS 10000
#define LOOK_EVERY_MS 10

static int
ignore(void *arg, const void *part, size_t len, struct error *err)
{
	return 0;
}

/* loomd holds the lock of its run directory. No directory or no lock: nobody holds it. */
static bool
lock_is_free(const char *run)
{
	CLEANUP(fd_closep) int dir = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_closep) int lock = openat(dir, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return lock < 0 || flock(lock, LOCK_SH | LOCK_NB) == 0;
}

static bool
await_gone(void)
{
	struct place place;
	bool placed = place_here(&place, NULL) == 0;
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
	uint64_t until = clock_boot_ms() + GONE_WITHIN_MS;

	while (clock_boot_ms() < until) {
		struct channel channel = {.fd = -1};
		struct error err = {0};

		if (daemon_connect(false, &channel, &err) == -ENOENT &&
		    (!placed || lock_is_free(place.run)))
			return true;
		channel_close(&channel);
		nanosleep(&pause, NULL);
	}
	return false;
}

int
cmd_daemon_stop(const struct parsed *args)
{
	const struct ask ask = {.kind = ASK_DAEMON_ACT,
				.what = D_STOP,
				.no_start = true,
				.json = option_given(args, OPT_JSON)};
	CLEANUP(buf_fini) struct buf out = {0};
	bool absent;
	int r;

	buf_init(&out, SHOW_MAX);
	r = ask_parts(&ask, ignore, NULL, &absent);
	if (r != STATUS_OK && !absent)
		return r;
	if (!absent && !await_gone()) {
		say("the daemon was told to stop and still answers");
		return STATUS_FAILED;
	}
	if (ask.json)
		buf_fmt(&out, "{\"stopped\":%s}\n", absent ? "false" : "true");
	else
		buf_str(&out, absent ? "no daemon is running\n" : "the daemon is stopped\n");
	return print_buf(&out);
}
