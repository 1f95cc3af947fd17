/*
 * Pure: no descriptor, no clock, no environment. The strings lie behind the fixed part, so that
 * only what is used travels. Later assignments of a variable replace earlier ones here, and the
 * client's replace both when the command is started.
 */
#include "box/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "box/filter.h"

/* What every command finds, whatever its profile says (contracts: "Inside the sandbox"). */
static const char *const plan_base_env[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/tmp/home",
	"LANG=C.UTF-8",
};

/* Places a workspace cannot lie at, inside: they are ours. Under /tmp it can. */
static const char *const plan_ours[] = {"/bin",	   "/dev",  "/etc",  "/lib", "/lib32", "/lib64",
					"/libx32", "/proc", "/sbin", "/sys", "/usr"};

static int
plan_add(struct plan *p, const char *a, const char *b, struct failure *f)
{
	size_t room = sizeof(p->strings) - p->strings_len;
	int n = snprintf(p->strings + p->strings_len, room, "%s%s", a, b);

	if (n < 0 || (size_t)n >= room)
		return failure_set(f, R_LIMIT_EXCEEDED, "plan", -E2BIG,
				   "the environment of the profile is too large");
	p->strings_len += (uint32_t)n + 1;
	return 0;
}

static bool
same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* Add one variable unless a profile's own of that name comes later. */
static int
plan_add_env(struct plan *p, const struct profile *profile, uint32_t from, const char *name,
	     const char *value, struct failure *f)
{
	for (uint32_t i = from; i < profile->n_env; i++)
		if (same_name(profile->env[i].name, name))
			return 0;
	if (plan_add(p, name, value, f) < 0)
		return f->code;
	p->n_env++;
	return 0;
}

