/* What each of our processes may ask of the kernel: data, read by confine.c. */
#ifndef LOOM_CONFINE_TABLES_H
#define LOOM_CONFINE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "confine/confine.h"

struct confine_table {
	const char *name;
	const char *const *lists[6]; /* NULL-terminated lists of names of system calls, then NULL */
	bool deny;		     /* lists are refused with EPERM and the rest is allowed */
	uint64_t capabilities;	     /* kept: 1 << CAP_… */
	bool landlock;
	bool signal_scope; /* may signal nobody outside its own domain, where the kernel can say so
			    */
};

const struct confine_table *confine_table(enum confine_process process);

#endif
