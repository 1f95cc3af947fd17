/*
 * A namespace counts when something was done in it that only works there: ids that are mapped, a
 * mount the outside does not see, a connection over a loopback of its own, a fresh /proc with
 * process 1.
 */
#include "box/probe_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define INSIDE_ID 1000

int
probe_wait(int pid, int *ret_status, struct error *err)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return error_sys(err, -errno, "wait");
	return 0;
}

int
probe_dir(int dir, char name[PROBE_NAME_MAX], struct error *err)
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_sys(err, -errno, "getrandom");
	hex_encode(random, sizeof(random), hex);
	(void)snprintf(name, PROBE_NAME_MAX, ".probe-%s", hex);
	if (mkdirat(dir, name, 0755) != 0)
		return error_sys(err, -errno, "make a directory");
	return 0;
}

/* ---- a child in namespaces ---- */

struct inside {
	const struct probe *p;
	int flags;
	probe_inside fn;
	void *arg;
	int channel[2];	      /* the child's end, the parent's end */
	struct error *shared; /* what failed, in memory that both see */
};

static int
write_map(pid_t pid, const char *name, const char *text, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_sys(err, -errno, "write %s of a user namespace", name);
	return 0;
}

static int
write_maps(pid_t pid, const struct probe *p, struct error *err)
{
	char map[64];
	int r;

	if (geteuid() != 0) {
		r = write_map(pid, "setgroups", "deny", err);
		(void)snprintf(map, sizeof(map), "%d %lu 1", INSIDE_ID, (unsigned long)geteuid());
		if (r == 0)
			r = write_map(pid, "uid_map", map, err);
		(void)snprintf(map, sizeof(map), "%d %lu 1", INSIDE_ID, (unsigned long)getegid());
		return r < 0 ? r : write_map(pid, "gid_map", map, err);
	}
	(void)snprintf(map, sizeof(map), "%d %u 1", INSIDE_ID, p->host_id);
	r = write_map(pid, "uid_map", map, err);
	return r < 0 ? r : write_map(pid, "gid_map", map, err);
}

/* The process that FN runs in: with a new PID namespace a child, since only those are in it. */
static int
inside_run(struct inside *in)
{
	int status, r;
	pid_t pid;

	if ((in->flags & CLONE_NEWPID) == 0)
		return in->fn(in->arg, in->shared);
	pid = fork();
	if (pid < 0)
		return error_sys(in->shared, -errno, "fork in a PID namespace");
	if (pid == 0)
		_exit(in->fn(in->arg, in->shared) == 0 ? 0 : 1);
	r = probe_wait(pid, &status, in->shared);
	if (r == 0 && status != 0)
		r = error_set(in->shared, -ECHILD, "the process inside died");
	return r;
}

static int
inside_child(struct inside *in)
{
	struct error *err = in->shared;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (unshare(CLONE_NEWUSER | in->flags) != 0)
		return error_sys(err, -errno, "make namespaces");
	if (write(in->channel[0], "u", 1) != 1 || read(in->channel[0], &c, 1) != 1)
		return error_set(err, -ECHILD, "no ids were mapped");
	if (setresgid(INSIDE_ID, INSIDE_ID, INSIDE_ID) != 0 ||
	    setresuid(INSIDE_ID, INSIDE_ID, INSIDE_ID) != 0)
		return error_sys(err, -errno, "take the mapped ids");
	if ((in->flags & CLONE_NEWNS) != 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_sys(err, -errno, "make the mounts private");
	return inside_run(in);
}

int
probe_in_namespaces(const struct probe *p, int flags, probe_inside fn, void *arg, struct error *err)
{
	struct inside in = {.p = p, .flags = flags, .fn = fn, .arg = arg};
	int status, r = 0;
	pid_t pid;
	char c;

	in.shared = mmap(NULL, sizeof(*in.shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (in.shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.channel) != 0)
		return error_sys(err, -errno, "talk to a child");
	pid = fork();
	if (pid < 0)
		return error_sys(err, -errno, "fork");
	if (pid == 0) {
		(void)close(in.channel[1]);
		_exit(inside_child(&in) == 0 ? 0 : 1);
	}
	(void)close(in.channel[0]);
	if (read(in.channel[1], &c, 1) == 1) {
		r = write_maps(pid, p, err);
		if (r == 0 && write(in.channel[1], "g", 1) != 1)
			r = error_sys(err, -errno, "talk to a child");
	}
	(void)close(in.channel[1]);
	if (probe_wait(pid, &status, err) == 0 && status != 0 && r == 0)
		r = in.shared->code != 0 ? error_set(err, in.shared->code, "%s", in.shared->text)
					 : error_set(err, -ECHILD, "the process inside died");
	(void)munmap(in.shared, sizeof(*in.shared));
	return r;
}

/* ---- checks ---- */

static int
ids_are_mapped(void *arg, struct error *err)
{
	if (getuid() != INSIDE_ID || getgid() != INSIDE_ID)
		return error_set(err, -EPERM, "the mapped ids are not there");
	if (setresuid(0, 0, 0) == 0)
		return error_set(err, -EPERM, "an id that is not mapped could be taken");
	return 0;
}

int
probe_user_namespace(const struct probe *p, struct buf *seen, struct error *err)
{
	int r = probe_in_namespaces(p, 0, ids_are_mapped, NULL, err);

	if (r == 0)
		buf_fmt(seen, "uid %d inside, and no other", INSIDE_ID);
	return r;
}

static int
a_mount_inside(void *arg, struct error *err)
{
	struct stat st;

	if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0)
		return error_sys(err, -errno, "mount a tmpfs");
	if (mkdir("/tmp/probe-mount", 0700) != 0 || stat("/tmp/probe-mount", &st) != 0)
		return error_sys(err, -errno, "use a tmpfs");
	return 0;
}

int
probe_mount_namespace(const struct probe *p, struct buf *seen, struct error *err)
{
	struct stat st;
	int r = probe_in_namespaces(p, CLONE_NEWNS, a_mount_inside, NULL, err);

	if (r < 0)
		return r;
	if (stat("/tmp/probe-mount", &st) == 0)
		return error_set(err, -EPERM, "a mount inside can be seen outside");
	buf_str(seen, "a tmpfs mounted inside is not seen outside");
	return 0;
}

static int
loopback_up(struct error *err)
{
	CLEANUP(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {.ifr_name = "lo"};

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &ifr) != 0)
		return error_sys(err, -errno, "look at the loopback device");
	ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
	if (ioctl(fd, SIOCSIFFLAGS, &ifr) != 0)
		return error_sys(err, -errno, "bring the loopback device up");
	return 0;
}

