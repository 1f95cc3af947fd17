/*
 * From the table comes, for each number, an action: allow, EPERM, ENOSYS, or a condition. Runs of
 * one action are one range; the ranges are the leaves of a binary tree of comparisons, and a leaf
 * is a return or a jump to the few instructions of a condition. Jumps of a comparison reach 255
 * instructions, which bounds the tree; jumps to conditions reach everything.
 */
#include "box/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "no table of system calls for this architecture"
#endif

/* Numbers that headers older than the table do not name; they are the same everywhere. */
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif

#define SET_ID (S_ISUID | S_ISGID)
/* Bits of clone's flags that make a namespace; CLONE_NEWTIME lies where the exit signal is. */
#define NEW_SPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
/* O_TMPFILE is this bit and O_DIRECTORY; the kernel looks at the mode where this bit is. */
#define TMPFILE_BIT 020000000
#define X32_FROM 0x40000000u
/* Set in the mode of a character and of a block device, and of no node that mknod can make. */
#define DEVICE_BIT 0020000

enum test_kind {
	TEST_NONE,   /* no condition */
	TEST_CLEAR,  /* none of the bits in values[0] */
	TEST_CREATE, /* flags without any bit of values[0], or the next argument without values[1]
		      */
	TEST_ONE_OF, /* one of the values */
	TEST_NOT_OF, /* none of the values */
	TEST_PAIR,   /* values[0], and the next argument without values[1] is one of the rest */
	TEST_ASKS,   /* another value than values[0], or the next argument is a null pointer */
};

#define VALUES_MAX 8
enum condition {
	COND_ALWAYS,
	COND_NO_SYS,
	COND_NOTHING,
	COND_NO_SPACES,
	COND_FAMILIES,
	COND_INTERNET,
	COND_PAIRS,
	COND_PROTOCOLS,
	COND_MODE_1,
	COND_MODE_2,
	COND_NODE_1,
	COND_NODE_2,
	COND_RENAME,
	COND_CREATE_1,
	COND_CREATE_2,
	COND_TERMINAL,
	COND_SELF_0,
	COND_LIMIT,
	COND_SELF_ASKS,
	COND_ASKS,
	COND_PERSONA,
	COND_TRACE,
	COND_DENY,
	COND_COUNT,
};
static const struct {
	enum test_kind test;
	uint32_t arg;
	uint32_t n;
	uint32_t values[VALUES_MAX];
	enum condition then; /* another that has to hold as well; 0: none */
	bool pretend;	     /* else: succeed and do nothing, instead of EPERM */
} filter_conditions[COND_COUNT] = {
	[COND_NO_SPACES] = {TEST_CLEAR, 0, 1, {NEW_SPACES}},
	[COND_FAMILIES] = {TEST_ONE_OF, 0, 3, {AF_UNIX, AF_INET, AF_INET6}, COND_PROTOCOLS},
	[COND_INTERNET] = {TEST_ONE_OF, 0, 2, {AF_INET, AF_INET6}, COND_PROTOCOLS},
	/* 0, and what the three families need; 1 is also AF_UNIX's own number for itself. */
	[COND_PROTOCOLS] = {TEST_ONE_OF,
			    2,
			    5,
			    {0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6}},
	/* Not datagrams: those can be sent to a name from a connected pair as well. */
	[COND_PAIRS] = {TEST_PAIR,
			0,
			4,
			{AF_UNIX, SOCK_NONBLOCK | SOCK_CLOEXEC, SOCK_STREAM, SOCK_SEQPACKET}},
	[COND_MODE_1] = {TEST_CLEAR, 1, 1, {SET_ID}},
	[COND_MODE_2] = {TEST_CLEAR, 2, 1, {SET_ID}},
	/* A character device 0:0 needs no right to be made, and is an overlay's whiteout. */
	[COND_NODE_1] = {TEST_CLEAR, 1, 1, {SET_ID | DEVICE_BIT}},
	[COND_NODE_2] = {TEST_CLEAR, 2, 1, {SET_ID | DEVICE_BIT}},
	[COND_RENAME] = {TEST_CLEAR, 4, 1, {RENAME_WHITEOUT}},
	[COND_CREATE_1] = {TEST_CREATE, 1, 2, {O_CREAT | TMPFILE_BIT, SET_ID}},
	[COND_CREATE_2] = {TEST_CREATE, 2, 2, {O_CREAT | TMPFILE_BIT, SET_ID}},
	[COND_TERMINAL] = {TEST_NOT_OF,
			   1,
			   5,
			   {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCVHANGUP}},
	[COND_SELF_0] = {TEST_ONE_OF, 0, 1, {0}},
	[COND_LIMIT] = {TEST_NOT_OF, 0, 1, {RLIMIT_CORE}, .pretend = true},
	[COND_SELF_ASKS] = {TEST_ONE_OF, 0, 1, {0}, COND_ASKS},
	[COND_ASKS] = {TEST_ASKS, 1, 1, {RLIMIT_CORE}, .pretend = true},
	[COND_PERSONA] = {TEST_ONE_OF, 0, 5, {0, 0x8, 0x20000, 0x20008, 0xffffffff}},
};

