# Spellings of paths: each gets one answer, the same at every entry.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
mkdir -p "$WS/a/b" "$WS/%2e%2e" "$WS/-rf" "$WS/a\\..\\b" "$WS/~"
sh_inside 'for d in a a/b %2e%2e -rf "a\\..\\b" "~"; do echo x >"./$d/x"; done' >/dev/null 2>"$T/err"
s=$(session_of "$T/err")
# answer PATH: yes or no, from each entry.
cwd_answer() { inside "--cwd=$1" -- /bin/true >/dev/null 2>&1 && echo yes || echo no; }
diff_answer() { "$LOOM" session diff "$s" --no-pager --stat "--path=$1" 2>/dev/null | grep -q / && echo yes || echo no; }
for p in a 'a/b' '%2e%2e' '-rf' 'a\..\b' '~'; do
	check "'$p' is a name: cwd" test "$(cwd_answer "$p")" = yes
	check "'$p' is a name: diff" test "$(diff_answer "$p")" = yes
done
for p in / //etc //etc/x a/.. a/../b .. ../ a/../../x ./.. /workspace /workspace/a "$WS/a" '~/.ssh' '%2e%2e/..' "$(printf 'a\nb')" "$(printf 'a\033[2J')"; do
	check "$(printf '%q' "$p") is refused: cwd" test "$(cwd_answer "$p")" = no
	check "$(printf '%q' "$p") is refused: diff" test "$(diff_answer "$p")" = no
	refuse "$(printf '%q' "$p") is refused: accept" sh -c '"$0" session accept "$1" "--path=$2" >/dev/null 2>&1' "$LOOM" "$s" "$p"
done
for p in a//b a/./b ./a a/b/ a/; do
	one=$(cwd_answer "$p") two=$(diff_answer "$p")
	check "'$p' has one answer everywhere ($one, $two)" test "$one" = "$two"
done
check "nothing was taken over by any of them" test -z "$(find "$WS" -name x)"
"$LOOM" session accept "$s" --path=a/x >/dev/null 2>&1
check "control: a plain path is taken over" test -e "$WS/a/x" -a ! -e "$WS/a/b/x"
check "control: outside, the kernel takes those spellings" test -d "$WS/a//b" -a -d "$WS/a/../a/./b"
