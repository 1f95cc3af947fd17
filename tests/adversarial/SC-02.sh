# io_uring does file and socket work past a filter.
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls uring >"$T/out" 2>"$T/err"
for n in io_uring_setup io_uring_enter io_uring_register; do check "$n is refused by the filter" grep -qx "$n EPERM" "$T/out"; done
check "the session goes on" grep -qx END "$T/out"
"$PROBES/syscalls" uring >"$T/control" 2>&1
check "control: outside, io_uring_setup is answered by the kernel" grep -qE '^io_uring_setup (EFAULT|0|EINVAL)$' "$T/control"
