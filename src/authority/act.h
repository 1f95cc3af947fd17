/*
 * What is done to sessions and to the daemon: stop, rm, accept, daemon stop. Stopping is always
 * allowed and needs no record (though one is made when it can be); throwing changes away is
 * recorded first; taking them over is an operation like a run: decided, recorded, granted,
 * performed by the box, and its outcome recorded.
 */
#ifndef LOOM_AUTHORITY_ACT_H
#define LOOM_AUTHORITY_ACT_H

#include "base/error.h"
#include "base/macro.h"
#include "wire/channel.h"
#include "wire/message.h"

struct authority;
struct client;
struct conn;
struct packet;

#define ACTS_MAX 64

/* Negative: the client broke the protocol. */
int act_session_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
int act_daemon_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
/* Negative: the api broke the protocol. */
int act_of_api(struct authority *a, const struct conn *c, const struct msg_api_act *m,
	       struct error *err) MUST_CHECK;

/* A run has ended: those who waited for it go on. */
void acts_session_ended(struct authority *a);
void acts_free(struct authority *a);

#endif
