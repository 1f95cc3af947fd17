/*
 * Records of one segment, one after the other, through a window of fixed size. Each record that is
 * given out is complete but for its blobs: header, leaf hash and padding were checked.
 */
#ifndef LOOM_LEDGER_READER_H
#define LOOM_LEDGER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "ledger/record.h"

struct reader {
	int fd;              /* borrowed */
	uint64_t at;         /* offset of the record given out last */
	uint64_t next;       /* offset of the next one */
	struct sha256 *sha;
	uint8_t *window;
	size_t window_len;
	uint64_t window_at;  /* offset of the window's first byte */
	uint8_t *piece;      /* of a blob */
};

/* NEXT: where the first record begins. reader_fini after, also when it failed. */
int reader_init(struct reader *r, int fd, uint64_t next, struct error *err) MUST_CHECK;
void reader_fini(struct reader *r);
/* Another segment, or the same one anew: what was read ahead is forgotten. */
void reader_seek(struct reader *r, int fd, uint64_t next);

/*
 * 1: *ret and *ret_entry (in the window, until the next call) are set. 0: the log ends at `next`,
 * in zeros or with the file. -EBADMSG: what lies at `next` is no complete record; ERR says what is
 * wrong with it. Other negative codes are those of reading.
 */
int reader_next(struct reader *r, struct record *ret, const uint8_t **ret_entry,
		struct error *err) MUST_CHECK;

enum blob_state {
	BLOB_OK,
	BLOB_ERASED, /* all zeros, which is not what was recorded */
	BLOB_BAD,    /* anything else, or beyond the end of the file */
};
/* Judge the blobs of the record given out last. */
int reader_blobs(struct reader *r, const struct record *record,
		 enum blob_state ret_states[ENTRY_BLOBS_MAX], struct error *err) MUST_CHECK;

/*
 * *ret_end: the offset after the last byte in [FROM, end of file) that is not zero, or FROM when
 * there is none.
 */
int reader_find_zeros(int fd, uint64_t from, uint64_t *ret_end, struct error *err) MUST_CHECK;

/* As fd_pread_exact, but a file that ends early gives what there is: the bytes read. */
int reader_pread(int fd, void *data, size_t len, uint64_t off, size_t *ret_len,
		 struct error *err) MUST_CHECK;

#endif
