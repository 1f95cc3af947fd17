# Loom's own image cannot be run or read from inside, by whatever road (CVE-2019-5736's kind).
. "$(dirname "$0")/lib.sh"
printf '#!/proc/self/exe --help\n' >"$WS/interp"
printf '#!/proc/self/exe\n' >"$WS/interp0"
printf '#!/proc/1/exe --help\n' >"$WS/interp1"
printf '#!/proc/thread-self/exe --help\n' >"$WS/interp2"
printf '#!/workspace/link --help\n' >"$WS/interp3"
ln -s /proc/self/exe "$WS/link"
chmod 755 "$WS"/interp*
for s in interp interp0 interp1 interp2 interp3; do
	inside -- "./$s" >"$T/out" 2>"$T/err"
	check "$s does not run" test $? != 0
	refuse "$s: no word of Loom's image" grep -qE '"check"|loom-box' "$T/out" "$T/err"
done
inside -- ./link >/dev/null 2>"$T/err"
check "a link to it is invalid-argument" test "$(reason_of "$T/err")" = invalid-argument
sh_inside 'for p in /proc/[0-9]*/exe; do case $(readlink $p) in *loom*|*memfd*) head -c 4 $p;; esac; done; cat /proc/1/exe' >"$T/out" 2>/dev/null
refuse "init's image cannot be read" grep -q ELF "$T/out"
printf '#!/bin/cat\nplain script\n' >"$WS/plain"
chmod 755 "$WS/plain"
inside -- ./plain >"$T/out" 2>/dev/null
check "control: a plain script runs" grep -q 'plain script' "$T/out"
printf '#!/proc/self/exe\n' >"$T/interp"
chmod 755 "$T/interp"
check "control: outside, /proc/self/exe of a shell can be read" sh -c 'head -c 4 /proc/self/exe | grep -q ELF'
