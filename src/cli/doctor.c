/*
 * loom doctor. Nothing is judged by asking: each thing a session needs is done once by the box in a
 * throw-away child, and then a real command is run under every shipped profile. Status 0 when all
 * of them work, else 1.
 */
#include "cli/doctor.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/daemon.h"
#include "cli/option.h"
#include "cli/say.h"
#include "cli/show.h"
#include "policy/policy.h"

static bool
works(const json_t *object)
{
	return json_is_true(json_object_get(object, "works"));
}

static bool
needed_by(const json_t *check, const char *profile)
{
	size_t index;
	json_t *name;

	json_array_foreach(json_object_get(check, "needed_by"), index, name)
	{
		if (json_is_string(name) && strcmp(json_string_value(name), profile) == 0)
			return true;
	}
	return false;
}

/* Does a check fail that PROFILE cannot do without? */
static bool
lacks(const json_t *checks, const char *profile)
{
	size_t index;
	json_t *check;

	json_array_foreach(checks, index, check)
	{
		if (!works(check) && needed_by(check, profile))
			return true;
	}
	return false;
}

/* A trial that could not even be asked for is a trial that failed, for the reason that is known. */
static json_t *
trial_failed(const char *profile, const json_t *checks, const struct error *err)
{
	const char *reason =
		lacks(checks, profile) ? "runtime-unavailable" : daemon_reason(err->code);

	return json_pack("{s:s, s:b, s:s, s:s, s:o, s:s, s:s}", "profile", profile, "works", 0,
			 "verdict", "deny", "reason", reason, "detail",
			 json_escaped(err->text, strlen(err->text)), "operation", "", "trace",
			 "unverified");
}

static json_t *
probe_failed(const struct error *err)
{
	return json_pack("[{s:s, s:b, s:o, s:s}]", "check", "probe", "works", 0, "detail",
			 json_escaped(err->text, strlen(err->text)), "fix",
			 "install Loom again, and run this as root");
}

static json_t *
examine(const json_t *checks, struct error *err)
{
	json_t *trials = json_array();

	for (size_t i = 0; i < policy_shipped_count(); i++) {
		CLEANUP(policy_freep) struct policy *policy = NULL;
		const char *name = policy_shipped_name(i);
		struct error failure = {0};
		json_t *trial = NULL;
		int r;

		r = policy_shipped(i, &policy, &failure);
		if (r == 0)
			r = doctor_trial(name, &trial, &failure);
		if (r < 0)
			trial = trial_failed(name, checks, &failure);
		if (trial != NULL && policy != NULL)
			json_object_set_new(
				trial, "workspaceMax",
				json_boolean(policy_profile(policy)->workspace_max > 0));
		if (json_array_append_new(trials, trial) != 0) {
			error_set(err, -1, "out of memory");
			break;
		}
	}
	return trials;
}

/* What fails and nobody needs is no fault. */
static enum show_mark
check_mark(const json_t *check)
{
	const json_t *needed = json_object_get(check, "needed_by");

	if (works(check))
		return MARK_YES;
	return json_is_array(needed) && json_array_size(needed) == 0 ? MARK_NONE : MARK_NO;
}

static void
print_check(struct buf *out, const json_t *check, size_t column)
{
	const char *name = show_text(check, "check");

	buf_str(out, "  ");
	show_mark(out, check_mark(check));
	buf_str(out, "  ");
	show_add(out, SHOW_BOLD, name);
	for (size_t i = strlen(name); i < column; i++)
		buf_char(out, ' ');
	buf_str(out, "  ");
	show_add(out, SHOW_PLAIN, show_text(check, "detail"));
	buf_char(out, '\n');
	if (!works(check) && show_text(check, "fix")[0] != '\0') {
		buf_str(out, "       fix: ");
		show_add(out, SHOW_YELLOW, show_text(check, "fix"));
		buf_char(out, '\n');
	}
}

static void
print_checks(struct buf *out, const json_t *checks)
{
	size_t index, column = 0;
	json_t *check;

	json_array_foreach((json_t *)checks, index, check)
	{
		if (strlen(show_text(check, "check")) > column)
			column = strlen(show_text(check, "check"));
	}
	json_array_foreach((json_t *)checks, index, check)
	{
		print_check(out, check, column);
	}
}

static void
print_losses(struct buf *out, const json_t *checks, const char *profile)
{
	size_t index;
	json_t *check;

	json_array_foreach(checks, index, check)
	{
		if (works(check) || !needed_by(check, profile))
			continue;
		buf_str(out, "       needs ");
		show_add(out, SHOW_BOLD, show_text(check, "check"));
		buf_str(out, ", which fails here\n");
	}
}

