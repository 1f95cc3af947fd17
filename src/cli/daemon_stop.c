/*
 * loom daemon stop: returns when the daemon has really gone, that is when its end of the connection
 * is closed and nobody answers at the socket. None running is what was wanted, status 0.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/daemon.h"
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

static bool
await_gone(void)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
	uint64_t until = clock_boot_ms() + GONE_WITHIN_MS;

	while (clock_boot_ms() < until) {
		struct channel channel = {.fd = -1};
		struct error err = {0};

		if (daemon_connect(false, &channel, &err) == -ENOENT)
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
