/*
 * filter.h, twice: the program is run by an interpreter here over every number and the arguments
 * that matter, and is installed in children to see the kernel do the same.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/filter.h"

static struct filter plain, ptraced, direct, piped;

static int
build(void **state)
{
	struct error err = {0};

	return filter_build(0, &plain, &err) == 0 &&
			       filter_build(FILTER_PTRACE, &ptraced, &err) == 0 &&
			       filter_build(FILTER_NO_UNIX, &direct, &err) == 0 &&
			       filter_build(FILTER_CORE, &piped, &err) == 0
		       ? 0
		       : -1;
}

/* Classic BPF as the filter uses it. */
static uint32_t
interpret(const struct filter *f, const struct seccomp_data *d, unsigned *ret_steps)
{
	uint32_t a = 0;

	*ret_steps = 0;
	for (uint32_t pc = 0; pc < f->len; pc++) {
		const struct sock_filter *i = &f->insns[pc];

		++*ret_steps;
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)d + i->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += (a & i->k) != 0 ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %#x", i->code);
		}
	}
	fail_msg("it runs off its end");
	return 0;
}

#define ARCH_NATIVE                                                                                \
	(sizeof(void *) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? native_arch() : 0)

static uint32_t
native_arch(void)
{
#if defined(__x86_64__)
	return AUDIT_ARCH_X86_64;
#else
	return AUDIT_ARCH_AARCH64;
#endif
}

static uint32_t
says(const struct filter *f, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	const struct seccomp_data d = {.nr = nr, .arch = ARCH_NATIVE, .args = {a0, a1, a2, a3}};
	unsigned steps;
	uint32_t r = interpret(f, &d, &steps);

	assert_true(steps < 40);
	return r;
}

#define ALLOWED SECCOMP_RET_ALLOW
#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)
#define PRETENDED (SECCOMP_RET_ERRNO | 0)
#define assert_says(want, ...) assert_int_equal(says(&plain, __VA_ARGS__), want)

static void
every_number_has_the_answer_of_the_table(void **state)
{
	unsigned allowed = 0;

	for (int nr = 0; nr <= FILTER_LAST; nr++) {
		uint32_t r = says(&plain, nr, 0, 0, 0, 0);

		assert_true(r == ALLOWED || r == DENIED || r == ABSENT ||
			    (r == PRETENDED && (nr == __NR_sync || nr == __NR_syncfs)));
		allowed += r == ALLOWED;
	}
	assert_in_range(allowed, 250, 330);
	for (int nr = FILTER_LAST + 1; nr < FILTER_LAST + 500; nr++)
		assert_says(ABSENT, nr, 0, 0, 0, 0);
	assert_says(DENIED, -1, 0, 0, 0, 0);
	assert_says(DENIED, 0x40000000, 0, 0, 0, 0); /* x32's read */
}

static void
another_abi_ends_the_process(void **state)
{
	const struct seccomp_data d = {.nr = __NR_getpid, .arch = AUDIT_ARCH_I386};
	unsigned steps;

	assert_int_equal(interpret(&plain, &d, &steps), SECCOMP_RET_KILL_PROCESS);
}

