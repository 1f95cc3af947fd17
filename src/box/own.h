/*
 * Loom's own directories (state, run, configuration): nobody's workspace, nor in one, nor around
 * one, and nothing of them is shown by a profile's readOnly. A session that can write there rules
 * over the sessions after it.
 *
 * Each is known as an object, by a descriptor that was handed over at the start, and by its path,
 * which is followed again at each question: what the next start will use may come, or be replaced,
 * at any time. Where the path leads to nothing yet, the nearest directory there is counts: it, and
 * what is above it, would contain the place.
 */
#ifndef LOOM_BOX_OWN_H
#define LOOM_BOX_OWN_H

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/where.h"

#define OWN_MAX 8 /* descriptors and paths, together */

/* Add one of them, for the life of the process. FD stays the caller's, and open; so does PATH. */
int own_add_fd(int fd, struct error *err) MUST_CHECK;
int own_add_path(const char *path, struct error *err) MUST_CHECK;
/* For tests. */
void own_forget(void);

enum own_answer { OWN_APART, OWN_IS, OWN_BENEATH, OWN_CONTAINS };
/*
 * CHAIN (N of where_chain) and W of the directory in question; W may be unknown. MORE: descriptors
 * of others of Loom's own, N_MORE; the directory above the first of them counts too.
 */
int own_judge(const struct object *chain, int n, const struct where *w, const int *more,
	      size_t n_more, enum own_answer *ret, struct error *err) MUST_CHECK;

#endif
