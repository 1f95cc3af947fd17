# No usable memory or pids controller: no run, never an unbounded one.
. "$(dirname "$0")/lib.sh"
if ! unshare -m true 2>/dev/null; then
	skip "a mount namespace cannot be made here"
	exit 0
fi
mem=$(awk '$3=="cgroup" && $4 ~ /(^|,)memory(,|$)/ {print $2}' /proc/mounts | head -n 1)
pids=$(awk '$3=="cgroup" && $4 ~ /(^|,)pids(,|$)/ {print $2}' /proc/mounts | head -n 1)
v2=$(awk '$3=="cgroup2" {print $2}' /proc/mounts | head -n 1)
# A Loom of its own in a mount namespace prepared by $1; the run must not happen.
without() {
	"$LOOM" daemon stop >/dev/null 2>&1
	unshare -m --propagation private sh -c "$2"' || exit 99; "$1" run -C "$2" -- /bin/echo ran' sh "$LOOM" "$WS" >"$T/out" 2>"$T/err"
	code=$?
	check "without $1: the machine was made so" test $code != 99
	refuse "without $1: nothing ran" grep -q ran "$T/out"
	check "without $1: status 120 or 125" test $code = 120 -o $code = 125
	check "without $1: the reason" sh -c "grep -qE 'capability-unavailable|runtime-unavailable' '$T/err'"
	"$LOOM" daemon stop >/dev/null 2>&1
}
all="for m in $mem $pids $v2; do umount -l \$m || exit 1; done; true"
if [ -n "$mem" ]; then
	without "the memory controller" "umount -l $mem"
	without "the pids controller" "umount -l $pids"
	# The controller is there, but what is written to it does not hold: a tmpfs takes every number.
	without "a real memory controller (a tmpfs in its place)" "d=\$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup); umount -l $mem && mount -t tmpfs x $mem && mkdir -p $mem\$d"
	without "a writable one" "mount -o remount,bind,ro $mem"
fi
without "any" "$all"
"$LOOM" run -C "$WS" -- /bin/echo ran >"$T/out" 2>"$T/err"
check "control: with them, it runs" grep -q ran "$T/out"
"$LOOM" run -C "$WS" --report "$T/report" -- /bin/true >/dev/null 2>&1
op=$(sed -n 's/.*"operation":"\(op_[0-9a-f]*\)".*/\1/p' "$T/report")
check "control: and the trace of it is verified" sh -c "'$LOOM' trace '$op' >/dev/null"
