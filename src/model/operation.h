/*
 * An operation: one exact thing an identity asks for in a session, as it is recorded under
 * "operation" in the intent entry, and as the box reads it back out of the recorded bytes. The
 * operation digest is json_digest("loom-operation-v1", operation); every party computes it anew.
 *
 *   {"capability":"exec", "op":"op_…", "session":"s_12",
 *    "identity":{"kind":"agent","name":"self/agent","owner":"root","uid":0},
 *    "workflow":"self", "profile":{"digest":"<hex>","name":"default"},
 *    "resource":{…}, "args":{…}, "env":[…], "cwd":"", "timeoutMs":1800000, "tty":false}
 *
 * For exec and the workspace capabilities the resource is
 *   {"workspace":{"dev":"254:0","gid":0,"ino":"1234","mode":"overlay","path":"/src/app","uid":0,
 *                 "fs":"ext4","new":true}}          new: a fresh overlay, not a continued one
 * args: {"bytes":N,"count":N,"sha256":"<hex of the args blob>"}; the blob (32 bytes of salt, then the
 * arguments, each NUL-terminated) is the memfd the client sealed and lies in the store.
 * env: [{"hmac":"<hex>","length":N,"name":"K"}], HMAC-SHA-256 under the env blob's own salt, so that
 * values are bound without being recorded. Env blob: 32 bytes of salt, then NAME=VALUE, each
 * NUL-terminated.
 * workspace.accept: resource {"session":"s_12","manifest":"<hex>","paths":[…escaped…],"workspace":{…}},
 * no args, env, cwd, timeoutMs, tty. workspace.read and workspace.write: as exec, without those.
 *
 * cwd is escaped (json_escaped); owner is "" for a person and for nobody else. Readers and writers
 * refuse a variable that is named twice, an argument count of 0, a path or fs that is empty, and a
 * workflow or profile that is not name_valid. argv0 is in the facts only, never in an operation.
 */
#ifndef LOOM_MODEL_OPERATION_H
#define LOOM_MODEL_OPERATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "base/path.h"
#include "model/ids.h"
#include "model/profile.h"
#include "model/verdict.h"

#define OPERATION_DOMAIN "loom-operation-v1"
#define ARGS_SALT_LEN 32
#define ARGS_BLOB_MAX (2 * 1024 * 1024) /* bytes, salt included */
#define ARGS_COUNT_MAX 32768
#define ENV_BLOB_MAX (1024 * 1024)
#define ENV_COUNT_MAX 256
#define ENV_NAME_MAX 128

struct identity {
	char name[NAME_MAX_LEN + 1];  /* "self/agent" */
	char kind[16];                /* "person", "agent", "service" */
	char owner[NAME_MAX_LEN + 1]; /* empty for a person */
	uint32_t uid;                 /* from the channel, never from a message */
};

struct workspace_facts {
	char path[PATH_BYTES_MAX * 4]; /* of the descriptor as the box saw it; escaped bytes */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint32_t uid, gid;            /* owner and group of the directory */
	char fs[32];                  /* file system type */
};

struct env_fact {
	char name[ENV_NAME_MAX + 1];
	uint32_t length;              /* bytes of the value */
	uint8_t hmac[32];
};

/* What the box says of a client's descriptors before anything is decided (message facts). */
struct exec_facts {
	struct workspace_facts workspace;
	uint32_t args_count;
	uint64_t args_bytes;          /* of the blob */
	uint8_t args_sha256[32];
	char argv0[PATH_BYTES_MAX * 4]; /* escaped, for the decision and for people */
	uint32_t n_env;
	struct env_fact env[ENV_COUNT_MAX];
	char cwd[PATH_BYTES_MAX];     /* normal, relative, "" = the workspace */
};
int exec_facts_write(const struct exec_facts *f, struct buf *out, struct error *err) MUST_CHECK;
int exec_facts_read(const void *data, size_t len, struct exec_facts *ret, struct error *err) MUST_CHECK;

struct operation {
	enum capability capability;
	char op[OP_ID_MAX];
	char session[SESSION_ID_MAX];
	struct identity identity;
	char workflow[NAME_MAX_LEN + 1];
	char profile_name[NAME_MAX_LEN + 1];
	uint8_t profile_digest[32];
	enum workspace_mode mode;
	bool fresh;                   /* "new" */
	struct exec_facts facts;      /* exec: all; accept: workspace only */
	uint64_t timeout_ms;
	bool tty;
	uint8_t manifest[32];         /* accept */
	json_t *paths;                /* accept; owned, may be NULL */
};
void operation_fini(struct operation *op);
/* NULL with ERR set when a value is missing or out of bounds: what operation_read refuses. */
json_t *operation_json(const struct operation *op, struct error *err) MUST_CHECK;
/* Strict: unknown or missing keys are -EINVAL. RET is initialised by it; operation_fini after. */
int operation_read(const json_t *v, struct operation *ret, struct error *err) MUST_CHECK;
int operation_digest(const json_t *operation, uint8_t ret_digest[32], struct error *err) MUST_CHECK;

#endif
