# Reading other processes.
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls peek >"$T/out" 2>"$T/err"
for name in ptrace process_vm_readv pidfd_getfd process_vm_writev kcmp; do check "$name is refused" grep -qE "^$name (EPERM|ENOSYS)\$" "$T/out"; done
sh_inside 'for f in mem environ maps; do ( head -c 1 /proc/1/$f >/dev/null ) 2>/dev/null && echo "READ $f"; done; ls /proc/1/fd /proc/1/cwd/ /proc/1/root/ 2>/dev/null | sed "s/^/LIST /"; exit 0' >"$T/out" 2>/dev/null
refuse "nothing of the sandbox's init can be read" grep -qE 'READ|LIST' "$T/out"
check "control: outside, root reads its own parent" test -r "/proc/$$/environ" -a -r "/proc/1/maps"
