/*
 * loom-ledger: the only writer of history. It gives up its rights, takes the receipt key, opens the
 * ledger (recovering what a crash left), says ready and serves the authority. Publishing runs when
 * there is quiet, one step at a time and behind everything the authority wants; no timer runs while
 * everything is published. It ends when loomd says so or either peer goes away, after publishing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/secret.h"
#include "confine/confine.h"
#include "ledger/ledger.h"
#include "ledger/serve.h"
#include "wire/channel.h"
#include "wire/inherit.h"

#define OPEN_FILES 64
/* Quiet before publishing, and how long it may be put off when there is none. */
#define QUIET_MS 500
#define LATEST_MS 5000
/* Before trying again what failed, on a full disk usually. */
#define RETRY_MS 30000
/* Entries at which publishing takes turns with appends. */
#define UNSETTLED_MAX 16384

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
/* Leaks are looked for in unit tests; what is confined cannot look. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct daemon {
	sd_event *loop;
	sd_event_source *authority, *timer, *settle;
	struct channel loomd;
	struct packet packet;
	struct ledger *ledger;
	struct server server;
	uint64_t last_append_ms, first_unsettled_ms;
	bool timer_on;
	bool warned;
};

static void
must(int r, const char *what)
{
	if (r < 0)
		fatal("%s: error %d", what, -r);
}

static void
arm(struct daemon *d, uint64_t at_ms)
{
	must(sd_event_source_set_time(d->timer, at_ms * 1000), "set the timer");
	must(sd_event_source_set_enabled(d->timer, SD_EVENT_ONESHOT), "start the timer");
	d->timer_on = true;
}

static void
warn_once(struct daemon *d, const struct error *err)
{
	if (!d->warned)
		log_warning("publishing waits: %s", err->text);
	d->warned = true;
}

static void
committed(struct daemon *d)
{
	struct error err = {0};

	d->last_append_ms = clock_boot_ms();
	if (ledger_follow(d->ledger, &err) < 0)
		warn_once(d, &err);
	if (ledger_unsettled(d->ledger) > UNSETTLED_MAX && ledger_settle(d->ledger, &err) < 0)
		warn_once(d, &err);
	if (!d->timer_on) {
		d->first_unsettled_ms = d->last_append_ms;
		arm(d, d->last_append_ms + QUIET_MS);
	}
}

static int
on_authority(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	struct error err = {0};
	bool appended = false;
	int r;

	(void)fd, (void)events;
	r = server_turn(&d->server, &appended, &err);
	if (r < 0)
		fatal("the authority: %s", err.text);
	if (appended)
		committed(d);
	if (r == 0)
		return sd_event_exit(d->loop, 0);
	return sd_event_source_set_io_events(
		source, outbox_waits(&d->server.outbox) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static int
on_loomd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	struct msg_stop stop;
	struct error err = {0};
	int r;

	(void)source, (void)fd, (void)events;
	r = channel_recv(&d->loomd, &d->packet, &err);
	if (r == -EAGAIN)
		return 0;
	/* Nobody else is there to say it: its end is the order to end. */
	if (r == 0)
		return sd_event_exit(d->loop, 0);
	if (r == 1 && d->packet.type == MSG_stop &&
	    msg_stop_decode(d->packet.body, d->packet.len, &stop, &err) == 0)
		return sd_event_exit(d->loop, 0);
	fatal("loomd: %s", err.code != 0 ? err.text : "a message that is not for a ledger");
}

static int
on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t now = clock_boot_ms(), due = d->last_append_ms + QUIET_MS;

	(void)source, (void)usec;
	d->timer_on = false;
	if (due > d->first_unsettled_ms + LATEST_MS)
		due = d->first_unsettled_ms + LATEST_MS;
	if (now < due)
		arm(d, due);
	else
		must(sd_event_source_set_enabled(d->settle, SD_EVENT_ON), "begin publishing");
	return 0;
}

static int
on_settle(sd_event_source *source, void *userdata)
{
	struct daemon *d = userdata;
	struct error err = {0};
	int r;

	r = ledger_settle(d->ledger, &err);
	if (r > 0)
		return 0;
	must(sd_event_source_set_enabled(source, SD_EVENT_OFF), "end publishing");
	if (r == 0)
		d->warned = false;
	else
		warn_once(d, &err);
	d->first_unsettled_ms = clock_boot_ms();
	if (!d->timer_on && !ledger_settled(d->ledger))
		arm(d, d->first_unsettled_ms +
			       (r < 0 || ledger_unsettled(d->ledger) == 0 ? RETRY_MS : QUIET_MS));
	return 0;
}

