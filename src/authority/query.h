/*
 * Questions and their documents (JSON, canonical). Nothing is decided for good and nothing is
 * changed here. Somebody sees their own sessions and operations only.
 *
 *   Q_STATUS {"ledger":{"origin","size"},"mode","pid","processes":[…],"sessions":{"kept","live"},
 *                   "started","state","config","version"}
 *   Q_SESSIONS     {"sessions":[as Q_SESSION…]}, oldest first
 *   Q_SESSION {"changes","ended","id","identity","name","operation","profile":{"digest","name"},
 *                   "started","state","workspace":{"mode","path"}}
 *   Q_DIFF(_JSON)  as the box makes it
 *   Q_TRACE        evidence/trace.h
 *   Q_PROFILES     {"profiles":[{"description","digest","name","shipped"} or {"error","name"}…]}
 *   Q_PROFILE      {"digest","name","profile":{…},"shipped"}
 *   Q_WHY          policy/policy.h
 *   Q_LEDGER_HEAD  {"note","origin","size","vkey"}
 *   Q_LEDGER_SHOW  {"entries":[{"entry":{…},"index":N}…],"size":N}
 */
#ifndef LOOM_AUTHORITY_QUERY_H
#define LOOM_AUTHORITY_QUERY_H

#include "base/error.h"
#include "base/macro.h"
#include "wire/channel.h"
#include "wire/message.h"

struct authority;
struct client;
struct conn;
struct packet;
struct question;

/* Negative: the client broke the protocol. */
int query_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
/* Negative: the api broke the protocol. */
int query_of_api(struct authority *a, const struct conn *c, const struct msg_api_query *m,
		 struct error *err) MUST_CHECK;
void queries_free(struct authority *a);

#endif
