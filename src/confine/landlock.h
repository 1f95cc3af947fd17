/* A Landlock domain for one of our own processes: the named directories, and no other file. */
#ifndef LOOM_CONFINE_LANDLOCK_H
#define LOOM_CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"
#include "confine/confine.h"

#define LANDLOCK_ABI_MIN 2 /* Debian 12's kernel */

/*
 * Restrict this process for good. Every file system right the kernel can name is handled; from ABI
 * 4 on TCP bind and connect are handled and granted nowhere; from ABI 6 on abstract sockets outside
 * the domain, and with SIGNAL_SCOPE signals to processes outside it. -EOPNOTSUPP below the minimum.
 */
int landlock_confine(const struct confine_dir *dirs, size_t n_dirs, bool signal_scope, int *ret_abi,
		     struct error *err) MUST_CHECK;

#endif
