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
#include "model/facts.h"
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
	r = facts_workspace_read(w, &ret->facts.workspace, err);
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
	if (!facts_plain_text(ret->name))
		return error_set(err, -EINVAL, "identity: no name");
	if (kind == 0 ? ret->owner[0] != '\0' : !facts_plain_text(ret->owner))
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
		object_take(&o, "workspace",
			    facts_workspace_json(&op->facts.workspace, MODE_NAMES[op->mode],
						 op->fresh));
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
		if (!json_is_string(item) || !facts_plain_text(json_string_value(item)))
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
		object_take(o, "args", facts_args_json(&op->facts));
		object_take(o, "env", facts_env_json(&op->facts));
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

	r = facts_args_read(v, &ret->facts, err);
	if (r < 0)
		return r;
	r = facts_env_read(v, &ret->facts, err);
	if (r < 0)
		return r;
	r = facts_cwd_read(v, &ret->facts, err);
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

	if (op->capability >= CAPABILITY_COUNT || op->facts.n_env > ENV_COUNT_MAX ||
	    (size_t)op->mode >= ARRAY_LEN(MODE_NAMES)) {
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
