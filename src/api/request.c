/*
 * libmicrohttpd parses; what it lets through is judged again here by what we need: a target without
 * query and within bounds, few and short headers, one framing (a Content-Length or nothing, never a
 * transfer coding), a body only where the route has one. A refusal closes the connection, so that
 * bytes of a refused request are never read as the next one.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/server.h"
#include "base/json.h"
#include "base/text.h"
#include "model/ids.h"
#include "wire/message.h"

#define MEDIA_JSON "application/json"
#define MEDIA_TEXT "text/plain; charset=utf-8"

struct call *
call_new(struct conn *c)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return NULL;
	call->conn = c;
	buf_init(&call->body, SERVER_BODY_MAX);
	buf_init(&call->answer, SERVER_ANSWER_MAX);
	return call;
}

void
call_free(struct call *call)
{
	if (call == NULL)
		return;
	buf_fini(&call->body);
	buf_fini(&call->answer);
	free(call);
}

/* ---- responses ---------------------------------------------------------------------------- */

static bool
response_fields(struct MHD_Response *r, const char *media)
{
	if (media != NULL &&
	    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, media) == MHD_NO)
		return false;
	return MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") != MHD_NO &&
	       MHD_add_response_header(r, "X-Content-Type-Options", "nosniff") != MHD_NO;
}

/* Queue BODY. MEDIA NULL: no content. CLOSE: the connection ends after it. */
static int
respond(struct MHD_Connection *http, unsigned int status, const char *media, const struct buf *body,
	const char *allow, bool close_after)
{
	struct MHD_Response *r;
	int ret = -ENOMEM;

	r = MHD_create_response_from_buffer(body != NULL ? body->len : 0,
					    body != NULL ? body->data : NULL,
					    MHD_RESPMEM_MUST_COPY);
	if (r == NULL)
		return -ENOMEM;
	if (response_fields(r, media) &&
	    (allow == NULL || MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow) != MHD_NO) &&
	    (!close_after ||
	     MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") != MHD_NO) &&
	    MHD_queue_response(http, status, r) != MHD_NO)
		ret = 0;
	MHD_destroy_response(r);
	return ret;
}

static int
respond_problem(struct MHD_Connection *http, const struct problem *p, const char *allow,
		bool close_after)
{
	struct buf body;
	int r;

	buf_init(&body, SERVER_ANSWER_MAX);
	r = problem_write(p, &body, NULL);
	if (r == 0)
		r = respond(http, p->status, PROBLEM_MEDIA_TYPE, &body, allow, close_after);
	buf_fini(&body);
	return r;
}

/* Refuse the request itself: nothing was asked of anybody, and the connection is not used again. */
static int
refuse(struct MHD_Connection *http, unsigned int status, enum reason reason, const char *detail,
       bool *ret_refused)
{
	const struct problem p = {.status = status, .reason = reason, .detail = detail};
	int r = respond_problem(http, &p, NULL, true);

	if (r == 0)
		*ret_refused = true;
	return r;
}

int
call_write_busy(struct buf *out, struct error *err)
{
	const struct problem p = {
		.status = 503,
		.reason = R_BUSY,
		.detail = "too many connections are open",
	};
	struct buf body;
	int r;

	buf_init(&body, SERVER_BODY_MAX);
	r = problem_write(&p, &body, err);
	if (r == 0) {
		buf_fmt(out,
			"HTTP/1.1 503 Service Unavailable\r\nContent-Type: " PROBLEM_MEDIA_TYPE
			"\r\nContent-Length: %zu\r\nCache-Control: no-store\r\nConnection: "
			"close\r\n\r\n",
			body.len);
		buf_add(out, body.data, body.len);
		r = buf_check(out, err);
	}
	buf_fini(&body);
	return r;
}

/* ---- headers ------------------------------------------------------------------------------ */

struct header_count {
	size_t fields;
	size_t bytes;
	size_t content_length; /* fields of that name */
	size_t transfer_encoding;
	size_t content_type;
	size_t host;
	size_t written; /* bytes of all fields, each as "name: value" and a line end */
	bool control;	/* a value has a control byte in it */
};

static bool
has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

