# bpf, perf, userfaultfd, keys, kexec, modules, swap, reboot and the like.
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls kernel >"$T/out" 2>"$T/err"
check "the probe ran to its end" grep -qx END "$T/out"
refuse "every one is refused by the filter" sh -c "grep -vE '^END' $T/out | grep -vE ' (EPERM|ENOSYS)\$'"
check "all were tried" test "$(wc -l <"$T/out")" -ge 20
"$PROBES/syscalls" kernel >"$T/control" 2>&1
check "control: outside, keyctl and userfaultfd are answered by the kernel" test "$(grep -cE '^(keyctl|userfaultfd) (0|[0-9]+|EINVAL)' "$T/control")" = 2