#define ALLOW ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define ERRNO(e) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (e)))
#define KILL ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS))
#define LOAD(off) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(off)))
#define JUMP(op, k, t, f)                                                                          \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (op) | BPF_K, (k), (uint8_t)(t), (uint8_t)(f)))
/* The low half of an argument, on a little-endian machine. */
#define ARG(n) (offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (n))

struct range {
	uint32_t from;
	enum condition action;
};
struct assembly {
	struct filter *out;
	bool full;
	uint32_t n_ranges;
	struct range ranges[FILTER_LAST + 3];
	uint32_t n_jumps; /* leaves that jump to a condition, to be filled in */
	struct {
		uint32_t at;
		enum condition to;
	} jumps[FILTER_LAST + 3];
};

static uint32_t
emit(struct assembly *a, struct sock_filter insn)
{
	if (a->out->len == FILTER_INSNS_MAX) {
		a->full = true;
		return 0;
	}
	a->out->insns[a->out->len] = insn;
	return a->out->len++;
}

static void
emit_leaf(struct assembly *a, enum condition action)
{
	switch (action) {
	case COND_ALWAYS:
		(void)emit(a, ALLOW);
		return;
	case COND_NO_SYS:
		(void)emit(a, ERRNO(ENOSYS));
		return;
	case COND_NOTHING:
		(void)emit(a, ERRNO(0));
		return;
	case COND_DENY:
	case COND_TRACE:
	case COND_COUNT:
		(void)emit(a, ERRNO(EPERM));
		return;
	default:
		a->jumps[a->n_jumps].to = action;
		a->jumps[a->n_jumps++].at =
			emit(a, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	}
}

/* Ranges [LO, HI): the accumulator holds the number. Depth is the logarithm of their count. */
static void
emit_tree(struct assembly *a, uint32_t lo, uint32_t hi)
{
	uint32_t mid, at, right;

	if (hi - lo == 1) {
		emit_leaf(a, a->ranges[lo].action);
		return;
	}
	mid = lo + (hi - lo) / 2;
	at = emit(a, JUMP(BPF_JGE, a->ranges[mid].from, 0, 0));
	emit_tree(a, lo, mid);
	right = a->out->len - at - 1;
	if (right > UINT8_MAX)
		a->full = true;
	a->out->insns[at].jt = (uint8_t)right;
	emit_tree(a, mid, hi);
}

static void
emit_condition(struct assembly *a, enum condition c)
{
	const uint32_t *v = filter_conditions[c].values;
	uint32_t n = filter_conditions[c].n, arg = filter_conditions[c].arg;

	(void)emit(a, LOAD(ARG(arg)));
	switch (filter_conditions[c].test) {
	case TEST_CLEAR:
		(void)emit(a, JUMP(BPF_JSET, v[0], 0, 1));
		break;
	case TEST_CREATE:
		(void)emit(a, JUMP(BPF_JSET, v[0], 0, 3));
		(void)emit(a, LOAD(ARG(arg + 1)));
		(void)emit(a, JUMP(BPF_JSET, v[1], 0, 1));
		break;
	case TEST_ONE_OF:
		for (uint32_t i = 0; i < n; i++)
			(void)emit(a, JUMP(BPF_JEQ, v[i], n - i, 0));
		break;
	case TEST_NOT_OF:
		for (uint32_t i = 0; i < n; i++)
			(void)emit(a, JUMP(BPF_JEQ, v[i], n - i - 1, i + 1 < n ? 0 : 1));
		break;
	case TEST_PAIR:
		(void)emit(a, JUMP(BPF_JEQ, v[0], 0, 2 + n - 2));
		(void)emit(a, LOAD(ARG(arg + 1)));
		(void)emit(a, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~v[1]));
		for (uint32_t i = 2; i < n; i++)
			(void)emit(a, JUMP(BPF_JEQ, v[i], n - i, 0));
		break;
	case TEST_ASKS:
		(void)emit(a, JUMP(BPF_JEQ, v[0], 0, 5));
		(void)emit(a, LOAD(ARG(arg + 1)));
		(void)emit(a, JUMP(BPF_JEQ, 0, 0, 2));
		(void)emit(a, LOAD(ARG(arg + 1) + sizeof(uint32_t)));
		(void)emit(a, JUMP(BPF_JEQ, 0, 1, 0));
		break;
	case TEST_NONE:
		break;
	}
	/* Each test ends here when it does not hold, and else one further on. */
	(void)emit(a, ERRNO(filter_conditions[c].pretend ? 0 : EPERM));
	if (filter_conditions[c].then != COND_ALWAYS)
		emit_condition(a, filter_conditions[c].then);
	else
		(void)emit(a, ALLOW);
}

