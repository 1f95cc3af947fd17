# System calls newer than the filter (CVE-2021-41133).
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls new >"$T/out" 2>"$T/err"
check "the probe ran to its end" grep -qx END "$T/out"
allowed='close_range|openat2|faccessat2|epoll_pwait2|futex_waitv|fchmodat2|pidfd_open|pidfd_send_signal|rseq|landlock_[a-z_]*|cachestat|futex_wake|futex_wait|futex_requeue|mseal|process_madvise|process_mrelease|setxattrat|getxattrat|listxattrat|removexattrat'
refuse "no number off the list is answered by the kernel" sh -c "grep -vE '^(END|(${allowed}) )' $T/out | grep -vE ' (EPERM|ENOSYS)\$'"
check "numbers above the table are ENOSYS" sh -c "grep -q '^nr1000 ENOSYS\$' $T/out"
for n in open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr statmount listmount quotactl_fd pidfd_getfd memfd_secret; do
	check "$n is refused by the filter" grep -qE "^$n (EPERM|ENOSYS)\$" "$T/out"
done
"$PROBES/syscalls" new >"$T/control" 2>&1
check "control: outside, the kernel answers some of them itself" sh -c "grep -E '^(fsopen|open_tree|move_mount) ' $T/control | grep -qE ' (EFAULT|EINVAL|EBADF|ENOENT|0)\$'"
