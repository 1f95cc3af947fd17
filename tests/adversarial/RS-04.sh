# A daemon that wants to outlive its session.
. "$(dirname "$0")/lib.sh"
probe daemonize
inside -- ./daemonize "loom-outlive-$$" >"$T/out" 2>&1
check "the main command ended with 0" test $? = 0
check "and had started the daemon" grep -q started "$T/out"
sleep 2
refuse "the daemon is gone" sh -c "ps -eo args | grep -v grep | grep -q loom-outlive-$$"
"$PROBES/daemonize" "loom-outlive-c$$" >/dev/null 2>&1
sleep 0.3
pid=$(ps -eo pid,args | awk -v n="loom-outlive-c$$" '$2 == n {print $1}')
check "control: outside, it outlives its parent" test -n "$pid"
[ -n "$pid" ] && kill -9 "$pid"
