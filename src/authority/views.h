/*
 * The view: an SQLite database of what is in the ledger, so that a listing or a trace finds its
 * entries without reading all of history. It is written behind the answers, without a sync, and can
 * be dropped at any time; nothing is true because it says so, and no verdict reads it.
 *
 * It is of no use when it is behind the ledger, of another ledger, or damaged; views_open finds out
 * (whole, when the machine has been started since) and begins an empty one then. Whoever opened it
 * feeds it the entries from views_size() on. When the directory cannot be used at all it lives in
 * memory. A database that breaks while we run is closed, and views_ok() is false from then on.
 */
#ifndef LOOM_AUTHORITY_VIEWS_H
#define LOOM_AUTHORITY_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authority/row.h"
#include "base/error.h"
#include "base/macro.h"

struct views;

struct views_spec {
	int dir;	  /* DIR/views; -1: in memory */
	const char *vkey; /* of the ledger it has to be of */
	const char *boot; /* identifies this boot of the machine */
	uint64_t size;	  /* entries in the ledger now: a view of more is not of this ledger */
};
/* Always gives a view unless memory runs out. *RET_FRESH: it begins empty. */
int views_open(const struct views_spec *spec, struct views **ret, bool *ret_fresh,
	       struct error *err) MUST_CHECK;
void views_close(struct views *v); /* writes what waits; NULL is fine */
bool views_ok(const struct views *v);

/* The view has the entries below this index, all of them. */
uint64_t views_size(const struct views *v);
/* Highest number of a session in it. */
uint64_t views_last_session(const struct views *v);

/*
 * Take entry INDEX, which is views_size() plus what waits; another index breaks the view. It waits
 * in memory until views_flush.
 */
void views_add(struct views *v, uint64_t index, const struct row *row);
bool views_waiting(const struct views *v);
void views_flush(struct views *v);

/*
 * Indexes of the entries of an operation or a session, ascending, at most MAX (-E2BIG beyond).
 * *RET_UID is the identity they belong to, or ROW_NO_UID. Flushes first. -EIO: the view is broken.
 */
int views_find(struct views *v, const char *op_or_session, uint64_t *ret_indexes, size_t max,
	       size_t *ret_n, uint32_t *ret_uid, struct error *err) MUST_CHECK;

/* The first entries of a session, at most MAX. */
int views_first(struct views *v, const char *session, uint64_t *ret_indexes, size_t max,
		size_t *ret_n, struct error *err) MUST_CHECK;

/* The newest name that UID gave to session NUMBER; empty when none. */
int views_session_name(struct views *v, uint64_t number, uint32_t uid, char ret[NAME_MAX_LEN + 1],
		       struct error *err) MUST_CHECK;
/* The newest session that UID gave NAME; -ENOENT. */
int views_session_of_name(struct views *v, const char *name, uint32_t uid, char ret[SESSION_ID_MAX],
			  struct error *err) MUST_CHECK;

#endif
