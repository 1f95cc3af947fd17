# TIOCSTI into the operator's terminal (CVE-2017-5226).
. "$(dirname "$0")/lib.sh"
probe ioctls
for tty in "" -t; do
	script -qefc "$LOOM run $tty -C $WS -- ./ioctls" "$T/typescript" </dev/null >/dev/null 2>&1
	refuse "on a terminal${tty:+ with $tty}: no ioctl pushed a byte" grep -q 'PUSHED' "$T/typescript"
	check "on a terminal${tty:+ with $tty}: the probe ran" grep -q 'TIOCSTI' "$T/typescript"
done
script -qefc "$PROBES/ioctls" "$T/control" </dev/null >/dev/null 2>&1
check "control: outside, TIOCSTI pushes a byte" grep -q 'PUSHED TIOCSTI' "$T/control"
