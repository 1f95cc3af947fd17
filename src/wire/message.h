/*
 * The messages of messages.def as C: for each, struct msg_NAME and its encoder and decoder. The
 * table of bounds is message_rule(). All numbers that cross a process border are named here.
 */
#ifndef LOOM_WIRE_MESSAGE_H
#define LOOM_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/codec.h"

#define WIRE_VERSION 1
#define WIRE_FDS_MAX 8
#define WIRE_BODY_MAX 67584

/* Parties. CHILD is any of ledger, box, authority, api as seen by loomd. */
enum party {
	P_LOOMD = 1 << 0, P_AUTHORITY = 1 << 1, P_LEDGER = 1 << 2, P_BOX = 1 << 3, P_API = 1 << 4,
	P_CLIENT = 1 << 5,
	P_CHILD = P_AUTHORITY | P_LEDGER | P_BOX | P_API,
};
enum channel_state { S_INIT = 1 << 0, S_OPEN = 1 << 1, S_IDLE = 1 << 2, S_RUNNING = 1 << 3 };

enum run_flag { RUN_TTY = 1 << 0, RUN_ENV = 1 << 1, RUN_EXPLAIN = 1 << 2 };
enum exit_kind {
	EXIT_NONE = 0,      /* nothing ran: denied, or Loom failed before execve */
	EXIT_STATUS = 1,
	EXIT_SIGNAL = 2,
	EXIT_TIMEOUT = 3,
	EXIT_NOT_FOUND = 4,      /* execve said ENOENT or ENOTDIR */
	EXIT_NOT_EXECUTABLE = 5, /* execve said anything else */
	EXIT_STOPPED = 6,   /* ended by us: the client left, a stop, a second interrupt */
	EXIT_FAILED = 7,    /* Loom failed after the grant; detail says at which step */
};
enum stop_why { STOP_CLIENT_GONE = 1, STOP_ASKED = 2, STOP_TIMEOUT = 3, STOP_INTERRUPT = 4,
		STOP_SHUTDOWN = 5, STOP_IDLE = 6 };
enum query {
	Q_STATUS = 1,       /* daemon status */
	Q_SESSIONS = 2,     /* all sessions of this identity */
	Q_SESSION = 3,      /* id */
	Q_DIFF = 4,         /* id; arg: NUL-terminated paths */
	Q_DIFF_JSON = 5,
	Q_TRACE = 6,        /* id: operation or session */
	Q_PROFILES = 7,
	Q_PROFILE = 8,      /* id: name; the effective form and digest */
	Q_WHY = 9,          /* id: profile; arg: the request as JSON; decides, never acts */
	Q_LEDGER_HEAD = 10,
	Q_LEDGER_SHOW = 11, /* id: a first index as decimal, or empty for the last LIMIT */
};
enum diff_form {
	DIFF_LIST = 0,      /* {"changes":[{"path","kind":"added|modified|deleted|type|mode","type","mode","size"}…]} */
	DIFF_UNIFIED = 1,   /* text for a person or patch(1) */
	DIFF_MANIFEST = 2,  /* canonical JSON: what an accept would do, with digests; its SHA-256 is recorded */
};
enum session_verb { V_ACCEPT = 1, V_STOP = 2, V_RM = 3 };
enum daemon_verb { D_STOP = 1 };
enum entry_kind { ENTRY_INTENT = 1, ENTRY_OUTCOME = 2, ENTRY_EVENT = 3 };

enum message_type {
#define F(type, name)
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...) MSG_##name = (number),
#include "wire/messages.def"
#undef MESSAGE
};

struct message_rule {
	enum message_type type;
	const char *name;
	uint32_t from;       /* enum party bits */
	uint32_t to;
	uint32_t states;     /* enum channel_state bits */
	uint32_t max_body;   /* bytes */
	uint32_t fds_min;
	uint32_t fds_max;
};
/* NULL for a number the table does not have. */
const struct message_rule *message_rule(uint32_t type);

#undef F
#define FIELD_u32 uint32_t
#define FIELD_u64 uint64_t
#define FIELD_i32 int32_t
#define FIELD_text struct wire_text
#define FIELD_bytes struct wire_bytes
#define F(type, name) FIELD_##type name;
#define MESSAGE(name, number, from, to, states, max, fds_min, fds_max, ...)                        \
	struct msg_##name {                                                                        \
		__VA_ARGS__                                                                        \
	};                                                                                         \
	void msg_##name##_encode(const struct msg_##name *m, struct buf *out);                     \
	int msg_##name##_decode(const void *body, size_t len, struct msg_##name *ret,              \
				struct error *err) MUST_CHECK;
#include "wire/messages.def"
#undef MESSAGE
#undef F

#endif
