/*
 * loom-api. Starts with two descriptors (wire/inherit.h), makes what it needs, gives up everything
 * else, says it is ready, serves. It ends when loomd says stop, or when either channel closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/server.h"
#include "base/log.h"
#include "confine/confine.h"
#include "wire/channel.h"
#include "wire/inherit.h"
#include "wire/message.h"

/* Connections, the two channels, epoll and event descriptors, one descriptor in transit, the
 * standard three. */
#define OPEN_FILES (SERVER_CONNS_MAX + 16)

/* 0: end; 1: go on. */
static int
loomd_says(struct channel *loomd, struct packet *p, struct error *err)
{
	int r = channel_recv(loomd, p, err);

	if (r == -EAGAIN) {
		*err = (struct error){0};
		return 1;
	}
	/* The table has one message for us in this state: stop. */
	return r < 0 ? r : 0;
}

static int
serve(struct server *s, struct channel *loomd, struct error *err)
{
	struct packet p;
	int r;

	r = packet_init(&p, err);
	if (r < 0)
		return r;
	s->watch_fd = loomd->fd;
	do {
		bool watched;

		r = server_step(s, -1, &watched, err);
		if (r > 0 && watched)
			r = loomd_says(loomd, &p, err);
	} while (r > 0);
	packet_fini(&p);
	return r;
}

int
main(void)
{
	const struct confine_spec spec = {
		.process = CONFINE_API,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.open_files = OPEN_FILES,
	};
	struct error err = {0};
	struct channel loomd;
	struct server s;
	int r;

	log_init("loom-api");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		fatal("SIGPIPE cannot be ignored");
	channel_init(&loomd, INHERIT_LOOMD, P_API, P_LOOMD, S_OPEN);
	if (fcntl(loomd.fd, F_SETFL, O_NONBLOCK) < 0)
		fatal("no channel to loomd: was this started by hand?");
	if (server_init(&s, INHERIT_AUTHORITY, &err) < 0)
		fatal("%s", err.text);
	if (confine_self(&spec, &err) < 0)
		fatal("%s", err.text);
	if (CHANNEL_SEND(&loomd, ready, &err, .pid = (uint32_t)getpid()) < 0)
		fatal("%s", err.text);
	r = serve(&s, &loomd, &err);
	if (r < 0)
		fatal("%s", err.text);
	server_fini(&s);
	channel_close(&loomd);
	return EXIT_SUCCESS;
}
