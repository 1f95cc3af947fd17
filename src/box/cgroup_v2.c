/*
 * Version 2: one hierarchy. A cgroup that has processes cannot give controllers to its children, so
 * the base is the nearest cgroup at or above the daemon's own that can: the own one when the
 * daemon's processes are alone there and can be put into a leaf (a service with Delegate=yes), else
 * an ancestor. The sandbox's init is cloned straight into its cgroup; the keeper stays outside, and
 * cgroup.kill ends everything inside at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/cgroup.h"
#include "box/procfs.h"

#define PIDS_OF_OURS 1 /* the sandbox's init */
#define CONTROLLERS "+memory +cpu +pids"
#define DAEMON_LEAF "loomd"

static int
v2_limit(const struct cgroup *g, const struct cgroup_limits *l, struct error *err)
{
	char text[64];
	int r;

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)l->memory);
	r = cgroup_write(g->dir[0], "memory.max", text, err);
	if (r == 0 && g->in->swap_counted)
		r = cgroup_write(g->dir[0], "memory.swap.max", "0", err);
	(void)snprintf(text, sizeof(text), "%llu %d",
		       (unsigned long long)l->cpu_milli * CGROUP_PERIOD_US / 1000,
		       CGROUP_PERIOD_US);
	if (r == 0)
		r = cgroup_write(g->dir[0], "cpu.max", text, err);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)l->pids + PIDS_OF_OURS);
	if (r == 0)
		r = cgroup_write(g->dir[0], "pids.max", text, err);
	return r;
}

enum { LIMIT, SWAP_LIMIT, CPU, PIDS };

static int
v2_values(char (*texts)[CGROUP_TEXT_MAX], struct cgroup_values *ret, struct error *err)
{
	char *end;
	int r = cgroup_number(texts[LIMIT], "memory.max", &ret->memory, err);

	if (r == 0 && ret->swap_counted)
		r = cgroup_number(texts[SWAP_LIMIT], "memory.swap.max", &ret->swap, err);
	if (r == 0)
		r = cgroup_number(texts[PIDS], "pids.max", &ret->pids, err);
	if (r < 0)
		return r;
	ret->cpu_quota = strtoull(texts[CPU], &end, 10);
	ret->cpu_period = strtoull(end, NULL, 10);
	return 0;
}

static void
v2_expect(const struct cgroup *g, const struct cgroup_limits *l, struct cgroup_values *ret)
{
	ret->memory = l->memory & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	ret->swap = 0;
	ret->cpu_quota = (uint64_t)l->cpu_milli * CGROUP_PERIOD_US / 1000;
	ret->cpu_period = CGROUP_PERIOD_US;
	ret->pids = (uint64_t)l->pids + PIDS_OF_OURS;
}

static int
v2_enter(const struct cgroup *g, struct error *err)
{
	return 0;
}

static int
v2_clone_fd(const struct cgroup *g)
{
	return g->dir[0];
}

static void
v2_usage(const struct cgroup *g, struct cgroup_usage *ret)
{
	struct error err = {0};

	if (cgroup_read_number(g->dir[0], "memory.peak", &ret->memory_peak, &err) < 0)
		ret->memory_peak = 0;
	if (cgroup_read_number(g->dir[0], "pids.peak", &ret->pids_peak, &err) < 0)
		ret->pids_peak = 0;
	if (ret->pids_peak > PIDS_OF_OURS)
		ret->pids_peak -= PIDS_OF_OURS;
	if (cgroup_read_key(g->dir[0], "cpu.stat", "usage_usec", &ret->cpu_us) < 0)
		ret->cpu_us = 0;
	if (cgroup_read_key(g->dir[0], "memory.events", "oom_kill", &ret->oom_kills) < 0)
		ret->oom_kills = 0;
}

static void
v2_kill(int dir)
{
	struct error err = {0};

	/* Not there before 5.14; then each process is killed by number, which is done anyway. */
	(void)!cgroup_write(dir, "cgroup.kill", "1", &err);
}

