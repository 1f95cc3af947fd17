# Stopped processes and zombies.
. "$(dirname "$0")/lib.sh"
probe bombs
start=$(date +%s)
"$LOOM" run -C "$WS" --timeout 3s -- /bin/sh -c 'sleep 100 & sleep 100 & kill -STOP $! ; kill -STOP $$; sleep 100' >/dev/null 2>&1
check "a stopped session ends at its wall time with 124" test $? = 124
check "promptly" test $(($(date +%s) - start)) -le 6
inside -- ./bombs zombies >"$T/out" 2>&1
check "thousands of orphans are reaped" grep -q 'reaped' "$T/out"
sh -c 'sleep 100 & echo $! >'"$T"'/pid; kill -STOP $!'
check "control: outside, a stopped process stays" grep -q 'State:.T' "/proc/$(cat "$T/pid")/status"
kill -9 "$(cat "$T/pid")"
