/*
 * Host ids for sessions. Each live session has one id (uid and gid alike) that no other live user
 * namespace of any box on this machine maps, and that no account has. The range is the 65,536 ids
 * from the meson option host_id_base on; its default, 2000000000, is above what distributions,
 * systemd's nspawn (up to 1879048191) and subuid delegations hand out, and below systemd's foreign
 * range (2147352576). It is cut into blocks of 1,024; a box holds one block by an
 * open-file-description lock on a byte of /run/loom-ids. Keepers inherit the description, so a
 * block is free again only when the last process that could use it is gone.
 */
#ifndef LOOM_BOX_IDRANGE_H
#define LOOM_BOX_IDRANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define IDRANGE_BASE ((uint32_t)LOOM_HOST_ID_BASE) /* meson option host_id_base */
#define IDRANGE_BLOCK 1024u
#define IDRANGE_BLOCKS 64u
#define IDRANGE_LOCK "/run/loom-ids"

struct idrange {
	uint32_t first; /* of our block */
	uint32_t next;	/* where to look, so that ids come back late */
	int lock;	/* -1: not held */
	uint8_t used[IDRANGE_BLOCK / 8];
};

void idrange_init(struct idrange *r);
/* -EBUSY: all blocks are taken; -EADDRINUSE: accounts or subuid delegations lie in the range. */
int idrange_claim(struct idrange *r, struct error *err) MUST_CHECK;
void idrange_close(struct idrange *r);
/* An id, or 0: none is left. */
uint32_t idrange_take(struct idrange *r);
void idrange_give(struct idrange *r, uint32_t id);

/* Does any line "name:...:ID:" (column COLUMN) or "name:FIRST:COUNT" of TEXT meet [first, last]?
 * For /etc/passwd (2), /etc/group (2), and with COUNT true /etc/subuid and /etc/subgid (1). */
bool idrange_meets(const char *text, unsigned column, bool count, uint32_t first, uint32_t last);

#endif
