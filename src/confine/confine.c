/*
 * The order matters. Ids change first, while there is still a capability to change them with; then
 * the capabilities go (bounding set before the permitted set that lets one drop it); then
 * no_new_privs, which Landlock and seccomp ask for; then limits and Landlock; the filter is last,
 * because it forbids what the steps before it need. /proc/self/status is opened before all that and
 * read after it, so that the report is what the kernel says and not what was intended.
 */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "confine/landlock.h"
#include "confine/tables.h"

#define CAP_LAST_POSSIBLE 63

static struct confine_report report;

static int
drop_ids(const struct confine_spec *spec, struct error *err)
{
	if (spec->uid == (uid_t)-1)
		return 0;
	if (setgroups(0, NULL) < 0)
		return error_sys(err, -errno, "setgroups");
	if (setresgid(spec->gid, spec->gid, spec->gid) < 0)
		return error_sys(err, -errno, "setresgid %u", spec->gid);
	/* The capabilities that are to stay must survive the change; the others go below. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return error_sys(err, -errno, "PR_SET_KEEPCAPS");
	if (setresuid(spec->uid, spec->uid, spec->uid) < 0)
		return error_sys(err, -errno, "setresuid %u", spec->uid);
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		return error_sys(err, -errno, "PR_SET_KEEPCAPS");
	return 0;
}

static int
drop_capabilities(uint64_t keep, struct error *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	if (syscall(SYS_capget, &head, data) < 0)
		return error_sys(err, -errno, "capget");
	bool may_drop_bounding = (data[0].effective & (1u << CAP_SETPCAP)) != 0;
	for (int c = 0; may_drop_bounding && c <= CAP_LAST_POSSIBLE; c++) {
		if ((keep >> c & 1) == 0 && prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			return error_sys(err, -errno, "drop capability %d from the bounding set",
					 c);
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return error_sys(err, -errno, "clear the ambient capabilities");
	for (int i = 0; i < 2; i++) {
		uint32_t mask = (uint32_t)(keep >> (32 * i));
		data[i].permitted &= mask;
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return error_sys(err, -errno, "capset");
	return 0;
}

static int
set_limits(uint64_t open_files, struct error *err)
{
	/* A byte is less than any core file needs; a limit of 0 would not stop a core_pattern that
	 * is a pipe, and this one does. */
	struct rlimit core, files;
	if (getrlimit(RLIMIT_CORE, &core) < 0)
		return error_sys(err, -errno, "RLIMIT_CORE");
	core.rlim_cur = core.rlim_max = core.rlim_max > 1 ? 1 : core.rlim_max;
	if (setrlimit(RLIMIT_CORE, &core) < 0)
		return error_sys(err, -errno, "RLIMIT_CORE");
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return error_sys(err, -errno, "RLIMIT_NOFILE");
	if (open_files != 0 && open_files < files.rlim_max)
		files.rlim_max = open_files;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return error_sys(err, -errno, "RLIMIT_NOFILE");
	return 0;
}

/* New code never comes into a process that is confined: no executable mapping is made any more. */
static int
allow_memory(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r < 0)
		return r;
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

static int
add_lists(scmp_filter_ctx ctx, const struct confine_table *t, struct error *err)
{
	uint32_t action = t->deny ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW;
	for (size_t i = 0; i < sizeof(t->lists) / sizeof(t->lists[0]) && t->lists[i] != NULL; i++) {
		for (const char *const *name = t->lists[i]; *name != NULL; name++) {
			int nr = seccomp_syscall_resolve_name(*name);
			if (nr == __NR_SCMP_ERROR || nr < 0)
				continue; /* newer than libseccomp, or of another architecture */
			int r = seccomp_rule_add(ctx, action, nr, 0);
			if (r < 0 && r != -EEXIST)
				return error_sys(err, r, "seccomp: rule for %s", *name);
		}
	}
	if (!t->deny) {
		int r = allow_memory(ctx);
		if (r < 0 && r != -EEXIST)
			return error_sys(err, r, "seccomp: rule for memory");
	}
	return 0;
}

static int
load_filter(const struct confine_table *t, struct error *err)
{
	scmp_filter_ctx ctx = seccomp_init(t->deny ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS);
	if (ctx == NULL)
		return error_set(err, -ENOMEM, "seccomp: no memory");
	/* Not every build of libseccomp knows the attribute; the filter is the same without it. */
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/* A list of refusals is inherited by others, who say themselves what another ABI gets; the
	 * library's default is to kill. */
	int r = t->deny ? seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) : 0;
	if (r < 0)
		r = error_sys(err, r, "seccomp: action for another ABI");
	if (r == 0)
		r = add_lists(ctx, t, err);
	if (r == 0 && (r = seccomp_load(ctx)) < 0)
		r = error_sys(err, r, "seccomp: load");
	seccomp_release(ctx);
	return r;
}

static bool
status_field(const char *status, const char *name, int base, uint64_t *ret)
{
	const char *at = strstr(status, name);
	char *end;
	if (at == NULL || at[strlen(name)] != '\t')
		return false;
	*ret = strtoull(at + strlen(name), &end, base);
	return *end == '\n';
}

static int
read_back(int status_fd, const struct confine_table *t, int abi, struct error *err)
{
	char text[8192];
	ssize_t n = pread(status_fd, text, sizeof(text) - 1, 0);
	uint64_t no_new_privs = 0, seccomp = 0, effective = 0, bounding = 0;
	if (n <= 0)
		return error_sys(err, -errno, "read /proc/self/status");
	text[n] = '\0';
	if (!status_field(text, "\nNoNewPrivs:", 10, &no_new_privs) ||
	    !status_field(text, "\nSeccomp:", 10, &seccomp) ||
	    !status_field(text, "\nCapEff:", 16, &effective) ||
	    !status_field(text, "\nCapBnd:", 16, &bounding))
		return error_set(err, -EBADMSG, "/proc/self/status is not as expected");
	if (no_new_privs != 1 || seccomp != 2 || (effective & ~t->capabilities) != 0)
		return error_set(err, -EPERM, "%s is not confined as planned", t->name);
	report = (struct confine_report){.landlock_abi = abi,
					 .seccomp = seccomp == 2,
					 .no_new_privs = no_new_privs == 1,
					 .capabilities = effective};
	return 0;
}

int
confine_self(const struct confine_spec *spec, struct error *err)
{
	const struct confine_table *t = confine_table(spec->process);
	CLEANUP(fd_closep) int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int abi = 0, r;

	if (status < 0)
		return error_sys(err, -errno, "open /proc/self/status");
	if ((r = drop_ids(spec, err)) < 0 || (r = drop_capabilities(t->capabilities, err)) < 0)
		return r;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_sys(err, -errno, "PR_SET_DUMPABLE");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, -errno, "PR_SET_NO_NEW_PRIVS");
	if ((r = set_limits(spec->open_files, err)) < 0)
		return r;
	if (!t->landlock && spec->n_dirs != 0)
		return error_set(err, -EINVAL, "%s has no Landlock domain to put directories in",
				 t->name);
	if (t->landlock &&
	    (r = landlock_confine(spec->dirs, spec->n_dirs, t->signal_scope, &abi, err)) < 0)
		return r;
	if ((r = load_filter(t, err)) < 0)
		return r;
	return read_back(status, t, abi, err);
}

const struct confine_report *
confine_report(void)
{
	return &report;
}