/* A name that a terminal's description may have; everything else is no terminal. */
static const char *
term_name(const char *term)
{
	size_t len = strspn(term, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789+._-");

	return len > 0 && len <= PLAN_TERM_MAX && term[len] == '\0' ? term : "dumb";
}

static int
plan_environment(const struct operation *op, const struct profile *profile, const char *term,
		 struct plan *p, struct failure *f)
{
	char pair[sizeof(profile->env[0].name) + 1];

	for (size_t i = 0; i < ARRAY_LEN(plan_base_env); i++)
		if (plan_add_env(p, profile, 0, plan_base_env[i], "", f) < 0)
			return f->code;
	if (plan_add_env(p, profile, 0, "TERM=", op->tty ? term_name(term) : "dumb", f) < 0)
		return f->code;
	for (uint32_t i = 0; i < profile->n_env; i++) {
		(void)snprintf(pair, sizeof(pair), "%s=", profile->env[i].name);
		if (plan_add_env(p, profile, i + 1, pair, profile->env[i].value, f) < 0)
			return f->code;
	}
	/* Last, so that a profile cannot lie about which session it is. */
	return plan_add_env(p, profile, profile->n_env, "LOOM_SESSION=", op->session, f);
}

static int
plan_place(const struct profile *profile, const char *workspace_path, const char **ret_at,
	   struct failure *f)
{
	const char *at = profile->workspace_at;
	struct error err = {0};

	if (strcmp(at, "host") == 0)
		at = workspace_path;
	if (strlen(at) >= PROFILE_PATH_MAX)
		return failure_set(f, R_INVALID_PATH, "plan", -ENAMETOOLONG,
				   "the workspace's path is too long to be kept inside");
	if (path_absolute_check(at, &err) < 0 || strcmp(at, "/") == 0)
		return failure_set(f, R_INVALID_PATH, "plan", -EINVAL,
				   "the workspace cannot lie at %s inside", at);
	for (size_t i = 0; i < ARRAY_LEN(plan_ours); i++)
		if (path_is_beneath(at, plan_ours[i]))
			return failure_set(
				f, R_CONFLICTING_CONSTRAINTS, "plan", -EINVAL,
				"the workspace cannot lie at %s inside: %s is the sandbox's own",
				at, plan_ours[i]);
	if (strcmp(at, "/tmp") == 0 || path_is_beneath("/tmp/home", at))
		return failure_set(f, R_CONFLICTING_CONSTRAINTS, "plan", -EINVAL,
				   "the workspace cannot cover %s inside", at);
	*ret_at = at;
	return 0;
}

static int
plan_supported(const struct operation *op, const struct profile *profile, struct failure *f)
{
	if (profile->runtime != RUNTIME_NAMESPACES)
		return failure_set(f, R_RUNTIME_UNAVAILABLE, "plan", -EOPNOTSUPP,
				   "this box only has the runtime \"namespaces\"");
	if (strcmp(profile->root, "host") != 0)
		return failure_set(f, R_CAPABILITY_UNAVAILABLE, "plan", -EOPNOTSUPP,
				   "this box only has the root \"host\"");
	if (profile->workspace_max != 0)
		return failure_set(f, R_CAPABILITY_UNAVAILABLE, "plan", -EOPNOTSUPP,
				   "this box cannot bound the size of a workspace");
	if (op->mode != profile->workspace_mode)
		return failure_set(f, R_PROFILE_MISMATCH, "plan", -EINVAL,
				   "the recorded workspace mode is not the profile's");
	if (op->timeout_ms == 0 || op->timeout_ms > profile->timeout_ms)
		return failure_set(f, R_LIMIT_EXCEEDED, "plan", -EINVAL,
				   "the recorded timeout is not within the profile's");
	if (profile->memory == 0 || profile->pids == 0 || profile->cpu_milli == 0 ||
	    profile->open_files == 0 || profile->tmp_max == 0)
		return failure_set(f, R_INVALID_REQUEST, "plan", -EINVAL,
				   "the profile leaves a limit out");
	return 0;
}

int
plan_derive(const struct operation *op, const struct profile *profile, const char *workspace_path,
	    const char *term, struct plan *ret, struct failure *f)
{
	const struct exec_facts *facts = &op->facts;
	const char *at;

	memset(ret, 0, PLAN_FIXED);
	if (plan_supported(op, profile, f) < 0 || plan_place(profile, workspace_path, &at, f) < 0)
		return f->code;
	ret->version = PLAN_VERSION;
	ret->flags = (op->tty ? PLAN_TTY : 0u) | (facts->n_env > 0 ? PLAN_CLIENT_ENV : 0u) |
		     (profile->debug_ptrace ? PLAN_PTRACE : 0u);
	ret->mode = (uint32_t)op->mode;
	ret->owner_uid = facts->workspace.uid;
	ret->owner_gid = facts->workspace.gid;
	ret->dev_major = facts->workspace.dev_major;
	ret->dev_minor = facts->workspace.dev_minor;
	ret->ino = facts->workspace.ino;
	ret->tmp_bytes = profile->tmp_max;
	ret->shm_bytes = profile->tmp_max;
	ret->output_bytes = profile->output;
	ret->open_files = profile->open_files;
	ret->limits.memory = profile->memory;
	ret->limits.cpu_milli = profile->cpu_milli;
	ret->limits.pids = profile->pids;
	ret->args_bytes = facts->args_bytes;
	ret->args_count = facts->args_count;
	ret->client_env_count = facts->n_env;
	(void)snprintf(ret->session, sizeof(ret->session), "%s", op->session);
	if (plan_add(ret, at, "", f) < 0 || plan_add(ret, facts->cwd, "", f) < 0 ||
	    plan_environment(op, profile, term, ret, f) < 0)
		return f->code;
	ret->size = (uint32_t)PLAN_FIXED + ret->strings_len;
	return 0;
}

bool
plan_valid(const struct plan *p, size_t len)
{
	size_t strings = 0;

	if (len < PLAN_FIXED || len > sizeof(*p) || p->version != PLAN_VERSION || p->size != len ||
	    p->strings_len != len - PLAN_FIXED || p->strings_len == 0 ||
	    p->mode > WORKSPACE_READ_ONLY || p->n_env > PLAN_ENV_MAX ||
	    p->strings[p->strings_len - 1] != '\0' ||
	    memchr(p->session, '\0', sizeof(p->session)) == NULL)
		return false;
	for (uint32_t i = 0; i < p->strings_len; i++)
		strings += p->strings[i] == '\0';
	return strings == 2 + (size_t)p->n_env && p->strings[0] == '/';
}

const char *
plan_workspace_at(const struct plan *p)
{
	return p->strings;
}

const char *
plan_cwd(const struct plan *p)
{
	return p->strings + strlen(p->strings) + 1;
}

const char *
plan_env(const struct plan *p)
{
	const char *cwd = plan_cwd(p);

	return cwd + strlen(cwd) + 1;
}

unsigned
plan_filter(const struct plan *p)
{
	return ((p->flags & PLAN_PTRACE) != 0 ? FILTER_PTRACE : 0u) |
	       (p->mode == WORKSPACE_DIRECT ? FILTER_NO_UNIX : 0u) |
	       ((p->flags & PLAN_CORE) != 0 ? FILTER_CORE : 0u);
}

int
plan_core_pattern(struct plan *p, const char *pattern, struct failure *f)
{
	if (*pattern == '@')
		return failure_set(f, R_CAPABILITY_UNAVAILABLE, "plan", -EOPNOTSUPP,
				   "kernel.core_pattern hands the memory of a crashed program to a "
				   "socket of the host, whatever its limits are");
	if (*pattern == '|')
		p->flags |= PLAN_CORE;
	return 0;
}

uint64_t
plan_core_limit(const struct plan *p)
{
	return (p->flags & PLAN_CORE) != 0 ? 1 : 0;
}
