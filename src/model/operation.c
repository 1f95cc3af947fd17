/*
 * What an operation of each capability consists of is a table of parts. The writer, the reader and
 * the partial writer of denials walk it, so that they cannot disagree about which keys are due. The
 * reader copies every value into a bounded field and refuses what it does not know.
 */
#include "model/operation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/object.h"
#include "model/operation_known.h"

#define PATHS_MAX 65536

/* Beyond the parts that every operation has. */
enum part {
	PART_COMMAND = 1 << 0, /* args, env, cwd, timeoutMs, tty */
	PART_ACCEPT = 1 << 1,  /* in the resource: session, manifest, paths */
};

struct shape {
	bool known;
	unsigned int parts;
};

static const struct shape SHAPES[CAPABILITY_COUNT] = {
	[C_EXEC] = {true, PART_COMMAND},
	[C_WORKSPACE_READ] = {true, 0},
	[C_WORKSPACE_WRITE] = {true, 0},
	[C_WORKSPACE_ACCEPT] = {true, PART_ACCEPT},
};

static const char *const MODE_NAMES[] = {
	[WORKSPACE_OVERLAY] = "overlay",
	[WORKSPACE_DIRECT] = "direct",
	[WORKSPACE_READ_ONLY] = "read-only",
};

static const char *const IDENTITY_KINDS[] = {"person", "agent", "service"};

static bool
is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Text of ours that people see: not empty, no control characters. */
static bool
plain_text(const char *s)
{
	size_t left = strlen(s);

	if (left == 0)
		return false;
	while (left > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(s, left, &c);

		if (n == 0 || utf8_is_control(c))
			return false;
		s += n;
		left -= n;
	}
	return true;
}

static bool
env_name_valid(const char *s)
{
	if (*s == '\0' || (*s >= '0' && *s <= '9'))
		return false;
	for (; *s != '\0'; s++)
		if (!((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') ||
		      (*s >= '0' && *s <= '9') || *s == '_'))
			return false;
	return true;
}

/* ---- the workspace */

static json_t *
workspace_json(const struct workspace_facts *w, const struct operation *op)
{
	CLEANUP(object_fini) struct object o;
	char dev[32];

	object_init(&o);
	(void)snprintf(dev, sizeof(dev), "%u:%u", w->dev_major, w->dev_minor);
	object_text(&o, "path", w->path);
	object_text(&o, "dev", dev);
	object_decimal(&o, "ino", w->ino);
	object_u64(&o, "uid", w->uid);
	object_u64(&o, "gid", w->gid);
	object_text(&o, "fs", w->fs);
	if (op != NULL) {
		object_text(&o, "mode",
			    op->mode < ARRAY_LEN(MODE_NAMES) ? MODE_NAMES[op->mode] : NULL);
		object_bool(&o, "new", op->fresh);
	}
	return object_end(&o, NULL);
}

static int
dev_read(const json_t *v, struct workspace_facts *ret, struct error *err)
{
	char text[32], *colon;
	uint64_t major, minor;
	int r;

	r = object_get_text(v, "dev", text, sizeof(text), err);
	if (r < 0)
		return r;
	colon = strchr(text, ':');
	if (colon == NULL)
		return error_set(err, -EINVAL, "dev: not major:minor");
	*colon = '\0';
	if (decimal_parse(text, UINT32_MAX, &major) < 0 ||
	    decimal_parse(colon + 1, UINT32_MAX, &minor) < 0)
		return error_set(err, -EINVAL, "dev: not major:minor");
	ret->dev_major = (uint32_t)major;
	ret->dev_minor = (uint32_t)minor;
	return 0;
}

static int
workspace_read(const json_t *v, struct workspace_facts *ret, struct error *err)
{
	int r;

	r = object_get_text(v, "path", ret->path, sizeof(ret->path), err);
	if (r < 0)
		return r;
	if (ret->path[0] != '/' || !plain_text(ret->path))
		return error_set(err, -EINVAL, "workspace: the path is not absolute and escaped");
	r = dev_read(v, ret, err);
	if (r < 0)
		return r;
	r = object_get_decimal(v, "ino", &ret->ino, err);
	if (r < 0)
		return r;
	r = object_get_u32(v, "uid", &ret->uid, err);
	if (r < 0)
		return r;
	r = object_get_u32(v, "gid", &ret->gid, err);
	if (r < 0)
		return r;
	r = object_get_text(v, "fs", ret->fs, sizeof(ret->fs), err);
	if (r < 0)
		return r;
	if (!plain_text(ret->fs))
		return error_set(err, -EINVAL, "workspace: fs is not the name of a file system");
	return 0;
}

static int
workspace_of_resource(const json_t *resource, struct operation *ret, struct error *err)
{
	static const char *const keys[] = {"path", "dev",  "ino", "uid", "gid",
					   "fs",   "mode", "new", NULL};
	unsigned int mode = 0;
	const char *text;
	json_t *w;
	int r;

	r = json_get_object(resource, "workspace", &w, err);
	if (r < 0)
		return r;
	r = json_only_keys(w, keys, err);
	if (r < 0)
		return r;
	r = workspace_read(w, &ret->facts.workspace, err);
	if (r < 0)
		return r;
	r = json_get_text(w, "mode", &text, err);
	if (r < 0)
		return r;
	r = object_word("mode", text, MODE_NAMES, ARRAY_LEN(MODE_NAMES), &mode, err);
	if (r < 0)
		return r;
	ret->mode = (enum workspace_mode)mode;
	return json_get_bool(w, "new", &ret->fresh, err);
}

/* ---- what a command brings along */

static json_t *
args_json(const struct exec_facts *f)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_u64(&o, "bytes", f->args_bytes);
	object_u64(&o, "count", f->args_count);
	object_hex(&o, "sha256", f->args_sha256, sizeof(f->args_sha256));
	return object_end(&o, NULL);
}

