/*
 * A profile in its effective form: every default filled in, every list sorted as the schema says,
 * plain data. Its canonical JSON (base/json.h) is what is digested, recorded, granted and enforced;
 * the digest is SHA-256 over those bytes. policy/ reads YAML into this; the box reads the canonical
 * form out of a grant. Both use the one table in model/profile.c, so they cannot disagree.
 *
 * Parts this build does not act on (network, credentials, git, approvals, rules…) are kept in the
 * canonical form as JSON under their keys, so that they are digested and shown, and in `json`.
 */
#ifndef LOOM_MODEL_PROFILE_H
#define LOOM_MODEL_PROFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/field.h"
#include "model/ids.h"
#include "model/verdict.h"

#define PROFILE_CANONICAL_MAX (1024 * 1024) /* bytes */
#define PROFILE_MOUNTS_MAX 16
#define PROFILE_ENV_MAX 32
#define PROFILE_PATH_MAX 512

enum workspace_mode { WORKSPACE_OVERLAY = 0, WORKSPACE_DIRECT = 1, WORKSPACE_READ_ONLY = 2 };
enum runtime { RUNTIME_NAMESPACES = 0, RUNTIME_GVISOR = 1, RUNTIME_MICROVM = 2 };

struct profile_mount {
	char host[PROFILE_PATH_MAX]; /* absolute, normal */
	char at[PROFILE_PATH_MAX];   /* absolute, normal, not in or above a place of ours */
};
struct profile_env {
	char name[64];
	char value[512];
};

struct profile {
	char name[NAME_MAX_LEN + 1];
	char description[256];
	bool shipped;                     /* compiled in; not part of the canonical form */
	enum runtime runtime;
	uint32_t capabilities;            /* CAPABILITY_BIT()s that are configured */

	/* filesystem */
	char root[PROFILE_PATH_MAX];      /* "host", or "image:NAME@sha256:…" */
	char workspace_at[PROFILE_PATH_MAX]; /* "/workspace", or "host" */
	enum workspace_mode workspace_mode;
	uint64_t workspace_max;           /* bytes; 0: no bound asked for */
	uint64_t tmp_max;                 /* bytes */
	uint32_t n_mounts;
	struct profile_mount mounts[PROFILE_MOUNTS_MAX];

	/* limits */
	uint32_t cpu_milli;               /* CPUs times 1000 */
	uint64_t memory;                  /* bytes */
	uint32_t pids;
	uint32_t open_files;
	uint64_t timeout_ms;
	uint64_t output;                  /* bytes for each of stdout and stderr */

	uint32_t n_env;
	struct profile_env env[PROFILE_ENV_MAX];
	bool debug_ptrace;

	json_t *json;                     /* the whole effective document; owned */
	uint8_t digest[32];               /* SHA-256 of its canonical bytes */
};

/* The tree of a whole Profile document; its C places lie in struct profile. */
extern const struct field PROFILE_FIELDS;
/* The tree of a request as `tests:` of a profile and `loom why` write it. No places. */
extern const struct field REQUEST_FIELDS;

/* "overlay", "direct", "read-only"; as in profiles and in recorded operations. */
const char *workspace_mode_name(enum workspace_mode m);
bool workspace_mode_find(const char *name, enum workspace_mode *ret);
const char *runtime_name(enum runtime r); /* "namespaces", "gvisor", "microvm" */

/*
 * May this directory of the host's be shown to a sandbox, and may something be shown there? Judged
 * by name only; the box judges the object. NULL: yes. Else why not: what the path is, holds or lies
 * beneath. PATH is absolute and normal.
 */
const char *profile_mount_host_refused(const char *path);
const char *profile_mount_at_refused(const char *path);
/* "host", or "image:NAME@sha256:<64 hex>". */
bool profile_root_valid(const char *root);

void profile_free(struct profile *p);
void profile_freep(struct profile **p);

/*
 * Read a canonical effective profile (what a grant carries): strict in every way the YAML reader
 * is, unknown keys and non-canonical bytes refused. Fills digest from the bytes.
 */
int profile_read_canonical(const void *data, size_t len, struct profile **ret,
			   struct error *err) MUST_CHECK;
/*
 * Build `json` and `digest` from the fields and EXTRA: members of `spec` in effective form for the
 * parts that have no field above (borrowed; NULL or missing members: the defaults). -EINVAL, -ERANGE
 * when the result is not a profile.
 */
int profile_seal(struct profile *p, json_t *extra, struct error *err) MUST_CHECK;
int profile_write_canonical(const struct profile *p, struct buf *out, struct error *err) MUST_CHECK;

#endif
