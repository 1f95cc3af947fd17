/*
 * Documents leave at once, part by part; what a client does not read waits in its queue, which is
 * bounded, so one that never reads loses its connection and nobody else's time.
 */
#include "authority/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "authority/authority.h"
#include "authority/run.h"
#include "base/buf.h"
#include "base/json.h"

#define DOCUMENT_MAX (16 * 1024 * 1024)

static const struct {
	enum reason reason;
	int status;
} statuses[] = {
	{R_INVALID_REQUEST, -EINVAL},
	{R_INVALID_PATH, -EINVAL},
	{R_INVALID_ARGUMENT, -EINVAL},
	{R_SESSION_ENDED, -ENOENT},
	{R_BUSY, -EBUSY},
	{R_LIMIT_EXCEEDED, -E2BIG},
	{R_AUDIT_UNAVAILABLE, -EIO},
	{R_INTERNAL, -EIO},
	{R_CAPABILITY_UNAVAILABLE, -ENOTSUP},
	{R_RUNTIME_UNAVAILABLE, -ENOTSUP},
};

int
reply_status(enum reason r)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (statuses[i].reason == r)
			return statuses[i].status;
	return -EPERM;
}

void
asker_move(struct asker *dst, struct asker *src)
{
	*dst = *src;
	if (dst->client != NULL)
		dst->client->asker = dst;
	if (dst->listed) {
		*(dst->prev != NULL ? &dst->prev->next : &dst->authority->doors.asks) = dst;
		if (dst->next != NULL)
			dst->next->prev = dst;
	}
	*src = (struct asker){.authority = dst->authority};
}

/* After its last part an asker is free for the next request, or done with. */
void
asker_drop(struct asker *to)
{
	if (to->client != NULL)
		client_idle(to->client);
	to->client = NULL;
	asker_forget(to);
}

bool
asker_served(struct asker *to, uint32_t version)
{
	if (to->foreign) {
		run_record_foreign(to->authority, to->uid);
		reply_deny_with(to, R_IDENTITY_MISMATCH, NULL, "user %u is not served here",
				to->uid);
	} else if (version != WIRE_VERSION) {
		reply_deny_with(to, R_INVALID_REQUEST, "loom daemon stop",
				"the client speaks version %u, the daemon %d", version,
				WIRE_VERSION);
	} else if (to->excess) {
		reply_deny_with(to, R_BUSY, "again in a moment", "too many clients are connected");
	} else {
		return true;
	}
	return false;
}

void
reply_part(struct asker *to, int status, const void *data, size_t len, bool last)
{
	struct authority *a = to->authority;
	struct wire_bytes part = wire_bytes_of(data, len);
	struct error err = {0};
	int r = 0;

	if (to->client != NULL)
		r = PEER_SEND(&to->client->peer, doc, &err, .status = status, .last = last,
			      .part = part);
	else if (to->conn != 0)
		r = PEER_SEND(&a->api, api_doc, &err, .conn = to->conn, .request = to->request,
			      .status = status, .last = last, .part = part);
	if (r < 0 && to->client != NULL)
		client_lost(to->client, &err);
	else if (r < 0)
		authority_broken(a, "answer loom-api: %s", err.text);
	if (last)
		asker_drop(to);
}

static void
reply_parts(struct asker *to, int status, const char *data, size_t len)
{
	while (len > REPLY_PART_MAX) {
		reply_part(to, status, data, REPLY_PART_MAX, false);
		data += REPLY_PART_MAX;
		len -= REPLY_PART_MAX;
	}
	reply_part(to, status, data, len, true);
}

void
reply_bytes(struct asker *to, const void *data, size_t len)
{
	reply_parts(to, 0, data, len);
}

void
reply_json(struct asker *to, const json_t *doc)
{
	CLEANUP(buf_fini) struct buf text;
	struct error err = {0};
	int r;

	buf_init(&text, DOCUMENT_MAX);
	r = doc != NULL ? json_write_canonical(doc, &text, &err)
			: error_set(&err, -ENOMEM, "out of memory for a document");
	if (r < 0)
		reply_error(to, r == -EMSGSIZE ? R_LIMIT_EXCEEDED : R_INTERNAL, &err);
	else
		reply_parts(to, 0, text.data, text.len);
}

void
reply_deny(struct asker *to, const struct verdict *v, const char *op)
{
	static const char last_resort[] = "{\"reason\":\"internal\",\"verdict\":\"deny\"}";
	CLEANUP(json_decrefp) json_t *doc = verdict_json(v, op);
	CLEANUP(buf_fini) struct buf text;
	int status = reply_status(v->reason);

	buf_init(&text, REPLY_PART_MAX);
	if (doc == NULL || json_write_canonical(doc, &text, NULL) < 0)
		reply_parts(to, status, last_resort, sizeof(last_resort) - 1);
	else
		reply_parts(to, status, text.data, text.len);
}

void
reply_deny_with(struct asker *to, enum reason r, const char *next, const char *fmt, ...)
{
	char detail[VERDICT_DETAIL_MAX];
	struct verdict v;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	verdict_init(&v);
	verdict_deny(&v, r, NULL, "%s", detail);
	if (next != NULL)
		verdict_next(&v, "%s", next);
	reply_deny(to, &v, NULL);
}

void
reply_error(struct asker *to, enum reason r, const struct error *err)
{
	reply_deny_with(to, r, NULL, "%s", err->text);
}

void
reply_box_refusal(struct asker *to, const char *next, const void *doc, size_t len)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	enum reason reason = R_INTERNAL;
	const char *code, *detail = "the box failed and did not say why";
	struct error err = {0};

	if (json_read(doc, len, &v, &err) == 0) {
		code = json_string_value(json_object_get(v, "reason"));
		if (code != NULL && (!reason_find(code, &reason) || reason == R_ALLOWED))
			reason = R_INTERNAL;
		if (json_is_string(json_object_get(v, "detail")))
			detail = json_string_value(json_object_get(v, "detail"));
	}
	reply_deny_with(to, reason, next, "%s", detail);
}