static void
make_ranges(struct assembly *a, unsigned flags)
{
	enum condition of[FILTER_LAST + 1];

	for (uint32_t i = 0; i <= FILTER_LAST; i++)
		of[i] = COND_DENY;
#define CALL(name, condition) of[__NR_##name] = COND_##condition;
#include "box/filter.def"
#undef CALL
	if ((flags & FILTER_PTRACE) != 0)
		of[__NR_ptrace] = COND_ALWAYS;
	if ((flags & FILTER_NO_UNIX) != 0) {
		of[__NR_socket] = COND_INTERNET;
		of[__NR_socketpair] = COND_PAIRS;
	}
	if ((flags & FILTER_CORE) != 0) {
		of[__NR_setrlimit] = COND_LIMIT;
		of[__NR_prlimit64] = COND_SELF_ASKS;
	}
	for (uint32_t i = 0; i <= FILTER_LAST; i++)
		if (i == 0 || of[i] != of[i - 1])
			a->ranges[a->n_ranges++] = (struct range){i, of[i]};
	a->ranges[a->n_ranges++] = (struct range){FILTER_LAST + 1, COND_NO_SYS};
	a->ranges[a->n_ranges++] = (struct range){X32_FROM, COND_DENY};
}

int
filter_build(unsigned flags, struct filter *ret, struct error *err)
{
	struct assembly a = {.out = ret};
	uint32_t starts[COND_COUNT] = {0};

	ret->len = 0;
	make_ranges(&a, flags);
	(void)emit(&a, LOAD(offsetof(struct seccomp_data, arch)));
	(void)emit(&a, JUMP(BPF_JEQ, FILTER_ARCH, 1, 0));
	(void)emit(&a, KILL);
	(void)emit(&a, LOAD(offsetof(struct seccomp_data, nr)));
	emit_tree(&a, 0, a.n_ranges);
	for (uint32_t c = 0; c < COND_COUNT; c++)
		if (filter_conditions[c].test != TEST_NONE) {
			starts[c] = ret->len;
			emit_condition(&a, (enum condition)c);
		}
	for (uint32_t i = 0; i < a.n_jumps; i++)
		ret->insns[a.jumps[i].at].k = starts[a.jumps[i].to] - a.jumps[i].at - 1;
	if (a.full)
		return error_set(err, -E2BIG, "the table of system calls makes too large a filter");
	sha256_of(ret->insns, ret->len * sizeof(ret->insns[0]), ret->digest);
	return 0;
}

int
filter_install(const struct filter *f)
{
	const struct sock_fprog prog = {.len = f->len,
					.filter = (struct sock_filter *)(uintptr_t)f->insns};

	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0 ? 0 : -errno;
}
