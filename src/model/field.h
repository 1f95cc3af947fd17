/*
 * The schema of a document as data: a tree of fields, each with its key, type, bounds, default and,
 * where this build acts on it, the place in a C structure. One tree (PROFILE_FIELDS in profile.h)
 * serves the YAML reader, the reader and the writer of the canonical form and the JSON Schema, so
 * that they cannot disagree.
 *
 * Two forms. The *written* form is what people write: sizes as "64KiB", durations as "30m", CPUs as
 * "1.5". The *effective* form is JSON with every default filled in: sizes in bytes, durations in
 * milliseconds, CPUs in thousandths, all integers; lists that are sets are sorted.
 */
#ifndef LOOM_MODEL_FIELD_H
#define LOOM_MODEL_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

enum field_type {
	FIELD_TEXT, /* UTF-8 without control characters; min..max bytes */
	FIELD_NAME, /* model/ids.h's names; min..max bytes */
	FIELD_WORD, /* one of `words`; stored as its text */
	FIELD_ENUM, /* one of `words`; stored as its number */
	FIELD_BOOL,
	FIELD_INT,	/* plain decimal, min..max */
	FIELD_CPU,	/* decimal with at most three places; min..max in thousandths */
	FIELD_SIZE,	/* "64KiB" or plain decimal; min..max in bytes */
	FIELD_DURATION, /* "30m"; min..max in milliseconds */
	FIELD_OBJECT,	/* `members` */
	FIELD_LIST,	/* of `members[0]`; min..max elements */
	FIELD_BITS, /* a set out of `words`; stored as a uint32_t of bits, written in their order */
	FIELD_MAP,  /* from a variable's name to `members[0]`; at most max entries */
};

/* What a text has to be beyond its type; judged in policy/format.h. */
enum field_format {
	FORMAT_NONE,
	FORMAT_ROOT,	   /* "host" or "image:NAME@sha256:<64 hex>" */
	FORMAT_MOUNT_HOST, /* a directory of the host's that may be shown to a sandbox */
	FORMAT_MOUNT_AT,   /* where it may be shown */
	FORMAT_PATH,	   /* absolute and normal */
	FORMAT_HOST,	   /* a host name, lower case */
	FORMAT_HOSTS,	   /* a host pattern */
	FORMAT_CIDR,
	FORMAT_METHOD,
	FORMAT_URL_GLOB,   /* a glob over the path of a URL, from its slash on */
	FORMAT_TREE_GLOB,  /* a glob over paths beneath a repository or workspace */
	FORMAT_REF_GLOB,   /* beneath refs/heads/ */
	FORMAT_REPOSITORY, /* https://host[:port]/path */
	FORMAT_HEADER,
	FORMAT_INJECT,	 /* has {secret} exactly once */
	FORMAT_ARGUMENT, /* not empty */
	FORMAT_PERSON,	 /* a name, or group:NAME */
};

enum field_flag {
	FIELD_REQUIRED = 1 << 0, /* has no default and may not be left out */
	FIELD_OPTIONAL = 1 << 1, /* has no default and stays out of the effective form */
	FIELD_SORTED = 1 << 2,	 /* a list whose order means nothing: sorted, no element twice */
	FIELD_ONE_OF = 1 << 3,	 /* an object with exactly one of its members */
};

#define FIELD_NOWHERE SIZE_MAX

/*
 * `offset` is from the structure around it: the document's own, or the element's for the members of
 * a list or map with a place. An object has no place of its own; its members lie in what is around
 * it.
 */
struct field {
	const char *key;
	const char *about; /* a sentence for people, in the JSON Schema */
	enum field_type type;
	enum field_format format;
	unsigned int flags;
	uint64_t min, max;
	const char *fallback;	  /* the default, as a person would write it (a list: with commas);
				   * NULL: an empty list or mapping, or an object of defaults */
	const char *const *words; /* ends with NULL */
	const struct field
		*members;    /* ends with a NULL key; for lists and maps the element alone */
	const char *sort_by; /* FIELD_SORTED lists of objects: this member */
	size_t offset;	     /* FIELD_NOWHERE: kept in the JSON only */
	size_t size;	     /* bytes of the place; of one element for lists and maps */
	size_t count_offset; /* lists and maps: a uint32_t */
};

/*
 * One scalar from its written form into its effective form. PLAIN: it stood there without quotes;
 * numbers and booleans have to. On failure ERR says what was found and what would be right, without
 * a position.
 */
int field_scalar(const struct field *f, const char *text, size_t len, bool plain, json_t **ret,
		 struct error *err) MUST_CHECK;
/* Index of TEXT among the field's words; -ENOENT. */
int field_word(const struct field *f, const char *text, size_t len);
/* The effective form of a field that was left out. Sets *ret to NULL for FIELD_OPTIONAL. */
int field_default(const struct field *f, json_t **ret, struct error *err) MUST_CHECK;
/* Put a FIELD_SORTED list into its order. -EEXIST names an element that is there twice. */
int field_sort(const struct field *f, json_t *list, struct error *err) MUST_CHECK;

/* How two elements of a sorted list stand (strcmp's way); BY: a member's key, or NULL. */
int field_compare(const json_t *a, const json_t *b, const char *by);

/*
 * Check an effective value against F and store what has a place into BASE (NULL: only check).
 * Unknown and missing keys, wrong types, bounds and a wrong order are -EINVAL with the key's path.
 */
int field_load(const struct field *f, const json_t *v, void *base, struct error *err) MUST_CHECK;
/*
 * The effective value of F out of BASE; what has no place comes from KEPT (the value at the same
 * position in a document; may be NULL) or else from its default.
 */
int field_store(const struct field *f, const void *base, const json_t *kept, json_t **ret,
		struct error *err) MUST_CHECK;

/* Text as it was found, for a message: cut at a character, and safe for a terminal. */
#define FIELD_SHOWN_MAX 48
struct field_shown {
	char text[4 * FIELD_SHOWN_MAX + 8];
};
struct field_shown field_show(const char *text, size_t len);

/* Member of an object by key; NULL when there is none. */
const struct field *field_member(const struct field *f, const char *key, size_t len);
/* "a list", "text", "a size such as 64KiB": what the field wants, for messages. */
const char *field_wants(const struct field *f);
/* A variable's name: [A-Za-z_][A-Za-z0-9_]*, LEN bytes. */
bool variable_name_valid(const char *name, size_t len);

#endif
