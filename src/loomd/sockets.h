/*
 * The two doors in the run directory: cli.sock (SEQPACKET, descriptors; wire/messages.def) and
 * loom.sock (STREAM, HTTP). Both have mode 0600 in a directory of mode 0700. They are bound by a
 * relative name, so that a long path to the run directory is no obstacle (sun_path has 108 bytes).
 * Call all of this only under the run directory's lock: what is in the way then is stale.
 */
#ifndef LOOM_LOOMD_SOCKETS_H
#define LOOM_LOOMD_SOCKETS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/macro.h"

#define SOCKET_CLI "cli.sock"
#define SOCKET_HTTP "loom.sock"

/* Unlink what is in the way, bind and listen; nonblocking. Changes the working directory to "/". */
int sockets_bind(int run_dir, int *ret_cli, int *ret_http, struct error *err) MUST_CHECK;
/*
 * Is cli.sock there? With the lock held by somebody else that means that they serve, or are about
 * to: whoever stops removes it first.
 */
bool sockets_there(int run_dir);
void sockets_unlink(int run_dir);

#endif
