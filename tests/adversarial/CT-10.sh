# The host's abstract unix sockets (CVE-2020-15257), and asking for its network.
. "$(dirname "$0")/lib.sh"
probe abstract-connect
"$PROBES/abstract-connect" listen "loom-canary-$$" &
BG=$!
sleep 0.3
check "control: outside, the abstract socket answers" "$PROBES/abstract-connect" connect "loom-canary-$$"
inside -- ./abstract-connect connect "loom-canary-$$" >"$T/out" 2>&1
check "inside, it does not" test $? != 0
sh_inside 'cat /proc/net/unix' >"$T/out" 2>/dev/null
refuse "the host's sockets are not listed" grep -q "loom-canary" "$T/out"
check "control: outside, it is listed" grep -q "loom-canary-$$" /proc/net/unix
profile hostnet <<'EOF'
apiVersion: loom/v1
kind: Profile
metadata: {name: hostnet}
spec:
  capabilities: [exec, workspace.read, net.host]
EOF
inside --profile hostnet -- /bin/true >/dev/null 2>"$T/err"
status=$?
check "a profile that asks for the host's network does not run (status $status)" test "$status" = 120
check "and the message names the capability" grep -q 'net.host' "$T/err"
