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
# What is not there yet, and comes while a daemon runs.
export XDG_STATE_HOME=$T/s-late XDG_RUNTIME_DIR=$T/r-late XDG_CONFIG_HOME=$T/late/config
mkdir -p -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$T/late" "$T/late/beside"
"$LOOM" run -C "$WS" -- /bin/true 2>"$T/err"
check "control, late: another workspace is fine" test $? = 0
rm -rf "$XDG_CONFIG_HOME"
"$LOOM" run -C "$T/late" -- /bin/true 2>"$T/err"
check "late: where the configuration would be is invalid-path" test "$(reason_of "$T/err")" = invalid-path
"$LOOM" run -C "$T/late/beside" -- /bin/true 2>"$T/err"
check "control, late: beside it is fine" test $? = 0
mkdir -p -m 700 "$XDG_CONFIG_HOME/loom/profiles"
for dir in "$T/late" "$XDG_CONFIG_HOME" "$XDG_CONFIG_HOME/loom/profiles"; do
	"$LOOM" run -C "$dir" -- /bin/true 2>"$T/err"
	check "late: ${dir#"$T"/} is invalid-path once it is there" test "$(reason_of "$T/err")" = invalid-path
done
"$LOOM" daemon stop >/dev/null 2>&1
# By a profile's readOnly: Loom's own, what is in it, what is around it, and a bind mount of a part.
export XDG_STATE_HOME=$T/s-shown XDG_RUNTIME_DIR=$T/r-shown XDG_CONFIG_HOME=$T/c-shown
mkdir -p -m 700 "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME" "$T/shown" "$T/part" "$XDG_STATE_HOME/loom/part"
chmod 700 "$XDG_STATE_HOME" "$XDG_STATE_HOME/loom"
MOUNTS="$T/part"
mount --bind "$XDG_STATE_HOME/loom/part" "$T/part" || skip "bind mounts cannot be made here"
for dir in "$T/shown" "$XDG_STATE_HOME" "$XDG_STATE_HOME/loom" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME" "$XDG_CONFIG_HOME/loom/profiles" "$T/part"; do
	if [ "$dir" = "$T/part" ] && ! mountpoint -q "$dir"; then continue; fi
	profile shown <<YAML
apiVersion: loom/v1
kind: Profile
metadata: {name: shown, description: "a read-only mount"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: overlay}
    tmp: {max: 16MiB}
    readOnly: [{host: $dir, at: /mnt/x}]
  limits: {cpu: 2, memory: 512MiB, pids: 64, openFiles: 1024, timeout: 60s, output: 1MiB}
YAML
	"$LOOM" run --profile shown -C "$WS" -- /bin/true 2>"$T/err"
	st=$?
	if [ "$dir" = "$T/shown" ]; then check "control: a read-only mount of something else is fine" test $st = 0
	else check "read-only mount of ${dir#"$T"/} is status 120" test $st = 120; fi
	note "$(head -n 1 "$T/err")"
done
