/* The checks of the probe: each does one thing in a process of its own and looks at what happened.
 */
#ifndef LOOM_BOX_PROBE_CHECK_H
#define LOOM_BOX_PROBE_CHECK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

struct probe {
	int state;	  /* directory in which sessions would be kept */
	int workspace;	  /* directory of the file system a workspace would be on */
	uint32_t host_id; /* an id to be mapped that no account has */
};

/*
 * 0 with what was seen in SEEN, or a negative errno value with what failed in ERR. Runs in a child
 * that is ended with all it started when it takes too long; leaves nothing behind.
 */
typedef int (*probe_fn)(const struct probe *p, struct buf *seen, struct error *err);

int probe_user_namespace(const struct probe *p, struct buf *seen, struct error *err);
int probe_mount_namespace(const struct probe *p, struct buf *seen, struct error *err);
int probe_net_namespace(const struct probe *p, struct buf *seen, struct error *err);
int probe_pid_namespace(const struct probe *p, struct buf *seen, struct error *err);
int probe_other_namespaces(const struct probe *p, struct buf *seen, struct error *err);

int probe_read_only_root(const struct probe *p, struct buf *seen, struct error *err);
int probe_idmap_state(const struct probe *p, struct buf *seen, struct error *err);
int probe_idmap_workspace(const struct probe *p, struct buf *seen, struct error *err);
int probe_overlay(const struct probe *p, struct buf *seen, struct error *err);
int probe_layer(const struct probe *p, struct buf *seen, struct error *err);

int probe_cgroup_memory(const struct probe *p, struct buf *seen, struct error *err);
int probe_cgroup_cpu(const struct probe *p, struct buf *seen, struct error *err);
int probe_cgroup_pids(const struct probe *p, struct buf *seen, struct error *err);
int probe_clone_into_cgroup(const struct probe *p, struct buf *seen, struct error *err);

int probe_landlock(const struct probe *p, struct buf *seen, struct error *err);
int probe_seccomp(const struct probe *p, struct buf *seen, struct error *err);
int probe_no_new_privs(const struct probe *p, struct buf *seen, struct error *err);
int probe_keyring(const struct probe *p, struct buf *seen, struct error *err);
int probe_memfd(const struct probe *p, struct buf *seen, struct error *err);
int probe_openat2(const struct probe *p, struct buf *seen, struct error *err);
int probe_pidfd(const struct probe *p, struct buf *seen, struct error *err);

/*
 * Run FN in a new user namespace and the others of FLAGS (CLONE_NEW*), as uid and gid 1000 there
 * (for root; another user is himself), with all capabilities of that namespace. FN's result and
 * error are this function's. With CLONE_NEWPID, FN is its process 1.
 */
typedef int (*probe_inside)(void *arg, struct error *err);
int probe_in_namespaces(const struct probe *p, int flags, probe_inside fn, void *arg,
			struct error *err) MUST_CHECK;
/* Wait for PID, started by the caller; its wait status. */
int probe_wait(int pid, int *ret_status, struct error *err) MUST_CHECK;
/* A directory of its own in DIR, mode 0755; NAME gets its name. */
#define PROBE_NAME_MAX 32
int probe_dir(int dir, char name[PROBE_NAME_MAX], struct error *err) MUST_CHECK;

#endif
