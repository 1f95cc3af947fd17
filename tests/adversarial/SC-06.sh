# A user namespace by unshare, clone, clone3 or setns (CVE-2020-13753).
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls userns >"$T/out" 2>"$T/err"
check "unshare is refused" grep -qx 'unshare EPERM' "$T/out"
check "clone with a namespace flag is refused" grep -qx 'clone EPERM' "$T/out"
check "clone3 is ENOSYS, so that libraries fall back" grep -qx 'clone3 ENOSYS' "$T/out"
check "setns is refused" grep -qx 'setns EPERM' "$T/out"
check "threads and fork still work" grep -qx 'thread+fork 0' "$T/out"
sh_inside 'unshare -Ur true && echo IN; command -v bwrap >/dev/null && bwrap --unshare-all --ro-bind / / true && echo IN; exit 0' >"$T/out" 2>/dev/null
refuse "unshare(1) and bwrap get nowhere" grep -q IN "$T/out"
check "control: outside, a user namespace can be made" unshare -Ur true
