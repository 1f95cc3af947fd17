/* A root that nobody uses any more is closed, and its mount namespace goes with the descriptor. */
#include "box/roots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

void
roots_leave(struct root *root)
{
	if (--root->users > 0)
		return;
	root_close(root);
	free(root);
}

int
roots_get(struct roots *r, const struct root_shape *shape, int host_ns, struct root **ret,
	  struct error *err)
{
	struct root **at = NULL, *fresh;
	int code;

	for (unsigned i = 0; i < ROOTS_MAX && at == NULL; i++)
		if (r->kept[i] != NULL && root_shape_same(&r->kept[i]->shape, shape))
			at = &r->kept[i];
	if (at != NULL && !root_stale(*at)) {
		*ret = *at;
		return 0;
	}
	fresh = calloc(1, sizeof(*fresh));
	if (fresh == NULL)
		return error_set(err, -ENOMEM, "no memory for a root");
	code = root_make(shape, host_ns, fresh, err);
	if (code < 0) {
		free(fresh);
		/* The process is in a namespace that it does not belong in. */
		if (code == -ENOTRECOVERABLE)
			fatal("%s", err->text);
		return code;
	}
	if (at == NULL) {
		at = &r->kept[r->next];
		r->next = (r->next + 1) % ROOTS_MAX;
	}
	if (*at != NULL)
		roots_leave(*at);
	fresh->users = 1;
	*at = fresh;
	*ret = fresh;
	return 0;
}

void
roots_fini(struct roots *r)
{
	for (unsigned i = 0; i < ROOTS_MAX; i++)
		if (r->kept[i] != NULL)
			roots_leave(r->kept[i]);
}
