/*
 * A limit counts when it bites: a fork that fails, an allocation that ends the process, a loop that
 * gets a fraction of the time. The cgroups are made, set and read back by the code that sessions
 * use.
 */
#include "box/probe_check.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "box/cgroup.h"

#define LIMIT_MEMORY (UINT64_C(24) << 20)
#define LIMIT_CPU_MILLI 200
#define LIMIT_PIDS 8
#define FORKS_TRIED 64
#define SPIN_MS 250
#define REMOVE_TRIES 100

/* In a child that is in the cgroup: exit status 0 when the limit was felt. */
typedef int (*bite_fn)(void);

static int
pids_bite(void)
{
	for (int i = 0; i < FORKS_TRIED; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return errno == EAGAIN ? 0 : 1;
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
	return 1;
}

/* Ends with SIGKILL by the kernel, or not at all. */
static int
memory_bite(void)
{
	size_t size = LIMIT_MEMORY * 3;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 1;
}

static uint64_t
ms_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000;
}

static int
cpu_bite(void)
{
	struct timespec start, now, used;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	do
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	while (ms_of(&now) - ms_of(&start) < SPIN_MS);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return ms_of(&used) * 1000 < SPIN_MS * (LIMIT_CPU_MILLI * 3) ? 0 : 1;
}

/* A child in G: born there on version 2, gone there by itself on version 1. */
static pid_t
fork_into(const struct cgroup *g, struct error *err)
{
	int fd = cgroup_clone_fd(g);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP,
				  .exit_signal = SIGCHLD,
				  .cgroup = (__u64)(fd >= 0 ? fd : 0)};
	pid_t pid;

	if (fd >= 0) {
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	} else {
		pid = fork();
		if (pid == 0 && cgroup_enter(g, NULL) < 0)
			_exit(2);
	}
	return pid >= 0 ? pid : error_sys(err, -errno, "start a process in a cgroup");
}

static int
bitten(const struct cgroup *g, bite_fn bite, struct error *err)
{
	int status, forked, r;
	pid_t pid;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return error_sys(err, -errno, "become a subreaper");
	pid = fork_into(g, err);
	if (pid < 0)
		return pid;
	if (pid == 0) {
		/* A group of its own, so that what it forked can be ended. */
		_exit(setpgid(0, 0) == 0 ? bite() : 3);
	}
	r = probe_wait(pid, &status, err);
	if (r < 0)
		return r;
	/* What it forked is this process's now, and has to be gone before the cgroup can go. */
	(void)kill(-pid, SIGKILL);
	while (waitpid(-pid, &forked, 0) > 0)
		;
	if (bite == memory_bite && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 0;
	if (bite != memory_bite && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return error_set(err, -EPERM, "a process cannot go into a cgroup");
	return error_set(err, -EPERM, "the limit was set and is not felt");
}

static int
try_limit(struct cgroup *g, bite_fn bite, struct error *err)
{
	const struct cgroup_limits limits = {
		.memory = LIMIT_MEMORY, .cpu_milli = LIMIT_CPU_MILLI, .pids = LIMIT_PIDS};
	struct cgroup_values values;
	int r = cgroup_limit(g, &limits, err);

	if (r == 0)
		r = cgroup_values(g, &limits, &values, err);
	return r < 0 ? r : bitten(g, bite, err);
}

static int
remove_patiently(const struct cgroups *c, struct error *err)
{
	const struct timespec t = {.tv_nsec = 5000000};
	int r = -EBUSY;

	for (int i = 0; i < REMOVE_TRIES && r == -EBUSY; i++) {
		cgroup_kill(c, 0, true);
		r = cgroup_remove(c, 0);
		if (r == -EBUSY)
			(void)nanosleep(&t, NULL);
	}
	return r == 0 ? 0 : error_sys(err, r, "remove a cgroup");
}

static int
limit(bite_fn bite, const char *what, struct buf *seen, struct error *err)
{
	struct cgroups c;
	struct cgroup g;
	int r, removed;

	cgroups_init(&c);
	r = cgroups_open(&c, err);
	if (r < 0)
		return r;
	r = cgroup_make(&c, 0, &g, err);
	if (r == 0) {
		r = try_limit(&g, bite, err);
		cgroup_close(&g);
		removed = remove_patiently(&c, r < 0 ? NULL : err);
		r = r < 0 ? r : removed;
	}
	if (r == 0)
		buf_fmt(seen, "%s (cgroup v%d)", what, c.ops->version);
	cgroups_close(&c);
	return r;
}

int
probe_cgroup_memory(const struct probe *p, struct buf *seen, struct error *err)
{
	return limit(memory_bite, "a process that took more than its limit was ended", seen, err);
}

int
probe_cgroup_cpu(const struct probe *p, struct buf *seen, struct error *err)
{
	return limit(cpu_bite, "a busy loop got no more than its share", seen, err);
}

int
probe_cgroup_pids(const struct probe *p, struct buf *seen, struct error *err)
{
	return limit(pids_bite, "a fork beyond the limit failed", seen, err);
}

int
probe_clone_into_cgroup(const struct probe *p, struct buf *seen, struct error *err)
{
	struct cgroups c;
	int version, r;

	cgroups_init(&c);
	r = cgroups_open(&c, err);
	if (r < 0)
		return r;
	version = c.ops->version;
	cgroups_close(&c);
	if (version != 2)
		return error_set(err, -EOPNOTSUPP,
				 "the controllers are on cgroup v1, where sessions do without");
	return limit(pids_bite, "a process was born in its cgroup", seen, err);
}
