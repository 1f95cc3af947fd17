/*
 * The seccomp filter of commands: an allowlist of one ABI, made of the table in filter.def once
 * when the box starts, and installed as it is in each session. Any other ABI ends the process. The
 * program is a balanced tree over ranges of numbers, so that a call costs about seven comparisons.
 */
#ifndef LOOM_BOX_FILTER_H
#define LOOM_BOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define FILTER_INSNS_MAX 1024
#define FILTER_LAST 462 /* mseal, of Linux 6.10: the last number this table knows */

/* What makes one filter differ from another; FILTER_KINDS of them. */
enum filter_flag {
	FILTER_PTRACE = 1 << 0, /* debug: ptrace */
	/*
	 * No AF_UNIX but for connected pairs: in a directory of the host's a socket can be
	 * somebody's service, and a network namespace does not keep it away.
	 */
	FILTER_NO_UNIX = 1 << 1,
	/*
	 * RLIMIT_CORE stays as it is, and who sets it is told that all is well: where core_pattern
	 * is a pipe, a limit of 1 is the only one that stops the host's handler, and even the 0 of
	 * a careful program would start it.
	 */
	FILTER_CORE = 1 << 2,
	FILTER_KINDS = 1 << 3,
};

struct filter {
	uint16_t len;	    /* instructions */
	uint8_t digest[32]; /* SHA-256 of the program as installed */
	struct sock_filter insns[FILTER_INSNS_MAX];
};

/* FLAGS: enum filter_flag. -E2BIG: the table has outgrown FILTER_INSNS_MAX. */
int filter_build(unsigned flags, struct filter *ret, struct error *err) MUST_CHECK;
/* For the calling process and all it will be; needs no_new_privs. 0 or a negative errno value. */
int filter_install(const struct filter *f) MUST_CHECK;

#endif