static int
args_read(const json_t *v, struct exec_facts *ret, struct error *err)
{
	static const char *const keys[] = {"bytes", "count", "sha256", NULL};
	uint64_t count;
	json_t *args;
	int r;

	r = json_get_object(v, "args", &args, err);
	if (r < 0)
		return r;
	r = json_only_keys(args, keys, err);
	if (r < 0)
		return r;
	r = object_get_u64(args, "bytes", ARGS_BLOB_MAX, &ret->args_bytes, err);
	if (r < 0)
		return r;
	r = object_get_u64(args, "count", ARGS_COUNT_MAX, &count, err);
	if (r < 0)
		return r;
	if (count == 0)
		return error_set(err, -EINVAL, "args: a command has at least one");
	ret->args_count = (uint32_t)count;
	return object_get_hex(args, "sha256", ret->args_sha256, sizeof(ret->args_sha256), err);
}

static json_t *
env_json(const struct exec_facts *f)
{
	CLEANUP(json_decrefp) json_t *list = json_array();

	for (uint32_t i = 0; i < f->n_env && i < ENV_COUNT_MAX; i++) {
		CLEANUP(object_fini) struct object o;

		object_init(&o);
		object_text(&o, "name", f->env[i].name);
		object_u64(&o, "length", f->env[i].length);
		object_hex(&o, "hmac", f->env[i].hmac, sizeof(f->env[i].hmac));
		/* Refuses a NULL value, and so a list that could not be made. */
		if (json_array_append_new(list, object_end(&o, NULL)) != 0)
			return NULL;
	}
	return TAKE_PTR(list);
}

static int
env_one_read(const json_t *v, struct env_fact *ret, struct error *err)
{
	static const char *const keys[] = {"name", "length", "hmac", NULL};
	uint64_t length;
	int r;

	r = json_only_keys(v, keys, err);
	if (r < 0)
		return r;
	r = object_get_text(v, "name", ret->name, sizeof(ret->name), err);
	if (r < 0)
		return r;
	if (!env_name_valid(ret->name))
		return error_set(err, -EINVAL, "env: not the name of a variable");
	r = object_get_u64(v, "length", ENV_BLOB_MAX, &length, err);
	if (r < 0)
		return r;
	ret->length = (uint32_t)length;
	return object_get_hex(v, "hmac", ret->hmac, sizeof(ret->hmac), err);
}

static int
env_read(const json_t *v, struct exec_facts *ret, struct error *err)
{
	json_t *list, *item;
	size_t i;
	int r;

	r = json_get_array(v, "env", &list, err);
	if (r < 0)
		return r;
	if (json_array_size(list) > ENV_COUNT_MAX)
		return error_set(err, -EINVAL, "env: more than %d variables", ENV_COUNT_MAX);
	json_array_foreach(list, i, item)
	{
		r = env_one_read(item, &ret->env[i], err);
		if (r < 0)
			return r;
		/* The later of two would win in some programs and the earlier in others. */
		for (size_t k = 0; k < i; k++)
			if (strcmp(ret->env[k].name, ret->env[i].name) == 0)
				return error_set(err, -EINVAL, "env: %s twice", ret->env[i].name);
	}
	ret->n_env = (uint32_t)json_array_size(list);
	return 0;
}

