/*
 * Each check runs in a child in a process group of its own, one after the other, against one
 * deadline for all. A child that is late is ended with its group. The answer comes back in shared
 * memory.
 */
#include "box/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "box/cgroup.h"
#include "box/probe_check.h"

#define PROBE_DEADLINE_MS 4500
#define PROBE_HOST_ID 2000000000u /* the first of the range of sessions' ids; only mapped here */
#define SEEN_MAX 256

enum needed { NEEDED_ALL, NEEDED_NOBODY };

static const struct check {
	const char *name;
	probe_fn run;
	enum needed needed;
	const char *fix;
} checks[] = {
	{"user-namespace", probe_user_namespace, NEEDED_ALL,
	 "sysctl user.max_user_namespaces=10000 (and kernel.unprivileged_userns_clone=1 where it "
	 "exists)"},
	{"mount-namespace", probe_mount_namespace, NEEDED_ALL,
	 "sysctl user.max_mnt_namespaces=10000; in a container: give it CAP_SYS_ADMIN, or use the "
	 "host"},
	{"net-namespace", probe_net_namespace, NEEDED_ALL,
	 "sysctl user.max_net_namespaces=10000; the kernel needs CONFIG_NET_NS"},
	{"pid-namespace", probe_pid_namespace, NEEDED_ALL,
	 "in a container: start it with --security-opt systempaths=unconfined, or run on the host"},
	{"uts-ipc-cgroup-namespaces", probe_other_namespaces, NEEDED_ALL,
	 "the kernel needs CONFIG_UTS_NS, CONFIG_IPC_NS and CONFIG_CGROUPS"},
	{"read-only-mounts", probe_read_only_root, NEEDED_ALL,
	 "the kernel has to be 5.12 or newer (mount_setattr)"},
	{"idmapped-state", probe_idmap_state, NEEDED_ALL,
	 "put the state directory on ext4, XFS, Btrfs, or (Linux 6.3) tmpfs"},
	{"idmapped-workspace", probe_idmap_workspace, NEEDED_ALL,
	 "keep workspaces on ext4, XFS, Btrfs, or (Linux 6.3) tmpfs"},
	{"kept-changes", probe_layer, NEEDED_ALL,
	 "put the state directory on ext4, XFS, Btrfs, or (Linux 6.6) tmpfs"},
	{"overlay", probe_overlay, NEEDED_ALL,
	 "modprobe overlay; the kernel has to be 5.11 or newer; the state directory must not "
	 "itself be on "
	 "an overlay"},
	{"cgroup-memory", probe_cgroup_memory, NEEDED_ALL,
	 "enable the memory controller (on some machines: cgroup_enable=memory on the kernel "
	 "command line)"},
	{"cgroup-cpu", probe_cgroup_cpu, NEEDED_ALL,
	 "enable the cpu controller; under systemd: Delegate=yes for the unit that Loom runs in"},
	{"cgroup-pids", probe_cgroup_pids, NEEDED_ALL,
	 "enable the pids controller; under systemd: Delegate=yes for the unit that Loom runs in"},
	{"clone-into-cgroup", probe_clone_into_cgroup, NEEDED_NOBODY,
	 "boot with systemd.unified_cgroup_hierarchy=1 for cgroup v2; starts are then a little "
	 "quicker"},
	{"landlock", probe_landlock, NEEDED_ALL,
	 "add landlock to the lsm= list of the kernel command line; the kernel has to be 5.19 or "
	 "newer"},
	{"seccomp", probe_seccomp, NEEDED_ALL, "the kernel needs CONFIG_SECCOMP_FILTER"},
	{"no-new-privs", probe_no_new_privs, NEEDED_ALL, "the kernel has to be 3.5 or newer"},
	{"session-keyring", probe_keyring, NEEDED_ALL,
	 "allow keyctl and add_key (a container runtime's filter may refuse them); CONFIG_KEYS"},
	{"sealed-memfd", probe_memfd, NEEDED_ALL, "the kernel needs CONFIG_MEMFD_CREATE"},
	{"openat2", probe_openat2, NEEDED_ALL, "the kernel has to be 5.6 or newer"},
	{"pidfd", probe_pidfd, NEEDED_ALL, "the kernel has to be 5.4 or newer"},
};

static const char not_root[] = "run it as root (sudo): this build has root mode only";

