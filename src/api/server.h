/*
 * The HTTP server: connections that the authority accepted and numbered, requests on them, and the
 * authority's answers. One thread, one poll. It only translates: it opens nothing, decides nothing,
 * and the only name it has for whoever is at the other end is the number of the connection.
 *
 * A request goes through these steps, and a refusal can end it at each: headers (bounds, framing),
 * route, body (exactly one JSON document, strict), a question to the authority with the connection
 * suspended, its documents collected, a response.
 */
#ifndef LOOM_API_SERVER_H
#define LOOM_API_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/problem.h"
#include "api/route.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "wire/channel.h"

#define SERVER_CONNS_MAX 64
#define SERVER_MEMORY_MAX 32768	     /* bytes a connection: request line and headers must fit */
#define SERVER_HEADERS_MAX 64	     /* fields */
#define SERVER_HEADER_BYTES_MAX 8192 /* names and values */
#define SERVER_BODY_MAX 8192	     /* bytes of a request body */
#define SERVER_ANSWER_MAX (4 * 1024 * 1024) /* bytes of the authority's answer to one request */
#define SERVER_IDLE_S 10		    /* a connection on which nothing moves is closed */
#define SERVER_REQUEST_MS 30000		    /* from the first wait for a request to its response */

struct MHD_Daemon;
struct MHD_Connection;
struct call;
struct server;

struct conn {
	struct server *server;
	uint64_t number;	     /* the authority's */
	int fd;			     /* owned by libmicrohttpd */
	struct MHD_Connection *http; /* NULL until libmicrohttpd took it */
	struct call *call;	     /* the request that waits for the authority, or NULL */
	uint64_t deadline_ms;	     /* boot clock: past it the connection is ended */
};

/* One request. */
struct call {
	struct conn *conn;
	const struct route *route;
	char id[ROUTE_ID_MAX];
	struct buf body;
	uint64_t request; /* our number for it; 0: not sent */
	bool answered;
	int status; /* the authority's, when answered */
	struct buf answer;
};

struct server {
	struct channel authority;
	struct packet packet;
	struct MHD_Daemon *http;
	int http_fd;  /* libmicrohttpd's epoll descriptor */
	int watch_fd; /* one more descriptor for server_step to wait on, or -1 */
	uint64_t last_request;
	size_t n_conns;
	struct conn *conns[SERVER_CONNS_MAX];
	int broken; /* first error while inside libmicrohttpd, or 0 */
	struct error broken_why;
};

/*
 * Everything that needs a system call beyond the filter's is done here; confine after it.
 * AUTHORITY_FD is owned by the server from here on, also on failure.
 */
int server_init(struct server *s, int authority_fd, struct error *err) MUST_CHECK;
void server_fini(struct server *s); /* safe on a zeroed one */

/*
 * Wait at most TIMEOUT_MS (-1: as long as it takes) and do what there is to do. 1: go on; 0: the
 * authority has gone; negative: it broke the protocol, or we are broken. *RET_WATCHED says whether
 * watch_fd became readable.
 */
int server_step(struct server *s, int timeout_ms, bool *ret_watched, struct error *err) MUST_CHECK;

/* request.c: one HTTP request, called by libmicrohttpd through server.c. */
struct call *call_new(struct conn *c);
void call_free(struct call *call);
/* Headers are there. Fills the call's route, or queues a refusal (*RET_REFUSED). 0 or negative. */
int call_begin(struct call *call, struct MHD_Connection *http, const char *url, const char *method,
	       const char *version, bool *ret_refused) MUST_CHECK;
/* The body is there: send the question. As above. */
int call_ask(struct call *call, struct MHD_Connection *http, bool *ret_refused) MUST_CHECK;
/* The answer is there, or (status -ETIMEDOUT) will not come: queue the response. */
int call_respond(struct call *call, struct MHD_Connection *http) MUST_CHECK;
/* A complete response for a connection that is not even taken; appended to OUT. */
int call_write_busy(struct buf *out, struct error *err) MUST_CHECK;

#endif