static int
cwd_read(const json_t *v, struct exec_facts *ret, struct error *err)
{
	char normal[PATH_BYTES_MAX];
	int r;

	r = object_get_escaped(v, "cwd", ret->cwd, sizeof(ret->cwd), err);
	if (r < 0)
		return r;
	r = path_relative(ret->cwd, strlen(ret->cwd), true, normal, err);
	if (r < 0)
		return r;
	if (strcmp(normal, ret->cwd) != 0)
		return error_set(err, -EINVAL, "cwd: not in its normal form");
	return 0;
}

/* ---- facts */

int
exec_facts_write(const struct exec_facts *f, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(object_fini) struct object o;
	int r;

	if (f->n_env > ENV_COUNT_MAX)
		return error_set(err, -EINVAL, "facts: %u variables", f->n_env);
	object_init(&o);
	object_take(&o, "workspace", workspace_json(&f->workspace, NULL));
	object_take(&o, "args", args_json(f));
	object_text(&o, "argv0", f->argv0);
	object_take(&o, "env", env_json(f));
	object_escaped(&o, "cwd", f->cwd);
	v = object_end(&o, err);
	if (v == NULL)
		return error_prefix(err, "facts");
	r = json_write_canonical(v, out, err);
	return r < 0 ? r : buf_check(out, err);
}

static int
exec_facts_fill(const json_t *v, struct exec_facts *ret, struct error *err)
{
	static const char *const keys[] = {"workspace", "args", "argv0", "env", "cwd", NULL};
	static const char *const in_workspace[] = {"path", "dev", "ino", "uid", "gid", "fs", NULL};
	json_t *w;
	int r;

	r = json_only_keys(v, keys, err);
	if (r < 0)
		return r;
	r = json_get_object(v, "workspace", &w, err);
	if (r < 0)
		return r;
	r = json_only_keys(w, in_workspace, err);
	if (r < 0)
		return r;
	r = workspace_read(w, &ret->workspace, err);
	if (r < 0)
		return r;
	r = args_read(v, ret, err);
	if (r < 0)
		return r;
	r = object_get_text(v, "argv0", ret->argv0, sizeof(ret->argv0), err);
	if (r < 0)
		return r;
	r = env_read(v, ret, err);
	return r < 0 ? r : cwd_read(v, ret, err);
}

int
exec_facts_read(const void *data, size_t len, struct exec_facts *ret, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	int r;

	r = json_read_canonical(data, len, &v, err);
	if (r >= 0) {
		memset(ret, 0, sizeof(*ret));
		r = exec_facts_fill(v, ret, err);
	}
	if (r < 0)
		(void)error_prefix(err, "facts");
	return r < 0 ? r : 0;
}

/* ---- the operation */

static json_t *
identity_json(const struct identity *id)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_text(&o, "kind", id->kind);
	object_text(&o, "name", id->name);
	object_text(&o, "owner", id->owner);
	object_u64(&o, "uid", id->uid);
	return object_end(&o, NULL);
}

static int
identity_read(const json_t *v, struct identity *ret, struct error *err)
{
	static const char *const keys[] = {"kind", "name", "owner", "uid", NULL};
	unsigned int kind = 0;
	json_t *id;
	int r;

	r = json_get_object(v, "identity", &id, err);
	if (r < 0)
		return r;
	r = json_only_keys(id, keys, err);
	if (r < 0)
		return r;
	r = object_get_text(id, "kind", ret->kind, sizeof(ret->kind), err);
	if (r < 0)
		return r;
	r = object_word("kind", ret->kind, IDENTITY_KINDS, ARRAY_LEN(IDENTITY_KINDS), &kind, err);
	if (r < 0)
		return r;
	r = object_get_text(id, "name", ret->name, sizeof(ret->name), err);
	if (r < 0)
		return r;
	r = object_get_text(id, "owner", ret->owner, sizeof(ret->owner), err);
	if (r < 0)
		return r;
	if (!plain_text(ret->name))
		return error_set(err, -EINVAL, "identity: no name");
	if (kind == 0 ? ret->owner[0] != '\0' : !plain_text(ret->owner))
		return error_set(err, -EINVAL, "identity: a person has no owner, all others have");
	return object_get_u32(id, "uid", &ret->uid, err);
}

