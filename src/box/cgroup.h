/*
 * The limits of a session, held by cgroups beneath the daemon's own, so that an operator's limits
 * hold for everything a sandbox does. Version 1 (memory, cpu and pids hierarchies) and version 2
 * (the unified one) lie behind one table, chosen once at start by what the machine has.
 *
 * Layout: <own cgroup>/loom-<pid>-<random>/s<number>. The directory of an instance is locked
 * (flock) for as long as the box or any of its keepers lives; one that can be locked is a dead
 * instance's, and is swept. The name proves nothing, the lock does.
 *
 * Nobody is moved into a cgroup while someone waits: v1 moves the keeper itself, by writing 0 to
 * "tasks", which for a process of one thread needs no grace period (a write to cgroup.procs takes
 * ten milliseconds); v2 clones the sandbox's init straight into its cgroup.
 *
 * Every value that is written is read back and compared.
 */
#ifndef LOOM_BOX_CGROUP_H
#define LOOM_BOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CONTROLLERS };
extern const char *const cgroup_controller_names[CGROUP_CONTROLLERS];

#define CGROUP_NAME_MAX 64
#define CGROUP_PATH_MAX 1024
#define CGROUP_PERIOD_US 100000
#define CGROUP_FILES_MAX 8
#define CGROUP_TEXT_MAX 64

struct cgroup_limits {
	uint64_t memory;    /* bytes, swap included where that is counted */
	uint32_t cpu_milli; /* CPUs times 1000 */
	uint32_t pids;	    /* what the sandbox may have, init and keeper not counted */
	uint32_t pad;
};
/* Read from the files, after the fact. */
struct cgroup_values {
	uint64_t memory, swap; /* bytes; swap: of both together on v1, of swap alone on v2 */
	uint64_t sockets;      /* bytes; v1 only, where they are not in `memory` */
	uint64_t cpu_quota, cpu_period; /* microseconds */
	uint64_t pids;
	uint8_t version;      /* 1 or 2 */
	uint8_t swap_counted; /* 0: the machine has no swap and does not count it */
	uint8_t pad[6];
};
struct cgroup_usage {
	uint64_t memory_peak; /* bytes; 0: this kernel does not tell */
	uint64_t pids_peak;   /* 0: this kernel does not tell */
	uint64_t cpu_us;      /* 0: not told here */
	uint64_t oom_kills;
};

struct cgroup_ops;
/* The box's own: where sessions' cgroups are made. One hierarchy on v2; on v1 one per controller.
 */
struct cgroups {
	const struct cgroup_ops *ops;
	char instance[CGROUP_NAME_MAX];	 /* "loom-<pid>-<random>" */
	uint32_t n;			 /* hierarchies */
	uint32_t of[CGROUP_CONTROLLERS]; /* which of them has the controller */
	int base[CGROUP_CONTROLLERS];	 /* the daemon's own cgroup, as a directory */
	int top[CGROUP_CONTROLLERS];	 /* the instance's; its lock is held */
	char path[CGROUP_CONTROLLERS]
		 [CGROUP_PATH_MAX]; /* of the instance, as /proc/N/cgroup has it */
	bool swap_counted;
};
/* A session's. */
struct cgroup {
	const struct cgroups *in;
	char name[CGROUP_NAME_MAX];  /* "s<number>" */
	int dir[CGROUP_CONTROLLERS]; /* per hierarchy; -1: closed */
	int file[CGROUP_FILES_MAX];  /* of ops->files, for reading back */
	struct cgroup_limits limits; /* as set; zeros: none yet */
};

void cgroups_init(struct cgroups *c);
/*
 * Find the daemon's own cgroup and make the instance's. -EOPNOTSUPP with a sentence when a
 * controller is missing or cannot be used: then no session can be had.
 */
int cgroups_open(struct cgroups *c, struct error *err) MUST_CHECK;
/* Remove what dead instances left: kill what is in there, remove directories. Returns how many. */
int cgroups_sweep(struct cgroups *c);
/* Remove the instance's own directories; those still in use stay for the next sweep. */
void cgroups_close(struct cgroups *c);

