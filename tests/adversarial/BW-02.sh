# The ioctl filter dodged with high bits (CVE-2019-7303), and TIOCLINUX.
. "$(dirname "$0")/lib.sh"
probe ioctls
inside -- ./ioctls >"$T/out" 2>&1
for name in TIOCSTI TIOCSTI+bit32 TIOCSTI+high TIOCLINUX; do
	check "$name is refused by the filter" grep -qx "$name EPERM" "$T/out"
done
"$PROBES/ioctls" </dev/null >"$T/control" 2>&1
check "control: outside, no filter answers (ENOTTY from the kernel)" grep -qx 'TIOCSTI ENOTTY' "$T/control"
