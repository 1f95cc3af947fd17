# A tree thousands of directories deep: told as too deep, counted, removed, with bounded stack and time.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
cat >"$WS/deep.py" <<'PY'
import os, sys
for i in range(int(sys.argv[1])):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").write("x")
print("made", flush=True)
PY
# The kernel takes long for these (overlayfs walks each path); 4500 is beyond every limit of ours.
inside -- /usr/bin/python3 deep.py 4500 >"$T/out" 2>"$T/err"
check "the tree was made" grep -q made "$T/out"
s=$(session_of "$T/err")
check "and is told at the end of the run" test -n "$s"
for form in "--stat" "--json" ""; do
	start=$(date +%s)
	# shellcheck disable=SC2086
	"$LOOM" session diff "$s" --no-pager $form >"$T/out" 2>"$T/err"
	code=$?
	check "diff ${form:-as text} ends with an answer" test $code -lt 128
	check "diff ${form:-as text} says where it stops" sh -c "[ $code != 0 ] && grep -qiE 'deep|limit|long' '$T/err' || grep -q 'truncated' '$T/out'"
	check "diff ${form:-as text} within 20 s" test $(($(date +%s) - start)) -le 20
done
"$LOOM" session accept "$s" >"$T/out" 2>"$T/err"
check "accept is refused with limit-exceeded" test "$(reason_of "$T/err")" = limit-exceeded
check "and nothing came into the workspace" test ! -e "$WS/d"
"$LOOM" run -C "$WS" -- /bin/echo alive >"$T/out" 2>/dev/null
check "the daemon serves others" grep -q alive "$T/out"
"$LOOM" session rm "$s" >/dev/null 2>"$T/err"
check "rm removes it" test $? = 0
check "nothing is left of it" test -z "$(ls -A "$XDG_STATE_HOME/loom/sessions" | grep -F "$s")"
# The same in tmpfs, where it goes with the session.
inside -- /bin/sh -c 'cd /tmp && python3 /workspace/deep.py 4500' >"$T/out" 2>/dev/null
check "in /tmp it ends with the session" grep -q made "$T/out"
(cd "$T" && mkdir c && cd c && python3 "$WS/deep.py" 600 >/dev/null)
refuse "control: outside, the path of a deep file is longer than a path may be" sh -c "cat '$T/c/$(printf 'd/%.0s' $(seq 3000))bottom'"
check "control: a shallow change is accepted" sh -c "'$LOOM' run -C '$WS' -- /bin/sh -c 'echo x >shallow' 2>'$T/err'; '$LOOM' session accept \$(sed -n 's/.*diff \\(s_[0-9]*\\).*/\\1/p' '$T/err') >/dev/null && test -e '$WS/shallow'"
