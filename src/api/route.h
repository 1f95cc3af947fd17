/*
 * The routes of the HTTP API as data: what doc/openapi.yaml describes is exactly this table, and a
 * test holds the two together. Pure: text in, a row of the table out.
 *
 * A path matches by whole segments, byte for byte; there is no percent-decoding, no trailing slash,
 * no case folding, so an escaped spelling of an id is simply not found. "{id}" stands for one
 * segment, checked by the row's kind of id before it travels anywhere.
 */
#ifndef LOOM_API_ROUTE_H
#define LOOM_API_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define ROUTE_PATH_MAX 256 /* bytes of a request target, query included */
#define ROUTE_ID_MAX 32	   /* with the NUL */

enum route_id { ROUTE_ID_NONE, ROUTE_ID_SESSION, ROUTE_ID_OPERATION };

/* How the authority's document becomes a response. */
enum route_answer {
	ROUTE_ANSWER_JSON,    /* 200, as it is */
	ROUTE_ANSWER_HEALTH,  /* 200, wrapped into our own status */
	ROUTE_ANSWER_NOTE,    /* 200, the member "note" as text: a signed checkpoint */
	ROUTE_ANSWER_NOTHING, /* 204 */
};

struct route {
	const char *method; /* GET rows serve HEAD too */
	const char *path;   /* template, as in the OpenAPI document */
	enum route_id id;
	uint32_t query; /* enum query; 0: an act */
	uint32_t verb;	/* enum session_verb, for an act */
	enum route_answer answer;
	bool body; /* a JSON body is due; without it none may be there */
};

const struct route *route_table(size_t *ret_n);

enum route_found {
	ROUTE_FOUND,
	ROUTE_NO_PATH,	 /* 404 */
	ROUTE_NO_METHOD, /* 405: the path is there with other methods */
	ROUTE_BAD_ID,	 /* 400: the segment is no id of its kind */
};
/* On ROUTE_FOUND RET and ID are written; ID is "" for rows without one. */
enum route_found route_find(const char *method, const char *path, const struct route **ret,
			    char id[ROUTE_ID_MAX]);
/* The value of an Allow header for PATH: "DELETE, GET, HEAD". */
void route_allow(const char *path, struct buf *out);

#endif
