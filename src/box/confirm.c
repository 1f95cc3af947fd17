/*
 * Each check is small and says what it found. The order is from the cheapest to the dearest; all
 * are made, every time. Mounts are compared as a list that must be used up: one that is not
 * planned, one that is missing, and one with other flags are the same failure.
 */
#include "box/confirm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "box/procfs.h"

#define TEXT_MAX (64 * 1024)
#define SESSION_MOUNTS_MAX 8

static int
differs(struct failure *f, const char *what, const char *found)
{
	return failure_set(f, R_INTERNAL, "confirm", -EBADMSG, "read back %s: %s", what, found);
}

/* ---- /proc/PID/status ---- */

static int
status_is(const char *status, const char *key, const char *want, struct failure *f)
{
	char text[160];
	size_t len;
	const char *at = procfs_field(status, key, &len);

	if (at != NULL && len == strlen(want) && memcmp(at, want, len) == 0)
		return 0;
	(void)snprintf(text, sizeof(text), "\"%.*s\" instead of \"%s\"",
		       at != NULL ? (int)(len < 60 ? len : 60) : 0, at != NULL ? at : "", want);
	return differs(f, key, text);
}

int
confirm_status(const char *status, const struct confirm_ids *want, struct failure *f)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	static const char *const none[] = {"SigIgn", "SigCgt", "SigBlk"};
	char ids[64], number[16];
	size_t len;
	const char *ns;

	(void)snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", want->host_id, want->host_id,
		       want->host_id, want->host_id);
	if (status_is(status, "Uid", ids, f) < 0 || status_is(status, "Gid", ids, f) < 0 ||
	    status_is(status, "Groups", "", f) < 0 || status_is(status, "TracerPid", "0", f) < 0 ||
	    status_is(status, "NoNewPrivs", "1", f) < 0 || status_is(status, "Seccomp", "2", f) < 0)
		return f->code;
	(void)snprintf(number, sizeof(number), "%u", want->filters);
	if (status_is(status, "Seccomp_filters", number, f) < 0)
		return f->code;
	(void)snprintf(number, sizeof(number), "%d", (int)want->init);
	if (status_is(status, "PPid", number, f) < 0)
		return f->code;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (status_is(status, sets[i], "0000000000000000", f) < 0)
			return f->code;
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (status_is(status, none[i], "0000000000000000", f) < 0)
			return f->code;
	/* Two numbers at least: one per PID namespace from the keeper's down to its own. */
	ns = procfs_field(status, "NSpid", &len);
	if (ns == NULL || memchr(ns, '\t', len) == NULL)
		return differs(f, "NSpid", "it has no PID namespace of its own");
	return 0;
}

/* ---- /proc/PID/ns, uid_map, gid_map, cwd, root, fd ---- */

static const char *const confirm_namespaces[PLAN_NAMESPACES] = {"user", "mnt", "pid",	"net",
								"ipc",	"uts", "cgroup"};

static int
read_namespace(int proc, const char *name, char out[CONFIRM_NAMESPACE_MAX], struct failure *f)
{
	char path[16];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "ns/%s", name);
	n = readlinkat(proc, path, out, CONFIRM_NAMESPACE_MAX - 1);
	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", -errno, "look at the %s namespace",
				   name);
	out[n] = '\0';
	return 0;
}

int
confirm_know_own(struct confirm_own *ret, struct failure *f)
{
	struct error err = {0};
	CLEANUP(fd_closep) int proc = procfs_open(getpid(), &err);

	if (proc < 0)
		return failure_error(f, R_INTERNAL, "confirm", &err);
	for (size_t i = 0; i < PLAN_NAMESPACES; i++)
		if (read_namespace(proc, confirm_namespaces[i], ret->namespaces[i], f) < 0)
			return f->code;
	return 0;
}

/* "user:[4026531837]": a namespace's inode number is its name. */
static int
check_namespaces(int proc, const struct confirm_own *own, struct failure *f)
{
	char theirs[CONFIRM_NAMESPACE_MAX];

	for (size_t i = 0; i < PLAN_NAMESPACES; i++) {
		if (read_namespace(proc, confirm_namespaces[i], theirs, f) < 0)
			return f->code;
		if (strcmp(theirs, own->namespaces[i]) == 0)
			return differs(f, confirm_namespaces[i],
				       "it shares this namespace with the box");
	}
	return 0;
}

