# A caller-chosen environment that reaches a helper outside (CVE-2021-21261).
. "$(dirname "$0")/lib.sh"
cp "$PROBES/preload.so" "$WS/c.so"
mkdir "$WS/bin"
printf '#!/bin/sh\ntouch %s\n' "$T/marker-e" >"$WS/e"
LOOM_MARKER=$T/marker inside -e LD_PRELOAD=/workspace/c.so -e LD_AUDIT=/workspace/c.so -e BASH_ENV=/workspace/e \
	-e GIT_SSH_COMMAND=/workspace/e -e PATH=/workspace/bin:/usr/bin:/bin -e LOOM_MARKER="$T/marker" -- /bin/sh -c 'env' >"$T/out" 2>"$T/err"
check "the variables are there inside" grep -qx LD_PRELOAD=/workspace/c.so "$T/out"
refuse "no helper outside loaded the library" test -e "$T/marker"
refuse "no helper outside ran the script" test -e "$T/marker-e"
LOOM_MARKER="$T/control" LD_PRELOAD=$WS/c.so /bin/true
check "control: outside, the library leaves its mark" test -e "$T/control"