/* In shared memory: what the child found. */
struct found {
	bool given;
	int code;
	char text[SEEN_MAX];
};

static void
check_child(const struct check *c, const struct probe *p, struct found *found)
{
	struct error err = {0};
	struct buf seen;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	buf_init(&seen, SEEN_MAX - 1);
	found->code = c->run(p, &seen, &err);
	(void)snprintf(found->text, sizeof(found->text), "%.255s",
		       found->code < 0	   ? err.text
		       : seen.data != NULL ? seen.data
					   : "");
	found->given = true;
	_exit(0);
}

/* Has PID ended before the deadline? */
static bool
ends_in_time(pid_t pid, uint64_t deadline_ms)
{
	CLEANUP(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now;

	/* A kernel without that call is told of by the check for it; nothing is in time there. */
	if (fd < 0)
		return false;
	for (;;) {
		int r;

		now = clock_boot_ms();
		if (now >= deadline_ms)
			return false;
		r = poll(&p, 1, (int)(deadline_ms - now));
		if (r > 0)
			return true;
		if (r < 0 && errno != EINTR)
			return false;
	}
}

/* What an ended check may have left in cgroups: its lock is gone, so it counts as dead. */
static void
sweep_cgroups(void)
{
	struct cgroups c;

	cgroups_init(&c);
	if (cgroups_open(&c, NULL) < 0)
		return;
	(void)cgroups_sweep(&c);
	cgroups_close(&c);
}

static void
check_run(const struct check *c, const struct probe *p, uint64_t deadline_ms, struct found *found)
{
	int status;
	pid_t pid;

	*found = (struct found){.code = -ETIMEDOUT};
	if (clock_boot_ms() >= deadline_ms) {
		(void)snprintf(found->text, sizeof(found->text), "not tried: no time was left");
		return;
	}
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		check_child(c, p, found);
	}
	if (pid < 0) {
		(void)snprintf(found->text, sizeof(found->text), "fork: %s", strerror(errno));
		return;
	}
	(void)setpgid(pid, pid);
	if (!ends_in_time(pid, deadline_ms)) {
		(void)kill(-pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		sweep_cgroups();
	} else {
		(void)waitpid(pid, &status, 0);
		(void)kill(-pid, SIGKILL);
	}
	if (!found->given) {
		found->code = -ETIMEDOUT;
		(void)snprintf(found->text, sizeof(found->text), "it did not come to an end");
	}
}

static json_t *
check_json(const struct check *c, const struct found *found)
{
	bool works = found->code == 0;
	const char *fix = works ? "" : geteuid() != 0 ? not_root : c->fix;
	json_t *needed =
		c->needed == NEEDED_ALL ? json_pack("[s, s]", "default", "build") : json_array();

	return json_pack("{s:s, s:o, s:s, s:o, s:b}", "check", c->name, "detail",
			 json_escaped(found->text, strlen(found->text)), "fix", fix, "needed_by",
			 needed, "works", works);
}

/* The nearest directory above PATH that is there: the state directory may not be made yet. */
static int
open_nearest(const char *path)
{
	char near[4096];
	int fd;

	if (strlen(path) >= sizeof(near))
		return -1;
	(void)snprintf(near, sizeof(near), "%s", path);
	for (;;) {
		char *slash = strrchr(near, '/');

		fd = open(near, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT || slash == NULL || slash == near)
			return fd;
		*slash = '\0';
	}
}

int
probe_run(const struct probe_in *in, struct buf *out, struct error *err)
{
	CLEANUP(fd_closep) int state = open_nearest(in->state != NULL ? in->state : "/var/tmp");
	CLEANUP(fd_closep) int workspace = -1;
	CLEANUP(json_decrefp) json_t *list = json_array();
	struct probe p = {.state = state, .host_id = PROBE_HOST_ID};
	uint64_t deadline = clock_boot_ms() + PROBE_DEADLINE_MS;
	struct found *found;

	workspace = open(in->workspace != NULL ? in->workspace : ".",
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p.workspace = workspace;
	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (list == NULL || found == MAP_FAILED)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		check_run(&checks[i], &p, deadline, found);
		if (json_array_append_new(list, check_json(&checks[i], found)) != 0) {
			(void)munmap(found, sizeof(*found));
			return error_set(err, -ENOMEM, "out of memory");
		}
	}
	(void)munmap(found, sizeof(*found));
	return json_write_canonical(list, out, err);
}
