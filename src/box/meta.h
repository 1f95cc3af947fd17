/* meta.json of a kept session (store.h): written whole, read strictly. */
#ifndef LOOM_BOX_META_H
#define LOOM_BOX_META_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/store.h"

#define META_NAME "meta.json"
#define META_MAX 65536 /* bytes */

/* In a directory that has none yet; not synced. */
int meta_create(int dir, const struct store_meta *m, struct error *err) MUST_CHECK;
/* Durably, over the one that is there. */
int meta_replace(int dir, const struct store_meta *m, struct error *err) MUST_CHECK;
/* -ENOENT: none; -EBADMSG: not one of ours, or of another session than SESSION. */
int meta_read(int dir, const char *session, struct store_meta *ret, struct error *err) MUST_CHECK;
/* Is ST the directory the session was started on, with the same owner and group? */
bool meta_is_of(const struct store_meta *m, const struct stat *st);
json_t *meta_list_json(const struct store_meta *m) MUST_CHECK; /* an element of store_list */

#endif