static enum MHD_Result
header_counted(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_len,
	       const char *value, size_t value_len)
{
	struct header_count *n = cls;

	(void)kind;
	n->fields++;
	n->bytes += key_len + value_len;
	n->content_length += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	n->transfer_encoding += strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	n->content_type += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_TYPE) == 0;
	n->host += strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0;
	n->written += key_len + strlen(": ") + value_len + strlen("\r\n");
	n->control = n->control || has_control(value, value_len);
	return MHD_YES;
}

/*
 * Has the parser given us all that was sent? It cuts a value at a zero byte, joins folded lines,
 * and takes a bare line feed for the end of a line, all without a word. So what it gave us, written
 * the one way that everybody writes it, must be as long as what came.
 */
static bool
all_was_seen(struct MHD_Connection *http, const char *method, const char *url, const char *version,
	     const struct header_count *n)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(http, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t line = strlen(method) + 1 + strlen(url) + 1 + strlen(version) + strlen("\r\n");

	return info != NULL && info->header_size == line + n->written + strlen("\r\n");
}

/* One host, no byte that controls, nothing hidden. */
static const char *
header_fault(struct MHD_Connection *http, const char *method, const char *url, const char *version,
	     const struct header_count *n)
{
	if (n->host > 1)
		return "the host is said more than once";
	if (n->control)
		return "a header has a control byte in it";
	if (!all_was_seen(http, method, url, version, n))
		return "a header is one line, name: value, with one space and without a zero byte";
	return NULL;
}

