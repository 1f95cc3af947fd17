# A crash inside must not start the host's crash handler: RLIMIT_CORE 0 does not stop a piped
# core_pattern, a limit of 1 does (fs/coredump.c), and allows no file either. Which of the two it is
# follows from core_pattern as it is; the decision for other patterns is a unit test (box_plan).
. "$(dirname "$0")/lib.sh"
inside -- /bin/sh -c 'grep -i "core file size" /proc/self/limits; kill -SEGV $$' >"$T/out" 2>/dev/null
check "the crash is seen as a signal" test $? = 139
pattern=$(cat /proc/sys/kernel/core_pattern)
read -r soft hard <<<"$(sed -n 's/^Max core file size *\([0-9a-z]*\) *\([0-9a-z]*\).*/\1 \2/p' "$T/out")"
note "core_pattern: $pattern; inside: soft $soft, hard $hard"
check "inside: no core file of any use can be written" test "$soft" = 0 -o "$soft" = 1
check "inside: the limit cannot be raised" test "$soft" = "$hard"
case $pattern in
\|*)
	check "inside: the host's handler is not started (limit 1)" test "$soft" = 1
	inside -- /bin/sh -c 'ulimit -c 0; ulimit -c' >"$T/out" 2>/dev/null
	check "inside: nor by a limit that is lowered" grep -qx 1 "$T/out"
	;;
*) check "inside: there is no handler, and the limit is 0" test "$soft" = 0 ;;
esac
refuse "no core file is left" sh -c "find $WS $XDG_STATE_HOME -name 'core*' -type f -size +0 | grep -q ."
(cd "$T" && ulimit -c unlimited && sh -c 'kill -SEGV $$') >/dev/null 2>&1
check "control: outside, with the limit lifted, a crash is also a signal" test $? = 139
