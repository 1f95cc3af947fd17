/*
 * A document comes in parts, the last of which says so. A part with a negative status is the whole
 * of a refusal: the denial as JSON, with its reason, and what to do next.
 */
#include "cli/query.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "cli/daemon.h"
#include "cli/say.h"
#include "cli/show.h"
#include "wire/channel.h"

static int
ask_send(const struct ask *ask, struct channel *c, struct error *err)
{
	switch (ask->kind) {
	case ASK_QUERY:
		return CHANNEL_SEND(c, query, err, .version = WIRE_VERSION, .what = ask->what,
				    .id = wire_text_of(ask->id),
				    .arg = wire_bytes_of(ask->arg, ask->arg_len),
				    .limit = ask->limit);
	case ASK_SESSION_ACT:
		return CHANNEL_SEND(c, session_act, err, .version = WIRE_VERSION, .verb = ask->what,
				    .session = wire_text_of(ask->id),
				    .paths = wire_bytes_of(ask->arg, ask->arg_len));
	case ASK_DAEMON_ACT:
	default:
		return CHANNEL_SEND(c, daemon_act, err, .version = WIRE_VERSION, .verb = ask->what);
	}
}

/* Say a refusal and give the status that fits it. */
static int
refused(const struct ask *ask, const struct msg_doc *m)
{
	CLEANUP(json_decrefp) json_t *doc = NULL;
	struct error err = {0};
	const char *verdict, *reason, *next;
	json_t *list;

	if (json_read(m->part.data, m->part.len, &doc, &err) < 0 || !json_is_object(doc)) {
		say("failed: %s: %.*s", strerror(m->status < 0 ? -m->status : EIO),
		    (int)m->part.len, (const char *)m->part.data);
		return STATUS_FAILED;
	}
	verdict = show_text(doc, "verdict");
	reason = show_text(doc, "reason");
	list = json_object_get(doc, "next");
	next = json_is_array(list) ? json_string_value(json_array_get(list, 0)) : NULL;
	if (show_text(doc, "operation")[0] != '\0')
		say("%s: %s: %s (trace %s)",
		    strcmp(verdict, "escalate") == 0 ? "waiting for approval" : "denied", reason,
		    show_text(doc, "detail"), show_text(doc, "operation"));
	else
		say("%s: %s: %s",
		    strcmp(verdict, "escalate") == 0 ? "waiting for approval" : "denied", reason,
		    show_text(doc, "detail"));
	if (next != NULL && next[0] != '\0')
		say("next: %s", next);
	if (ask->json && show_json(doc) != STATUS_OK)
		return STATUS_FAILED;
	if (strcmp(verdict, "escalate") == 0)
		return STATUS_APPROVAL;
	return strcmp(reason, "internal") == 0 ? STATUS_FAILED : STATUS_DENIED;
}

static int
receive_parts(const struct ask *ask, struct channel *c, struct packet *p, answer_fn *fn, void *arg)
{
	struct error err = {0};

	for (;;) {
		struct msg_doc m;
		int r = channel_recv(c, p, &err);

		if (r == 0)
			error_set(&err, -EPIPE, "the daemon went away before it had answered");
		if (r > 0 && p->type != MSG_doc)
			r = error_set(&err, -EPROTO, "the daemon answered something else");
		if (r > 0)
			r = msg_doc_decode(p->body, p->len, &m, &err) < 0 ? err.code : 1;
		if (r > 0 && m.status < 0)
			return refused(ask, &m);
		if (r > 0 && fn(arg, m.part.data, m.part.len, &err) < 0)
			r = err.code;
		if (r <= 0)
			return say_failed("internal", &err);
		if (m.last != 0)
			return STATUS_OK;
	}
}

int
ask_parts(const struct ask *ask, answer_fn *fn, void *arg, bool *ret_absent)
{
	struct channel channel = {.fd = -1};
	CLEANUP(packet_fini) struct packet packet = {0};
	struct error err = {0};
	int r;

	if (ret_absent != NULL)
		*ret_absent = false;
	r = name_check("the name", ask->id, &err);
	if (r < 0)
		return say_failed("invalid-request", &err);
	r = daemon_user_check(&err);
	if (r == 0)
		r = packet_init(&packet, &err);
	if (r == 0)
		r = daemon_connect(!ask->no_start, &channel, &err);
	if (r == -ENOENT && ask->no_start && ret_absent != NULL) {
		*ret_absent = true;
		return STATUS_FAILED;
	}
	if (r == 0)
		r = ask_send(ask, &channel, &err);
	if (r < 0)
		r = say_failed(daemon_reason(r), &err);
	else
		r = receive_parts(ask, &channel, &packet, fn, arg);
	channel_close(&channel);
	return r;
}

static int
collect(void *arg, const void *part, size_t len, struct error *err)
{
	struct buf *out = arg;

	buf_add(out, part, len);
	return buf_check(out, err);
}

int
ask_json(const struct ask *ask, json_t **ret_value)
{
	CLEANUP(buf_fini) struct buf text = {0};
	struct error err = {0};
	int r;

	buf_init(&text, ANSWER_MAX);
	r = ask_parts(ask, collect, &text, NULL);
	if (r != STATUS_OK)
		return r;
	if (json_read(text.data, text.len, ret_value, &err) < 0) {
		error_prefix(&err, "the daemon's answer");
		return say_failed("internal", &err);
	}
	return STATUS_OK;
}

int
ask_paths(const struct parsed *args, struct buf *out, struct error *err)
{
	for (size_t i = 0; i < args->n_given; i++) {
		const char *path = args->given[i].value;
		char normal[PATH_BYTES_MAX];
		int r;

		if (args->given[i].spec->id != OPT_PATH)
			continue;
		/* "." is all of it; an empty text is a variable that was not set. */
		r = path_relative(path, strlen(path), path[0] != '\0', normal, err);
		if (r < 0)
			return error_prefix(err, "--path %s", path);
		if (normal[0] == '\0')
			memcpy(normal, ".", 2);
		buf_add(out, normal, strlen(normal) + 1);
	}
	return buf_check(out, err);
}