static json_t *
profile_json(const struct operation *op)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_text(&o, "name", op->profile_name);
	if (!is_zero(op->profile_digest, sizeof(op->profile_digest)))
		object_hex(&o, "digest", op->profile_digest, sizeof(op->profile_digest));
	return object_end(&o, NULL);
}

static int
profile_read(const json_t *v, struct operation *ret, struct error *err)
{
	static const char *const keys[] = {"name", "digest", NULL};
	json_t *profile;
	int r;

	r = json_get_object(v, "profile", &profile, err);
	if (r < 0)
		return r;
	r = json_only_keys(profile, keys, err);
	if (r < 0)
		return r;
	r = object_get_text(profile, "name", ret->profile_name, sizeof(ret->profile_name), err);
	if (r < 0)
		return r;
	if (!name_valid(ret->profile_name))
		return error_set(err, -EINVAL, "profile: not a name");
	return object_get_hex(profile, "digest", ret->profile_digest, sizeof(ret->profile_digest),
			      err);
}

static json_t *
resource_json(const struct operation *op, unsigned int parts, bool known_only)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	if (!known_only || op->facts.workspace.path[0] != '\0')
		object_take(&o, "workspace", workspace_json(&op->facts.workspace, op));
	if ((parts & PART_ACCEPT) != 0) {
		object_text(&o, "session", op->session);
		object_hex(&o, "manifest", op->manifest, sizeof(op->manifest));
		object_take(&o, "paths", op->paths != NULL ? json_incref(op->paths) : json_array());
	}
	return object_end(&o, NULL);
}

static int
accept_read(const json_t *resource, struct operation *ret, struct error *err)
{
	const char *session;
	json_t *paths, *item;
	size_t i;
	int r;

	r = json_get_text(resource, "session", &session, err);
	if (r < 0)
		return r;
	if (strcmp(session, ret->session) != 0)
		return error_set(err, -EINVAL, "resource: of another session");
	r = object_get_hex(resource, "manifest", ret->manifest, sizeof(ret->manifest), err);
	if (r < 0)
		return r;
	r = json_get_array(resource, "paths", &paths, err);
	if (r < 0)
		return r;
	if (json_array_size(paths) > PATHS_MAX)
		return error_set(err, -EINVAL, "paths: more than %d", PATHS_MAX);
	json_array_foreach(paths, i, item)
	{
		if (!json_is_string(item) || !plain_text(json_string_value(item)))
			return error_set(err, -EINVAL, "paths: not escaped texts");
	}
	ret->paths = json_incref(paths);
	return 0;
}

static int
resource_read(const json_t *v, unsigned int parts, struct operation *ret, struct error *err)
{
	static const char *const plain[] = {"workspace", NULL};
	static const char *const accept[] = {"workspace", "session", "manifest", "paths", NULL};
	json_t *resource;
	int r;

	r = json_get_object(v, "resource", &resource, err);
	if (r < 0)
		return r;
	r = json_only_keys(resource, (parts & PART_ACCEPT) != 0 ? accept : plain, err);
	if (r < 0)
		return r;
	r = workspace_of_resource(resource, ret, err);
	if (r < 0 || (parts & PART_ACCEPT) == 0)
		return r;
	return accept_read(resource, ret, err);
}

static void
command_write(struct object *o, const struct operation *op, bool known_only)
{
	if (!known_only || op->facts.args_count != 0) {
		object_take(o, "args", args_json(&op->facts));
		object_take(o, "env", env_json(&op->facts));
		object_escaped(o, "cwd", op->facts.cwd);
	}
	if (!known_only || op->timeout_ms != 0)
		object_u64(o, "timeoutMs", op->timeout_ms);
	object_bool(o, "tty", op->tty);
}

static int
command_read(const json_t *v, struct operation *ret, struct error *err)
{
	int r;

	r = args_read(v, &ret->facts, err);
	if (r < 0)
		return r;
	r = env_read(v, &ret->facts, err);
	if (r < 0)
		return r;
	r = cwd_read(v, &ret->facts, err);
	if (r < 0)
		return r;
	r = object_get_u64(v, "timeoutMs", UINT64_MAX, &ret->timeout_ms, err);
	return r < 0 ? r : json_get_bool(v, "tty", &ret->tty, err);
}

static void
object_known_text(struct object *o, const char *key, const char *text, bool known_only)
{
	if (!known_only || text[0] != '\0')
		object_text(o, key, text);
}

