/*
 * One writer and one reader a result, each reading like the shape in the header. Reading is strict:
 * what it accepts, writing gives back byte for byte.
 */
#include "model/result.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/object.h"

static const char *const STATUS_NAMES[] = {
	[RESULT_DONE] = "done",
	[RESULT_REFUSED] = "refused",
	[RESULT_FAILED] = "failed",
};

static const char *const EXIT_NAMES[] = {
	[EXIT_NONE] = "none",		[EXIT_STATUS] = "status",
	[EXIT_SIGNAL] = "signal",	[EXIT_TIMEOUT] = "timeout",
	[EXIT_NOT_FOUND] = "not-found", [EXIT_NOT_EXECUTABLE] = "not-executable",
	[EXIT_STOPPED] = "stopped",	[EXIT_FAILED] = "failed",
};

static const char *
name_of(const char *const *names, size_t n, unsigned int i)
{
	return i < n ? names[i] : NULL;
}

static int
read_word(const json_t *v, const char *key, const char *const *names, size_t n, unsigned int *ret,
	  struct error *err)
{
	const char *text;
	int r;

	r = json_get_text(v, key, &text, err);
	return r < 0 ? r : object_word(key, text, names, n, ret, err);
}

static int
read_head(const json_t *v, enum result_status *ret_status, enum reason *ret_reason,
	  struct error *err)
{
	unsigned int status = 0;
	const char *code;
	int r;

	r = read_word(v, "status", STATUS_NAMES, ARRAY_LEN(STATUS_NAMES), &status, err);
	if (r < 0)
		return r;
	r = json_get_text(v, "reason", &code, err);
	if (r < 0)
		return r;
	if (!reason_find(code, ret_reason))
		return error_set(err, -EINVAL, "reason: there is no \"%.40s\"", code);
	*ret_status = (enum result_status)status;
	return 0;
}

static int
write_object(struct object *o, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = object_end(o, err);
	int r;

	if (v == NULL)
		return -EINVAL;
	r = json_write_canonical(v, out, err);
	return r < 0 ? r : buf_check(out, err);
}

static json_t *
exit_json(const struct exec_result *r)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_text(&o, "kind", name_of(EXIT_NAMES, ARRAY_LEN(EXIT_NAMES), r->exit_kind));
	object_take(&o, "value", json_integer(r->exit_value));
	return object_end(&o, NULL);
}

static int
exit_read(const json_t *v, struct exec_result *ret, struct error *err)
{
	static const char *const keys[] = {"kind", "value", NULL};
	unsigned int kind = 0;
	int64_t value = 0;
	json_t *e;
	int r;

	r = json_get_object(v, "exit", &e, err);
	if (r < 0)
		return r;
	r = json_only_keys(e, keys, err);
	if (r < 0)
		return r;
	r = read_word(e, "kind", EXIT_NAMES, ARRAY_LEN(EXIT_NAMES), &kind, err);
	if (r < 0)
		return r;
	r = json_get_int(e, "value", INT32_MIN, INT32_MAX, &value, err);
	if (r < 0)
		return r;
	ret->exit_kind = (enum exit_kind)kind;
	ret->exit_value = (int32_t)value;
	return 0;
}

/* Key and field, once for both directions. */
struct usage_field {
	const char *key;
	size_t offset;
};
static const struct usage_field USAGE[] = {
	{"wallMs", offsetof(struct exec_result, wall_ms)},
	{"cpuMs", offsetof(struct exec_result, cpu_ms)},
	{"memoryPeak", offsetof(struct exec_result, memory_peak)},
	{"pidsPeak", offsetof(struct exec_result, pids_peak)},
	{"oomKills", offsetof(struct exec_result, oom_kills)},
};

static json_t *
usage_json(const struct exec_result *r)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	for (size_t i = 0; i < ARRAY_LEN(USAGE); i++)
		object_u64(&o, USAGE[i].key,
			   *(const uint64_t *)((const char *)r + USAGE[i].offset));
	return object_end(&o, NULL);
}

static int
usage_read(const json_t *v, struct exec_result *ret, struct error *err)
{
	static const char *const keys[] = {"wallMs",   "cpuMs",	   "memoryPeak",
					   "pidsPeak", "oomKills", NULL};
	json_t *u;
	int r;

	r = json_get_object(v, "usage", &u, err);
	if (r < 0)
		return r;
	r = json_only_keys(u, keys, err);
	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(USAGE); i++)
		r = object_get_u64(u, USAGE[i].key, UINT64_MAX,
				   (uint64_t *)((char *)ret + USAGE[i].offset), err);
	return r;
}

static json_t *
stream_json(const struct output_result *r)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_u64(&o, "bytes", r->bytes);
	object_hex(&o, "sha256", r->sha256, sizeof(r->sha256));
	object_bool(&o, "truncated", r->truncated);
	return object_end(&o, NULL);
}

static int
stream_read(const json_t *output, const char *key, struct output_result *ret, struct error *err)
{
	static const char *const keys[] = {"bytes", "sha256", "truncated", NULL};
	json_t *s;
	int r;

	r = json_get_object(output, key, &s, err);
	if (r < 0)
		return r;
	r = json_only_keys(s, keys, err);
	if (r < 0)
		return r;
	r = object_get_u64(s, "bytes", UINT64_MAX, &ret->bytes, err);
	if (r < 0)
		return r;
	r = object_get_hex(s, "sha256", ret->sha256, sizeof(ret->sha256), err);
	if (r < 0)
		return r;
	return json_get_bool(s, "truncated", &ret->truncated, err);
}

