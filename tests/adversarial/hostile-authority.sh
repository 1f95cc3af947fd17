# A planted authority: true ledger, true box, true loomd, and a bad one in the middle. It cannot have
# anything performed or claimed that was not recorded.
. "$(dirname "$0")/lib.sh"
D=$T/libexec
mkdir "$D" "$T/a" "$T/b"
for b in loomd/loomd ledger/loom-ledger box/loom-box api/loom-api; do cp "$BUILD/src/$b" "$D/"; done
cp "$PROBES/hostile-authority" "$D/loom-authority"
C=$XDG_CONFIG_HOME/loom
mkdir -p -m 700 "$C"
attack() {
	rm -f "$C/result"
	echo "$1 $T/a $T/b" >"$C/attack"
	timeout 60 "$D/loomd" --private --state "$T/st" --run "$T/rn" --config "$C" >"$T/log" 2>&1
	grep -q '^setup' "$C/result" && note "$(cat "$C/result")"
	[ -e "$C/result" ]
}
# said TITLE WORDS…: the attack's line of that title is one of WORDS.
said() {
	local title=$1 got
	shift
	got=$(sed -n "s/^$title: //p" "$C/result" | tail -n 1)
	# loomd ends everybody when the box ends; the bad authority may not have had time to say so.
	if [ -z "$got" ] && grep -q 'loom-\(box\|ledger\) ended with' "$T/log"; then got=dead; fi
	for want in "$@"; do [ "$got" = "$want" ] && { ok "$title: $got"; return; }; done
	not_ok "$title: got '$got', wanted one of: $*"
	note "$(cat "$C/result" "$T/log")"
}
attack none; said honest RAN
attack no-receipt; said "zero receipt" refused dead
attack forged-mac; said "receipt under another key" refused dead
attack replay; said first RAN; said "replay, other arguments' salt" refused dead
attack replay-same; said first RAN; said "replay of the index" refused dead
attack wider-profile; said "a wider profile than recorded" refused dead
attack edited-entry; said "an entry edited after it was recorded" refused dead
attack swapped-workspace; said "another workspace than recorded" refused dead
attack swapped-arguments; said "other arguments than recorded" refused dead
attack swapped-environment; said "an environment that was not recorded" refused dead
attack no-such-ticket; said "a ticket that was never examined" refused dead
attack denied-entry; said "a grant on a recorded denial" refused dead
attack lying-digest; said "an intent with a digest of something else" turned-down
attack forged-outcome; said "an outcome that no performer made" turned-down
attack altered-outcome; said honest RAN; said "an outcome that was altered" turned-down
attack second-outcome; said honest RAN; said "its outcome" recorded; said "its outcome once more" turned-down
attack hide-as-indeterminate; said honest RAN; said "an outcome hidden as indeterminate" turned-down
check "what was recorded verifies" "$LOOM" ledger verify "$T/st/ledger"