static void
what_no_sandbox_may_is_refused(void **state)
{
	static const int never[] = {
		__NR_mount,
		__NR_umount2,
		__NR_pivot_root,
		__NR_chroot,
		__NR_fsopen,
		__NR_fsconfig,
		__NR_fsmount,
		__NR_fspick,
		__NR_open_tree,
		__NR_move_mount,
		__NR_mount_setattr,
		__NR_open_by_handle_at,
		__NR_unshare,
		__NR_setns,
		__NR_io_uring_setup,
		__NR_io_uring_enter,
		__NR_io_uring_register,
		__NR_bpf,
		__NR_perf_event_open,
		__NR_userfaultfd,
		__NR_keyctl,
		__NR_add_key,
		__NR_request_key,
		__NR_kexec_load,
		__NR_init_module,
		__NR_finit_module,
		__NR_delete_module,
		__NR_swapon,
		__NR_swapoff,
		__NR_reboot,
		__NR_acct,
		__NR_quotactl,
		__NR_process_vm_readv,
		__NR_process_vm_writev,
		__NR_pidfd_getfd,
		__NR_kcmp,
		__NR_vhangup,
		__NR_syslog,
		__NR_settimeofday,
		__NR_clock_settime,
		__NR_adjtimex,
		__NR_fanotify_init,
		__NR_ptrace,
		__NR_process_madvise,
		__NR_memfd_secret,
		__NR_name_to_handle_at,
		457 /* statmount */,
		458 /* listmount */,
#ifdef __x86_64__
		__NR_iopl,
		__NR_ioperm,
		__NR_modify_ldt,
#endif
	};

	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		assert_says(DENIED, never[i], 0, 0, 0, 0);
	assert_says(ABSENT, __NR_clone3, 0, 0, 0, 0);
	assert_says(ABSENT, __NR_openat2, 0, 0, 0, 0);
	for (int nr = __NR_io_setup; nr <= __NR_io_cancel; nr++)
		assert_says(ABSENT, nr, 1, 0, 0, 0);
	assert_says(ABSENT, __NR_io_pgetevents, 1, 0, 0, 0);
	assert_says(PRETENDED, __NR_sync, 0, 0, 0, 0);
	assert_says(PRETENDED, __NR_syncfs, 0, 0, 0, 0);
	assert_says(ALLOWED, __NR_fsync, 0, 0, 0, 0);
	assert_int_equal(says(&ptraced, __NR_ptrace, 0, 0, 0, 0), ALLOWED);
	assert_int_equal(says(&direct, __NR_ptrace, 0, 0, 0, 0), DENIED);
}

