/*
 * One run: request -> examine -> facts -> decision -> intent recorded -> grant -> started ->
 * outcome
 * -> outcome recorded -> the client is told. A run outlives its client: what has begun is ended and
 * recorded whether anybody waits for it or not.
 *
 * Every way out of it is a verdict. A denial is recorded before it is told, as far as the ledger
 * can; an intent that was recorded and not granted is recorded as indeterminate.
 */
#ifndef LOOM_AUTHORITY_RUN_H
#define LOOM_AUTHORITY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "authority/boxlink.h"
#include "authority/deadline.h"
#include "authority/history.h"
#include "authority/profiles.h"
#include "authority/sessions.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/operation.h"
#include "model/receipt.h"
#include "model/result.h"
#include "model/verdict.h"
#include "policy/workflow.h"
#include "wire/message.h"

#define RUN_EXAMINE_MS 30000 /* how long the box may look at a request */
#define RUN_SIGNAL_MAX 64
#define RUN_APPENDS 3 /* at most at once: profile, name, intent */

struct authority;
struct client;
struct packet;

enum run_state {
	RUN_EXAMINE, /* the box looks at the descriptors */
	RUN_RECORD,  /* the intent, and what has to be there with it, is on its way to disk */
	RUN_GRANTED, /* the box performs */
	RUN_CLOSE,   /* the outcome is on its way to disk */
	RUN_DENY,    /* the denial is on its way to disk */
	RUN_LATE,    /* told and over, but the ledger or the box still owe an answer */
};

struct run {
	struct run *prev, *next;
	struct authority *authority;
	struct client *client; /* NULL: nobody waits any more */
	enum run_state state;
	struct ticket ticket;
	struct deadline deadline; /* RUN_EXAMINE */
	struct slot *slot;	  /* the profile; NULL until it is found */
	struct workflow workflow;
	struct session *session; /* while it is live in it */
	bool continues;		 /* the session was there before */
	uint32_t uid;		 /* who asks */
	char op[OP_ID_MAX];
	char session_id[SESSION_ID_MAX];     /* empty until there is one */
	char profile_name[NAME_MAX_LEN + 1]; /* as asked for, when it is a name at all */
	char asked_session[NAME_MAX_LEN + 1];
	uint32_t flags; /* enum run_flag */
	uint64_t timeout_ms;
	uint32_t rows, columns;
	uint64_t signals;  /* bit N-1: signal N came before the start */
	bool facts_known;  /* the authority's scratch has this run's facts */
	uint32_t stop_why; /* enum stop_why; 0: it is to go on */
	bool stop_sent;
	bool discarded; /* stopped to be removed: there will be no changes to look at */
	bool started;
	int args_fd;		       /* until it is recorded; -1 */
	struct buf entry;	       /* the intent's bytes, until the grant */
	uint8_t digest[32];	       /* of the operation */
	struct ask *asks[RUN_APPENDS]; /* NULL: answered */
	bool append_failed;
	char append_why[VERDICT_DETAIL_MAX];
	struct receipt receipt; /* of the intent; tree_size 0: none came */
	struct verdict verdict;
	struct exec_result result;
	bool has_result;
	bool verified; /* one signed head covers the intent and the outcome, or the denial */
};

/* Messages of a client (doors.c). Negative: the client broke the protocol. */
int run_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
int run_refuse_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
int run_signal_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;
int run_winsize_request(struct client *c, struct packet *p, struct error *err) MUST_CHECK;

/* Nobody waits any more: what runs is stopped. */
void run_client_gone(struct run *r);
/* Stop it, whatever state it is in; the client is told when it has ended. WHY: enum stop_why. */
void run_stop(struct run *r, uint32_t why);
void runs_free(struct authority *a);

/* Record that somebody who is not served here was turned away. */
void run_record_foreign(struct authority *a, uint32_t uid);

/* ---- between the files of a run */

/* The file run_begin.c ends with one of these three. */

/* The box may let go, and the session is as it was before. Not after the grant. */
void run_withdraw(struct run *r);
/* Deny what was not recorded as an intent; the record gets what is known of it. */
void run_deny(struct run *r, enum reason reason, const char *next, const char *fmt, ...)
	PRINTF(4, 5);
/* Deny as r->verdict says; OP is what the record gets. */
void run_deny_as(struct run *r, const struct operation *op);
/* Allowed, by r->verdict, in r->session: record it and go on from there. */
void run_record(struct run *r, const struct operation *op);

/* Tell r->verdict now, though the box or the ledger still owe an answer; what comes is tidied up.
 */
void run_answer_early(struct run *r);
/* It is over: tell the client r->verdict, and free it. */
void run_end(struct run *r);
void run_free(struct run *r);

/* decide.c */

/* What is known of the operation; OP's facts are left as they are. */
void run_operation(const struct run *r, struct operation *op);
/* Judge OP, whose facts are filled: the capabilities of a run met, the rules merged. */
void run_decide(const struct run *r, struct operation *op, struct verdict *ret);

/* report.c */

/* The --report document; appends to OUT. */
int run_report(const struct run *r, struct buf *out, struct error *err) MUST_CHECK;

#endif
