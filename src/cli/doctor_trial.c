/*
 * A trial is a run like any other: decided, recorded, confirmed, traced. What the box read back is
 * then looked up in the record, so that the doctor reports what was seen and not what was asked
 * for.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/daemon.h"
#include "cli/doctor.h"
#include "cli/outcome.h"
#include "cli/query.h"
#include "cli/request.h"
#include "cli/show.h"
#include "wire/channel.h"

#define TRIAL_WITHIN_MS 60000
#define ENTRIES_LOOKED_AT 50

struct trial {
	struct request request;
	struct channel channel;
	struct packet packet;
	char directory[32];
	int null;
};

static void
trial_fini(struct trial *t)
{
	request_fini(&t->request);
	channel_close(&t->channel);
	packet_fini(&t->packet);
	fd_closep(&t->null);
	if (t->directory[0] != '\0')
		rmdir(t->directory);
}

static int
trial_ask(struct trial *t, const char *profile, struct error *err)
{
	char *const arguments[] = {(char *)"/bin/true"};
	int r;

	memcpy(t->directory, "/var/tmp/loom-doctor-XXXXXX", 28);
	if (mkdtemp(t->directory) == NULL) {
		t->directory[0] = '\0';
		return error_sys(err, -errno, "make a directory in /var/tmp");
	}
	t->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (t->null < 0)
		return error_sys(err, -errno, "/dev/null");
	t->request.profile = profile;
	t->request.fds[REQUEST_STDIN] = t->null;
	t->request.fds[REQUEST_STDOUT] = t->null;
	t->request.fds[REQUEST_STDERR] = t->null;
	r = request_workspace(&t->request, t->directory, err);
	if (r == 0)
		r = request_args(&t->request, arguments, 1, err);
	if (r == 0)
		r = packet_init(&t->packet, err);
	if (r == 0)
		r = daemon_connect(true, &t->channel, err);
	return r == 0 ? request_send(&t->request, &t->channel, err) : r;
}

/* Wait for run_done, which is then in the packet. */
static int
trial_await(struct trial *t, struct msg_run_done *ret, struct error *err)
{
	uint64_t until = clock_boot_ms() + TRIAL_WITHIN_MS;

	for (;;) {
		struct pollfd wait = {.fd = t->channel.fd, .events = POLLIN};
		uint64_t now = clock_boot_ms();
		int r;

		if (now >= until)
			return error_set(err, -ETIMEDOUT, "the run did not end within %d s",
					 TRIAL_WITHIN_MS / 1000);
		if (poll(&wait, 1, (int)(until - now)) <= 0)
			continue;
		r = channel_recv(&t->channel, &t->packet, err);
		if (r == 0)
			return error_set(err, -EPIPE, "the daemon went away during the run");
		if (r < 0)
			return r;
		if (t->packet.type == MSG_run_done)
			return msg_run_done_decode(t->packet.body, t->packet.len, ret, err);
		if (t->packet.type != MSG_run_started)
			return error_set(err, -EPROTO, "the daemon refused the request");
	}
}

static int
collect(void *arg, const void *part, size_t len, struct error *err)
{
	struct buf *out = arg;

	buf_add(out, part, len);
	return buf_check(out, err);
}

/* What the box read back during OP, from the outcome as recorded; NULL when it is not there. */
static json_t *
read_back(const char *op)
{
	const struct ask ask = {
		.kind = ASK_QUERY, .what = Q_LEDGER_SHOW, .limit = ENTRIES_LOOKED_AT};
	CLEANUP(json_decrefp) json_t *doc = NULL;
	CLEANUP(buf_fini) struct buf text = {0};
	struct error err = {0};
	size_t index;
	json_t *item;

	buf_init(&text, ANSWER_MAX);
	if (ask_parts(&ask, collect, &text, NULL) != STATUS_OK ||
	    json_read(text.data, text.len, &doc, &err) < 0)
		return NULL;
	json_array_foreach(json_object_get(doc, "entries"), index, item)
	{
		const json_t *entry = json_object_get(item, "entry");

		if (strcmp(show_text(entry, "kind"), "outcome") == 0 &&
		    strcmp(show_text(entry, "op"), op) == 0)
			return json_incref(
				json_object_get(json_object_get(entry, "result"), "box"));
	}
	return NULL;
}

static json_t *
text_json(struct wire_text text)
{
	return json_stringn(text.data != NULL ? text.data : "", text.len);
}

int
doctor_trial(const char *profile, json_t **ret_trial, struct error *err)
{
	CLEANUP(trial_fini) struct trial t = {.channel.fd = -1, .null = -1};
	struct msg_run_done m;
	json_t *trial;
	int r;

	request_init(&t.request);
	r = daemon_user_check(err);
	if (r == 0)
		r = trial_ask(&t, profile, err);
	if (r == 0)
		r = trial_await(&t, &m, err);
	if (r < 0)
		return r;
	trial = json_pack("{s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:s}", "profile", profile, "works",
			  outcome_status(&m) == STATUS_OK && m.traced != 0, "verdict",
			  m.effect == 2 ? "allow" : "deny", "reason", text_json(m.reason), "detail",
			  text_json(m.detail), "operation", text_json(m.op), "session",
			  text_json(m.session), "trace", m.traced != 0 ? "verified" : "unverified");
	if (trial == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (m.op.len > 0) {
		json_t *box = read_back(show_text(trial, "operation"));

		if (box != NULL && json_object_set_new(trial, "box", box) != 0) {
			json_decref(trial);
			return error_set(err, -ENOMEM, "out of memory");
		}
	}
	*ret_trial = trial;
	return 0;
}
