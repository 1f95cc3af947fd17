/*
 * What a session changed: the upper layer of an overlay against the workspace beneath it, and the
 * three forms in which that is told (enum diff_form). Reads only, and only by descriptors: openat
 * beneath the two roots without following links; nothing but regular files is opened for reading,
 * and those nonblocking and checked after opening.
 *
 * A change is a difference in type, content, link target or permission bits (01777). Times,
 * extended attributes, ACLs and owners are no changes; set-id bits never leave the layer. A file
 * that was copied up but is equal is no change. A directory that was removed is one change; of one
 * that was replaced, each entry of the old one that is gone is one.
 *
 * Time depends on the number of entries in the upper layer, not on the size of the workspace.
 */
#ifndef LOOM_BOX_CHANGES_H
#define LOOM_BOX_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"
#include "wire/message.h"

#define CHANGES_DEPTH_MAX 4096			  /* levels, for anything that tells paths */
#define CHANGES_MEMORY_MAX (64 * 1024 * 1024)	  /* bytes of names held at once */
#define CHANGES_COMPARE_MAX (UINT64_C(256) << 20) /* larger: modified, uncompared */
#define CHANGES_DIFF_FILE_MAX (4u << 20)	/* larger files are only noted in a unified diff */
#define CHANGES_OUTPUT_MAX (UINT64_C(64) << 20) /* bytes of a list or a unified diff */

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED, CHANGE_TYPE, CHANGE_MODE };
enum change_type { TYPE_FILE, TYPE_DIR, TYPE_LINK, TYPE_FIFO, TYPE_SOCKET, TYPE_DEVICE };
const char *
change_kind_name(enum change_kind k); /* "added", "modified", "deleted", "type", "mode" */
const char *
change_type_name(enum change_type t); /* "file", "dir", "link", "fifo", "socket", "device" */

#define CHANGE_SHOWN_MAX 160
/* PATH for a sentence: escaped (text_escape), and cut with "..." when it is long. */
void change_show(const char *path, char out[CHANGE_SHOWN_MAX]);

struct change {
	const char *path; /* relative to the workspace, raw bytes, NUL-terminated; "." = the root */
	size_t path_len;
	uint32_t depth; /* components before the last */
	enum change_kind kind;
	enum change_type type; /* what is there now; for deleted, what was there */
	uint32_t mode;	       /* 07777 of what is there now; for deleted, of what was */
	uint64_t size;	       /* bytes, of a file or a link's target; else 0 */
	bool copied;	       /* not deleted: an entry of the upper layer */
	struct stat upper;     /* unset when deleted */
	struct stat lower;     /* unset when added */
	int upper_dir;	       /* directories the two lie in, and the name there; -1: not there */
	int lower_dir;
	const char *name;
};
/* Nonzero stops the walk and is returned. */
typedef int (*change_fn)(void *arg, const struct change *c, struct error *err);

struct changes_in {
	int upper;
	int lower;
	uint32_t depth_max; /* 0: no bound but memory */
};
/*
 * Call FN for each change, parents before children, names of one directory in byte order. -E2BIG:
 * deeper than depth_max, or more than CHANGES_MEMORY_MAX; -ESTALE: a directory moved underneath;
 * -EUCLEAN: the layer has what no overlay of ours makes (redirect, metacopy).
 */
int changes_walk(const struct changes_in *in, change_fn fn, void *arg,
		 struct error *err) MUST_CHECK;

/* Count changes and bytes on disk. An absurd tree (-E2BIG inside) gives a lower bound, no error. */
int changes_count(int upper, int lower, uint64_t *ret_changes, uint64_t *ret_bytes,
		  struct error *err) MUST_CHECK;

/*
 * DIFF_LIST: {"changes":[{"kind","mode","path","protected","size","type"}…],"truncated":false},
 * mode as four octal digits in a string ("0644"), path escaped (json_escaped), protected true for
 * what protect.h names; truncated true when it was cut at CHANGES_OUTPUT_MAX. DIFF_UNIFIED: text in
 * git's form, which patch -p1 applies; what has no such form (directories, devices, files that are
 * too large) is a line that starts with "# ". Cut likewise, with such a line. DIFF_MANIFEST:
 * manifest.h. A selected path at which nothing changed is R_INVALID_PATH there.
 */
struct diff_in {
	int sessions; /* the directory of sessions */
	const char *session;
	enum diff_form form;
	const void *paths; /* the selection, as on the wire */
	size_t paths_len;
	int out_fd; /* gets the document */
};
/*
 * For a child of the box made for this: takes the ids of the workspace's owner for good (so call it
 * once, as root), and writes the document. 0, or a negative errno value with *RET_REASON for the
 * client: R_SESSION_ENDED (not kept), R_INVALID_PATH (selection, workspace moved),
 * R_LIMIT_EXCEEDED, R_INTERNAL. What was written before a failure is worthless.
 */
int diff_job(const struct diff_in *in, enum reason *ret_reason, struct error *err) MUST_CHECK;

#endif
