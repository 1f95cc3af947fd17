/*
 * The facts that the box says of a client's descriptors, and the parts of them that an operation
 * has as well: written and read by the same functions, so that an operation cannot differ from its
 * facts.
 */
#include "model/facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/object.h"

/* Text of ours that people see: not empty, no control characters. */
bool
facts_plain_text(const char *s)
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

json_t *
facts_workspace_json(const struct workspace_facts *w, const char *mode, bool fresh)
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
	if (mode != NULL) {
		object_text(&o, "mode", mode);
		object_bool(&o, "new", fresh);
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

int
facts_workspace_read(const json_t *v, struct workspace_facts *ret, struct error *err)
{
	int r;

	r = object_get_text(v, "path", ret->path, sizeof(ret->path), err);
	if (r < 0)
		return r;
	if (ret->path[0] != '/' || !facts_plain_text(ret->path))
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
	if (!facts_plain_text(ret->fs))
		return error_set(err, -EINVAL, "workspace: fs is not the name of a file system");
	return 0;
}

json_t *
facts_args_json(const struct exec_facts *f)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_u64(&o, "bytes", f->args_bytes);
	object_u64(&o, "count", f->args_count);
	object_hex(&o, "sha256", f->args_sha256, sizeof(f->args_sha256));
	return object_end(&o, NULL);
}

int
facts_args_read(const json_t *v, struct exec_facts *ret, struct error *err)
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

json_t *
facts_env_json(const struct exec_facts *f)
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

int
facts_env_read(const json_t *v, struct exec_facts *ret, struct error *err)
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

int
facts_cwd_read(const json_t *v, struct exec_facts *ret, struct error *err)
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

int
exec_facts_write(const struct exec_facts *f, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(object_fini) struct object o;
	int r;

	if (f->n_env > ENV_COUNT_MAX)
		return error_set(err, -EINVAL, "facts: %u variables", f->n_env);
	object_init(&o);
	object_take(&o, "workspace", facts_workspace_json(&f->workspace, NULL, false));
	object_take(&o, "args", facts_args_json(f));
	object_text(&o, "argv0", f->argv0);
	object_take(&o, "env", facts_env_json(f));
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
	r = facts_workspace_read(w, &ret->workspace, err);
	if (r < 0)
		return r;
	r = facts_args_read(v, ret, err);
	if (r < 0)
		return r;
	r = object_get_text(v, "argv0", ret->argv0, sizeof(ret->argv0), err);
	if (r < 0)
		return r;
	r = facts_env_read(v, ret, err);
	return r < 0 ? r : facts_cwd_read(v, ret, err);
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
