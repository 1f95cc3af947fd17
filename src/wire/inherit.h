/*
 * The descriptor numbers at which loomd hands its children what they start with. The same numbers
 * for every child; a child that is not due one finds the number closed. Everything else is closed.
 */
#ifndef LOOM_WIRE_INHERIT_H
#define LOOM_WIRE_INHERIT_H

enum inherit_fd {
	INHERIT_LOOMD = 3,        /* all: channel to loomd */
	INHERIT_KEY = 4,          /* ledger, box: pipe with the 32-byte receipt key, then EOF */
	INHERIT_AUTHORITY = 5,    /* ledger, box, api: channel to the authority */
	INHERIT_LEDGER = 6,       /* authority: channel to the ledger */
	INHERIT_BOX = 7,          /* authority: channel to the box */
	INHERIT_API = 8,          /* authority: channel to the api */
	INHERIT_CLI_LISTEN = 9,   /* authority: listening SEQPACKET socket cli.sock */
	INHERIT_HTTP_LISTEN = 10, /* authority: listening STREAM socket loom.sock */
	INHERIT_STATE = 11,       /* ledger: DIR/ledger; box: DIR/sessions; authority: DIR/views */
	INHERIT_CONFIG = 12,      /* authority, box: the configuration directory; closed when there is none */
	INHERIT_RUN = 13,         /* box: the run directory */
	INHERIT_PATHS = 14,       /* box: pipe with the paths of state, run, configuration, each with its NUL */
	INHERIT_END = 15,
};

#endif
