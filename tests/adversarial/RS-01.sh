# Fork bombs, thread bombs, descriptor exhaustion.
. "$(dirname "$0")/lib.sh"
probe bombs
left() { ps -eo args | awk '$1 == "./bombs"' | wc -l; }
timeout 60 "$LOOM" run -C "$WS" --timeout 20s -- ./bombs fork >"$T/fork" 2>&1 &
BG=$!
sleep 1
start=$(date +%s%N)
check "another session starts while the bomb is on" inside -- /bin/true
took=$((($(date +%s%N) - start) / 1000000))
check "within a second ($took ms)" test "$took" -lt 1000
wait "$BG"; BG=
check "fork ends in EAGAIN" grep -q 'fork EAGAIN' "$T/fork"
inside -- ./bombs thread >"$T/thread" 2>&1
check "threads end in EAGAIN" grep -q 'thread EAGAIN' "$T/thread"
inside -- ./bombs fds >"$T/fds" 2>&1
check "descriptors end in EMFILE" grep -q 'open EMFILE' "$T/fds"
check "at the profile's limit" grep -qE 'after (10[0-2][0-9]|1024)$' "$T/fds"
inside -- ./bombs scm >"$T/scm" 2>&1
check "passing descriptors in a loop ends" grep -qE 'scm E[A-Z]+' "$T/scm"
sleep 0.5
check "no process of any of them is left" test "$(left)" = 0
"$PROBES/bombs" few >"$T/control" 2>&1
check "control: outside, the same number of forks is no problem" grep -q 'forked 400' "$T/control"