static bool
has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list != '\0') {
		size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

static int
has_controllers(int dir, const char *file, struct error *err)
{
	char text[512];
	int r = cgroup_read(dir, file, text, sizeof(text), err);

	if (r < 0)
		return r;
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		if (!has_word(text, cgroup_controller_names[i]))
			return error_set(err, -EOPNOTSUPP,
					 "the unified hierarchy does not give \"%s\"",
					 cgroup_controller_names[i]);
	return 0;
}

static int
give_controllers(int dir, struct error *err)
{
	struct error no = {0};

	if (has_controllers(dir, "cgroup.subtree_control", &no) == 0)
		return 0;
	return cgroup_write(dir, "cgroup.subtree_control", CONTROLLERS, err);
}

static int
v2_prepare(struct cgroups *c, struct error *err)
{
	uint64_t sockets;

	c->swap_counted = faccessat(c->top[0], "memory.swap.max", F_OK, 0) == 0;
	if (cgroup_read_key(c->top[0], "memory.stat", "sock", &sockets) < 0)
		return error_set(err, -EOPNOTSUPP,
				 "the memory controller does not count the memory of sockets: "
				 "memory.stat has no \"sock\"");
	return give_controllers(c->top[0], err);
}

const struct cgroup_ops cgroup_v2 = {
	.version = 2,
	.prepare = v2_prepare,
	.limit = v2_limit,
	.files =
		{
			[LIMIT] = {CGROUP_MEMORY, "memory.max", false},
			[SWAP_LIMIT] = {CGROUP_MEMORY, "memory.swap.max", true},
			[CPU] = {CGROUP_CPU, "cpu.max", false},
			[PIDS] = {CGROUP_PIDS, "pids.max", false},
		},
	.values = v2_values,
	.expect = v2_expect,
	.enter = v2_enter,
	.clone_fd = v2_clone_fd,
	.usage = v2_usage,
	.kill = v2_kill,
};

/* Are all processes of the cgroup ours: our parent (loomd) and its children? */
static bool
only_ours(const char *procs)
{
	char status[4096], path[32], *at = (char *)(uintptr_t)procs;

	while (*at != '\0') {
		long pid = strtol(at, &at, 10), parent = 0;
		const char *field;
		size_t len;

		at += strspn(at, "\n");
		(void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
		if (pid <= 0 || procfs_read(AT_FDCWD, path, status, sizeof(status)) < 0)
			return false;
		field = procfs_field(status, "PPid", &len);
		if (field != NULL)
			parent = strtol(field, NULL, 10);
		if (pid != getpid() && pid != getppid() && parent != getppid())
			return false;
	}
	return true;
}

/* Put the daemon's processes into a leaf, so that the cgroup itself has none. */
static int
make_leaf(int dir, struct error *err)
{
	CLEANUP(fd_closep) int leaf = -1;
	char procs[8192], *at = procs;
	ssize_t n = procfs_read(dir, "cgroup.procs", procs, sizeof(procs));

	if (n < 0 || !only_ours(procs))
		return error_set(err, -EBUSY, "the daemon is not alone in its cgroup");
	if (mkdirat(dir, DAEMON_LEAF, 0755) != 0 && errno != EEXIST)
		return error_sys(err, -errno, "make the cgroup of the daemon");
	leaf = openat(dir, DAEMON_LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (leaf < 0)
		return error_sys(err, -errno, "open the cgroup of the daemon");
	while (*at != '\0') {
		char pid[16];
		int r;

		(void)snprintf(pid, sizeof(pid), "%ld", strtol(at, &at, 10));
		at += strspn(at, "\n");
		r = cgroup_write(leaf, "cgroup.procs", pid, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int
cgroup_v2_find(struct cgroups *c, struct error *err)
{
	struct procfs_cgroup at;
	struct error first = {0};
	struct stat st;
	int r = procfs_cgroup("", &at, err);

	if (r < 0)
		return r;
	r = give_controllers(at.dir, &first);
	if (r == -EBUSY && make_leaf(at.dir, &first) == 0) {
		first = (struct error){0};
		r = give_controllers(at.dir, &first);
	}
	while (r < 0) {
		char *slash = strrchr(at.path, '/');
		int up = openat(at.dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (slash == NULL || at.path[1] == '\0' || up < 0 ||
		    fstatat(up, "cgroup.procs", &st, AT_SYMLINK_NOFOLLOW) != 0) {
			fd_close(up);
			fd_closep(&at.dir);
			return error_set(err, -EOPNOTSUPP, "%s", first.text);
		}
		slash[slash == at.path ? 1 : 0] = '\0';
		fd_closep(&at.dir);
		at.dir = up;
		r = give_controllers(at.dir, &first);
	}
	c->n = 1;
	c->base[0] = at.dir;
	(void)snprintf(c->path[0], sizeof(c->path[0]), "%s", at.path);
	return 0;
}
