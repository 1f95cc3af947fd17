# A sibling directory that shares the prefix (CVE-2025-53110).
. "$(dirname "$0")/lib.sh"
mkdir "$T/proj" "$T/proj-evil"
echo canary >"$T/proj-evil/canary"
WS=$T/proj
echo mine >"$WS/mine"
for p in "$T/proj-evil/canary" ../proj-evil/canary "$T/proj/../proj-evil/canary" /workspace/../proj-evil/canary /workspace-evil/canary; do
	inside -- /bin/cat "$p" >"$T/out" 2>/dev/null
	refuse "reading $p gives nothing" grep -q canary "$T/out"
done
for cwd in ../proj-evil "$T/proj-evil" "$T/proj/../proj-evil"; do
	inside --cwd "$cwd" -- /bin/cat canary >"$T/out" 2>"$T/err"
	check "cwd $cwd is invalid-path" test "$(reason_of "$T/err")" = invalid-path
	refuse "and gives nothing" grep -q canary "$T/out"
done
sh_inside 'echo x >new' >/dev/null 2>"$T/err"
s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
for p in ../proj-evil/canary "$T/proj-evil/canary" new/../../proj-evil/canary; do
	"$LOOM" session accept "$s" --path "$p" >"$T/out" 2>&1
	check "accepting $p is refused" test $? != 0
done
check "control: outside, the sibling is reachable by that path" grep -q canary "$WS/../proj-evil/canary"
check "control: inside, a path of the workspace works" test "$(inside -- /bin/cat mine 2>/dev/null)" = mine