static int
check_maps(int proc, uint32_t host_id, struct failure *f)
{
	static const char *const files[] = {"uid_map", "gid_map"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		unsigned inside = 0, outside = 0, count = 0;
		char text[256], more[2] = "";
		ssize_t n = procfs_read(proc, files[i], text, sizeof(text));

		if (n < 0)
			return failure_sys(f, R_INTERNAL, "confirm", (int)n, "read %s", files[i]);
		if (sscanf(text, " %u %u %u %1s", &inside, &outside, &count, more) != 3 ||
		    inside != PLAN_INSIDE_ID || outside != host_id || count != 1)
			return differs(f, files[i], text);
	}
	return 0;
}

/* What is counted in it per user is counted against its owner as well, who must be the session. */
static int
check_owner(int proc, uint32_t host_id, struct failure *f)
{
	CLEANUP(fd_closep) int ns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
	uid_t owner = 0;

	if (ns < 0 || ioctl(ns, NS_GET_OWNER_UID, &owner) != 0)
		return failure_sys(f, R_INTERNAL, "confirm", -errno,
				   "ask whose the user namespace is");
	return owner == host_id ? 0 : differs(f, "user", "the namespace belongs to somebody else");
}

static int
link_is(int proc, const char *name, const char *want, struct failure *f)
{
	char text[2 * PATH_BYTES_MAX];
	ssize_t n = readlinkat(proc, name, text, sizeof(text) - 1);

	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", -errno, "read %s", name);
	text[n] = '\0';
	return strcmp(text, want) == 0 ? 0 : differs(f, name, text);
}

/* Exactly 0, 1, 2 and the gate, which closes at execve. */
static int
check_descriptors(int proc, struct failure *f)
{
	CLEANUP(fd_closep) int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char entries[1024];
	char info[512];
	unsigned flags = 0, seen = 0;
	const char *at;
	size_t len;
	ssize_t n;

	if (fd < 0)
		return failure_sys(f, R_INTERNAL, "confirm", -errno, "list descriptors");
	while ((n = getdents64(fd, entries, sizeof(entries))) > 0)
		for (ssize_t i = 0; i < n;) {
			const struct dirent64 *e = (const void *)(entries + i);

			if (e->d_name[0] != '.')
				seen |= e->d_name[1] == '\0' && e->d_name[0] <= '3'
						? 1u << (e->d_name[0] - '0')
						: 1u << 31;
			i += e->d_reclen;
		}
	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", -errno, "list descriptors");
	if (seen != 0xf)
		return differs(f, "descriptors", "others than 0, 1, 2 and the gate are open");
	if (procfs_read(proc, "fdinfo/3", info, sizeof(info)) < 0 ||
	    (at = procfs_field(info, "flags", &len)) == NULL || sscanf(at, "%o", &flags) != 1 ||
	    (flags & O_CLOEXEC) == 0)
		return differs(f, "descriptors", "the gate would stay open");
	return 0;
}

/* ---- /proc/PID/limits ---- */

