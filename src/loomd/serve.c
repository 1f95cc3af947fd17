/*
 * An event loop over four channels, four pidfds and two signals. A stop is a walk along the order
 * of enum child_id: each child is told, and the next one only when it has ended or its time is over
 * (SIGKILL). So the authority ends its sandboxes while the box still serves it, and the ledger
 * writes the last record before it is told.
 *
 * Any surprise (a child that ends unasked, a message that is not due) kills everybody at once:
 * half a Loom must not go on.
 */
#include "loomd/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "loomd/sockets.h"

#define USEC_PER_MS 1000ULL
#define READY_MS 60000 /* all children together; the ledger may have to recover a tail */

/* How long each may take to end when it was asked, before it is killed. */
static const uint64_t stop_ms[CHILD_COUNT] = {
	[CHILD_AUTHORITY] = 20000, /* sandboxes end, their outcomes are recorded */
	[CHILD_API] = 2000,
	[CHILD_BOX] = 20000,
	[CHILD_LEDGER] = 20000,
};

struct server {
	struct child *children;
	struct serve_spec *spec;
	sd_event *loop;
	sd_event_source *deadline;
	struct packet packet;
	uint32_t n_ready;
	bool stopping;
	uint32_t why;	     /* enum stop_why */
	enum child_id asked; /* while stopping: whose turn it is */
};

/* What a callback of the loop is about. */
struct watch {
	struct server *server;
	struct child *child;
};

static int server_break(struct server *s, const char *fmt, ...) PRINTF(2, 3);

/* Something odd: all die. Returns what a callback returns. */
static int
server_break(struct server *s, const char *fmt, ...)
{
	struct error text = {0};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text.text, sizeof(text.text), fmt, ap);
	va_end(ap);
	log_error("%s; everything is stopped", text.text);
	sockets_unlink(s->spec->run_dir);
	spawn_kill_all(s->children);
	return sd_event_exit(s->loop, LOOMD_EXIT_FAILED);
}

static void
child_kill(const struct child *child)
{
	if (child->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
}

static int
deadline_set(struct server *s, uint64_t ms)
{
	int r;

	r = sd_event_source_set_time_relative(s->deadline, ms * USEC_PER_MS);
	return r < 0 ? r : sd_event_source_set_enabled(s->deadline, SD_EVENT_ONESHOT);
}

/* Ask the next child that still lives to stop, or end when there is none. */
static int
stop_next(struct server *s)
{
	while (s->asked < CHILD_COUNT) {
		struct child *child = &s->children[s->asked];
		struct error err = {0};

		if (child->pidfd < 0) {
			s->asked++;
			continue;
		}
		/* A child that is not ready yet, or does not read, cannot be asked. */
		if (!child->ready || CHANNEL_SEND(&child->channel, stop, &err, .why = s->why) < 0)
			child_kill(child);
		return deadline_set(s, stop_ms[s->asked]);
	}
	return sd_event_exit(s->loop, LOOMD_EXIT_OK);
}

static int
stop_begin(struct server *s, uint32_t why)
{
	if (s->stopping)
		return 0;
	s->stopping = true;
	s->why = why;
	s->asked = 0;
	/* From here on nobody finds us, and whoever wants a Loom waits for the lock. */
	sockets_unlink(s->spec->run_dir);
	return stop_next(s);
}

static int
on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *s = userdata;

	if (!s->stopping)
		return server_break(s, "not all parts were ready in time");
	log_warning("%s did not stop when asked, killing it", s->children[s->asked].name);
	child_kill(&s->children[s->asked]);
	return 0;
}

static int
child_is_ready(struct server *s, struct child *child)
{
	struct msg_ready m;
	struct error err = {0};
	int r;

	if (msg_ready_decode(s->packet.body, s->packet.len, &m, &err) < 0)
		return server_break(s, "%s: %s", child->name, err.text);
	if (m.pid != (uint32_t)child->pid)
		return server_break(s, "%s says it is process %u, it is %d", child->name, m.pid,
				    (int)child->pid);
	child->ready = true;
	child->channel.state = S_OPEN;
	if (++s->n_ready < CHILD_COUNT || s->stopping)
		return 0;
	r = sd_event_source_set_enabled(s->deadline, SD_EVENT_OFF);
	if (r == 0 && s->spec->ready_fd >= 0 && fd_write_all(s->spec->ready_fd, "1", 1, &err) < 0)
		log_info("nobody waits for us any more: %s", err.text);
	fd_closep(&s->spec->ready_fd);
	return r;
}

