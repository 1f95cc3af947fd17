/*
 * Which changes a diff shows or an accept takes: a list of paths, each of which names its entry and
 * all beneath it; "." names everything. An empty list selects everything too, but does not answer
 * for protected entries (protect.h): those are taken only by their own path.
 */
#ifndef LOOM_BOX_SELECTION_H
#define LOOM_BOX_SELECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "box/changes.h"

struct selection {
	char **paths; /* normal (path_relative), sorted, each once; "" = everything */
	bool *hit;    /* something was found there; set by selection_judge */
	size_t n;     /* 0: everything */
};
void selection_fini(struct selection *s);
/* From the wire: each path NUL-terminated; LEN 0 selects everything. -EINVAL with the path. */
int selection_read(const void *data, size_t len, struct selection *ret,
		   struct error *err) MUST_CHECK;
/* From a recorded operation: an array of escaped strings; NULL or empty selects everything. */
int selection_read_json(const json_t *paths, struct selection *ret, struct error *err) MUST_CHECK;

enum selected {
	SELECTED_NO,
	SELECTED_YES,
	SELECTED_IMPLIED,   /* a new directory that a selected entry lies in */
	SELECTED_PROTECTED, /* would be selected, but has to be named by itself */
	SELECTED_NEVER,	    /* asked for, and never taken */
};
/* What the selection says of a change, protection included. *RET_WHY is protect.h's, for the last
 * two. */
enum selected selection_judge(struct selection *s, const struct change *c, const char **ret_why);
/* Is PATH covered, protected or not? For showing. */
bool selection_covers(const struct selection *s, const char *path);
/* Named by itself? */
bool selection_names(const struct selection *s, const char *path);
/* The first path at which selection_judge found nothing; NULL: none. */
const char *selection_unmatched(const struct selection *s);

/* Bytes out of their escaped form (json_escaped). -EINVAL. RET is malloced and NUL-terminated;
 * bytes with a NUL among them are refused. */
int escaped_read(const char *text, char **ret, struct error *err) MUST_CHECK;

#endif
