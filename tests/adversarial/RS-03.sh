# Endless and giant output.
. "$(dirname "$0")/lib.sh"
profile chatty <<'EOF'
apiVersion: loom/v1
kind: Profile
metadata: {name: chatty}
spec:
  capabilities: [exec, workspace.read, workspace.write]
  limits: {cpu: 1, memory: 256MiB, pids: 64, openFiles: 256, timeout: 1m, output: 1MiB}
EOF
"$LOOM" run -C "$WS" --profile chatty --timeout 3s --report "$T/report" -- /usr/bin/yes >"$T/out" 2>"$T/err"
check "endless output ends at the wall time with status 124" test $? = 124
check "no more than the cap came out" test "$(stat -c %s "$T/out")" -le 1048576
check "the report says truncated" grep -qE '"truncated": ?true' "$T/report"
"$LOOM" run -C "$WS" --profile chatty --report "$T/report2" -- /bin/sh -c 'head -c 33554432 /dev/zero | tr "\0" "x"; exec >&-; sleep 0.2; exit 7' >"$T/out" 2>/dev/null
check "one giant line, then stdout closed: the status passes through" test $? = 7
check "the cap held" test "$(stat -c %s "$T/out")" = 1048576
check "all bytes are counted" grep -qE '"bytes": ?33554432' "$T/report2"
check "control: outside, there is no cap" test "$(head -c 3145728 /dev/zero | wc -c)" = 3145728
