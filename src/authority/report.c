/*
 * The document of --report: what was asked for, what was decided, and what came of it. Its keys are
 * promised; null stands where nothing ran.
 */
#include <errno.h>

#include "authority/run.h"
#include "base/json.h"
#include "base/text.h"

static const char *
exit_code_of(const struct exec_result *x, json_int_t *ret)
{
	*ret = x->exit_value;
	return x->exit_kind == EXIT_STATUS ? "code" : x->exit_kind == EXIT_SIGNAL ? "signal" : NULL;
}

static json_t *
exit_json(const struct exec_result *x)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	json_int_t value;
	const char *key = exit_code_of(x, &value);

	v = json_pack("{s:n, s:n, s:b}", "code", "signal", "timedOut",
		      x->exit_kind == EXIT_TIMEOUT);
	if (v == NULL || (key != NULL && json_object_set_new(v, key, json_integer(value)) != 0))
		return NULL;
	return TAKE_PTR(v);
}

static json_t *
stream_json(const struct output_result *o)
{
	char hex[2 * 32 + 1];

	hex_encode(o->sha256, sizeof(o->sha256), hex);
	return json_pack("{s:I, s:s, s:b}", "bytes", (json_int_t)o->bytes, "sha256", hex,
			 "truncated", o->truncated);
}

static json_t *
usage_json(const struct exec_result *x)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "wallMs", (json_int_t)x->wall_ms, "cpuMs",
			 (json_int_t)x->cpu_ms, "memoryPeak", (json_int_t)x->memory_peak,
			 "pidsPeak", (json_int_t)x->pids_peak);
}

static json_t *
profile_json(const struct run *r)
{
	if (r->slot == NULL)
		return json_pack("{s:s, s:n}", "name", r->profile_name, "digest");
	return json_pack("{s:s, s:s}", "name", r->profile_name, "digest", r->slot->hex);
}

int
run_report(const struct run *r, struct buf *out, struct error *err)
{
	const struct exec_result *x = &r->result;
	CLEANUP(json_decrefp) json_t *v = NULL;

	v = json_pack("{s:s?, s:s, s:o, s:s, s:s, s:s, s:I, s:s}", "session",
		      r->session_id[0] != '\0' ? r->session_id : NULL, "operation", r->op,
		      "profile", profile_json(r), "verdict", effect_name(r->verdict.effect),
		      "reason", reason_code(r->verdict.reason), "detail", r->verdict.detail,
		      "changes", (json_int_t)(r->has_result ? x->changes : 0), "trace",
		      r->verified ? "verified" : "unverified");
	if (v != NULL && r->has_result &&
	    (json_object_set_new(v, "exit", exit_json(x)) != 0 ||
	     json_object_set_new(v, "usage", usage_json(x)) != 0 ||
	     json_object_set_new(v, "output",
				 json_pack("{s:o, s:o}", "stdout", stream_json(&x->out), "stderr",
					   stream_json(&x->err))) != 0))
		return error_set(err, -ENOMEM, "out of memory for the report");
	if (v != NULL && !r->has_result && json_object_set_new(v, "exit", json_null()) != 0)
		return error_set(err, -ENOMEM, "out of memory for the report");
	if (v == NULL)
		return error_set(err, -ENOMEM, "out of memory for the report");
	return json_write_canonical(v, out, err);
}
