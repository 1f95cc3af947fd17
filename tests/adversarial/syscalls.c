/*
 * syscalls SET: calls each system call of a set with arguments that have no effect even where the
 * call is allowed, and prints "NAME ERRNO" for each, then "END". Arguments are chosen so that the
 * kernel's own answer (EFAULT, EINVAL, EBADF, success) differs from a filter's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errname.h"

static void
say(const char *name, long r)
{
	printf("%s %s\n", name, errname(r));
}

static const struct {
	int nr;
	const char *name;
} recent[] = {
	{424, "pidfd_send_signal"}, {425, "io_uring_setup"}, {426, "io_uring_enter"},
	{427, "io_uring_register"}, {428, "open_tree"}, {429, "move_mount"}, {430, "fsopen"},
	{431, "fsconfig"}, {432, "fsmount"}, {433, "fspick"}, {434, "pidfd_open"}, {435, "clone3"},
	{437, "openat2"}, {438, "pidfd_getfd"}, {439, "faccessat2"}, {440, "process_madvise"},
	{441, "epoll_pwait2"}, {442, "mount_setattr"}, {443, "quotactl_fd"},
	{444, "landlock_create_ruleset"}, {445, "landlock_add_rule"}, {446, "landlock_restrict_self"},
	{447, "memfd_secret"}, {448, "process_mrelease"}, {449, "futex_waitv"},
	{450, "set_mempolicy_home_node"}, {451, "cachestat"}, {452, "fchmodat2"},
	{453, "map_shadow_stack"}, {454, "futex_wake"}, {455, "futex_wait"}, {456, "futex_requeue"},
	{457, "statmount"}, {458, "listmount"}, {459, "lsm_get_self_attr"}, {460, "lsm_set_self_attr"},
	{461, "lsm_list_modules"}, {462, "mseal"}, {463, "setxattrat"}, {464, "getxattrat"},
	{465, "listxattrat"}, {466, "removexattrat"}, {467, "open_tree_attr"}, {468, "file_getattr"},
	{469, "file_setattr"},
};

static void
set_new(void)
{
	for (size_t i = 0; i < sizeof(recent) / sizeof(recent[0]); i++)
		say(recent[i].name, syscall(recent[i].nr, 0, 0, 0, 0, 0, 0));
	for (int nr = 470; nr <= 520; nr++) {
		char name[16];
		snprintf(name, sizeof(name), "nr%d", nr);
		say(name, syscall(nr, 0, 0, 0, 0, 0, 0));
	}
	say("nr1000", syscall(1000, 0, 0, 0, 0, 0, 0));
}

static void
set_uring(void)
{
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
	say("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	say("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
}

static void *
thread_main(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static void
set_userns(void)
{
	pid_t p = fork();
	if (p == 0) {
		say("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
		fflush(stdout);
		_exit(0);
	}
	waitpid(p, NULL, 0);
	long c = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
	if (c == 0)
		_exit(0);
	say("clone", c);
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	c = syscall(SYS_clone3, &args, sizeof(args));
	if (c == 0)
		_exit(0);
	say("clone3", c);
	long pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	say("setns", syscall(SYS_setns, pidfd < 0 ? 0 : (int)pidfd, CLONE_NEWUSER));
	pthread_t t;
	int ran = 0;
	int err = pthread_create(&t, NULL, thread_main, &ran);
	if (err == 0)
		pthread_join(t, NULL);
	p = fork();
	if (p == 0)
		_exit(7);
	int status = 0;
	waitpid(p, &status, 0);
	printf("thread+fork %d\n", err == 0 && ran == 1 && WEXITSTATUS(status) == 7 ? 0 : 1);
}

static void
set_mount(void)
{
	char handle[16] = {8};
	say("mount", syscall(SYS_mount, "none", "/nonexistent-dir", "tmpfs", 0, NULL));
	say("umount2", syscall(SYS_umount2, "/nonexistent-dir", 0));
	say("pivot_root", syscall(SYS_pivot_root, "/nonexistent-dir", "/nonexistent-dir"));
	say("chroot", syscall(SYS_chroot, "/nonexistent-dir"));
	say("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	say("fsconfig", syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0));
	say("fsmount", syscall(SYS_fsmount, -1, 0, 0));
	say("fspick", syscall(SYS_fspick, -1, "/", 0));
	say("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
	say("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
	say("mount_setattr", syscall(SYS_mount_setattr, -1, "", 0, NULL, 0));
	say("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, handle, 0));
	say("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, handle, 0));
	say("statmount", syscall(457, NULL, NULL, 0, 0));
	say("listmount", syscall(458, NULL, NULL, 0, 0));
}

static void
set_kernel(void)
{
	say("bpf", syscall(SYS_bpf, 0, NULL, 0));
	say("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	say("userfaultfd", syscall(SYS_userfaultfd, 0xffff0000));
	say("keyctl", syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3, 0));
	say("add_key", syscall(SYS_add_key, NULL, NULL, NULL, 0, 0));
	say("request_key", syscall(SYS_request_key, NULL, NULL, NULL, 0));
	say("kexec_load", syscall(SYS_kexec_load, 0, 99999, NULL, 0xffffffff));
	say("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0xffffffff));
	say("init_module", syscall(SYS_init_module, NULL, 0, NULL));
	say("finit_module", syscall(SYS_finit_module, -1, NULL, 0xffff));
	say("delete_module", syscall(SYS_delete_module, NULL, 0));
	say("swapon", syscall(SYS_swapon, NULL, 0));
	say("swapoff", syscall(SYS_swapoff, NULL));
	say("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	say("iopl", syscall(SYS_iopl, 0));
	say("ioperm", syscall(SYS_ioperm, 0, 0, 0));
	say("acct", syscall(SYS_acct, "/nonexistent"));
	say("quotactl", syscall(SYS_quotactl, -1, NULL, 0, NULL));
	say("settimeofday", syscall(SYS_settimeofday, (void *)1, NULL));
	say("clock_settime", syscall(SYS_clock_settime, 0, NULL));
	say("adjtimex", syscall(SYS_adjtimex, NULL));
	say("syslog", syscall(SYS_syslog, 99, NULL, 0));
	say("lookup_dcookie", syscall(212, 0, NULL, 0));
	say("fanotify_init", syscall(SYS_fanotify_init, 0xffff, 0));
	say("sethostname", syscall(SYS_sethostname, "x", -1));
	say("setdomainname", syscall(SYS_setdomainname, "x", -1));
}

static void
set_peek(void)
{
	say("ptrace", syscall(SYS_ptrace, 16 /* ATTACH */, 1, 0, 0));
	say("process_vm_readv", syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
	say("process_vm_writev", syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0));
	say("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
	say("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} sets[] = {
		{"new", set_new}, {"uring", set_uring}, {"userns", set_userns},
		{"mount", set_mount}, {"kernel", set_kernel}, {"peek", set_peek},
	};
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc == 2 && i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (strcmp(argv[1], sets[i].name) == 0) {
			sets[i].run();
			puts("END");
			return 0;
		}
	}
	return 2;
}
