/*
 * Reading what the kernel says about processes, mounts and cgroups. Files of /proc are read whole
 * into a buffer of the caller's; nothing is cached.
 */
#ifndef LOOM_BOX_PROCFS_H
#define LOOM_BOX_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

/* Bytes read (NUL-terminated after them), or a negative errno value; -EMSGSIZE when CAP is too
 * small. */
ssize_t procfs_read(int dirfd, const char *file, char *buf, size_t cap);
/* Open /proc/PID as a directory. */
int procfs_open(pid_t pid, struct error *err) MUST_CHECK;
/* The text after "KEY:" and white space up to the end of the line; NULL when there is no such line.
 */
const char *procfs_field(const char *status, const char *key, size_t *ret_len);

/* One line of mountinfo, split in place: escapes (\040) stay as they are. */
struct procfs_mount {
	const char *root; /* of the mount within its file system */
	const char *at;
	const char *options; /* of the mount: "ro,nosuid,nodev,relatime" */
	const char *type;
	const char *super; /* of the file system */
};
/* Split the line at *AT and move *AT to the next. false: no line is left, or it is malformed (then
 * *AT is not at the end). */
bool procfs_mount_next(char **at, struct procfs_mount *ret);
/* Is OPTION one of the comma-separated OPTIONS? */
bool procfs_has_option(const char *options, const char *option);

#define PROCFS_CGROUP_MAX 1024
struct procfs_cgroup {
	int dir;		       /* of the calling process's cgroup in that hierarchy */
	char path[PROCFS_CGROUP_MAX];  /* as /proc/self/cgroup has it */
	char mount[PROCFS_CGROUP_MAX]; /* where that hierarchy's root is mounted */
};
/* CONTROLLER of v1, or "" for the unified hierarchy. -EOPNOTSUPP with a sentence. */
int procfs_cgroup(const char *controller, struct procfs_cgroup *ret, struct error *err) MUST_CHECK;

/* Do both descriptors name the same object? */
bool procfs_same_dir(int a, int b);

#endif