int
confirm_limits(const char *limits, const struct plan *plan, struct failure *f)
{
	const struct {
		const char *name;
		unsigned long long most, least;
	} want[] = {
		{"Max core file size", plan_core_limit(plan), plan_core_limit(plan)},
		{"Max open files", plan->open_files},
		{"Max locked memory", PLAN_LOCKED_MAX},
		{"Max msgqueue size", PLAN_QUEUES_MAX},
		{"Max nice priority", 0},
		{"Max realtime priority", 0},
		{"Max pending signals", PLAN_SIGNALS_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const char *at = strstr(limits, want[i].name);
		unsigned long long soft, hard;

		if (at == NULL ||
		    sscanf(at + strlen(want[i].name), " %llu %llu", &soft, &hard) != 2 ||
		    soft > want[i].most || hard > want[i].most || soft < want[i].least)
			return differs(f, want[i].name, "it is not bounded as planned");
	}
	return 0;
}

/* ---- mountinfo ---- */

struct wanted {
	const char *at, *type;
	const char *options; /* each must be there; separated by blanks */
	bool writable;
};

static size_t
session_mounts(const struct plan *p, struct wanted out[SESSION_MOUNTS_MAX])
{
	const char *at = plan_workspace_at(p);
	size_t n = 0;

	out[n++] = (struct wanted){"/proc", "proc", "ro,nosuid,nodev,noexec", false};
	out[n++] = (struct wanted){"/dev/pts", "devpts", "rw,nosuid,noexec", true};
	out[n++] = (struct wanted){"/dev/shm", "tmpfs", "rw,nosuid,nodev", true};
	out[n++] = (struct wanted){"/tmp", "tmpfs", "rw,nosuid,nodev", true};
	if (p->mode == WORKSPACE_OVERLAY) {
		out[n++] = (struct wanted){at, "overlay", "rw,nosuid,nodev", true};
	} else if (p->mode == WORKSPACE_DIRECT) {
		out[n++] = (struct wanted){at, NULL, "rw,nosuid,nodev", true};
	} else {
		out[n++] = (struct wanted){at, "overlay", "ro,nosuid,nodev", false};
	}
	return n;
}

static bool
has_options(const char *have, const char *want)
{
	char one[16];

	while (*want != '\0') {
		size_t n = strcspn(want, ",");

		(void)snprintf(one, sizeof(one), "%.*s", (int)n, want);
		if (!procfs_has_option(have, one))
			return false;
		want += n + (want[n] == ',');
	}
	return true;
}

static bool
fits(const struct wanted *w, const struct procfs_mount *m)
{
	return strcmp(w->at, m->at) == 0 && (w->type == NULL || strcmp(w->type, m->type) == 0) &&
	       has_options(m->options, w->options) &&
	       procfs_has_option(m->options, "rw") == w->writable;
}

/* mountinfo writes space, tab, newline and backslash as octal escapes. */
static void
escape_place(const char *at, char *out, size_t cap)
{
	size_t n = 0;

	for (; *at != '\0' && n + 5 < cap; at++)
		if (strchr(" \t\n\\", *at) != NULL)
			n += (size_t)snprintf(out + n, cap - n, "\\%03o", (unsigned char)*at);
		else
			out[n++] = *at;
	out[n] = '\0';
}

int
confirm_mounts(char *mountinfo, const struct root *root, const struct plan *plan, uint32_t *ret_n,
	       uint8_t ret_digest[32], struct failure *f)
{
	struct wanted want[ROOT_MOUNTS_MAX + SESSION_MOUNTS_MAX];
	bool used[ROOT_MOUNTS_MAX + SESSION_MOUNTS_MAX] = {false};
	char place[4 * PROFILE_PATH_MAX];
	struct sha256 *hash = sha256_new();
	struct procfs_mount m;
	size_t n = session_mounts(plan, want), seen = 0;

	if (hash == NULL)
		return failure_sys(f, R_INTERNAL, "confirm", -ENOMEM, "hash the mounts");
	escape_place(plan_workspace_at(plan), place, sizeof(place));
	for (size_t i = 4; i < n; i++)
		want[i].at = place;
	for (uint32_t i = 0; i < root->n_mounts; i++)
		want[n++] = (struct wanted){root->mounts[i].at, root->mounts[i].type,
					    root->mounts[i].dev ? "ro,nosuid" : "ro,nosuid,nodev",
					    false};
	while (procfs_mount_next(&mountinfo, &m)) {
		char line[2048];
		size_t i;
		int len;

		for (i = 0; i < n && (used[i] || !fits(&want[i], &m)); i++)
			;
		len = snprintf(line, sizeof(line), "%s %s %s\n", m.at, m.type, m.options);
		if (i == n) {
			(void)differs(f, "a mount that was not planned", line);
			break;
		}
		used[i] = true;
		seen++;
		sha256_add(hash, line, len > 0 ? (size_t)len : 0);
	}
	sha256_end(hash, ret_digest);
	sha256_free(hash);
	if (f->code == 0 && (seen != n || *mountinfo != '\0'))
		(void)differs(f, "mounts", "a planned mount is missing");
	*ret_n = (uint32_t)seen;
	return f->code;
}

/* ---- what the command tried ---- */

static int
check_attempts(const struct sandbox_report *r, struct failure *f)
{
	const struct {
		const char *what;
		int got, want;
	} tried[] = {
		{"Landlock: reading its sentry", r->landlock_errno, EACCES},
		{"the filter: a user namespace", r->unshare_errno, EPERM},
		{"the filter: clone3", r->clone3_errno, ENOSYS},
		{"the filter: a netlink socket", r->socket_errno, EPERM},
	};

	for (size_t i = 0; i < ARRAY_LEN(tried); i++)
		if (tried[i].got != tried[i].want)
			return failure_set(f, R_INTERNAL, "confirm", -EBADMSG,
					   "attempted %s: error %d instead of %d", tried[i].what,
					   tried[i].got, tried[i].want);
	return 0;
}

static int
check_cgroup(const struct confirm_in *in, int proc, char *text, struct cgroup_values *ret,
	     struct failure *f)
{
	struct error err = {0};
	ssize_t n = procfs_read(proc, "cgroup", text, TEXT_MAX);

	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", (int)n, "read its cgroups");
	if (cgroup_has(in->cgroup, text, &err) < 0 ||
	    cgroup_values(in->cgroup, &in->plan->limits, ret, &err) < 0)
		return failure_error(f, R_CAPABILITY_UNAVAILABLE, "cgroup", &err);
	return 0;
}

static int
check_status(const struct confirm_in *in, int proc, char *text, struct failure *f)
{
	const struct confirm_ids ids = {.host_id = in->park->spawn.host_id,
					.init = in->init,
					.filters = in->park->base->box_filters + 1};
	ssize_t n = procfs_read(proc, "status", text, TEXT_MAX);

	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", (int)n, "read its status");
	return confirm_status(text, &ids, f);
}

static int
check_limits(const struct confirm_in *in, int proc, char *text, struct failure *f)
{
	ssize_t n = procfs_read(proc, "limits", text, TEXT_MAX);

	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", (int)n, "read its limits");
	return confirm_limits(text, in->plan, f);
}

static int
check_places(const struct confirm_in *in, int proc, struct failure *f)
{
	char cwd[PATH_BYTES_MAX];

	(void)snprintf(cwd, sizeof(cwd), "%.*s", PATH_BYTES_MAX - 1, in->report->cwd);
	if (!path_is_beneath(cwd, plan_workspace_at(in->plan)))
		return differs(f, "cwd", "it is not in the workspace");
	if (link_is(proc, "root", "/", f) < 0 || link_is(proc, "cwd", cwd, f) < 0)
		return f->code;
	return 0;
}

static int
check_mounts(const struct confirm_in *in, int proc, char *text, struct sandbox_facts *facts,
	     struct failure *f)
{
	ssize_t n = procfs_read(proc, "mountinfo", text, TEXT_MAX);

	if (n < 0)
		return failure_sys(f, R_INTERNAL, "confirm", (int)n, "read its mounts");
	return confirm_mounts(text, in->park->root, in->plan, &facts->mounts, facts->mounts_digest,
			      f);
}

static char confirm_text[TEXT_MAX];

int
confirm(const struct confirm_in *in, struct sandbox_facts *ret_facts, struct failure *f)
{
	struct sandbox_facts facts = {.landlock_abi = in->park->base->landlock_abi,
				      .host_id = in->park->spawn.host_id,
				      .filters = in->park->base->box_filters + 1};
	const struct filter *filter = &in->park->base->filters[plan_filter(in->plan)];
	struct error err = {0};
	CLEANUP(fd_closep) int proc = procfs_open(in->command, &err);

	if (proc < 0)
		return failure_error(f, R_INTERNAL, "confirm", &err);
	if (check_attempts(in->report, f) < 0 || check_status(in, proc, confirm_text, f) < 0 ||
	    check_limits(in, proc, confirm_text, f) < 0 || check_namespaces(proc, in->own, f) < 0 ||
	    check_maps(proc, in->park->spawn.host_id, f) < 0 ||
	    check_owner(proc, in->park->spawn.host_id, f) < 0 || check_descriptors(proc, f) < 0 ||
	    check_places(in, proc, f) < 0 || check_mounts(in, proc, confirm_text, &facts, f) < 0 ||
	    check_cgroup(in, proc, confirm_text, &facts.cgroup, f) < 0)
		return f->code;
	memcpy(facts.filter_digest, filter->digest, sizeof(facts.filter_digest));
	memcpy(facts.landlock_digest, in->report->landlock_digest, sizeof(facts.landlock_digest));
	sha256_of(in->plan, in->plan->size, facts.plan_digest);
	*ret_facts = facts;
	return 0;
}

void
confirm_rehearse(const struct confirm_in *in)
{
	struct sandbox_facts facts = {0};
	struct failure none[8] = {0};
	struct error err = {0};
	CLEANUP(fd_closep) int proc = procfs_open(in->command, &err);

	if (proc < 0)
		return;
	(void)check_attempts(in->report, &none[0]);
	(void)check_status(in, proc, confirm_text, &none[1]);
	(void)check_limits(in, proc, confirm_text, &none[2]);
	(void)check_namespaces(proc, in->own, &none[3]);
	(void)check_maps(proc, in->park->spawn.host_id, &none[4]);
	(void)check_owner(proc, in->park->spawn.host_id, &none[4]);
	(void)check_descriptors(proc, &none[5]);
	(void)check_places(in, proc, &none[6]);
	(void)check_mounts(in, proc, confirm_text, &facts, &none[7]);
	(void)check_cgroup(in, proc, confirm_text, &facts.cgroup, &none[0]);
	sha256_of(in->plan, PLAN_FIXED, facts.plan_digest);
}
