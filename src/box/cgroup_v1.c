/*
 * Version 1: one hierarchy for each controller (or several in one, as they were mounted). Memory is
 * limited together with swap where that is counted (memsw). The order of the two writes matters:
 * the lower bound may never be above the upper one, so it depends on which way the limit moves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "box/cgroup.h"
#include "box/procfs.h"

/* On top of the memory limit, for sockets: a part of it, but what a few connections need. */
#define SOCKETS_PART 4
#define SOCKETS_MIN (UINT64_C(4) << 20)
#define SOCKETS_FILE "memory.kmem.tcp.limit_in_bytes"
#define PIDS_OF_OURS 2 /* the keeper and the sandbox's init */

static int
dir_of(const struct cgroup *g, enum cgroup_controller c)
{
	return g->dir[g->in->of[c]];
}

static int
write_number(int dir, const char *file, uint64_t v, struct error *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return cgroup_write(dir, file, text, err);
}

static uint64_t
page_down(uint64_t bytes)
{
	return bytes & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t
socket_bytes(uint64_t memory)
{
	return memory / SOCKETS_PART > SOCKETS_MIN ? memory / SOCKETS_PART : SOCKETS_MIN;
}

static int
v1_memory(const struct cgroup *g, uint64_t bytes, struct error *err)
{
	static const char *const files[2] = {"memory.limit_in_bytes",
					     "memory.memsw.limit_in_bytes"};
	int dir = dir_of(g, CGROUP_MEMORY);
	bool up = g->limits.memory != 0 && bytes > g->limits.memory;
	int r = 0;

	if (!g->in->swap_counted)
		return write_number(dir, files[0], bytes, err);
	for (int i = 0; i < 2 && r == 0; i++)
		r = write_number(dir, files[up ? 1 - i : i], bytes, err);
	return r;
}

static int
v1_limit(const struct cgroup *g, const struct cgroup_limits *l, struct error *err)
{
	int r = v1_memory(g, l->memory, err);

	/* This version keeps the memory of sockets in a counter of its own. */
	if (r == 0)
		r = write_number(dir_of(g, CGROUP_MEMORY), SOCKETS_FILE, socket_bytes(l->memory),
				 err);
	/* Once: without swap where it is not counted, and as a second string where it is. */
	if (r == 0 && g->limits.memory == 0)
		r = cgroup_write(dir_of(g, CGROUP_MEMORY), "memory.swappiness", "0", err);
	if (r == 0 && g->limits.cpu_milli == 0)
		r = write_number(dir_of(g, CGROUP_CPU), "cpu.cfs_period_us", CGROUP_PERIOD_US, err);
	if (r == 0 && g->limits.cpu_milli != l->cpu_milli)
		r = write_number(dir_of(g, CGROUP_CPU), "cpu.cfs_quota_us",
				 (uint64_t)l->cpu_milli * CGROUP_PERIOD_US / 1000, err);
	if (r == 0 && g->limits.pids != l->pids)
		r = write_number(dir_of(g, CGROUP_PIDS), "pids.max",
				 (uint64_t)l->pids + PIDS_OF_OURS, err);
	return r;
}

enum { LIMIT, SWAP_LIMIT, SWAPPINESS, SOCKETS, QUOTA, PERIOD, PIDS };

static int
v1_values(char (*texts)[CGROUP_TEXT_MAX], struct cgroup_values *ret, struct error *err)
{
	uint64_t swappiness = 0;
	int r = cgroup_number(texts[LIMIT], "memory.limit_in_bytes", &ret->memory, err);

	if (r == 0 && ret->swap_counted)
		r = cgroup_number(texts[SWAP_LIMIT], "memory.memsw.limit_in_bytes", &ret->swap,
				  err);
	if (r == 0)
		r = cgroup_number(texts[SWAPPINESS], "memory.swappiness", &swappiness, err);
	if (r == 0 && swappiness != 0)
		r = error_set(err, -EBADMSG, "memory.swappiness reads %llu instead of 0",
			      (unsigned long long)swappiness);
	if (r == 0)
		r = cgroup_number(texts[SOCKETS], SOCKETS_FILE, &ret->sockets, err);
	if (r == 0)
		r = cgroup_number(texts[QUOTA], "cpu.cfs_quota_us", &ret->cpu_quota, err);
	if (r == 0)
		r = cgroup_number(texts[PERIOD], "cpu.cfs_period_us", &ret->cpu_period, err);
	if (r == 0)
		r = cgroup_number(texts[PIDS], "pids.max", &ret->pids, err);
	return r;
}

static void
v1_expect(const struct cgroup *g, const struct cgroup_limits *l, struct cgroup_values *ret)
{
	ret->memory = page_down(l->memory);
	ret->swap = g->in->swap_counted ? page_down(l->memory) : 0;
	ret->sockets = page_down(socket_bytes(l->memory));
	ret->cpu_quota = (uint64_t)l->cpu_milli * CGROUP_PERIOD_US / 1000;
	ret->cpu_period = CGROUP_PERIOD_US;
	ret->pids = (uint64_t)l->pids + PIDS_OF_OURS;
}

static int
v1_enter(const struct cgroup *g, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < g->in->n && r == 0; i++)
		r = cgroup_write(g->dir[i], "tasks", "0", err);
	return r;
}

