/*
 * Where a loomd lives: its state directory, its run directory and the configuration directory. They
 * are opened (or made) and judged here, once, and everything after works on the descriptors.
 *
 * A directory of ours belongs to the effective user and gives nobody else any right, whatever the
 * environment says; the directories above it (~/.local, ~/.local/state) are made as XDG's base
 * directory specification asks, mode 0700, and are not ours to judge. The configuration directory
 * is only opened here: the authority judges it and all above it, at each use.
 */
#ifndef LOOM_LOOMD_PLACES_H
#define LOOM_LOOMD_PLACES_H

#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

struct places {
	int state;    /* the state directory */
	int run;      /* the run directory: sockets and lock */
	int ledger;   /* state/ledger */
	int sessions; /* state/sessions */
	int views;    /* state/views */
	int config;   /* the configuration directory; -1: there is none */
	int run_lock; /* locked while we live */
	int state_lock;
	gid_t own_group; /* a group whose only member is the effective user; (gid_t)-1: none */
};

struct places_spec {
	const char *state; /* absolute and normal; so are the others */
	const char *run;
	const char *config; /* NULL: none */
};

void places_init(struct places *p);
void places_fini(struct places *p);

/* Open and judge all directories; nothing is locked yet. -EPERM with the chmod that mends it. */
int places_open(struct places *p, const struct places_spec *spec, struct error *err) MUST_CHECK;

/*
 * Take both locks without waiting: that of the run directory, so that nobody unlinks the sockets of
 * a living loomd, and that of the state, so that the ledger has one writer. -EWOULDBLOCK: another
 * loomd holds the first; -EBUSY: another one holds only the second, so it has its sockets
 * elsewhere. The kernel gives the locks back when we end, however that happens.
 */
int places_lock(struct places *p, struct error *err) MUST_CHECK;

#endif
