/*
 * An entry's facts without its value, for whoever records or verifies many: accepts exactly what
 * entry_read (model/entry.h) accepts. Only intents are read in full, because their operation is.
 */
#ifndef LOOM_MODEL_EXAMINE_H
#define LOOM_MODEL_EXAMINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/entry.h"
#include "model/scan.h"
#include "wire/message.h"

struct entry_facts {
	enum entry_kind kind;
	bool has_op;
	uint64_t op;             /* the 16 hex digits of its id, as a number */
	uint64_t intent;         /* of an outcome or "indeterminate"; else UINT64_MAX */
	bool has_digest;
	uint8_t digest[32];
	uint32_t n_blobs;
	uint8_t blobs[ENTRY_BLOBS_MAX][32];
	struct scan_span event;  /* its name, with quotes; len 0: not an event. Borrowed */
	struct scan_span result; /* canonical JSON; len 0: not an outcome. Borrowed */
};

int entry_examine(const void *data, size_t len, struct entry_facts *ret,
		  struct error *err) MUST_CHECK;

#endif
