# A chain of links and a dangling link as the target of a write.
. "$(dirname "$0")/lib.sh"
direct_profile dw
mkdir "$T/outside" "$WS/real"
echo old >"$WS/real/f"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
make_links="ln -s l2 l1; ln -s $T/outside l2; ln -s $T/outside/new dang; ln -s /tmp/inside-tmp t"
# By the command itself, in both modes: outside is not there.
for how in direct overlay; do
	args=; [ $how = direct ] && args='--profile dw'
	# shellcheck disable=SC2086
	inside $args -- /bin/sh -c "$make_links; echo x >l1/x; echo x >dang; echo x >t; true" >/dev/null 2>"$T/err"
	check "$how: nothing is written outside" test -z "$(ls -A "$T/outside")"
	refuse "$how: nor to the host's /tmp" test -e /tmp/inside-tmp
	[ $how = direct ] && rm -f "$WS/l1" "$WS/l2" "$WS/dang" "$WS/t"
done
# By accept: the changes lie beneath what has meanwhile become a link, or go where links lead.
s=$(session_of "$T/err")
"$LOOM" session rm "$s" >/dev/null 2>&1
inside -- /bin/sh -c 'echo new >real/f; echo x >real/x; mkdir d; echo x >d/x' >/dev/null 2>"$T/err"
s=$(session_of "$T/err")
mv "$WS/real" "$T/real.kept"
ln -s "$T/outside" "$WS/real"
ln -s "$T/outside" "$WS/d"
"$LOOM" session accept "$s" >"$T/out" 2>&1
check "accept beneath a directory that became a link is refused" test $? != 0
check "and nothing is outside" test -z "$(ls -A "$T/outside")"
"$LOOM" session accept "$s" --path real/x >"$T/out" 2>&1
"$LOOM" session accept "$s" --path d/x >>"$T/out" 2>&1
check "by single paths neither" test -z "$(ls -A "$T/outside")"
rm "$WS/real" "$WS/d"
mv "$T/real.kept" "$WS/real"
"$LOOM" session accept "$s" >"$T/out" 2>&1 || note "$(cat "$T/out")"
check "control: with the directories back, accept works" grep -qx new "$WS/real/f"
# By --report: never through a link, never into the workspace.
ln -s "$T/outside/report" "$T/report.link"
inside --report "$T/report.link" -- /bin/echo ran-1 >"$T/out" 2>/dev/null
refuse "a report through a dangling link does not start anything" grep -q ran-1 "$T/out"
inside --report "$WS/report" -- /bin/echo ran-2 >"$T/out" 2>/dev/null
refuse "a report in the workspace does not start anything" grep -q ran-2 "$T/out"
ln -s "$WS" "$T/ws.link"
inside --report "$T/ws.link/report" -- /bin/echo ran-3 >"$T/out" 2>/dev/null
refuse "nor by another name of the workspace" grep -q ran-3 "$T/out"
check "and no report was made" test ! -e "$T/outside/report" -a ! -e "$WS/report"
inside --report "$T/report" -- /bin/echo ran-4 >"$T/out" 2>/dev/null
check "control: outside the workspace it is written" test -s "$T/report"
ln -s "$T/outside/new" "$T/dang"
echo x >"$T/dang"
check "control: outside, a dangling link is written through" test -e "$T/outside/new"
