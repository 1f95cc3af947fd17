/*
 * Layers made before anyone asks for them: an empty upper and work directory that look as the
 * session of the last workspace would need them, so that an overlay can be mounted on them while
 * nobody waits. They lie beside the sessions under a name of their own, and become a session by a
 * rename.
 *
 * What is no longer wanted is renamed as well, and removed by the nursery; a crash leaves names
 * that the next start removes (spare_sweep).
 */
#ifndef LOOM_BOX_SPARE_H
#define LOOM_BOX_SPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/store.h"

#define SPARE_NAME_MAX 32

/* What the layers were made for; another workspace cannot use them. */
struct spare_for {
	uint64_t dev, ino;
	uint32_t uid, gid;
	uint32_t mode; /* 07777 */
	uint32_t pad;
};
void spare_for_stat(const struct stat *workspace, struct spare_for *ret);
bool spare_for_same(const struct spare_for *a, const struct spare_for *b);

/* Name of the spare layers of sandbox NUMBER. */
void spare_name(uint64_t number, char out[SPARE_NAME_MAX]);
/* Make them; returns their directory. */
int spare_make(int sessions, uint64_t number, const struct spare_for *what,
	       struct error *err) MUST_CHECK;
/* They become META's session. -EEXIST: that is kept already. */
int spare_adopt(int sessions, uint64_t number, const struct store_meta *meta,
		struct store_session *ret, struct error *err) MUST_CHECK;
/* The rest of it, when the command is on its way: times, and meta.json. */
int spare_settle(struct store_session *s, int workspace, struct error *err) MUST_CHECK;

/* Take a session without changes out of the list; *RET_NAME is what has to be removed. */
int spare_bury(int sessions, const char *session, char ret_name[SPARE_NAME_MAX],
	       struct error *err) MUST_CHECK;
/* Remove NAME, one of the above. */
int spare_remove(int sessions, const char *name, struct error *err) MUST_CHECK;
/* Remove all that a crash left. */
void spare_sweep(int sessions);

#endif
