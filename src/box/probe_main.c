/*
 * loom-probe [--state DIR] [--workspace DIR]: does each thing a session needs, in children of its
 * own, and prints what it saw as a JSON array (probe.h). The doctor runs it. It is no part of
 * loom-box, because one of the things it tries is a connection.
 */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "box/probe.h"

int
main(int argc, char **argv)
{
	struct probe_in in = {0};
	CLEANUP(buf_fini) struct buf out = {0};
	struct error err = {0};

	log_init("loom-probe");
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && strcmp(argv[i], "--state") == 0)
			in.state = argv[i + 1];
		else if (i + 1 < argc && strcmp(argv[i], "--workspace") == 0)
			in.workspace = argv[i + 1];
		else
			fatal("usage: loom-probe [--state DIR] [--workspace DIR]");
	}
	buf_init(&out, 1u << 20);
	if (probe_run(&in, &out, &err) < 0 ||
	    fd_write_all(STDOUT_FILENO, out.data, out.len, &err) < 0)
		fatal("%s", err.text);
	return 0;
}
