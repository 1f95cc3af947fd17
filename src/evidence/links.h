/*
 * Inside evidence/: a trace while it is made. trace.c reads, groups and walks; links.c judges. A
 * link is a function that looks at the entries of one operation and says what it found.
 */
#ifndef LOOM_EVIDENCE_LINKS_H
#define LOOM_EVIDENCE_LINKS_H

#include "base/hash.h"
#include "evidence/trace.h"
#include "ledger/checkpoint.h"
#include "model/operation.h"

#define LINK_ID_MAX 96
#define LINK_DETAIL_MAX 768

enum link_status { LINK_VERIFIED, LINK_MISSING, LINK_FALSE, LINK_NOT_APPLICABLE };

/* One entry after reading. */
struct item {
	const struct trace_entry *e;
	struct entry parsed;
	bool readable;
};

/* All material after reading. */
struct walk {
	const struct trace_material *m;
	struct item *items; /* sorted by index */
	uint8_t (*blob_digests)[SHA256_LEN];
	json_t *links;
	size_t n_operations;
	bool broken; /* some link is missing or false */
	/* The first operation of the walk: all others of a session must fit it. */
	struct operation *first;
	/* The last checkpoint that verified, so that many entries under one head cost one
	 * signature. */
	const char *note;
	size_t note_len;
	struct tree_head head;
	struct vkey vkey;
	bool have_vkey;
};

/* The entries of one operation. */
struct group {
	struct walk *w;
	const char *op;
	const struct item *intent;  /* or NULL */
	const struct item *denied;  /* or NULL */
	const struct item *outcome; /* the last one, or NULL */
	const struct item *lost;    /* an "indeterminate" event, or NULL */
	size_t n_intents;
	size_t n_outcomes;
	const json_t *members;	/* array of positions in w->items */
	json_t *operation;	/* borrowed from the intent; NULL when absent */
	struct operation *read; /* the same, understood; NULL when it could not be */
	char read_error[256];
};

/* What a link function writes. */
struct found {
	char id[LINK_ID_MAX];
	char detail[LINK_DETAIL_MAX];
};

/* What an operation whose document says "verified" has passed, in the order of the document. */
struct link {
	const char *name;
	enum link_status (*check)(struct group *g, struct found *f);
};
#define LINKS 9
extern const struct link LINK_TABLE[LINKS];

void
found_id(struct found *f, const char *fmt, ...) PRINTF(2, 3);
/* Write the detail and return S. */
enum link_status
found_is(struct found *f, enum link_status s, const char *fmt, ...) PRINTF(3, 4);

#endif
