# Overwriting the host-side helper through /proc/PID/exe (CVE-2019-5736).
. "$(dirname "$0")/lib.sh"
box=$BUILD/src/box/loom-box
before=$(sha256sum "$box" "$LOOM" | sha256sum)
sh_inside 'for p in /proc/[0-9]*; do
	link=$(readlink $p/exe 2>/dev/null) && echo "exe $link"
	if [ "$p" != "/proc/$$" ] && ( : >>$p/exe ) 2>/dev/null; then echo "OPENED $p"; fi
done; ( : >>/proc/self/exe ) 2>/dev/null && echo OPENED-SELF; exit 0' >"$T/out" 2>"$T/err"
refuse "no exe of a process could be opened for writing" grep -q OPENED "$T/out"
refuse "no exe names a program of ours" grep -q loom "$T/out"
for name in /proc/self/exe /proc/thread-self/exe //proc/self/exe /proc/./1/exe /usr/../proc/self/exe /dev/fd/3; do
	inside -- "$name" >/dev/null 2>"$T/err"
	check "argv[0] $name is status 120" test $? = 120
	check "argv[0] $name is invalid-argument" test "$(reason_of "$T/err")" = invalid-argument
done
ln -s /proc/self/exe "$WS/me"
inside -- ./me >"$T/out" 2>"$T/err"
status=$?
check "a link to /proc/self/exe does not run our image (status $status)" test "$status" != 0 -a ! -s "$T/out"
check "the helper is what it was" test "$before" = "$(sha256sum "$box" "$LOOM" | sha256sum)"
# Control: outside, the running program's exe resolves to the host's file and can be executed.
check "control: outside, /proc/self/exe resolves to a host file" test "$(readlink /proc/self/exe)" -ef "$(command -v readlink)"
