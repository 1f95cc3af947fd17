# Shared by the cases: a private Loom, a workspace, and words for "inside", "outside" and "same".
# A case is a script named by its id. It calls `ok`, `not_ok` or `check`; the runner counts.
# Every case has a negative control: the same action outside a session, seen to succeed.

set -u
CASE=$(basename "$0" .sh)
HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=${LOOM_BUILD:?set LOOM_BUILD to the build directory}
LOOM=$BUILD/src/cli/loom
PROBES=$BUILD/tests/adversarial
N=0
FAILED=0

T=$(mktemp -d "${TMPDIR:-/var/tmp}/loom-adv-XXXXXX")
chmod 755 "$T"
export XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run XDG_CONFIG_HOME=$T/config
mkdir -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME"
WS=$T/ws
mkdir "$WS"
BG=

finish() {
	for pid in $BG; do kill "$pid" 2>/dev/null; done
	"$LOOM" daemon stop >/dev/null 2>&1
	# A daemon that was asked to stop a moment ago may still have a file open there.
	for m in ${MOUNTS:-}; do
		for _ in $(seq 1 50); do mountpoint -q "$m" || break; umount "$m" 2>/dev/null || sleep 0.1; done
		if mountpoint -q "$m"; then not_ok "the mount $m cannot be taken away"; fi
	done
	rm -rf --one-file-system "$T"
	echo "1..$N"
	[ "$FAILED" = 0 ]
}
trap 'finish; exit $?' EXIT

ok() { N=$((N + 1)); echo "ok $N - $CASE: $*"; }
not_ok() { N=$((N + 1)); FAILED=$((FAILED + 1)); echo "not ok $N - $CASE: $*"; }
note() { printf '%s\n' "$*" | sed 's/^/# /'; }
# check TITLE COMMAND…: the command must succeed.
check() { local title=$1; shift; if "$@"; then ok "$title"; else not_ok "$title"; fi; }
# refuse TITLE COMMAND…: the command must fail.
refuse() { local title=$1; shift; if "$@"; then not_ok "$title"; else ok "$title"; fi; }
# Named skip; a failure where everything must work.
skip() {
	N=$((N + 1))
	if [ "${LOOM_MUST_WORK:-0}" = 1 ]; then FAILED=$((FAILED + 1)); echo "not ok $N - $CASE: $* (may not be skipped here)"
	else echo "ok $N - $CASE: $* # SKIP"; fi
}

# inside [RUN OPTIONS] -- COMMAND…: in a session of the shipped default profile.
inside() { "$LOOM" run -C "$WS" "$@"; }
# sh_inside 'SCRIPT': a shell script inside, its output on stdout.
sh_inside() { inside -- /bin/sh -c "$1"; }
# probe NAME: put a compiled probe into the workspace.
probe() { cp "$PROBES/$1" "$WS/$1"; chmod 755 "$WS/$1"; }
# A profile of the case's own: profile NAME <<YAML
profile() { mkdir -p -m 700 "$XDG_CONFIG_HOME/loom" "$XDG_CONFIG_HOME/loom/profiles"; cat >"$XDG_CONFIG_HOME/loom/profiles/$1.yaml"; chmod 600 "$XDG_CONFIG_HOME/loom/profiles/$1.yaml"; }
direct_profile() {
	profile "$1" <<EOF
apiVersion: loom/v1
kind: Profile
metadata: {name: $1, description: "direct workspace for a test"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: direct}
    tmp: {max: 64MiB}
  limits: {cpu: 2, memory: 512MiB, pids: 128, openFiles: 1024, timeout: 5m, output: 16MiB}
EOF
}
# The last denial's reason, from what loom prints: loom: denied: REASON: …
reason_of() { sed -n 's/^loom: denied: \([a-z-]*\):.*/\1/p' "$1" | tail -n 1; }
