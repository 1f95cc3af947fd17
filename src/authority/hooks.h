/*
 * The steps at which an authority could lie to the box or to the ledger. hooks.c does them
 * honestly; a test build has another file in its place and shows what the others do about it.
 */
#ifndef LOOM_AUTHORITY_HOOKS_H
#define LOOM_AUTHORITY_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/receipt.h"
#include "wire/message.h"

struct authority;

struct grant_step {
	uint64_t ticket;
	const struct buf *entry; /* the recorded intent */
	const struct receipt *receipt;
	int profile_fd; /* stays the caller's */
};
struct outcome_step {
	const struct buf *entry; /* the outcome entry */
	struct wire_bytes mac;	 /* the performer's */
};

struct hooks {
	/* Send the grant to the box. */
	int (*grant)(struct authority *a, const struct grant_step *g, struct error *err);
	/* Which descriptors the box is to examine: may replace some of FDS (workspace first). */
	int (*examine)(struct authority *a, int *fds, size_t n_fds, struct error *err);
	/* Change the outcome before it goes to the ledger. */
	int (*outcome)(struct authority *a, struct outcome_step *o, struct error *err);
};

extern const struct hooks authority_hooks;

#endif
