# A /dev/null that is really a link to a kernel knob (CVE-2025-31133).
. "$(dirname "$0")/lib.sh"
before=$(cat /proc/sys/kernel/core_pattern)
sh_inside 'for d in null zero full random urandom; do stat -c "%n %F %t:%T" /dev/$d; done
v=$(cat /proc/sys/kernel/core_pattern); echo "$v" >/proc/sys/kernel/core_pattern && echo WROTE; exit 0' >"$T/out" 2>/dev/null
check "null is the device 1:3" grep -qx '/dev/null character special file 1:3' "$T/out"
check "zero is the device 1:5" grep -qx '/dev/zero character special file 1:5' "$T/out"
refuse "core_pattern cannot be written" grep -q WROTE "$T/out"
check "core_pattern is what it was" test "$before" = "$(cat /proc/sys/kernel/core_pattern)"
# In a mount namespace of the test's own, the host's /dev/null is a link to the knob: a daemon started
# there must refuse, or use a true device; it must never hand the link's target in.
unshare -m bash -c '
	mount --make-rprivate / && mount -t tmpfs none /dev && mknod /dev/zero c 1 5 && mknod /dev/full c 1 7 &&
	mknod /dev/random c 1 8 && mknod /dev/urandom c 1 9 && mkdir /dev/pts /dev/shm && ln -s /proc/sys/kernel/core_pattern /dev/null
	exec "$@"' sh env XDG_RUNTIME_DIR="$T/run2" XDG_STATE_HOME="$T/state2" sh -c 'mkdir -m 700 '"$T"'/run2 '"$T"'/state2
	'"$LOOM"' run -C '"$WS"' -- /bin/sh -c "stat -c \"%F %t:%T\" /dev/null; echo x >/dev/null" </dev/zero >'"$T"'/out2 2>'"$T"'/err2; echo status $? >'"$T"'/status2
	'"$LOOM"' daemon stop >'"$T"'/stop 2>&1'
check "with a linked /dev/null: refused, or the true device" sh -c "grep -qx 'character special file 1:3' $T/out2 || ! grep -qx 'status 0' $T/status2"
check "core_pattern is still what it was" test "$before" = "$(cat /proc/sys/kernel/core_pattern)"
# Control: through such a link the knob's own content is what one reads.
ln -s /proc/sys/kernel/core_pattern "$T/null"
check "control: outside, the link leads to the knob" test "$(cat "$T/null")" = "$before"
