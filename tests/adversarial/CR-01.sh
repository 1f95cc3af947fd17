# Secrets in the environment or the arguments of the control plane.
. "$(dirname "$0")/lib.sh"
export LOOM_CANARY=canary-environment-7c1
sh_inside 'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n"' >"$T/out" 2>/dev/null
refuse "the caller's environment is not inside" grep -q canary-environment "$T/out"
check "the session's own environment is" grep -q '^LOOM_SESSION=s_' "$T/out"
inside -e TOKEN=canary-value-91f -- /bin/sleep 3 >/dev/null 2>&1 &
BG=$!
sleep 1
refuse "a value given with -e is in no command line on the host but the one that was typed" sh -c "ps -eo pid,args | grep canary-value-91f | grep -vE 'grep|sh -c|loom run'"
wait "$BG"
BG=
"$LOOM" daemon stop >/dev/null 2>&1
refuse "nor in any byte of the state directory" grep -rqa canary-value-91f "$XDG_STATE_HOME"
check "control: the value does reach the command" test "$(inside -e TOKEN=canary-value-91f -- /bin/sh -c 'echo $TOKEN' 2>/dev/null)" = canary-value-91f
