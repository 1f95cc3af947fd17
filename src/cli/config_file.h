/*
 * Reading a configuration file as the daemon would: nobody but its owner, who is the effective user
 * or root, may be able to change it or what leads to it.
 */
#ifndef LOOM_CLI_CONFIG_FILE_H
#define LOOM_CLI_CONFIG_FILE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

/* Read PATH whole, within OUT's maximum. Says nothing about who may write it. */
int config_file_read(const char *path, struct buf *out, struct error *err) MUST_CHECK;

/*
 * -EPERM with the chmod (or the sentence) that mends it when others than its owner may write the
 * file or a directory above it. A sticky directory above is no harm: others cannot replace what is
 * in it. A group that has the owner's name and nobody else in it counts as the owner.
 */
int config_file_check(const char *path, struct error *err) MUST_CHECK;

#endif
