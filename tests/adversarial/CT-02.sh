# Inherited descriptors and a working directory that leads out (CVE-2024-21626).
. "$(dirname "$0")/lib.sh"
mkdir "$T/canary-dir"
echo canary-content >"$T/canary-dir/canary"
mkdir "$WS/sub"
exec 9<"$T/canary-dir" 8<"$T/canary-dir/canary"
sh_inside 'for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && [ -e $f ] && readlink $f | grep -v "^/proc/.*/fd$" | sed "s/^/FD $n /"; done
cat /proc/self/fd/9/canary /dev/fd/8 /proc/*/fd/9/canary 2>/dev/null; pwd -P; exit 0' >"$T/out" 2>"$T/err"
refuse "no descriptor beyond the three" grep -q '^FD' "$T/out"
refuse "the canary is not reachable through a descriptor" grep -q canary-content "$T/out"
check "the working directory is the workspace" grep -qx /workspace "$T/out"
check "control: outside, the inherited directory is reachable" grep -q canary-content /proc/self/fd/9/canary
ln -s /proc/self/fd/9 "$WS/link"
ln -s / "$WS/rootlink"
for cwd in /proc/self/fd/9 .. sub/../.. /etc rootlink link /workspace; do
	inside --cwd "$cwd" -- /bin/sh -c 'touch cwd-probe' >/dev/null 2>"$T/err"
	check "cwd $cwd is status 120" test $? = 120
	check "cwd $cwd is invalid-path" test "$(reason_of "$T/err")" = invalid-path
done
check "no probe file anywhere" test -z "$(find "$T/canary-dir" "$WS" /etc -maxdepth 1 -name cwd-probe)"
check "the denials are recorded" test "$("$LOOM" ledger show --json -n 100 | grep -c invalid-path)" -ge 1
check "control: a cwd beneath the workspace works" test "$(inside --cwd sub -- /bin/pwd -P 2>/dev/null)" = /workspace/sub