static int
a_connection_inside(void *arg, struct error *err)
{
	CLEANUP(fd_closep) int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLEANUP(fd_closep) int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in away = {.sin_family = AF_INET, .sin_port = htons(9)};
	socklen_t len = sizeof(sin);
	struct if_nameindex *names = if_nameindex();
	bool alone = names != NULL && names[0].if_index != 0 && names[1].if_index == 0;
	int r;

	if (names != NULL)
		if_freenameindex(names);
	/* Tunnel devices come with some kernels and are down. */
	r = loopback_up(err);
	if (r < 0)
		return r;
	if (bind(server, (struct sockaddr *)&sin, sizeof(sin)) != 0 || listen(server, 1) != 0 ||
	    getsockname(server, (struct sockaddr *)&sin, &len) != 0 ||
	    connect(client, (struct sockaddr *)&sin, sizeof(sin)) != 0)
		return error_sys(err, -errno, "connect over the loopback device");
	fd_closep(&client);
	/* TEST-NET-1 of RFC 5737: an address that is nobody's. */
	away.sin_addr.s_addr = htonl(0xc0000201);
	client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (connect(client, (struct sockaddr *)&away, sizeof(away)) == 0 || errno != ENETUNREACH)
		return error_set(err, -EPERM, "there is a route out of a new network namespace");
	*(bool *)arg = alone;
	return 0;
}

int
probe_net_namespace(const struct probe *p, struct buf *seen, struct error *err)
{
	bool alone = false;
	int r = probe_in_namespaces(p, CLONE_NEWNET, a_connection_inside, &alone, err);

	if (r == 0)
		buf_str(seen, "a connection over its own loopback, no route out");
	return r;
}

static int
a_proc_inside(void *arg, struct error *err)
{
	char self[32] = "";

	if (getpid() != 1)
		return error_set(err, -EPERM, "the first process inside is not number 1");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
		if (errno == EPERM)
			return error_set(
				err, -EPERM,
				"a fresh /proc is refused, because parts of the one here are "
				"masked (a container with its runtime's defaults)");
		return error_sys(err, -errno, "mount a fresh /proc");
	}
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || strcmp(self, "1") != 0)
		return error_set(err, -EPERM, "the fresh /proc shows other processes");
	return 0;
}

int
probe_pid_namespace(const struct probe *p, struct buf *seen, struct error *err)
{
	int r = probe_in_namespaces(p, CLONE_NEWPID | CLONE_NEWNS, a_proc_inside, NULL, err);

	if (r == 0)
		buf_str(seen, "process 1 sees only itself in a fresh /proc");
	return r;
}

static int
a_name_inside(void *arg, struct error *err)
{
	if (sethostname("probe", 5) != 0)
		return error_sys(err, -errno, "set a host name");
	return 0;
}

int
probe_other_namespaces(const struct probe *p, struct buf *seen, struct error *err)
{
	int r = probe_in_namespaces(p, CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP, a_name_inside,
				    NULL, err);

	if (r == 0)
		buf_str(seen, "a host name of its own");
	return r;
}
