# A command that looks like an option of ours or of a runtime (CVE-2024-32462).
. "$(dirname "$0")/lib.sh"
for cmd in "--bind / /host ls /host" "-" "--" "--profile build true" "-C / true"; do
	# shellcheck disable=SC2086
	inside -- $cmd >"$T/out" 2>"$T/err"
	status=$?
	check "'$cmd' is a name that is not found (status $status)" test "$status" = 127 -o "$status" = 120
	refuse "'$cmd' showed nothing of the host" grep -qE 'etc|root' "$T/out"
done
inside -- "" >/dev/null 2>"$T/err"
check "an empty command is status 120" test $? = 120
cp /bin/echo "$WS/--bind"
check "control: a program of that name beneath the workspace does run, as a name" test "$(inside -- ./--bind yes 2>/dev/null)" = yes
