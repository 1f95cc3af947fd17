/*
 * Writes a compiled seccomp filter to standard output, for tools that take one (bwrap --seccomp):
 * an allowlist of about the size of ours, with an errno for everything else, so that a comparison
 * pays for the same kind of filter.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int
main(void)
{
	/* Left out of an allowlist of everything up to here: what no sandbox needs. */
	static const char *const denied[] = {
		"acct",
		"add_key",
		"bpf",
		"chroot",
		"clock_settime",
		"delete_module",
		"finit_module",
		"fsconfig",
		"fsmount",
		"fsopen",
		"fspick",
		"init_module",
		"io_uring_enter",
		"io_uring_register",
		"io_uring_setup",
		"kexec_load",
		"keyctl",
		"mount",
		"move_mount",
		"name_to_handle_at",
		"open_by_handle_at",
		"open_tree",
		"perf_event_open",
		"pivot_root",
		"process_vm_readv",
		"process_vm_writev",
		"ptrace",
		"quotactl",
		"reboot",
		"request_key",
		"setdomainname",
		"sethostname",
		"setns",
		"settimeofday",
		"swapoff",
		"swapon",
		"syslog",
		"umount2",
		"unshare",
		"userfaultfd",
		"vhangup",
	};
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int count = 0;

	if (ctx == NULL)
		return 1;
	for (int nr = 0; nr < 335; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
		int leave_out = name == NULL;

		for (size_t i = 0; !leave_out && i < sizeof(denied) / sizeof(denied[0]); i++)
			leave_out = seccomp_syscall_resolve_name(denied[i]) == nr;
		if (!leave_out && seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0) == 0)
			count++;
	}
	if (count < 200 || seccomp_export_bpf(ctx, STDOUT_FILENO) != 0)
		return 1;
	seccomp_release(ctx);
	fprintf(stderr, "%d system calls allowed\n", count);
	return 0;
}
