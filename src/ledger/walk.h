/*
 * Through the whole journal, segment by segment, by readers that only look. A place at the very end
 * that is not (yet) a record is looked at again for a moment, in case it is just being written.
 */
#ifndef LOOM_LEDGER_WALK_H
#define LOOM_LEDGER_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "ledger/openset.h"
#include "ledger/reader.h"
#include "ledger/record.h"

struct walk {
	int dirfd;               /* journal/ */
	uint64_t *segments;
	size_t n, at;
	int fd;                  /* of segments[at]; -1: not entered yet */
	struct reader reader;
	uint64_t next;           /* index of the next record; UINT64_MAX: that of the segment */
	struct segment_head head; /* of the segment entered last */
	struct openset open;     /* as its head says */
	uint64_t done_bytes, all_bytes;
	unsigned int patience;   /* looks again; set by walk_open */
};

/* Begin in the segment that has entry FROM, or the last one when none has. -ENOENT: no ledger. */
int walk_open(struct walk *w, int ledger_dir, uint64_t from, struct error *err) MUST_CHECK;
void walk_close(struct walk *w);

enum walk_step { WALK_END, WALK_SEGMENT, WALK_RECORD };
/*
 * What comes next: a segment (head and open are set), a record, or the end of the journal. -EBADMSG:
 * damage at the place walk_where tells.
 */
int walk_next(struct walk *w, struct record *ret, const uint8_t **ret_entry,
	      struct error *err) MUST_CHECK;
/* The blobs of the record given out last; waits as for records. */
int walk_blobs(struct walk *w, const struct record *record,
	       enum blob_state ret_states[ENTRY_BLOBS_MAX], struct error *err) MUST_CHECK;
void walk_where(const struct walk *w, uint64_t *ret_segment, uint64_t *ret_offset);

#endif