static int
v1_clone_fd(const struct cgroup *g)
{
	return -1;
}

static void
v1_usage(const struct cgroup *g, struct cgroup_usage *ret)
{
	int mem = dir_of(g, CGROUP_MEMORY);
	struct error err = {0};

	if (cgroup_read_number(mem, "memory.max_usage_in_bytes", &ret->memory_peak, &err) < 0)
		ret->memory_peak = 0;
	if (cgroup_read_key(mem, "memory.oom_control", "oom_kill", &ret->oom_kills) < 0)
		ret->oom_kills = 0;
	if (cgroup_read_number(dir_of(g, CGROUP_PIDS), "pids.peak", &ret->pids_peak, &err) < 0)
		ret->pids_peak = 0;
	if (ret->pids_peak > PIDS_OF_OURS)
		ret->pids_peak -= PIDS_OF_OURS;
}

static void
v1_kill(int dir)
{
	/* There is no such file; the PID namespace is what kills at once. */
}

static int
v1_prepare(struct cgroups *c, struct error *err)
{
	int top = c->top[c->of[CGROUP_MEMORY]];

	c->swap_counted = faccessat(top, "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
	if (faccessat(top, SOCKETS_FILE, F_OK, 0) != 0)
		return error_set(err, -EOPNOTSUPP,
				 "the memory controller cannot limit the memory of sockets: it has "
				 "no " SOCKETS_FILE);
	return 0;
}

const struct cgroup_ops cgroup_v1 = {
	.version = 1,
	.prepare = v1_prepare,
	.limit = v1_limit,
	.files =
		{
			[LIMIT] = {CGROUP_MEMORY, "memory.limit_in_bytes", false},
			[SWAP_LIMIT] = {CGROUP_MEMORY, "memory.memsw.limit_in_bytes", true},
			[SWAPPINESS] = {CGROUP_MEMORY, "memory.swappiness", false},
			[SOCKETS] = {CGROUP_MEMORY, SOCKETS_FILE, false},
			[QUOTA] = {CGROUP_CPU, "cpu.cfs_quota_us", false},
			[PERIOD] = {CGROUP_CPU, "cpu.cfs_period_us", false},
			[PIDS] = {CGROUP_PIDS, "pids.max", false},
		},
	.values = v1_values,
	.expect = v1_expect,
	.enter = v1_enter,
	.clone_fd = v1_clone_fd,
	.usage = v1_usage,
	.kill = v1_kill,
};

int
cgroup_v1_find(struct cgroups *c, struct error *err)
{
	c->n = 0;
	for (uint32_t i = 0; i < CGROUP_CONTROLLERS; i++) {
		struct procfs_cgroup at;
		int r = procfs_cgroup(cgroup_controller_names[i], &at, err);

		if (r < 0)
			return r;
		c->of[i] = c->n;
		for (uint32_t k = 0; k < c->n; k++)
			if (strcmp(c->path[k], at.path) == 0 && procfs_same_dir(c->base[k], at.dir))
				c->of[i] = k;
		if (c->of[i] < c->n) {
			fd_closep(&at.dir);
			continue;
		}
		(void)snprintf(c->path[c->n], sizeof(c->path[0]), "%s", at.path);
		c->base[c->n] = at.dir;
		c->n++;
	}
	return 0;
}
