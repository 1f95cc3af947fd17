# A caller who asks to switch the sandbox off.
. "$(dirname "$0")/lib.sh"
for opt in --no-sandbox --sandbox=false --privileged --dangerously-disable-sandbox --network=host; do
	"$LOOM" run -C "$WS" "$opt" -- /bin/touch "$T/ran" >/dev/null 2>"$T/err"
	check "$opt is an error" test $? = 125
	check "$opt is named in it" grep -qF -- "${opt%%=*}" "$T/err"
done
for p in none off host ../default /etc/passwd Default "default "; do
	"$LOOM" run -C "$WS" --profile "$p" -- /bin/touch "$T/ran" >/dev/null 2>"$T/err"
	check "profile '$p' is status 120" test $? = 120
done
refuse "nothing was executed" test -e "$T/ran"
check "control: the same command outside runs" sh -c "touch $T/control && test -e $T/control"
