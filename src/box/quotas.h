/*
 * What the kernel counts per user and user namespace (/proc/sys/user, namespaces(7), inotify(7)):
 * bounds of a session's own, so that one session can neither use up what the host has nor make what
 * it has no use for. Where a namespace is owned by the session's own id, the host's bound for that
 * id holds besides.
 */
#ifndef LOOM_BOX_QUOTAS_H
#define LOOM_BOX_QUOTAS_H

#include "base/error.h"
#include "base/macro.h"

/*
 * Write the bounds of the calling process's user namespace, for which it needs CAP_SYS_RESOURCE in
 * it, and read each back. DIR: /proc/sys/user, writable. What this kernel does not count is left
 * out.
 */
int quotas_bound(const char *dir, struct error *err) MUST_CHECK;

#endif