static void
nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		fatal("descriptor %d is not there: this program is started by loomd", fd);
}

static void
give_up_rights(void)
{
	const struct confine_dir dirs[] = {{.fd = INHERIT_STATE, .write = true}};
	const struct confine_spec spec = {
		.process = CONFINE_LEDGER,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.dirs = dirs,
		.n_dirs = ARRAY_LEN(dirs),
		.open_files = OPEN_FILES,
	};
	struct error err = {0};

	if (confine_self(&spec, &err) < 0)
		fatal("give up rights: %s", err.text);
}

static struct ledger *
open_ledger(void)
{
	CLEANUP(secret_wipe) struct secret key = {0};
	const struct journal_sizes sizes = {0};
	struct ledger *ledger;
	struct error err = {0};

	if (secret_read_fd(&key, INHERIT_KEY, RECEIPT_KEY_LEN, &err) < 0)
		fatal("the receipt key: %s", err.text);
	fd_close(INHERIT_KEY);
	if (ledger_open(INHERIT_STATE, key.data, &sizes, &ledger, &err) < 0)
		fatal("%s", err.text);
	if (ledger_recovered(ledger)[0] != '\0')
		log_warning("%s", ledger_recovered(ledger));
	return ledger;
}

static void
loop_build(struct daemon *d)
{
	must(sd_event_default(&d->loop), "make the loop");
	must(sd_event_add_signal(d->loop, NULL, SIGTERM, NULL, NULL), "wait for SIGTERM");
	must(sd_event_add_io(d->loop, NULL, INHERIT_LOOMD, EPOLLIN, on_loomd, d), "wait for loomd");
	must(sd_event_add_io(d->loop, &d->authority, INHERIT_AUTHORITY, EPOLLIN, on_authority, d),
	     "wait for the authority");
	must(sd_event_add_time(d->loop, &d->timer, CLOCK_BOOTTIME, 0, QUIET_MS * 100, on_timer, d),
	     "make the timer");
	must(sd_event_source_set_enabled(d->timer, SD_EVENT_OFF), "stop the timer");
	must(sd_event_add_defer(d->loop, &d->settle, on_settle, d), "make the publisher");
	must(sd_event_source_set_enabled(d->settle, SD_EVENT_OFF), "stop the publisher");
	must(sd_event_source_set_priority(d->settle, SD_EVENT_PRIORITY_IDLE), "rank the publisher");
}

/* Publish all there is, so that the next start reads next to nothing. */
static void
settle_all(struct ledger *ledger)
{
	struct error err = {0};
	int r;

	do
		r = ledger_settle(ledger, &err);
	while (r > 0 || (r == 0 && ledger_unsettled(ledger) > 0));
	if (r < 0)
		log_warning("the end was not published: %s", err.text);
}

int
main(void)
{
	struct daemon d = {0};
	struct error err = {0};
	sigset_t term;

	log_init("loom-ledger");
	nonblocking(INHERIT_LOOMD);
	nonblocking(INHERIT_AUTHORITY);
	/* The ledger's files are its own user's, whatever the environment says. */
	(void)umask(077);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, NULL);
	give_up_rights();
	d.ledger = open_ledger();
	channel_init(&d.loomd, INHERIT_LOOMD, P_LEDGER, P_LOOMD, S_OPEN);
	if (packet_init(&d.packet, &err) < 0 ||
	    server_init(&d.server, d.ledger, INHERIT_AUTHORITY, &err) < 0)
		fatal("%s", err.text);
	loop_build(&d);
	if (!ledger_settled(d.ledger)) {
		d.first_unsettled_ms = d.last_append_ms = clock_boot_ms();
		arm(&d, d.last_append_ms + QUIET_MS);
	}
	if (CHANNEL_SEND(&d.loomd, ready, &err, .pid = (uint32_t)getpid()) < 0)
		fatal("say ready: %s", err.text);
	must(sd_event_loop(d.loop), "the loop");
	settle_all(d.ledger);
	server_fini(&d.server);
	packet_fini(&d.packet);
	ledger_free(d.ledger);
	(void)sd_event_unref(d.loop);
	return 0;
}