static void
where_the_host_s_sockets_are_in_reach_only_pairs_are_made(void **state)
{
	static const struct {
		uint64_t family, type;
		bool pair;
	} cases[] = {
		{AF_UNIX, SOCK_STREAM, true},
		{AF_UNIX, SOCK_SEQPACKET, true},
		{AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, true},
		{AF_UNIX, SOCK_STREAM | (UINT64_C(7) << 32), true},
		{AF_UNIX, SOCK_DGRAM, false},
		{AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, false},
		{AF_UNIX, SOCK_RAW, false},
		{AF_UNIX, SOCK_STREAM | 0x10, false},
		{AF_INET, SOCK_STREAM, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(
			says(&direct, __NR_socketpair, cases[i].family, cases[i].type, 0, 0),
			cases[i].pair ? ALLOWED : DENIED);
	assert_int_equal(says(&direct, __NR_socket, AF_UNIX, SOCK_STREAM, 0, 0), DENIED);
	assert_int_equal(says(&direct, __NR_socket, AF_INET, SOCK_STREAM, 0, 0), ALLOWED);
	assert_int_equal(says(&direct, __NR_socket, AF_INET6, SOCK_DGRAM, 0, 0), ALLOWED);
	assert_int_equal(says(&direct, __NR_socket, AF_NETLINK, SOCK_RAW, 0, 0), DENIED);
}

static void
protocols_are_those_the_families_need(void **state)
{
	static const struct {
		uint64_t family, protocol;
		uint32_t want;
	} cases[] = {
		{AF_INET, IPPROTO_TCP, ALLOWED},	{AF_INET, IPPROTO_UDP, ALLOWED},
		{AF_INET, IPPROTO_ICMP, ALLOWED},	{AF_INET6, IPPROTO_ICMPV6, ALLOWED},
		{AF_INET6, UINT64_C(7) << 32, ALLOWED}, {AF_UNIX, 1, ALLOWED},
		{AF_INET, 262 /* MPTCP */, DENIED},	{AF_INET, IPPROTO_UDPLITE, DENIED},
		{AF_INET6, IPPROTO_SCTP, DENIED},	{AF_INET, IPPROTO_RAW, DENIED},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const uint64_t family = cases[i].family, protocol = cases[i].protocol;

		assert_says(cases[i].want, __NR_socket, family, 1, protocol, 0);
		assert_says(cases[i].want, __NR_socketpair, family, 1, protocol, 0);
		assert_int_equal(says(&direct, __NR_socket, family, 1, protocol, 0),
				 family == AF_UNIX ? DENIED : cases[i].want);
	}
}

static void
no_device_and_no_whiteout_is_made(void **state)
{
	static const unsigned good[] = {S_IFREG, S_IFIFO, S_IFSOCK, 0}, bad[] = {S_IFCHR, S_IFBLK};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_says(ALLOWED, __NR_mknodat, 0, 0, good[i] | 0666, 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_says(DENIED, __NR_mknodat, 0, 0, bad[i] | 0666, 0);
		/* The kernel takes sixteen bits of the mode. */
		assert_says(DENIED, __NR_mknodat, 0, 0, bad[i] | 0x10000, 0);
#ifdef __x86_64__
		assert_says(DENIED, __NR_mknod, 0, bad[i] | 0666, 0, 0);
#endif
	}
	for (unsigned flags = 0; flags < 8; flags++) {
		const struct seccomp_data d = {
			.nr = __NR_renameat2, .arch = ARCH_NATIVE, .args = {0, 0, 0, 0, flags}};
		unsigned steps;

		assert_int_equal(interpret(&plain, &d, &steps),
				 (flags & RENAME_WHITEOUT) != 0 ? DENIED : ALLOWED);
	}
}

static void
where_cores_go_to_a_pipe_their_limit_stays(void **state)
{
	const uint64_t pointer = UINT64_C(0x7f00) << 32; /* its low half is 0 */

	assert_int_equal(says(&piped, __NR_setrlimit, RLIMIT_CORE, 1, 0, 0), PRETENDED);
	assert_int_equal(says(&piped, __NR_setrlimit, RLIMIT_NOFILE, 1, 0, 0), ALLOWED);
	assert_int_equal(says(&piped, __NR_prlimit64, 0, RLIMIT_CORE, 1, 0), PRETENDED);
	assert_int_equal(says(&piped, __NR_prlimit64, 0, RLIMIT_CORE, pointer, 0), PRETENDED);
	assert_int_equal(says(&piped, __NR_prlimit64, 0, RLIMIT_CORE, 0, 1), ALLOWED);
	assert_int_equal(says(&piped, __NR_prlimit64, 0, RLIMIT_NOFILE, 1, 0), ALLOWED);
	assert_int_equal(says(&piped, __NR_prlimit64, 1, RLIMIT_CORE, 0, 1), DENIED);
	assert_int_equal(says(&piped, __NR_prlimit64, 1, RLIMIT_NOFILE, 0, 1), DENIED);
	assert_says(ALLOWED, __NR_setrlimit, RLIMIT_CORE, 1, 0, 0);
	assert_says(ALLOWED, __NR_prlimit64, 0, RLIMIT_CORE, 1, 0);
}

static void
arguments_are_judged_by_their_low_half(void **state)
{
	const uint64_t high = UINT64_C(0xdeadbeef) << 32;

	assert_says(DENIED, __NR_ioctl, 0, TIOCSTI, 0, 0);
	assert_says(DENIED, __NR_ioctl, 0, TIOCSTI | high, 0, 0);
	assert_says(DENIED, __NR_ioctl, 0, TIOCLINUX | (UINT64_C(1) << 32), 0, 0);
	assert_says(ALLOWED, __NR_ioctl, 0, TCGETS, 0, 0);
	assert_says(ALLOWED, __NR_ioctl, 0, FIONREAD | high, 0, 0);
	for (int family = 0; family <= 46; family++) {
		bool good = family == AF_UNIX || family == AF_INET || family == AF_INET6;

		assert_says(good ? ALLOWED : DENIED, __NR_socket, (uint64_t)family, 1, 0, 0);
		assert_says(good ? ALLOWED : DENIED, __NR_socketpair, (uint64_t)family | high, 1, 0,
			    0);
	}
	assert_says(ALLOWED, __NR_clone, SIGCHLD, 0, 0, 0);
	assert_says(ALLOWED, __NR_clone, CLONE_VM | CLONE_VFORK | CLONE_THREAD, 0, 0, 0);
	assert_says(DENIED, __NR_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0);
	assert_says(DENIED, __NR_clone, CLONE_NEWNET | SIGCHLD | high, 0, 0, 0);
	assert_says(ALLOWED, __NR_prlimit64, 0, 7, 0, 0);
	assert_says(ALLOWED, __NR_prlimit64, high, 7, 0, 0);
	assert_says(DENIED, __NR_prlimit64, 1, 7, 0, 0);
	assert_says(ALLOWED, __NR_personality, 0xffffffff, 0, 0, 0);
	assert_says(DENIED, __NR_personality, 0x0040000, 0, 0, 0);
}

static void
set_id_bits_are_refused_wherever_a_mode_goes(void **state)
{
	for (unsigned bits = 02000; bits <= 06000; bits += 02000) {
		const unsigned mode = bits | 0755;

		assert_says(DENIED, __NR_fchmod, 0, mode, 0, 0);
		assert_says(DENIED, __NR_fchmodat, 0, 0, mode, 0);
		assert_says(DENIED, 452 /* fchmodat2 */, 0, 0, mode, 0);
		assert_says(DENIED, __NR_mkdirat, 0, 0, mode, 0);
		assert_says(DENIED, __NR_mknodat, 0, 0, mode, 0);
		assert_says(DENIED, __NR_openat, 0, 0, O_CREAT, mode);
		assert_says(DENIED, __NR_openat, 0, 0, O_TMPFILE | O_RDWR, mode);
		/* Without O_CREAT the argument is whatever the register holds. */
		assert_says(ALLOWED, __NR_openat, 0, 0, O_RDONLY, mode);
		assert_says(ALLOWED, __NR_openat, 0, 0, O_DIRECTORY, mode);
#ifdef __x86_64__
		assert_says(DENIED, __NR_chmod, 0, mode, 0, 0);
		assert_says(DENIED, __NR_creat, 0, mode, 0, 0);
		assert_says(DENIED, __NR_mkdir, 0, mode, 0, 0);
		assert_says(DENIED, __NR_mknod, 0, mode, 0, 0);
		assert_says(DENIED, __NR_open, 0, O_CREAT | O_WRONLY, mode, 0);
		assert_says(ALLOWED, __NR_open, 0, O_WRONLY, mode, 0);
#endif
	}
	assert_says(ALLOWED, __NR_fchmod, 0, 01777, 0, 0);
	assert_says(ALLOWED, __NR_openat, 0, 0, O_CREAT, 0644);
}

static void
the_kernel_agrees(void **state)
{
	pid_t pid;
	int status;

	unit_skip_under_valgrind();
	pid = fork();
	if (pid == 0) {
		int bad = 0;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || filter_install(&plain) != 0)
			_exit(90);
		bad |= (unshare(CLONE_NEWUSER) == -1 && errno == EPERM) ? 0 : 1;
		bad |= (syscall(__NR_clone3, NULL, 0) == -1 && errno == ENOSYS) ? 0 : 2;
		bad |= (syscall(1000) == -1 && errno == ENOSYS) ? 0 : 4;
		bad |= (socket(AF_NETLINK, SOCK_RAW, 0) == -1 && errno == EPERM) ? 0 : 8;
		bad |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : 16;
		bad |= (ioctl(0, TIOCSTI | (1UL << 32), "#") == -1 && errno == EPERM) ? 0 : 32;
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_has_the_answer_of_the_table),
		cmocka_unit_test(another_abi_ends_the_process),
		cmocka_unit_test(what_no_sandbox_may_is_refused),
		cmocka_unit_test(where_the_host_s_sockets_are_in_reach_only_pairs_are_made),
		cmocka_unit_test(protocols_are_those_the_families_need),
		cmocka_unit_test(no_device_and_no_whiteout_is_made),
		cmocka_unit_test(where_cores_go_to_a_pipe_their_limit_stays),
		cmocka_unit_test(arguments_are_judged_by_their_low_half),
		cmocka_unit_test(set_id_bits_are_refused_wherever_a_mode_goes),
		cmocka_unit_test(the_kernel_agrees),
	};

	return cmocka_run_group_tests_name("box_filter", tests, build, NULL);
}
