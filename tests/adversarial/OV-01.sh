# Loom's own directories in a workspace: state, run and configuration are nobody's to write from inside.
. "$(dirname "$0")/lib.sh"
W=$T/own
mkdir -p "$W/config" "$W/run" "$W/state"
chmod 700 "$W/config" "$W/run" "$W/state"
# from WHAT: a Loom of which WHAT (config, run or state) lies in the workspace, the rest outside.
from() {
	export XDG_STATE_HOME=$T/s-$1 XDG_RUNTIME_DIR=$T/r-$1 XDG_CONFIG_HOME=$T/c-$1
	mkdir -p -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME"
	case $1 in
	config) export XDG_CONFIG_HOME=$W/config ;;
	run) export XDG_RUNTIME_DIR=$W/run ;;
	state) export XDG_STATE_HOME=$W/state ;;
	esac
	direct_profile dw
}
for what in config run state; do
	from $what
	"$LOOM" run --profile dw -C "$WS" -- /bin/true 2>"$T/err"
	check "control, $what: another workspace is fine" test $? = 0
	for dir in "$W" "$W/$what" "$W/$what/loom"; do
		rm -f "$dir/in-loom"
		for p in dw default; do
			"$LOOM" run --profile $p -C "$dir" -- /bin/sh -c 'touch in-loom' >/dev/null 2>"$T/err"
			check "$what, $p: ${dir#"$T"/} is status 120" test $? = 120
			check "$what, $p: ${dir#"$T"/} is invalid-path" test "$(reason_of "$T/err")" = invalid-path
		done
		refuse "$what: nothing was written to ${dir#"$T"/}" test -e "$dir/in-loom"
	done
	"$LOOM" daemon stop >/dev/null 2>&1
done
# What it would be good for: a session that changes the profile it runs under.
from config
"$LOOM" run --profile dw -C "$W" -- /bin/sh -c 'sed -i s/512MiB/513MiB/ config/loom/profiles/dw.yaml; for f in config/loom/profiles/dw.yaml; do sed s/512MiB/513MiB/ $f >x; cat x >$f; done' >/dev/null 2>&1
check "the profile is what it was" grep -q 512MiB "$W/config/loom/profiles/dw.yaml"
"$LOOM" daemon stop >/dev/null 2>&1
sed -i s/512MiB/513MiB/ "$W/config/loom/profiles/dw.yaml"
check "control: outside, its owner can change it" grep -q 513MiB "$W/config/loom/profiles/dw.yaml"
