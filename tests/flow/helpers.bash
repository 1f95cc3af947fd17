# Shared by the flow suite: a private Loom for each file, its workspace, and what must not be left.
#
# LOOM_BUILD names the build directory. Each file has directories of its own beneath T, and one daemon
# that its first command starts; teardown_file stops it and looks for what it left: processes, cgroups,
# mounts. Tests skip only with a name, and not at all with LOOM_MUST_WORK=1.

bats_require_minimum_version 1.5.0

LOOM_BUILD=${LOOM_BUILD:?set LOOM_BUILD to the build directory}
LOOM=$LOOM_BUILD/src/cli/loom
LOOMD=$LOOM_BUILD/src/loomd/loomd
export LOOM LOOMD

loom() { "$LOOM" "$@"; }

flow_setup_file() {
	T=$(mktemp -d "${TMPDIR:-/var/tmp}/loom-flow-XXXXXX")
	chmod 755 "$T"
	export T
	export XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run XDG_CONFIG_HOME=$T/config
	mkdir -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME"
	unset NO_COLOR PAGER
	export LC_ALL=C.UTF-8 TERM=xterm
	[ "$(id -u)" = 0 ] || flow_skip "this version of Loom is for root"
	[ ! -e /run/loom/cli.sock ] || flow_skip "a Loom service runs on this machine"
}

# A workspace for each test, beside the others.
flow_setup() {
	WS=$T/ws-$BATS_TEST_NUMBER
	mkdir -p "$WS"
	cd "$WS" || return 1
}

flow_teardown_file() {
	local left=0
	cd /
	flow_stop || left=1
	if grep -F " $T" /proc/self/mountinfo; then
		echo "mounts are left" >&2
		left=1
	fi
	rm -rf --one-file-system "$T"
	return "$left"
}

# Stop the daemon of XDG_RUNTIME_DIR and see that nothing of it is left.
flow_stop() {
	local pids pid left=0
	pids=$(flow_pids)
	"$LOOM" daemon stop >/dev/null || left=1
	for pid in $pids; do
		flow_until 5 flow_gone "$pid" || { echo "process $pid is left: $(tr '\0' ' ' </proc/"$pid"/cmdline)" >&2; left=1; }
		if find /sys/fs/cgroup -type d -name "loom-$pid-*" 2>/dev/null | grep .; then
			echo "cgroups of process $pid are left" >&2
			left=1
		fi
	done
	return "$left"
}

# The daemon's process and everything beneath it.
flow_pids() {
	local pid
	pid=$("$LOOM" daemon status --json 2>/dev/null | flow_json 'd.get("pid", "")') || return 0
	[ -n "$pid" ] && flow_tree "$pid"
	return 0
}
flow_tree() {
	local child
	echo "$1"
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do flow_tree "$child"; done
}

# flow_gone PID: it is no process any more, or only waits to be reaped.
flow_gone() {
	local state
	state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
	[ -z "$state" ] || [ "$state" = Z ]
}

# flow_until SECONDS COMMAND…: try until it succeeds.
flow_until() {
	local end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# Is a process with this word in its arguments anywhere on the machine?
flow_runs() {
	local file
	for file in /proc/[0-9]*/cmdline; do
		tr '\0' '\n' <"$file" 2>/dev/null | grep -qxF -- "$1" && return 0
	done
	return 1
}
flow_runs_not() { ! flow_runs "$1"; }

# flow_json EXPRESSION: of the document d on standard input, in Python.
flow_json() { python3 -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# flow_profile NAME <<YAML: a profile of the user's own.
flow_profile() {
	mkdir -p -m 700 "$XDG_CONFIG_HOME/loom" "$XDG_CONFIG_HOME/loom/profiles"
	cat >"$XDG_CONFIG_HOME/loom/profiles/$1.yaml"
	chmod 600 "$XDG_CONFIG_HOME/loom/profiles/$1.yaml"
}
flow_direct_profile() {
	flow_profile "$1" <<YAML
apiVersion: loom/v1
kind: Profile
metadata: {name: $1, description: "writes through, for a test"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: direct}
    tmp: {max: 64MiB}
  limits: {cpu: 2, memory: 512MiB, pids: 128, openFiles: 1024, timeout: 5m, output: 16MiB}
YAML
}

flow_skip() {
	if [ "${LOOM_MUST_WORK:-0}" = 1 ]; then
		echo "may not be skipped here: $1" >&2
		return 1
	fi
	skip "$1"
}

# flow_terminal COMMAND…: run it on a terminal of its own; what the terminal showed is the output.
flow_terminal() {
	local words
	printf -v words '%q ' "$@"
	script -qec "$words" /dev/null </dev/null | tr -d '\r'
	return "${PIPESTATUS[0]}"
}

# The operation that a message names.
flow_op() { sed -n 's/.*(trace \(op_[0-9a-f]\{16\}\)).*/\1/p' | tail -n 1; }
