/*
 * The intents that have no outcome yet, oldest first. At most OPENSET_MAX, so that what a ledger
 * keeps in memory does not depend on how long its history is.
 */
#ifndef LOOM_LEDGER_OPENSET_H
#define LOOM_LEDGER_OPENSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/macro.h"

#define OPENSET_MAX 8192
#define OPENSET_ITEM_BYTES 48 /* index, op, digest: as in a segment's head */

struct open_intent {
	uint64_t index;
	uint64_t op;                /* the 16 hex digits of its id, as a number */
	uint8_t digest[SHA256_LEN];
	bool closing;               /* an entry that closes it waits to be written */
};

struct openset {
	struct open_intent *items;  /* by index */
	size_t n, cap;
};

void openset_init(struct openset *s);
void openset_fini(struct openset *s);
/* Make room for one more: false when there are OPENSET_MAX, or memory runs out. */
bool openset_room(struct openset *s) MUST_CHECK;
/* INDEX is above all that are there; openset_room said yes. */
void openset_add(struct openset *s, uint64_t index, uint64_t op, const uint8_t digest[SHA256_LEN]);
struct open_intent *openset_find(struct openset *s, uint64_t index); /* NULL: not open */
bool openset_has_op(const struct openset *s, uint64_t op);
void openset_remove(struct openset *s, uint64_t index);

/* The number in "op_0123456789abcdef"; the id is valid. */
uint64_t op_number(const char *op);

#endif
