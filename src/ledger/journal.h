/*
 * The files records are appended to: journal/<first index>, preallocated by writing zeros, so that
 * an append changes no metadata and one fdatasync makes it durable. This is the writer; reader.h
 * reads.
 *
 * Two more files are prepared ahead: "spare", the next segment, made while there is quiet, and
 * "reserve", a small one that is taken only when no other can be made because the disk is full.
 * Once the reserve was taken no intent fits until there is space for a new one; events may fill it
 * by half, outcomes all of it. Nothing here is ever given back to the file system.
 *
 * Every write is preceded by a look at what lies under the segment's name. A difference, or a write
 * or sync that fails, is final: the journal takes nothing more until it is opened anew.
 */
#ifndef LOOM_LEDGER_JOURNAL_H
#define LOOM_LEDGER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "ledger/record.h"

/* Bytes; 0 stands for the default. On a small file system at most an eighth (reserve: a sixteenth)
 * of what is free, but never less than JOURNAL_LEAST_BYTES. */
struct journal_sizes {
	uint64_t first;   /* 4 MiB: the first segment of a ledger */
	uint64_t segment; /* 16 MiB: each one after it */
	uint64_t reserve; /* 1 MiB */
};
#define JOURNAL_LEAST_BYTES (64 * 1024)

enum journal_class { JOURNAL_INTENT, JOURNAL_EVENT, JOURNAL_OUTCOME };

struct journal {
	int dirfd;
	int fd;              /* the segment that is written to; -1: none yet */
	uint64_t first;      /* its first index */
	uint64_t bytes;      /* its size */
	uint64_t tail;       /* where the next record goes */
	uint64_t dirty_end;  /* beyond the tail, left by a crash: not all zeros up to here */
	struct stat seen;    /* as it was after our last write */
	struct journal_sizes sizes;
	uint64_t spare_bytes;   /* 0: there is none */
	uint64_t reserve_bytes; /* 0: there is none */
	bool in_reserve;        /* the segment was the reserve */
	struct error failure;   /* code 0: none; else final */
};

/* Open or make journal/ beneath LEDGER_DIR and lock it: -EBUSY when another process has it. */
int journal_open(struct journal *j, int ledger_dir, const struct journal_sizes *sizes,
		 struct error *err) MUST_CHECK;
void journal_close(struct journal *j);

/* First indexes of the segments, ascending; *ret is malloced. */
int journal_list(int dirfd, uint64_t **ret, size_t *ret_n, struct error *err) MUST_CHECK;
/* A descriptor on the segment: a regular file, not a link, read only. Or negative. */
int journal_segment_open(int dirfd, uint64_t first, struct error *err) MUST_CHECK;
/* Read and check the head of the segment at FD. *ret_len: where its records begin. */
int journal_head_read(int fd, struct segment_head *ret, struct openset *open, size_t *ret_len,
		      struct error *err) MUST_CHECK;

/*
 * Go on in the segment of HEAD at TAIL, and make it its full size again. What lies beyond the tail
 * is made zeros by the first write, which should be the record that says so.
 */
int journal_attach(struct journal *j, const struct segment_head *head, uint64_t tail,
		   struct error *err) MUST_CHECK;
/*
 * Make sure LEN bytes fit at the tail, in a new segment if need be, whose head says HEAD and OPEN.
 * -ENOSPC: no, and nothing has changed. Nothing may be waiting to be written.
 */
int journal_room(struct journal *j, size_t len, enum journal_class class,
		 const struct segment_head *head, const struct openset *open,
		 struct error *err) MUST_CHECK;
/* Does LEN more fit after USED bytes that are already meant for the tail? */
bool journal_fits(const struct journal *j, size_t used, size_t len);
/*
 * Write LEN bytes at the tail and start them on their way to the disk; then, when the caller has done
 * what can be done meanwhile, wait until they are there. Only then the tail moves. Failures of
 * either are final.
 */
int journal_put(struct journal *j, const void *data, size_t len, struct error *err) MUST_CHECK;
int journal_sync(struct journal *j, size_t len, struct error *err) MUST_CHECK;
/* In quiet moments: make what is missing of spare and reserve. -ENOSPC is no failure of it. */
int journal_prepare(struct journal *j, struct error *err) MUST_CHECK;

#endif