static void
add_size(struct buf *out, int64_t bytes)
{
	static const struct {
		const char *unit;
		int64_t bytes;
	} units[] = {{"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", 1024}};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (bytes >= units[i].bytes && bytes % units[i].bytes == 0) {
			buf_fmt(out, "%" PRId64 " %s", bytes / units[i].bytes, units[i].unit);
			return;
		}
	}
	buf_fmt(out, "%" PRId64 " bytes", bytes);
}

/* What was read back from outside, in words; --json has all of it. */
static void
print_box(struct buf *out, const json_t *box)
{
	const json_t *cgroup = json_object_get(box, "cgroup");
	int64_t period = show_int(cgroup, "cpuPeriod", 0);

	if (json_is_object(cgroup)) {
		buf_str(out, "       memory ");
		add_size(out, show_int(cgroup, "memory", 0));
		if (period > 0)
			buf_fmt(out, ", %.2g CPUs",
				(double)show_int(cgroup, "cpuQuota", 0) / (double)period);
		buf_fmt(out, ", %" PRId64 " processes (cgroup version %" PRId64 ")\n",
			show_int(cgroup, "pids", 0), show_int(cgroup, "version", 0));
	}
	if (json_is_object(json_object_get(box, "landlock")))
		buf_fmt(out,
			"       Landlock ABI %" PRId64 ", %" PRId64 " seccomp filters, %" PRId64
			" mounts, host id %" PRId64 "\n",
			show_int(json_object_get(box, "landlock"), "abi", 0),
			show_int(json_object_get(box, "filter"), "count", 0),
			show_int(json_object_get(box, "mounts"), "count", 0),
			show_int(box, "hostId", -1));
}

static void
print_trial(struct buf *out, const json_t *trial, const json_t *checks)
{
	const char *profile = show_text(trial, "profile");
	const json_t *max = json_object_get(trial, "workspaceMax");

	buf_str(out, "  ");
	show_mark(out, works(trial) ? MARK_YES : MARK_NO);
	buf_str(out, "  ");
	show_add(out, SHOW_BOLD, profile);
	buf_str(out, "  ");
	if (works(trial)) {
		buf_str(out, "a command ran, and its trace is verified");
	} else {
		show_add(out, SHOW_RED, show_text(trial, "reason"));
		buf_str(out, ": ");
		show_add(out, SHOW_PLAIN, show_text(trial, "detail"));
	}
	if (show_text(trial, "operation")[0] != '\0') {
		buf_str(out, " (trace ");
		show_add(out, SHOW_PLAIN, show_text(trial, "operation"));
		buf_char(out, ')');
	}
	buf_char(out, '\n');
	if (!works(trial))
		print_losses(out, checks, profile);
	if (json_is_false(max))
		buf_str(out, "       the size of the workspace's changes is not bounded "
			     "(filesystem.workspace.max is not set)\n");
	print_box(out, json_object_get(trial, "box"));
}

static int
print_all(const json_t *checks, const json_t *trials, bool well)
{
	CLEANUP(buf_fini) struct buf out = {0};
	size_t index;
	json_t *item;

	buf_init(&out, SHOW_MAX);
	show_add(&out, SHOW_BOLD, "What this machine can enforce");
	buf_char(&out, '\n');
	print_checks(&out, checks);
	show_add(&out, SHOW_BOLD, "What each shipped profile gets");
	buf_char(&out, '\n');
	json_array_foreach((json_t *)trials, index, item)
	{
		print_trial(&out, item, checks);
	}
	show_add(&out, well ? SHOW_GREEN : SHOW_RED,
		 well ? "Every shipped profile works here."
		      : "Not every shipped profile works here.");
	buf_char(&out, '\n');
	return print_buf(&out);
}

int
cmd_doctor(const struct parsed *args)
{
	CLEANUP(json_decrefp) json_t *checks = NULL;
	CLEANUP(json_decrefp) json_t *trials = NULL;
	CLEANUP(json_decrefp) json_t *doc = NULL;
	struct error err = {0};
	bool well = true;
	size_t index;
	json_t *item;
	int r;

	/* That nothing can be found out is a finding: the trials still show what works. */
	if (doctor_probe(&checks, &err) < 0) {
		checks = probe_failed(&err);
		err = (struct error){0};
	}
	trials = examine(checks, &err);
	if (err.code != 0)
		return say_failed("internal", &err);
	json_array_foreach(trials, index, item)
	{
		well = well && works(item);
	}
	if (option_given(args, OPT_JSON)) {
		doc = json_pack("{s:O, s:O, s:b}", "checks", checks, "profiles", trials, "works",
				well);
		r = show_json(doc);
	} else {
		r = print_all(checks, trials, well);
	}
	if (r != STATUS_OK)
		return r;
	return well ? STATUS_OK : STATUS_NOT;
}
