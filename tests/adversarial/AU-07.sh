# The record replaced, unlinked, cut, opened up or extended, while it is in use and between starts.
. "$(dirname "$0")/lib.sh"
L=$XDG_STATE_HOME/loom/ledger
run_once() { inside -- /bin/sh -c 'echo ran' >"$T/out" 2>"$T/err"; }
fresh() {
	"$LOOM" daemon stop >/dev/null 2>&1
	rm -rf "$XDG_STATE_HOME/loom"
	run_once
	run_once
	J=$L/journal/00000000000000000000
}
denied() {
	run_once
	check "$1: the next run is status 120" test $? = 120
	check "$1: for want of a record" test "$(reason_of "$T/err")" = audit-unavailable
	refuse "$1: and does not run" grep -q ran "$T/out"
}
fresh
check "control: untouched, it runs" grep -q ran "$T/out"
check "control: and verifies" sh -c "'$LOOM' ledger verify >/dev/null"

fresh; rm "$J"; denied "unlinked"
fresh; mv "$J" "$T/j"; ln -s /dev/null "$J"; denied "a link to /dev/null"
fresh; mv "$J" "$T/j"; ln -s "$T/j" "$J"; denied "a link to itself elsewhere"
fresh; mv "$J" "$T/j"; cp "$T/j" "$J"; denied "a copy in its place"
fresh; chmod 666 "$J"; denied "opened to others"
fresh; chown 65534 "$J"; denied "of another owner"
fresh; truncate -s 2000 "$J"; denied "cut"
fresh; echo '{"kind":"intent"}' >>"$J"; denied "appended to"
fresh; printf XXXX | dd of="$J" bs=1 seek=300 conv=notrunc 2>/dev/null; denied "written into"
fresh; mv "$L/journal" "$T/journal.away"; denied "its directory moved away"
fresh; mv "$L" "$T/ledger.away"; cp -a "$T/ledger.away" "$L"; denied "the whole ledger copied in its place"

# Between starts. stays_out: nothing runs before somebody has looked.
stays_out() {
	run_once
	check "$1: no run after the next start" test $? != 0
	refuse "$1: nothing ran" grep -q ran "$T/out"
	"$LOOM" daemon stop >/dev/null 2>&1
	refuse "$1: verify does not say verified" sh -c "'$LOOM' ledger verify >/dev/null 2>&1"
}
stopped() { fresh; "$LOOM" daemon stop >/dev/null 2>&1; }
stopped; rm "$J"; stays_out "stopped, journal removed"
stopped; rm "$L/checkpoint"; stays_out "stopped, checkpoint removed"
stopped; rm -r "$L/journal" "$L/checkpoint"; stays_out "stopped, journal and checkpoint removed"
stopped; rm -r "$L/journal" "$L/checkpoint" "$L/tile"; stays_out "stopped, all but key and texts removed"
stopped; rm "$J"; ln -s /dev/null "$J"; stays_out "stopped, journal a link"
stopped; head -c 32 /dev/urandom >"$L/key"; stays_out "stopped, another key"
stopped; truncate -s 0 "$J"; stays_out "stopped, journal emptied"

stopped
run_once
check "control: stopped and untouched, it runs again" grep -q ran "$T/out"
rm -rf "$T/journal.away" "$T/ledger.away"