static json_t *
operation_build(const struct operation *op, bool known_only, struct error *err)
{
	CLEANUP(object_fini) struct object o;
	const struct shape *shape;
	json_t *v;

	if (op->capability >= CAPABILITY_COUNT || op->facts.n_env > ENV_COUNT_MAX) {
		(void)error_set(err, -EINVAL, "operation out of bounds");
		return NULL;
	}
	shape = &SHAPES[op->capability];
	object_init(&o);
	object_text(&o, "capability", capability_name(op->capability));
	object_known_text(&o, "op", op->op, known_only);
	object_known_text(&o, "session", op->session, known_only);
	object_known_text(&o, "workflow", op->workflow, known_only);
	if (!known_only || op->identity.name[0] != '\0')
		object_take(&o, "identity", identity_json(&op->identity));
	if (!known_only || op->profile_name[0] != '\0')
		object_take(&o, "profile", profile_json(op));
	if (!known_only || op->facts.workspace.path[0] != '\0')
		object_take(&o, "resource", resource_json(op, shape->parts, known_only));
	if ((shape->parts & PART_COMMAND) != 0)
		command_write(&o, op, known_only);
	v = object_end(&o, err);
	if (v == NULL)
		(void)error_prefix(err, "operation");
	return v;
}

json_t *
operation_json_known(const struct operation *op, struct error *err)
{
	return operation_build(op, true, err);
}

json_t *
operation_json(const struct operation *op, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = operation_build(op, false, err);
	struct operation again;

	if (v == NULL)
		return NULL;
	/* What its readers would refuse is not written: it is refused where it can be told. */
	if (operation_read(v, &again, err) < 0)
		return NULL;
	operation_fini(&again);
	return TAKE_PTR(v);
}

void
operation_fini(struct operation *op)
{
	json_decrefp(&op->paths);
}

/* The parts that every operation has; the capability is known to have a shape then. */
static int
common_read(const json_t *v, struct operation *ret, struct error *err)
{
	const char *text;
	uint64_t n;
	int r;

	r = json_get_text(v, "capability", &text, err);
	if (r < 0)
		return r;
	if (!capability_find(text, strlen(text), &ret->capability) ||
	    !SHAPES[ret->capability].known)
		return error_set(err, -EINVAL, "capability: not one this build can perform");
	r = object_get_text(v, "op", ret->op, sizeof(ret->op), err);
	if (r < 0)
		return r;
	if (!op_id_valid(ret->op))
		return error_set(err, -EINVAL, "op: not the id of an operation");
	r = object_get_text(v, "session", ret->session, sizeof(ret->session), err);
	if (r < 0)
		return r;
	if (!session_id_parse(ret->session, &n))
		return error_set(err, -EINVAL, "session: not the id of a session");
	r = identity_read(v, &ret->identity, err);
	if (r < 0)
		return r;
	r = object_get_text(v, "workflow", ret->workflow, sizeof(ret->workflow), err);
	if (r < 0)
		return r;
	if (!name_valid(ret->workflow))
		return error_set(err, -EINVAL, "workflow: not a name");
	return profile_read(v, ret, err);
}

static int
operation_fill(const json_t *v, struct operation *ret, struct error *err)
{
	static const char *const plain[] = {"capability", "op",	     "session",	 "identity",
					    "workflow",	  "profile", "resource", NULL};
	static const char *const command[] = {
		"capability", "op",  "session", "identity",  "workflow", "profile", "resource",
		"args",	      "env", "cwd",	"timeoutMs", "tty",	 NULL};
	unsigned int parts;
	int r;

	r = common_read(v, ret, err);
	if (r < 0)
		return r;
	parts = SHAPES[ret->capability].parts;
	r = json_only_keys(v, (parts & PART_COMMAND) != 0 ? command : plain, err);
	if (r < 0)
		return r;
	r = resource_read(v, parts, ret, err);
	if (r < 0 || (parts & PART_COMMAND) == 0)
		return r;
	return command_read(v, ret, err);
}

int
operation_read(const json_t *v, struct operation *ret, struct error *err)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = operation_fill(v, ret, err);
	if (r < 0) {
		operation_fini(ret);
		(void)error_prefix(err, "operation");
	}
	return r;
}

int
operation_digest(const json_t *operation, uint8_t ret_digest[32], struct error *err)
{
	return json_digest(OPERATION_DOMAIN, operation, ret_digest, err);
}
