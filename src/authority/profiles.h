/*
 * What a session may be: the shipped profiles, parsed at the start, and those of the configuration
 * directory (profiles/NAME.yaml), read when they are named and read again when they have changed.
 * A file, or the folder, that others may write is not read; the error says with which chmod that is
 * mended. A file with the name of a shipped profile, or of another profile than the one in it, is
 * an error and shadows nothing.
 *
 * A profile that is in use stays as it was, whatever becomes of its file.
 */
#ifndef LOOM_AUTHORITY_PROFILES_H
#define LOOM_AUTHORITY_PROFILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/ids.h"
#include "model/profile.h"
#include "policy/policy.h"

#define PROFILES_MAX 256 /* files in the configuration directory */
#define PROFILE_DEFAULT "default"

/* One profile, ready for use. */
struct slot {
	struct slot *next;
	unsigned int refs;
	char name[NAME_MAX_LEN + 1];
	struct policy *policy;
	const struct profile *profile; /* of the policy */
	int fd;			       /* its canonical bytes, a sealed memfd */
	char hex[2 * 32 + 1];	       /* its digest */
	bool recorded;		       /* its bytes are in the ledger since we started */
	/* Of the file it came from; all zero for a shipped one. */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

struct profiles {
	struct slot *slots;
	int config;		   /* the configuration directory; owned; -1: none */
	uint32_t uid;		   /* whose files are read, beside root's */
	gid_t own_group;	   /* counts as the owner's; (gid_t)-1: none */
	const char *const *places; /* what no mount may show; borrowed */
	size_t n_places;
};

/* Takes CONFIG, also on failure. */
int profiles_init(struct profiles *p, int config, uint32_t uid, gid_t own_group,
		  struct error *err) MUST_CHECK;
void profiles_fini(struct profiles *p);

/*
 * NAME (empty: "default"), as it is now. -ENOENT: there is none; -EPERM, -EINVAL and others: it is
 * there and cannot be used, and ERR says why and what mends it. *RET has a reference of its own.
 */
int profiles_find(struct profiles *p, const char *name, struct slot **ret,
		  struct error *err) MUST_CHECK;
/* Of a profile with this digest among those in use; NULL: none. */
const char *profiles_name_of(const struct profiles *p, const uint8_t digest[32]);
/* From recorded canonical bytes; belongs to nobody but the caller. */
int slot_of_canonical(const void *data, size_t len, struct slot **ret,
		      struct error *err) MUST_CHECK;
struct slot *slot_ref(struct slot *s);
void slot_unref(struct slot *s);
void slot_unrefp(struct slot **s);

/* [{"description","digest","name","shipped"}…, {"error","name","shipped"}…], shipped ones first. */
json_t *profiles_list(struct profiles *p) MUST_CHECK;

#endif
