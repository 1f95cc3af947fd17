/*
 * The two doors. At cli.sock the authority talks to clients itself; whoever comes in by loom.sock
 * it numbers, remembers the uid of, and hands to loom-api without reading a byte. Who somebody is
 * comes from SO_PEERCRED and nothing else: no message carries a uid.
 */
#ifndef LOOM_AUTHORITY_DOORS_H
#define LOOM_AUTHORITY_DOORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "authority/deadline.h"
#include "authority/peer.h"
#include "authority/reply.h"
#include "base/error.h"
#include "base/macro.h"

#define DOORS_CLIENTS_MAX 256
#define DOORS_SILENT_MS 10000		    /* how long a client may be there and ask nothing */
#define DOORS_CONNS_MAX 64		    /* as many as the api serves */
#define DOORS_ASKS_MAX 64		    /* questions of the api that are under way */
#define CLIENT_QUEUE_MAX (20 * 1024 * 1024) /* bytes a client has not read yet */

struct authority;
struct run;

/*
 * A connection at cli.sock. While it waits for anything its channel is in S_RUNNING, else S_IDLE.
 * One that is idle for DOORS_SILENT_MS is closed; where DOORS_CLIENTS_MAX are connected, whoever
 * comes takes the place of the one that has been idle longest, and only where none is idle it is
 * in excess.
 */
struct client {
	struct client *prev, *next;
	struct authority *authority;
	struct peer peer;
	uint32_t uid;
	bool foreign;		 /* not the user this Loom serves: everything is refused */
	bool excess;		 /* one too many: everything is refused */
	struct run *run;	 /* what it runs */
	struct asker *asker;	 /* what it waits for */
	struct deadline silence; /* set while it is idle */
};

/* A connection at loom.sock, with the api. */
struct conn {
	struct conn *prev, *next;
	uint64_t number;
	uint32_t uid;
	bool foreign;
};

struct doors {
	sd_event_source *cli, *http;
	int cli_fd, http_fd;
	struct deadline pause; /* nobody is accepted until then: descriptors ran out */
	struct client *clients;
	size_t n_clients;
	struct conn *conns;
	size_t n_conns;
	uint64_t last_conn;
	struct asker *asks; /* of the api */
	size_t n_asks;
};

/* The listening sockets are owned from here on; nobody is accepted before doors_open. */
int doors_init(struct authority *a, int cli_listen, int http_listen, struct error *err) MUST_CHECK;
void doors_fini(struct authority *a);
int doors_open(struct authority *a, struct error *err) MUST_CHECK;
/*
 * Nobody can connect any more. Those who have, but were not accepted, are turned away unread: a
 * client then knows that nothing of what it asked has begun.
 */
void doors_shut(struct authority *a);

/* It waits for nothing any more. */
void client_idle(struct client *c);
/* It could not be told something: better that its connection ends than that it waits for ever. */
void client_lost(struct client *c, const struct error *err);
/* Fill the asker of something a client or a connection waits for. -EBUSY: too many are under way.
 */
void asker_of_client(struct asker *to, struct client *c);
int asker_of_conn(struct asker *to, struct authority *a, const struct conn *c, uint64_t request,
		  struct error *err) MUST_CHECK;
void asker_forget(struct asker *to);

/* A packet from loom-api. Negative: it broke the protocol. */
int doors_api_packet(struct authority *a, struct packet *p, struct error *err) MUST_CHECK;

#endif
