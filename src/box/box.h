/*
 * The one context of loom-box: what it holds from its start on, and the lists of what is going on.
 * One thread, one loop; nothing in it blocks but short reads of files.
 */
#ifndef LOOM_BOX_BOX_H
#define LOOM_BOX_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/secret.h"
#include "box/cgroup.h"
#include "box/filter.h"
#include "box/grant.h"
#include "box/idrange.h"
#include "box/nursery.h"
#include "box/pool.h"
#include "box/run.h"
#include "wire/channel.h"

struct box {
	sd_event *event;
	struct channel loomd, authority;
	struct packet packet;
	struct secret key; /* of receipts and outcomes */
	int sessions;	   /* directory of kept sessions */
	int host_ns;	   /* mount namespace that clients' descriptors are of */
	struct cgroups cgroups;
	struct idrange ids;
	struct filter *filters; /* FILTER_KINDS */
	struct seen_indexes seen;
	struct profile *profile;  /* of the last grant; they rarely change */
	struct sandbox_base base; /* what keepers start from */
	struct nursery nursery;
	struct pool pool;
	struct runs runs;
	/* Why no sandbox can be had on this machine, found out at the start; code 0: they can. */
	struct failure unavailable;
};

/* Handlers of the authority's messages; a negative value ends the process. */
int box_on_packet(struct box *b, struct error *err) MUST_CHECK;
/* The document DATA, in as many box_doc messages as it takes. */
int box_send_doc(struct box *b, uint64_t ticket, int status, const void *data, size_t len,
		 struct error *err) MUST_CHECK;

#endif
