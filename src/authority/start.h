/*
 * What has to be known before anybody is served: how far the ledger goes and with which key, the
 * intents that an earlier Loom left without an outcome (each is recorded as indeterminate), and
 * what the box keeps. Then the view is brought up to date, loomd is told, and the doors are opened.
 */
#ifndef LOOM_AUTHORITY_START_H
#define LOOM_AUTHORITY_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authority/boxlink.h"
#include "base/buf.h"
#include "model/ids.h"

struct authority;
struct ask;

struct open_operation {
	uint64_t intent;
	char op[OP_ID_MAX];
	char session[SESSION_ID_MAX];
};

struct start {
	struct ask *head, *open;
	struct ticket kept;
	struct buf kept_text;
	struct open_operation *left; /* intents without an outcome */
	size_t n_left, left_cap, next_left, n_closing;
	unsigned int waits; /* for so many of the things below */
	bool closed;	    /* all of `left` is dealt with */
};

void start_fini(struct authority *a);

#endif
