# Magic links: of procfs, through links of the command's making, as directory, command and path.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
ln -s /proc/self/root "$WS/r"
ln -s /proc/1/root "$WS/r1"
ln -s /proc/self/cwd "$WS/c"
ln -s /dev/fd "$WS/fd"
echo canary >"$T/canary"
chmod 644 "$T/canary"
for p in "/proc/self/root$T/canary" "/proc/1/root$T/canary" "r$T/canary" "r1$T/canary" "c/../canary" "/proc/self/cwd/../canary" /proc/1/cwd/canary "/proc/thread-self/root$T/canary"; do
	inside -- /bin/cat "$p" >"$T/out" 2>/dev/null
	refuse "cat $p gives nothing" grep -q canary "$T/out"
done
for cwd in r r1 c fd r/etc r1/tmp /proc/self/root /proc/self/cwd c/..; do
	inside --cwd "$cwd" -- /bin/pwd >"$T/out" 2>"$T/err"
	check "cwd $cwd is status 120" test $? = 120
	check "cwd $cwd is invalid-path" test "$(reason_of "$T/err")" = invalid-path
done
for cmd in /proc/self/exe /proc/1/exe /dev/fd/0 /proc/self/fd/0 r/proc/self/exe ./r/bin/../proc/self/exe; do
	inside -- "$cmd" >"$T/out" 2>"$T/err"
	check "command $cmd does not run" test $? = 120 -o $? = 126 -o $? = 127
done
sh_inside 'ln -s /proc/self/root/etc new; echo x >plain' >/dev/null 2>"$T/err"
s=$(session_of "$T/err")
for p in new/passwd r/etc/passwd c/plain /proc/self/cwd/plain new/../plain; do
	"$LOOM" session diff "$s" --no-pager --path "$p" >"$T/out" 2>/dev/null
	refuse "diff --path $p shows no file" grep -qE 'root:|^\+x' "$T/out"
	"$LOOM" session accept "$s" --path "$p" >/dev/null 2>&1
	check "accept --path $p is refused" test $? != 0
done
for ws in /proc/self/root /proc/self/cwd "/proc/self/fd/0"; do
	(cd "$WS" && "$LOOM" run -C "$ws" -- /bin/echo ran-here) >"$T/out" 2>/dev/null
	refuse "workspace $ws does not run" grep -q ran-here "$T/out"
done
"$LOOM" session accept "$s" --path plain >/dev/null 2>&1
check "control: a plain path is accepted" test -e "$WS/plain"
check "control: outside, a magic link leads there" grep -q canary "/proc/self/root$T/canary"
