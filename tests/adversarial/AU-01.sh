# The disk of the ledger is full.
. "$(dirname "$0")/lib.sh"
direct_profile dw
mkdir "$T/small"
mount -t tmpfs -o size=24m,mode=700 none "$T/small"
MOUNTS=$T/small
export XDG_STATE_HOME=$T/small
check "control: with space, a run works" inside -- /bin/true
head -c 64M /dev/zero >"$T/small/filler" 2>/dev/null
denied=0
for i in $(seq 1 400); do
	inside --profile dw -- /usr/bin/touch "effect-$i" >/dev/null 2>"$T/err"
	status=$?
	if [ "$status" = 120 ]; then
		denied=1
		check "denied as audit-unavailable ($(head -n 1 "$T/err"))" test "$(reason_of "$T/err")" = audit-unavailable
		refuse "without a side effect" test -e "$WS/effect-$i"
		break
	elif [ "$status" != 0 ]; then
		denied=1
		not_ok "run $i: status $status instead of a denial: $(head -n 1 "$T/err")"
		break
	fi
done
if [ "$denied" = 0 ]; then
	# The preallocated journal still had room for all of these; make it run out by its own bytes.
	big=$(head -c 100000 /dev/zero | tr '\0' 'a')
	for i in $(seq 1 400); do
		inside --profile dw -- /usr/bin/touch "more-$i" "$big" >/dev/null 2>"$T/err"
		status=$?
		if [ "$(reason_of "$T/err")" = audit-unavailable ]; then denied=1; break; fi
	done
	check "denied as audit-unavailable once the journal is full" test "$denied" = 1
	refuse "without a side effect" test -e "$WS/more-$i"
fi
rm -f "$T/small/filler"
check "with space again, it resumes" inside -- /bin/true
check "and the ledger has no gap" "$LOOM" ledger verify
