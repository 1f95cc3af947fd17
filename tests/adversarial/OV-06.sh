# The template's files have their own modes, whatever umask Loom was started with.
. "$(dirname "$0")/lib.sh"
for mask in 022 077 0; do
	"$LOOM" daemon stop >/dev/null 2>&1
	(umask $mask; inside -- /bin/sh -c 'ls -ld / /etc /etc/passwd /etc/ssl /home /opt /var /var/lib /run /dev /tmp; id -un; cat /etc/hosts; umask') >"$T/out.$mask" 2>"$T/err"
	check "umask $mask: /etc/passwd can be read, and names the user" grep -qx loom "$T/out.$mask"
	check "umask $mask: /etc/hosts can be read" grep -q localhost "$T/out.$mask"
	refuse "umask $mask: nothing is shut" grep -q 'ermission denied' "$T/err"
	refuse "umask $mask: nothing but /tmp is open to writing" sh -c "grep -vE ' /tmp\$' '$T/out.$mask' | grep -qE '^d.......w'"
	check "umask $mask: the command has 022" grep -qx 0022 "$T/out.$mask"
done
check "all three give the same" sh -c "for m in 077 0; do sed 's/[A-Z][a-z][a-z] .*[0-9][0-9]:[0-9][0-9]//' '$T/out.022' >'$T/a'; sed 's/[A-Z][a-z][a-z] .*[0-9][0-9]:[0-9][0-9]//' '$T/out.'\$m >'$T/b'; cmp -s '$T/a' '$T/b' || exit 1; done"
(umask 077; mkdir "$T/m")
check "control: outside, the umask decides" test "$(stat -c %a "$T/m")" = 700
