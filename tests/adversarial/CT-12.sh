# A read-only root that leaves mounts below it writable.
. "$(dirname "$0")/lib.sh"
probe mounts
inside -- ./mounts >"$T/out" 2>&1
grep '^RW' "$T/out" | sort >"$T/rw"
note "$(cat "$T/rw")"
for ok in /workspace /tmp /dev/shm; do check "$ok is writable" grep -qx "RW $ok" "$T/rw"; done
check "nothing else is writable" test "$(grep -vcxE 'RW (/workspace|/tmp|/dev/shm)' "$T/rw")" = 0
check "every mount is nosuid" sh -c "! grep '^MOUNT' $T/out | grep -v nosuid"
check "every mount but device nodes and ptys is nodev" sh -c "! grep '^MOUNT' $T/out | grep -v nodev | grep -vE '^MOUNT /dev(/|\$| )'"
check "the root is read-only" grep -qE '^MOUNT / .*\bro\b' "$T/out"
mkdir "$T/out-ws"
check "control: outside, root can write at /dev/shm and /usr" sh -c 'touch /dev/shm/.loom-control /usr/.loom-control && rm /dev/shm/.loom-control /usr/.loom-control'