/* Make the directories of session NUMBER. Nothing is left on failure. */
int cgroup_make(const struct cgroups *c, uint64_t number, struct cgroup *ret,
		struct error *err) MUST_CHECK;
void cgroup_close(struct cgroup *g); /* closes descriptors, removes nothing */
/* Set the limits that differ from those in force, and read each back. */
int cgroup_limit(struct cgroup *g, const struct cgroup_limits *l, struct error *err) MUST_CHECK;
/* Read back what is in force and compare with L. -EBADMSG with the first difference. */
int cgroup_values(const struct cgroup *g, const struct cgroup_limits *l, struct cgroup_values *ret,
		  struct error *err) MUST_CHECK;
/* v1: move the calling process (of one thread) in. v2: nothing to do. */
int cgroup_enter(const struct cgroup *g, struct error *err) MUST_CHECK;
/* v2: the descriptor for CLONE_INTO_CGROUP. v1: -1. */
int cgroup_clone_fd(const struct cgroup *g);
/* Does this /proc/PID/cgroup say that the process is in G, for each controller? */
int cgroup_has(const struct cgroup *g, const char *proc_cgroup, struct error *err) MUST_CHECK;
void cgroup_usage(const struct cgroup *g, struct cgroup_usage *ret);
/*
 * Kill the sandbox in the session's cgroup NUMBER: v2 by cgroup.kill; v1 not at all (there its
 * keeper is inside; killing its init does it), unless EVERYTHING, the keeper too, is to go, one by
 * one.
 */
void cgroup_kill(const struct cgroups *c, uint64_t number, bool everything);
/* 0: gone. -EBUSY: something is still in it; try again. */
int cgroup_remove(const struct cgroups *c, uint64_t number);

/* Files of a cgroup; for the two versions. */
struct cgroup_ops {
	int version;
	/* Once, after the instance's directories are there; finds out swap_counted. */
	int (*prepare)(struct cgroups *c, struct error *err);
	int (*limit)(const struct cgroup *g, const struct cgroup_limits *l, struct error *err);
	/* What is read back, up to one without a name; opened with the cgroup, since it is read
	 * when somebody waits. */
	struct cgroup_file {
		enum cgroup_controller controller;
		const char *name;
		bool swap; /* only where swap is counted */
	} files[CGROUP_FILES_MAX];
	/* TEXTS: the first line of each. -EBADMSG: not as expected. */
	int (*values)(char (*texts)[CGROUP_TEXT_MAX], struct cgroup_values *ret, struct error *err);
	/* What `values` has to find when L is in force. */
	void (*expect)(const struct cgroup *g, const struct cgroup_limits *l,
		       struct cgroup_values *ret);
	int (*enter)(const struct cgroup *g, struct error *err);
	int (*clone_fd)(const struct cgroup *g);
	void (*usage)(const struct cgroup *g, struct cgroup_usage *ret);
	void (*kill)(int dir);
};
extern const struct cgroup_ops cgroup_v1, cgroup_v2;
/* Where the controllers are. Each fills n, of, base and path (of the daemon's own), or -EOPNOTSUPP.
 */
int cgroup_v1_find(struct cgroups *c, struct error *err) MUST_CHECK;
int cgroup_v2_find(struct cgroups *c, struct error *err) MUST_CHECK;

int cgroup_write(int dir, const char *file, const char *text, struct error *err) MUST_CHECK;
/* The first line, without its newline. */
int cgroup_read(int dir, const char *file, char *ret, size_t cap, struct error *err) MUST_CHECK;
/* TEXT as a number; "max" is UINT64_MAX. */
int cgroup_number(const char *text, const char *file, uint64_t *ret, struct error *err) MUST_CHECK;
int cgroup_read_number(int dir, const char *file, uint64_t *ret, struct error *err) MUST_CHECK;
/* The number after KEY in a file of "key number" lines. -ENOENT when there is no such key. */
int cgroup_read_key(int dir, const char *file, const char *key, uint64_t *ret);

#endif
