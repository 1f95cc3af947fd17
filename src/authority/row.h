/*
 * What the view keeps of a ledger entry: enough to find it again and to list it. Nothing is true
 * because a row says so; whoever needs to know reads the entry.
 */
#ifndef LOOM_AUTHORITY_ROW_H
#define LOOM_AUTHORITY_ROW_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/entry.h"
#include "model/ids.h"
#include "model/operation.h"
#include "wire/message.h"

#define ROW_WORD_MAX 33 /* longest event name, reason code or verdict, with the NUL */
#define ROW_NO_UID UINT32_MAX

struct row {
	enum entry_kind kind;
	char time[CLOCK_TEXT_MAX];
	char op[OP_ID_MAX]; /* these are empty when the entry has none */
	char session[SESSION_ID_MAX];
	char event[ROW_WORD_MAX];
	char verdict[ROW_WORD_MAX];
	char reason[ROW_WORD_MAX];
	char name[NAME_MAX_LEN + 1]; /* event "session": what its owner calls it */
	uint32_t uid;		     /* of the identity; ROW_NO_UID */
};

void row_init(struct row *r, enum entry_kind kind, uint64_t time_ms);
/* Of an intent or a denial. V may be NULL. */
void row_of_operation(struct row *r, const struct operation *op, const struct verdict *v);
/* Out of recorded bytes, when a view is rebuilt. */
int row_of_entry(struct row *r, const void *bytes, size_t len, struct error *err) MUST_CHECK;

#endif