static json_t *
output_json(const struct exec_result *r)
{
	CLEANUP(object_fini) struct object o;

	object_init(&o);
	object_take(&o, "stdout", stream_json(&r->out));
	object_take(&o, "stderr", stream_json(&r->err));
	return object_end(&o, NULL);
}

static int
output_read(const json_t *v, struct exec_result *ret, struct error *err)
{
	static const char *const keys[] = {"stdout", "stderr", NULL};
	json_t *output;
	int r;

	r = json_get_object(v, "output", &output, err);
	if (r < 0)
		return r;
	r = json_only_keys(output, keys, err);
	if (r < 0)
		return r;
	r = stream_read(output, "stdout", &ret->out, err);
	return r < 0 ? r : stream_read(output, "stderr", &ret->err, err);
}

void
exec_result_fini(struct exec_result *r)
{
	json_decrefp(&r->box);
}

int
exec_result_write(const struct exec_result *r, struct buf *out, struct error *err)
{
	CLEANUP(object_fini) struct object o;

	if (r->reason >= REASON_COUNT)
		return error_set(err, -EINVAL, "result with reason %d", (int)r->reason);
	object_init(&o);
	object_text(&o, "status", name_of(STATUS_NAMES, ARRAY_LEN(STATUS_NAMES), r->status));
	object_text(&o, "reason", reason_code(r->reason));
	object_escaped(&o, "step", r->step);
	object_escaped(&o, "detail", r->detail);
	object_take(&o, "exit", exit_json(r));
	object_take(&o, "usage", usage_json(r));
	object_take(&o, "output", output_json(r));
	object_u64(&o, "changes", r->changes);
	object_bool(&o, "kept", r->kept);
	object_take(&o, "box", r->box != NULL ? json_incref(r->box) : json_object());
	return write_object(&o, out, err);
}

static int
exec_result_fill(const json_t *v, struct exec_result *ret, struct error *err)
{
	static const char *const keys[] = {"status", "reason",	"step", "detail", "exit", "usage",
					   "output", "changes", "kept", "box",	  NULL};
	json_t *box;
	int r;

	r = json_only_keys(v, keys, err);
	if (r < 0)
		return r;
	r = read_head(v, &ret->status, &ret->reason, err);
	if (r < 0)
		return r;
	r = object_get_escaped(v, "step", ret->step, sizeof(ret->step), err);
	if (r < 0)
		return r;
	r = object_get_escaped(v, "detail", ret->detail, sizeof(ret->detail), err);
	if (r < 0)
		return r;
	r = exit_read(v, ret, err);
	if (r < 0)
		return r;
	r = usage_read(v, ret, err);
	if (r < 0)
		return r;
	r = output_read(v, ret, err);
	if (r < 0)
		return r;
	r = object_get_u64(v, "changes", UINT64_MAX, &ret->changes, err);
	if (r < 0)
		return r;
	r = json_get_bool(v, "kept", &ret->kept, err);
	if (r < 0)
		return r;
	r = json_get_object(v, "box", &box, err);
	if (r < 0)
		return r;
	ret->box = json_incref(box);
	return 0;
}

int
exec_result_read(const void *data, size_t len, struct exec_result *ret, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct exec_result got = {0};
	int r;

	r = json_read_canonical(data, len, &v, err);
	if (r >= 0)
		r = exec_result_fill(v, &got, err);
	if (r < 0) {
		exec_result_fini(&got);
		(void)error_prefix(err, "result");
		return r;
	}
	*ret = got;
	return 0;
}

int
accept_result_write(const struct accept_result *r, struct buf *out, struct error *err)
{
	CLEANUP(object_fini) struct object o;

	if (r->reason >= REASON_COUNT)
		return error_set(err, -EINVAL, "result with reason %d", (int)r->reason);
	object_init(&o);
	object_text(&o, "status", name_of(STATUS_NAMES, ARRAY_LEN(STATUS_NAMES), r->status));
	object_text(&o, "reason", reason_code(r->reason));
	object_escaped(&o, "detail", r->detail);
	object_u64(&o, "files", r->files);
	object_u64(&o, "bytes", r->bytes);
	object_hex(&o, "manifest", r->manifest, sizeof(r->manifest));
	object_u64(&o, "stripped", r->stripped);
	return write_object(&o, out, err);
}

static int
accept_result_fill(const json_t *v, struct accept_result *ret, struct error *err)
{
	static const char *const keys[] = {"status", "reason",	 "detail",   "files",
					   "bytes",  "manifest", "stripped", NULL};
	int r;

	r = json_only_keys(v, keys, err);
	if (r < 0)
		return r;
	r = read_head(v, &ret->status, &ret->reason, err);
	if (r < 0)
		return r;
	r = object_get_escaped(v, "detail", ret->detail, sizeof(ret->detail), err);
	if (r < 0)
		return r;
	r = object_get_u64(v, "files", UINT64_MAX, &ret->files, err);
	if (r < 0)
		return r;
	r = object_get_u64(v, "bytes", UINT64_MAX, &ret->bytes, err);
	if (r < 0)
		return r;
	r = object_get_hex(v, "manifest", ret->manifest, sizeof(ret->manifest), err);
	if (r < 0)
		return r;
	return object_get_u64(v, "stripped", UINT64_MAX, &ret->stripped, err);
}

int
accept_result_read(const void *data, size_t len, struct accept_result *ret, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct accept_result got = {0};
	int r;

	r = json_read_canonical(data, len, &v, err);
	if (r >= 0)
		r = accept_result_fill(v, &got, err);
	if (r < 0) {
		(void)error_prefix(err, "result");
		return r;
	}
	*ret = got;
	return 0;
}
