/*
 * How our own processes give up their rights, each once, before its first byte of input: groups and
 * ids (when loomd told it to), capabilities, no_new_privs, non-dumpable, rlimits, a Landlock domain
 * (none for loom-box: such a domain is inherited and forbids mounting), and a seccomp allowlist.
 *
 * What a process may do is data: tables.c has one list of system calls per process. A call that is
 * not in its list kills the process (SECCOMP_RET_KILL_PROCESS), except for loom-box, whose filter is
 * inherited by every sandbox and therefore only denies (EPERM) what no sandbox may ever do.
 * Sanitized builds keep their filters and add what the sanitizer's runtime needs.
 *
 * Nothing here is best effort: a step that fails is an error, and the process must not go on.
 */
#ifndef LOOM_CONFINE_CONFINE_H
#define LOOM_CONFINE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"

enum confine_process {
	CONFINE_LOOMD,      /* parses nothing from outside; forks, execs, kills, waits */
	CONFINE_AUTHORITY,
	CONFINE_LEDGER,
	CONFINE_API,
	CONFINE_BOX,
};

struct confine_dir {
	int fd;             /* a directory; its tree stays reachable */
	bool write;         /* else read only */
};

struct confine_spec {
	enum confine_process process;
	uid_t uid;          /* (uid_t)-1: keep */
	gid_t gid;
	const struct confine_dir *dirs; /* all the file system that is left; loom-box: must be none */
	size_t n_dirs;
	uint64_t open_files; /* RLIMIT_NOFILE, soft and hard (never raised above the current hard limit) */
};

int confine_self(const struct confine_spec *spec, struct error *err) MUST_CHECK;

/* {"landlock":ABI,"seccomp":2,"noNewPrivs":true,"capabilities":"0000000000000000"} read back from
 * /proc/self/status before the filter goes on; for the log and for `loom daemon status`. */
struct confine_report {
	int landlock_abi;   /* 0: none (loom-box) */
	bool seccomp;
	bool no_new_privs;
	uint64_t capabilities; /* effective */
};
const struct confine_report *confine_report(void);

#endif
