/*
 * What this machine can enforce, found out by doing it: each check does in a throw-away child what
 * a session would do, and looks at what happened. Nothing is left behind. For loom-probe,
 * which the doctor calls; works for any user, and says what fails for it and why.
 */
#ifndef LOOM_BOX_PROBE_H
#define LOOM_BOX_PROBE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

struct probe_in {
	const char *state;     /* where sessions would be kept; NULL: /var/tmp */
	const char *workspace; /* a directory to try an idmapped mount of; NULL: the current one */
};
/*
 * Append a JSON array of {"check","works","detail","fix","needed_by":[profile…]}: check is a stable
 * name; detail what was seen; fix the exact command or a sentence, empty when it works. Takes less
 * than five seconds whatever hangs. Fails only for want of memory.
 */
int probe_run(const struct probe_in *in, struct buf *out, struct error *err) MUST_CHECK;

#endif
