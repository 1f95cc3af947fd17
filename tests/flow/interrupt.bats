#!/usr/bin/env bats
# Interrupts, and clients that die: the sandbox ends, all of it.

load helpers
setup_file() { flow_setup_file; }
setup() {
	flow_setup
	MARK=8$RANDOM.$RANDOM
}
teardown_file() { flow_teardown_file; }

# Start loom run in the background on a script that says when it is there; its pid goes to CLIENT.
# (A shell's background jobs ignore SIGINT; env --default-signal undoes that.)
start() {
	env --default-signal=INT "$LOOM" run "$@" >out 2>err &
	CLIENT=$!
	flow_until 10 grep -q ready out
}
finish() {
	CODE=0
	wait "$CLIENT" || CODE=$?
}

@test "the first interrupt goes to the command" {
	start -- sh -c 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.1; done'
	kill -INT "$CLIENT"
	finish
	[ "$CODE" -eq 9 ]
	grep -qx caught out
}

@test "an interrupt right at the first output goes to the command, every time" {
	local i
	# The client may not know yet that it has started.
	for i in $(seq 20); do
		env --default-signal=INT "$LOOM" run -- \
			sh -c 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done' >out 2>err &
		CLIENT=$!
		flow_until 10 grep -q ready out
		kill -INT "$CLIENT"
		finish
		[ "$CODE" -eq 9 ] || { echo "round $i: $CODE: $(cat err)"; return 1; }
	done
}

@test "an interrupt before the start is held, and ends what has no handler yet" {
	local pause
	for pause in 0.005 0.01 0.015 0.02 0.03; do
		env --default-signal=INT "$LOOM" run -- sleep "$MARK" >out 2>err &
		CLIENT=$!
		sleep "$pause"
		kill -INT "$CLIENT"
		finish
		[ "$CODE" -eq 130 ] || { echo "after $pause s: $CODE: $(cat err)"; return 1; }
		flow_until 3 flow_runs_not "$MARK"
	done
}

@test "a command without a handler dies of it, status 130" {
	start -- sh -c "echo ready; exec sleep $MARK"
	kill -INT "$CLIENT"
	finish
	[ "$CODE" -eq 130 ]
	flow_until 3 flow_runs_not "$MARK"
}

@test "a second interrupt ends the sandbox, status 130" {
	start -- sh -c "trap '' INT TERM HUP; sleep $MARK & echo ready; while :; do sleep 0.1; done"
	kill -INT "$CLIENT"
	sleep 0.5
	kill -0 "$CLIENT"
	flow_runs "$MARK"
	kill -INT "$CLIENT"
	finish
	[ "$CODE" -eq 130 ]
	flow_until 3 flow_runs_not "$MARK"
}

@test "SIGTERM and SIGHUP end the sandbox, status 128 + n" {
	for pair in TERM:143 HUP:129; do
		start -- sh -c "trap '' INT TERM HUP; sleep $MARK & echo ready; sleep $MARK"
		kill "-${pair%:*}" "$CLIENT"
		finish
		[ "$CODE" -eq "${pair#*:}" ]
		flow_until 3 flow_runs_not "$MARK"
	done
}

@test "when loom run returns from that, the sandbox is gone and recorded" {
	start -- sh -c "trap '' TERM; echo x >f; sleep $MARK & echo ready; sleep $MARK"
	kill -TERM "$CLIENT"
	finish
	flow_runs_not "$MARK"
	run loom session ls --json
	session=$(flow_json 'd["sessions"][-1]["id"]' <<<"$output")
	run loom trace "$session"
	[ "$status" -eq 0 ]
}

@test "a client that is killed takes its sandbox along" {
	start -- sh -c "trap '' INT TERM HUP; setsid sleep $MARK & echo ready; sleep $MARK"
	flow_runs "$MARK"
	kill -9 "$CLIENT"
	finish
	[ "$CODE" -eq 137 ]
	flow_until 3 flow_runs_not "$MARK"
	# The daemon serves on.
	run loom run -- echo on
	[ "$output" = on ]
}

@test "what a killed client's command had changed is kept" {
	start -- sh -c "echo kept >f; echo ready; sleep $MARK"
	kill -9 "$CLIENT"
	finish
	flow_until 3 flow_runs_not "$MARK"
	flow_until 5 bash -c '"$LOOM" session ls --json | python3 -c "import json, sys; sys.exit(json.load(sys.stdin)[\"sessions\"][-1][\"state\"] != \"kept\")"'
	run loom session diff "$(loom session ls --json | flow_json 'd["sessions"][-1]["id"]')"
	[[ $output == *"+kept"* ]]
}

@test "session stop ends it from elsewhere and keeps the changes" {
	start -- sh -c "trap '' TERM; echo kept >f; echo ready; sleep $MARK"
	session=$(loom session ls --json | flow_json '[s["id"] for s in d["sessions"] if s["state"] in ("live", "running")][0]')
	run loom session stop "$session"
	[ "$status" -eq 0 ]
	finish
	[ "$CODE" -eq 137 ]
	grep -q 'loom: stopped' err
	flow_until 3 flow_runs_not "$MARK"
	run loom session diff "$session"
	[ "$status" -eq 0 ]
	[[ $output == *"+kept"* ]]
}

@test "a client that is stopped can go on" {
	start -- sh -c 'echo ready; sleep 2; echo end'
	kill -STOP "$CLIENT"
	sleep 3
	kill -CONT "$CLIENT"
	finish
	[ "$CODE" -eq 0 ]
	grep -qx end out
}

@test "a daemon that is killed takes all sandboxes along, and the next command starts another" {
	start -- sh -c "trap '' INT TERM HUP; sleep $MARK & echo ready; sleep $MARK"
	pids=$(flow_pids)
	kill -9 "${pids%%[[:space:]]*}"
	finish
	[ "$CODE" -eq 125 ]
	grep -q 'loom: failed: ' err
	flow_until 3 flow_runs_not "$MARK"
	for pid in $pids; do flow_until 5 flow_gone "$pid"; done
	run loom run -- echo again
	[ "$output" = again ]
	for pid in $pids; do
		run find /sys/fs/cgroup -type d -name "loom-$pid-*"
		[ -z "$output" ]
	done
	run loom ledger verify
	[ "$status" -eq 0 ]
}