static int
child_asks_stop(struct server *s, const struct child *child)
{
	struct msg_stop_request m;
	struct error err = {0};

	if (msg_stop_request_decode(s->packet.body, s->packet.len, &m, &err) < 0)
		return server_break(s, "%s: %s", child->name, err.text);
	if (child != &s->children[CHILD_AUTHORITY])
		return server_break(s, "%s may not ask us to stop", child->name);
	return stop_begin(s, m.why);
}

static int
on_channel(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct watch *w = userdata;
	struct server *s = w->server;
	struct error err = {0};
	int r;

	r = channel_recv(&w->child->channel, &s->packet, &err);
	if (r == -EAGAIN)
		return 0;
	/* A closed channel: its process is ending, and the pidfd will say how. */
	if (r == 0)
		return sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (r < 0)
		return server_break(s, "%s: %s", w->child->name, err.text);
	switch (s->packet.type) {
	case MSG_ready:
		return child_is_ready(s, w->child);
	case MSG_stop_request:
		return child_asks_stop(s, w->child);
	default:
		return server_break(s, "%s: message %#x is not due", w->child->name,
				    s->packet.type);
	}
}

static void
status_text(const siginfo_t *info, char *ret, size_t cap)
{
	if (info->si_code == CLD_EXITED)
		(void)snprintf(ret, cap, "ended with status %d", info->si_status);
	else
		(void)snprintf(ret, cap, "was killed by signal %d%s", info->si_status,
			       info->si_status == SIGSYS ? " (a system call it may not make)" : "");
}

static int
on_child_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct watch *w = userdata;
	struct server *s = w->server;
	siginfo_t info = {0};
	char how[96];

	if (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) != 0)
		return server_break(s, "wait for %s: %s", w->child->name, strerror(errno));
	if (info.si_pid == 0)
		return 0;
	(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	fd_closep(&w->child->pidfd);
	status_text(&info, how, sizeof(how));
	/* Whoever stands behind the one that was asked may end by itself: its channels closed. */
	if (!s->stopping || w->child < &s->children[s->asked])
		return server_break(s, "%s %s", w->child->name, how);
	log_debug("%s %s", w->child->name, how);
	return w->child == &s->children[s->asked] ? stop_next(s) : 0;
}

static int
on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	return stop_begin(userdata, STOP_SHUTDOWN);
}

static int
watch_all(struct server *s, struct watch *watches)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < CHILD_COUNT; i++) {
		struct child *child = &s->children[i];

		watches[i] = (struct watch){.server = s, .child = child};
		r = sd_event_add_io(s->loop, NULL, child->channel.fd, EPOLLIN, on_channel,
				    &watches[i]);
		if (r >= 0)
			r = sd_event_add_io(s->loop, NULL, child->pidfd, EPOLLIN, on_child_end,
					    &watches[i]);
	}
	if (r >= 0)
		r = sd_event_add_signal(s->loop, NULL, SIGTERM, on_signal, s);
	if (r >= 0)
		r = sd_event_add_signal(s->loop, NULL, SIGINT, on_signal, s);
	if (r >= 0)
		r = sd_event_add_time_relative(s->loop, &s->deadline, CLOCK_BOOTTIME,
					       READY_MS * USEC_PER_MS, USEC_PER_MS, on_deadline, s);
	return r;
}

int
serve(struct child children[CHILD_COUNT], struct serve_spec *spec)
{
	struct server s = {.children = children, .spec = spec};
	struct watch watches[CHILD_COUNT];
	struct error err = {0};
	int r;

	r = packet_init(&s.packet, &err);
	if (r == 0)
		r = sd_event_new(&s.loop);
	if (r >= 0)
		r = watch_all(&s, watches);
	if (r >= 0)
		r = sd_event_loop(s.loop);
	if (r < 0)
		log_error("event loop: %s", strerror(-r));
	sockets_unlink(spec->run_dir);
	spawn_kill_all(children);
	(void)sd_event_source_disable_unref(s.deadline);
	(void)sd_event_unref(s.loop);
	packet_fini(&s.packet);
	return r < 0 ? LOOMD_EXIT_FAILED : r;
}
