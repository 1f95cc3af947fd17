/* What /proc/self/mountinfo (proc_pid_mountinfo(5)) says about one directory. */
#ifndef LOOM_BOX_MOUNT_TABLE_H
#define LOOM_BOX_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct mount_facts {
	bool found;	      /* the mount that the directory lies on is in this namespace */
	char fs[32];	      /* its file system type, cut if longer */
	bool beneath;	      /* another mount lies strictly beneath the directory */
	char beneath_at[256]; /* where, raw bytes, cut if longer */
};

/* One mount of this process's namespace; escapes undone. */
struct mount_line {
	uint64_t id;
	const char *dev;   /* "254:0": of the file system */
	const char *root;  /* the directory of the file system that it shows */
	const char *point; /* where */
	const char *type;
};
/*
 * All of them, good until the next call here. *RET_GENERATION (may be NULL) is another number after
 * each change of the table, or of the namespace this process is in.
 */
int mount_table_lines(const struct mount_line **ret, size_t *ret_n, uint64_t *ret_generation,
		      struct error *err) MUST_CHECK;
/* The one with this id, good as long; NULL: it is not in this namespace. */
int mount_table_find(uint64_t mount_id, const struct mount_line **ret,
		     struct error *err) MUST_CHECK;

/* MOUNT_ID: of the directory (statx); PATH: of it, absolute, raw bytes. */
int mount_table_look(uint64_t mount_id, const char *path, struct mount_facts *ret,
		     struct error *err) MUST_CHECK;

/* As mount_table_look, over TEXT as the kernel would write it. -EBADMSG: a line cannot be read. */
int mount_table_look_in(const char *text, uint64_t mount_id, const char *path,
			struct mount_facts *ret, struct error *err) MUST_CHECK;

#endif
