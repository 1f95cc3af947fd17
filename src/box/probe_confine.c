/* What a process can be forbidden, by forbidding it and trying; and the calls that hold objects. */
#include "box/probe_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define LANDLOCK_ABI_MIN 2

int
probe_landlock(const struct probe *p, struct buf *seen, struct error *err)
{
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR};
	CLEANUP(fd_closep) int rules = -1;
	CLEANUP(fd_closep) int fd = -1;
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0)
		return error_sys(err, -errno, "Landlock");
	if (abi < LANDLOCK_ABI_MIN)
		return error_set(err, -EOPNOTSUPP, "Landlock has ABI %d, and %d is the least", abi,
				 LANDLOCK_ABI_MIN);
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		return error_sys(err, -errno, "enter a Landlock domain");
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES)
		return error_set(err, -EPERM, "a file outside the Landlock domain can be read");
	buf_fmt(seen, "a read outside the domain was refused (ABI %d)", abi);
	return 0;
}

int
probe_seccomp(const struct probe *p, struct buf *seen, struct error *err)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {.len = ARRAY_LEN(insns), .filter = insns};
	struct utsname name;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return error_sys(err, -errno, "install a system call filter");
	if (syscall(SYS_uname, &name) == 0 || errno != EXDEV)
		return error_set(err, -EPERM, "a call that the filter refuses went through");
	buf_str(seen, "a call was refused with the filter's own error");
	return 0;
}

int
probe_no_new_privs(const struct probe *p, struct buf *seen, struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return error_sys(err, -errno, "set no_new_privs");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return error_set(err, -EPERM, "no_new_privs was set and is not there");
	if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return error_set(err, -EPERM, "no_new_privs can be taken back");
	buf_str(seen, "set, and cannot be taken back");
	return 0;
}

int
probe_keyring(const struct probe *p, struct buf *seen, struct error *err)
{
	static const char secret[] = "probe";
	long ring, key;

	ring = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (ring < 0)
		return error_sys(err, -errno, "join a keyring of its own");
	key = syscall(SYS_add_key, "user", "loom-probe", secret, sizeof(secret),
		      KEY_SPEC_SESSION_KEYRING);
	if (key < 0)
		return error_sys(err, -errno, "add a key to its own keyring");
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) == ring)
		return error_set(err, -EPERM, "a new keyring is the old one");
	if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "loom-probe", 0) >=
	    0)
		return error_set(err, -EPERM, "a key is found from another keyring");
	buf_str(seen, "a key of one session keyring is not found from the next");
	return 0;
}

int
probe_memfd(const struct probe *p, struct buf *seen, struct error *err)
{
	CLEANUP(fd_closep) int fd = fd_memfd_sealed("probe", "x", 1, err);

	if (fd < 0)
		return fd;
	if (pwrite(fd, "y", 1, 0) >= 0 || errno != EPERM || ftruncate(fd, 0) == 0)
		return error_set(err, -EPERM, "sealed memory can be changed");
	buf_str(seen, "sealed memory refuses a write");
	return 0;
}

int
probe_openat2(const struct probe *p, struct buf *seen, struct error *err)
{
	CLEANUP(fd_closep) int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_closep) int up = -1;
	CLEANUP(fd_closep) int magic = -1;
	CLEANUP(fd_closep) int plain = -1;

	if (dir < 0)
		return error_sys(err, -errno, "open /proc/self");
	plain = fd_open_beneath(dir, "status", O_RDONLY, 0, err);
	if (plain < 0)
		return plain;
	up = fd_open_beneath(dir, "..", O_PATH, 0, NULL);
	magic = fd_open_beneath(dir, "root/etc", O_PATH, 0, NULL);
	if (up >= 0 || magic >= 0)
		return error_set(err, -EPERM, "a path that leads out was followed");
	buf_str(seen, "paths that lead out, and magic links, are refused");
	return 0;
}

int
probe_pidfd(const struct probe *p, struct buf *seen, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct pollfd poll_fd = {.events = POLLIN};
	int status, r;
	pid_t pid = fork();

	if (pid < 0)
		return error_sys(err, -errno, "fork");
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = fd < 0 ? -errno : 0;
	if (r == 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) != 0)
		r = -errno;
	poll_fd.fd = fd;
	if (r == 0 && poll(&poll_fd, 1, 1000) != 1)
		r = -ETIMEDOUT;
	(void)kill(pid, SIGKILL);
	if (probe_wait(pid, &status, err) < 0)
		return err->code;
	if (r < 0)
		return error_sys(err, r, "signal and wait for a process by descriptor");
	buf_str(seen, "a process was ended and waited for by descriptor");
	return 0;
}
