#!/usr/bin/env bash
# kill -9 of each process of a Loom, and of all of them at once, at random moments during many runs.
# Afterwards: sandboxes are dead at once, the ledger verifies, no acknowledged operation is missing
# from it, and after the next command the machine is as clean as before.
#
# kill.sh [RUNS]   LOOM_BUILD names the build directory. Prints TAP.
set -u
: "${LOOM_BUILD:?set LOOM_BUILD to the build directory}"
LOOM=$LOOM_BUILD/src/cli/loom
RUNS=${1:-200}
RANDOM=${LOOM_SEED:-4711}
T=$(mktemp -d "${TMPDIR:-/var/tmp}/loom-kill-XXXXXX")
export XDG_STATE_HOME=$T/state XDG_RUNTIME_DIR=$T/run XDG_CONFIG_HOME=$T/config
mkdir -m 700 "$T/state" "$T/run" "$T/config"
mkdir "$T/ws"
n=0 failed=0
report() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - kill: $2"; else failed=$((failed + 1)); echo "not ok $n - kill: $2"; fi; }

# All processes of this instance: loomd by its state directory in argv, and everything below it.
descend() { local c; for c in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$c"; descend "$c"; done; }
instance() { local p; for p in $(pgrep -f "loomd .*$T/state"); do echo "$p"; descend "$p"; done; }
named() { local p; for p in $(instance); do [ "$(tr '\0' '\n' 2>/dev/null <"/proc/$p/cmdline" | sed -n '1s|.*/||;1p')" = "$1" ] && echo "$p"; done; }
# Sandboxed commands sleep for a time that is this test's own, to be found wherever they are.
SLEEP=30.$$
sandboxed() { pgrep -f "^/bin/sleep $SLEEP"; }
# The cgroups of this instance's boxes, by the pids that were seen; others on the machine have theirs.
seen() { named loom-box | head -n 1 >>"$T/boxes"; }
cgroups() { local p; for p in $(sort -u "$T/boxes"); do find /sys/fs/cgroup -type d -name "loom-$p-*" 2>/dev/null; done; }
mounts() { wc -l </proc/self/mountinfo; }

before_mounts=$(mounts)
"$LOOM" run -C "$T/ws" -- /bin/true || { echo "not ok 1 - kill: a plain run does not work"; exit 1; }

acknowledged=0 slow=0 stuck=0
for i in $(seq 1 "$RUNS"); do
	rm -f "$T/report"
	# Mostly in the middle of a run of a daemon that serves; every seventh while it comes up.
	[ $((i % 7)) = 0 ] || "$LOOM" run -C "$T/ws" -- /bin/true >/dev/null 2>&1
	seen
	case $((i % 6)) in
	0) victims=$(pgrep -f "loomd .*$T/state") ;;
	1) victims=$(named loom-ledger) ;;
	2) victims=$(named loom-box | head -n 1) ;;
	3) victims=$(named loom-authority) ;;
	4) victims=$(named loom-api) ;;
	5) victims=$(instance) ;;
	esac
	"$LOOM" run -C "$T/ws" --report "$T/report" -- /bin/sh -c 'sleep 0.0'$((RANDOM % 5))'; echo done' >"$T/out" 2>"$T/err" &
	client=$!
	sleep "0.0$(printf %02d $((RANDOM % 60)))"
	[ -n "$victims" ] || victims=$(instance)
	# shellcheck disable=SC2086
	[ -n "$victims" ] && kill -9 $victims 2>/dev/null
	wait "$client"
	status=$?
	if [ "$status" = 0 ] && [ -s "$T/report" ]; then
		acknowledged=$((acknowledged + 1))
		grep -oE 'op_[0-9a-f]{16}' "$T/report" | head -n 1 >>"$T/acknowledged"
	fi
	# A client whose daemon died before it answered has started another, which is alive and well.
	[ "$status" = 0 ] && continue
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -z "$(instance)" ] && break
		sleep 0.1
	done
	[ -n "$(instance)" ] && stuck=$((stuck + 1))
done
report $([ "$stuck" = 0 ]; echo $?) "after a kill every process of the instance was gone within 2 s ($stuck were not)"

# A long sandboxed command must die with each of them.
for victim in loomd loom-ledger loom-box loom-authority loom-api all; do
	"$LOOM" run -C "$T/ws" -e LOOM_MARK="$T" -- /bin/sleep "$SLEEP" >/dev/null 2>&1 &
	client=$!
	for try in $(seq 1 40); do [ -n "$(sandboxed)" ] && break; sleep 0.05; done
	seen
	report $([ -n "$(sandboxed)" ]; echo $?) "control: the sandboxed command is running before $victim is killed"
	if [ $victim = all ]; then victims=$(instance); else victims=$(named $victim | head -n 1); fi
	# shellcheck disable=SC2086
	kill -9 $victims
	for try in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(sandboxed)" ] && break; sleep 0.1; done
	report $([ -z "$(sandboxed)" ]; echo $?) "the sandboxed command died with $victim"
	wait "$client" 2>/dev/null
done

"$LOOM" run -C "$T/ws" -- /bin/true
report $? "the next run works"
"$LOOM" ledger verify >"$T/verify" 2>&1
report $? "the ledger verifies"
"$LOOM" ledger show --json -n 10000 >"$T/show" 2>/dev/null
missing=0
while read -r op; do grep -q "$op" "$T/show" || missing=$((missing + 1)); done <"$T/acknowledged"
report $([ "$missing" = 0 ]; echo $?) "no acknowledged operation is missing ($acknowledged acknowledged, $missing missing)"
report $([ "$acknowledged" -gt 0 ]; echo $?) "control: some runs were acknowledged ($acknowledged of $RUNS)"
report $([ -n "$(seen; cgroups)" ]; echo $?) "control: a serving instance has cgroups"
"$LOOM" daemon stop >/dev/null 2>&1
for try in $(seq 1 30); do [ -z "$(instance)" ] && [ -z "$(cgroups)" ] && break; sleep 0.1; done
report $([ -z "$(instance)" ]; echo $?) "no process is left"
report $([ -z "$(cgroups)" ]; echo $?) "no cgroup is left"
report $([ "$(mounts)" = "$before_mounts" ]; echo $?) "no mount is left"
report $([ -z "$(find "$T/run" -name '*.sock')" ]; echo $?) "no socket is left"
rm -rf --one-file-system "$T"
echo "1..$n"
[ "$failed" = 0 ]
