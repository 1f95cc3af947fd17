/*
 * One list of system calls for what every process does (memory, clocks, its loop), one for each
 * thing only some do, and a table that says which process has which. A name that the architecture
 * does not have is skipped by the caller, so that the lists can be shared.
 */
#include "confine/tables.h"

#include <linux/capability.h>
#include <stddef.h>

#define CAP(c) (UINT64_C(1) << (c))

/* Running at all: memory, clocks, signals to itself, leaving. mmap and mprotect are judged apart.
 */
static const char *const basics[] = {
	"read",
	"write",
	"readv",
	"writev",
	"pread64",
	"pwrite64",
	"close",
	"fstat",
	"lseek",
	"munmap",
	"mremap",
	"brk",
	"madvise",
	"mlock",
	"munlock",
	"futex",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"gettimeofday",
	"getpid",
	"gettid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getrandom",
	"restart_syscall",
	"exit",
	"exit_group",
	"tgkill",
	"sched_yield",
	"rseq",
	"set_robust_list",
	"sched_getaffinity",
	"prlimit64",
	"getrusage",
	"uname",
	"fcntl",
	NULL,
};

/* The loop, and the channels to the siblings. */
static const char *const loop[] = {
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	"signalfd4",
	"eventfd2",
	"poll",
	"ppoll",
	"recvmsg",
	"sendmsg",
	"getsockopt",
	"setsockopt",
	"getsockname",
	"shutdown",
	"dup",
	"pipe2",
	"ioctl",
	"newfstatat",
	NULL,
};

/* Files beneath the directories that the Landlock domain leaves. */
static const char *const files[] = {
	"openat",	   "open",	 "unlink",	 "unlinkat",
	"renameat",	   "renameat2",	 "rename",	 "mkdir",
	"mkdirat",	   "rmdir",	 "fsync",	 "fdatasync",
	"ftruncate",	   "fallocate",	 "getdents64",	 "stat",
	"lstat",	   "access",	 "faccessat",	 "faccessat2",
	"pwritev",	   "pwritev2",	 "preadv",	 "fstatfs",
	"statfs",	   "fchmod",	 "flock",	 "fadvise64",
	"sync_file_range", "statx",	 "memfd_create", "getcwd",
	"readlink",	   "readlinkat", "linkat",	 "copy_file_range",
	"openat2",	   "utimensat",	 NULL,
};

/*
 * The authority: its view (SQLite opens and removes its own files, and as root gives a new one the
 * owner of the first) and profiles it may read. Nothing is synced, renamed, linked or made
 * elsewhere.
 */
static const char *const authority[] = {
	"accept4", "openat",   "unlink",       "ftruncate", "fallocate",  "fchown",
	"fchmod",  "stat",     "lstat",	       "access",    "faccessat2", "getdents64",
	"getcwd",  "readlink", "memfd_create", "getppid",   "unlinkat",	  NULL,
};

/* HTTP on connections that were handed over. */
static const char *const http[] = {"recvfrom", "sendto",  "getpeername",
				   "sendfile", "accept4", NULL};

/*
 * loomd: its children, by their pidfds alone, and the sockets it made. Libraries may try to open a
 * file (libsystemd the id of the boot); Landlock refuses that, and they go on without.
 */
static const char *const parent[] = {"waitid", "pidfd_send_signal", "unlinkat", "openat", NULL};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
/* What the runtimes of the sanitizers ask for when they report, and when they map their shadow. */
static const char *const sanitizer[] = {
#ifdef SANITIZED
	"mmap",
	"mprotect",
	"openat",
	"open",
	"readlink",
	"readlinkat",
	"getdents64",
	"stat",
	"lstat",
	"newfstatat",
	"sysinfo",
	"prctl",
	"sched_getaffinity",
	"getppid",
	"set_tid_address",
	"pipe2",
	"process_vm_readv",
	"dup2",
	"getcwd",
	"rt_tgsigqueueinfo",
	"access",
#endif
	NULL,
};

/*
 * loom-box's filter is inherited by every sandbox: what none of them and no builder of them ever
 * needs. The sandbox's own allowlist comes on top.
 */
static const char *const box_never[] = {
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"swapon",
	"swapoff",
	"reboot",
	"acct",
	"quotactl",
	"quotactl_fd",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"iopl",
	"ioperm",
	"add_key",
	"request_key",
	"open_by_handle_at",
	"lookup_dcookie",
	"nfsservctl",
	"vhangup",
	"syslog",
	"fanotify_init",
	"process_vm_writev",
	"lsm_set_self_attr",
	NULL,
};

#define BOX_CAPABILITIES                                                                           \
	(CAP(CAP_SYS_ADMIN) | CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) |  \
	 CAP(CAP_FOWNER) | CAP(CAP_FSETID) | CAP(CAP_KILL) | CAP(CAP_SETUID) | CAP(CAP_SETGID) |   \
	 CAP(CAP_SETPCAP) | CAP(CAP_SYS_PTRACE) | CAP(CAP_MKNOD) | CAP(CAP_NET_ADMIN) |            \
	 CAP(CAP_SYS_CHROOT) | CAP(CAP_SYS_RESOURCE) | CAP(CAP_SETFCAP) |                          \
	 CAP(CAP_LINUX_IMMUTABLE))

static const struct confine_table tables[] = {
	[CONFINE_LOOMD] = {"loomd", {basics, loop, parent, sanitizer}, .landlock = true},
	[CONFINE_AUTHORITY] = {"loom-authority",
			       {basics, loop, authority, sanitizer},
			       .landlock = true,
			       .signal_scope = true},
	[CONFINE_LEDGER] = {"loom-ledger",
			    {basics, loop, files, sanitizer},
			    .landlock = true,
			    .signal_scope = true},
	[CONFINE_API] = {"loom-api",
			 {basics, loop, http, sanitizer},
			 .landlock = true,
			 .signal_scope = true},
	[CONFINE_BOX] = {"loom-box", {box_never}, .deny = true, .capabilities = BOX_CAPABILITIES},
};

const struct confine_table *
confine_table(enum confine_process process)
{
	return &tables[process];
}