/* Framing: how long is the body, said exactly once? Absent gives 0 and *RET_THERE false. */
static int
body_length(struct MHD_Connection *http, const struct header_count *n, uint64_t *ret_len,
	    bool *ret_there)
{
	const char *text;

	*ret_there = n->content_length > 0;
	*ret_len = 0;
	if (n->transfer_encoding > 0 || n->content_length > 1)
		return -EINVAL;
	if (n->content_length == 0)
		return 0;
	text = MHD_lookup_connection_value(http, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (text == NULL)
		return -EINVAL;
	return decimal_parse(text, UINT64_MAX, ret_len);
}

static bool
media_is_json(const char *text)
{
	size_t n = strlen(MEDIA_JSON);

	return text != NULL && strncasecmp(text, MEDIA_JSON, n) == 0 &&
	       (text[n] == '\0' || text[n] == ';' || text[n] == ' ');
}

/* A body where the route has none, or none or another kind where it has one. */
static int
check_body(struct call *call, struct MHD_Connection *http, const struct header_count *n,
	   bool *ret_refused)
{
	uint64_t len;
	bool there;

	if (body_length(http, n, &len, &there) < 0)
		return refuse(http, 400, R_INVALID_REQUEST,
			      "the body's length must be said once, by Content-Length",
			      ret_refused);
	if (!call->route->body) {
		if (len == 0)
			return 0;
		return refuse(http, 400, R_INVALID_REQUEST, "this request has no body",
			      ret_refused);
	}
	if (!there)
		return refuse(http, 411, R_INVALID_REQUEST, "a Content-Length is due", ret_refused);
	if (len > SERVER_BODY_MAX)
		return refuse(http, 413, R_LIMIT_EXCEEDED, "the body is more than 8192 bytes",
			      ret_refused);
	if (n->content_type != 1 || !media_is_json(MHD_lookup_connection_value(
					    http, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE)))
		return refuse(http, 415, R_INVALID_REQUEST, "the body must be " MEDIA_JSON,
			      ret_refused);
	return 0;
}

static int
refuse_method(struct MHD_Connection *http, const char *url, bool *ret_refused)
{
	const struct problem p = {
		.status = 405,
		.reason = R_INVALID_REQUEST,
		.detail = "this path does not have that method",
	};
	struct buf allow;
	int r;

	buf_init(&allow, 256);
	route_allow(url, &allow);
	r = buf_check(&allow, NULL);
	if (r == 0)
		r = respond_problem(http, &p, allow.data, true);
	buf_fini(&allow);
	if (r == 0)
		*ret_refused = true;
	return r;
}

int
call_begin(struct call *call, struct MHD_Connection *http, const char *url, const char *method,
	   const char *version, bool *ret_refused)
{
	struct header_count n = {0};
	const char *fault;

	*ret_refused = false;
	if (strcmp(version, MHD_HTTP_VERSION_1_1) != 0 &&
	    strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
		return refuse(http, 505, R_INVALID_REQUEST, "only HTTP/1.1 is spoken", ret_refused);
	if (strlen(url) > ROUTE_PATH_MAX)
		return refuse(http, 414, R_LIMIT_EXCEEDED, "the target is more than 256 bytes",
			      ret_refused);
	if (MHD_get_connection_values(http, MHD_GET_ARGUMENT_KIND, NULL, NULL) != 0)
		return refuse(http, 400, R_INVALID_REQUEST, "no query is understood here",
			      ret_refused);
	(void)MHD_get_connection_values_n(http, MHD_HEADER_KIND, header_counted, &n);
	if (n.fields > SERVER_HEADERS_MAX || n.bytes > SERVER_HEADER_BYTES_MAX)
		return refuse(http, 431, R_LIMIT_EXCEEDED,
			      "the headers are more than 64 or 8192 bytes", ret_refused);
	fault = header_fault(http, method, url, version, &n);
	if (fault != NULL)
		return refuse(http, 400, R_INVALID_REQUEST, fault, ret_refused);
	switch (route_find(method, url, &call->route, call->id)) {
	case ROUTE_FOUND:
		return check_body(call, http, &n, ret_refused);
	case ROUTE_NO_PATH:
		return refuse(http, 404, R_INVALID_REQUEST, "there is nothing under this path",
			      ret_refused);
	case ROUTE_NO_METHOD:
		return refuse_method(http, url, ret_refused);
	case ROUTE_BAD_ID:
		return refuse(http, 400, R_INVALID_REQUEST,
			      "a session is s_N and an operation op_ with 16 hex digits",
			      ret_refused);
	}
	return -EINVAL;
}

/* ---- the question ------------------------------------------------------------------------- */

/* {"profile":NAME,"request":{…}} and nothing else: NAME to PROFILE, the request canonical to OUT.
 */
static int
decide_read(const struct buf *body, char profile[NAME_MAX_LEN + 1], struct buf *out,
	    struct error *err)
{
	static const char *const keys[] = {"profile", "request", NULL};
	CLEANUP(json_decrefp) json_t *v = NULL;
	const char *name;
	json_t *request;
	int r;

	r = json_read(body->data, body->len, &v, err);
	if (r < 0)
		return r;
	if (!json_is_object(v))
		return error_set(err, -EINVAL, "the body must be an object");
	r = json_only_keys(v, keys, err);
	if (r == 0)
		r = json_get_text(v, "profile", &name, err);
	if (r == 0)
		r = json_get_object(v, "request", &request, err);
	if (r < 0)
		return r;
	if (!name_valid(name))
		return error_set(err, -EINVAL, "\"profile\" is no name of a profile");
	(void)snprintf(profile, NAME_MAX_LEN + 1, "%s", name);
	r = json_write_canonical(request, out, err);
	return r < 0 ? r : buf_check(out, err);
}

static int
send_query(struct call *call, const char *id, const struct buf *arg, struct error *err)
{
	struct server *s = call->conn->server;

	return CHANNEL_SEND(&s->authority, api_query, err, .conn = call->conn->number,
			    .request = call->request, .what = call->route->query,
			    .id = wire_text_of(id), .arg = wire_bytes_of(arg->data, arg->len));
}

static int
send_act(struct call *call, struct error *err)
{
	struct server *s = call->conn->server;

	return CHANNEL_SEND(&s->authority, api_act, err, .conn = call->conn->number,
			    .request = call->request, .verb = call->route->verb,
			    .session = wire_text_of(call->id));
}

int
call_ask(struct call *call, struct MHD_Connection *http, bool *ret_refused)
{
	struct server *s = call->conn->server;
	char profile[NAME_MAX_LEN + 1] = "";
	struct error why = {0};
	struct buf arg;
	int r = 0;

	*ret_refused = false;
	buf_init(&arg, SERVER_BODY_MAX);
	if (call->route->body) {
		if (buf_check(&call->body, &why) < 0)
			r = refuse(http, 413, R_LIMIT_EXCEEDED, "the body is more than 8192 bytes",
				   ret_refused);
		else if (decide_read(&call->body, profile, &arg, &why) < 0)
			r = refuse(http, 400, R_INVALID_REQUEST, why.text, ret_refused);
	}
	if (r == 0 && !*ret_refused) {
		call->request = ++s->last_request;
		if (call->route->query != 0)
			r = send_query(call, call->route->body ? profile : call->id, &arg,
				       &s->broken_why);
		else
			r = send_act(call, &s->broken_why);
		/* The authority does not read, or is gone: then there is nothing left to serve. */
		if (r < 0)
			s->broken = r;
	}
	buf_fini(&arg);
	return r;
}

/* ---- the answer --------------------------------------------------------------------------- */

static int
respond_denial(struct call *call, struct MHD_Connection *http)
{
	CLEANUP(json_decrefp) json_t *denial = NULL;
	struct problem p;

	if (call->status == -ETIMEDOUT)
		p = (struct problem){.status = 504,
				     .reason = R_BUSY,
				     .detail = "the authority did not answer in time"};
	else if (call->status == -EMSGSIZE)
		p = (struct problem){.status = 500,
				     .reason = R_LIMIT_EXCEEDED,
				     .detail = "the answer is more than 4 MiB"};
	else if (json_read(call->answer.data, call->answer.len, &denial, NULL) < 0)
		problem_of_denial(NULL, &p);
	else
		problem_of_denial(denial, &p);
	/* Health is a question about us: whatever is wrong behind, the service is not available. */
	if (call->route->answer == ROUTE_ANSWER_HEALTH)
		p.status = 503;
	return respond_problem(http, &p, NULL, p.status == 400);
}

static int
respond_json(struct call *call, struct MHD_Connection *http, json_t *wrapped)
{
	struct buf body;
	int r = 0;

	buf_init(&body, SERVER_ANSWER_MAX + 1024);
	if (wrapped != NULL)
		r = json_write_canonical(wrapped, &body, NULL);
	else
		buf_add(&body, call->answer.data, call->answer.len);
	if (r == 0 && (body.len == 0 || body.data[body.len - 1] != '\n'))
		buf_char(&body, '\n');
	if (r == 0)
		r = buf_check(&body, NULL);
	if (r == 0)
		r = respond(http, 200, MEDIA_JSON, &body, NULL, false);
	buf_fini(&body);
	return r;
}

static int
respond_health(struct call *call, struct MHD_Connection *http, json_t *doc)
{
	CLEANUP(json_decrefp) json_t *v = NULL;

	v = json_pack("{s:s, s:s, s:{s:I}, s:O}", "status", "ok", "version", LOOM_VERSION, "api",
		      "connections", (json_int_t)call->conn->server->n_conns, "authority", doc);
	if (v == NULL)
		return -ENOMEM;
	return respond_json(call, http, v);
}

static int
respond_note(struct call *call, struct MHD_Connection *http, const json_t *doc)
{
	const json_t *note = json_object_get(doc, "note");
	struct buf body;
	int r;

	if (!json_is_string(note)) {
		call->status = -EBADMSG;
		buf_reset(&call->answer);
		return respond_denial(call, http);
	}
	buf_init(&body, SERVER_ANSWER_MAX);
	buf_add(&body, json_string_value(note), json_string_length(note));
	r = buf_check(&body, NULL);
	if (r == 0)
		r = respond(http, 200, MEDIA_TEXT, &body, NULL, false);
	buf_fini(&body);
	return r;
}

int
call_respond(struct call *call, struct MHD_Connection *http)
{
	CLEANUP(json_decrefp) json_t *doc = NULL;

	if (call->status != 0)
		return respond_denial(call, http);
	if (call->route->answer == ROUTE_ANSWER_NOTHING)
		return respond(http, 204, NULL, NULL, NULL, false);
	/* Not because the authority is distrusted with words: what we label JSON is JSON. */
	if (json_read(call->answer.data, call->answer.len, &doc, NULL) < 0) {
		call->status = -EBADMSG;
		buf_reset(&call->answer);
		return respond_denial(call, http);
	}
	switch (call->route->answer) {
	case ROUTE_ANSWER_HEALTH:
		return respond_health(call, http, doc);
	case ROUTE_ANSWER_NOTE:
		return respond_note(call, http, doc);
	case ROUTE_ANSWER_JSON:
	case ROUTE_ANSWER_NOTHING:
		break;
	}
	return respond_json(call, http, NULL);
}
