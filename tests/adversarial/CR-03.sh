# Core dumps.
. "$(dirname "$0")/lib.sh"
direct_profile dw
inside --profile dw -- /bin/sh -c 'ulimit -c unlimited 2>/dev/null && echo RAISED; grep "core file" /proc/self/limits; (kill -SEGV $$) ; setsid sh -c "kill -SEGV \$\$"; ls' >"$T/out" 2>/dev/null
inside --profile dw -- /bin/sh -c 'kill -SEGV $$' >/dev/null 2>&1
check "the status is that of the signal" test $? = 139
# Where core_pattern is a pipe, setting it is said to work and changes nothing.
case $(cat /proc/sys/kernel/core_pattern) in
\|*) check "the limit stays at 1" grep -qE 'Max core file size +1 +1 ' "$T/out" ;;
*) refuse "the limit cannot be raised" grep -q RAISED "$T/out" ;;
esac
check "the hard limit is less than a core file needs" grep -qE 'Max core file size +[01] +[01] ' "$T/out"
check "no core in the workspace" test -z "$(find "$WS" -name 'core*')"
(cd "$T" && ulimit -c unlimited 2>/dev/null; sh -c 'kill -SEGV $$') 2>/dev/null
check "control: outside, the core limit is a choice" sh -c '[ "$(ulimit -H -c)" = unlimited ] || [ "$(ulimit -H -c)" = 0 ]'
