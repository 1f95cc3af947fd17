#!/usr/bin/env bats
# The state directory and the record: read-only, full, damaged; verification; daemons that come and go.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown() {
	if [ -n "${DISK:-}" ]; then
		flow_stop
		umount "$DISK"
	fi
}
teardown_file() { flow_teardown_file; }

# A state directory on a disk of its own, SIZE large.
disk() {
	DISK=$T/disk-$BATS_TEST_NUMBER
	mkdir "$DISK"
	mount -t tmpfs -o "size=$1,mode=700" tmpfs "$DISK" || { DISK=; flow_skip "mount does not work here"; }
	export XDG_STATE_HOME=$DISK/state XDG_RUNTIME_DIR=$T/run-$BATS_TEST_NUMBER
	mkdir -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"
}

@test "a read-only state directory: nothing starts, and it says why" {
	disk 64M
	mount -o remount,ro "$DISK"
	run loom run -- sh -c 'echo started'
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"loom: audit-unavailable: "*"$XDG_STATE_HOME"* ]]
	[[ $output != *started* ]]
	mount -o remount,rw "$DISK"
	run loom run -- echo on
	[ "$output" = on ]
}

@test "a disk that is full at the start: nothing starts, and it says why" {
	disk 256k
	dd if=/dev/zero of="$DISK/ballast" bs=1k 2>/dev/null || true
	run loom run -- sh -c 'echo started'
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"loom: "* ]]
	[[ $output == *"loom: audit-unavailable: "*"space"*"$XDG_STATE_HOME"* ]]
	[[ $output != *started* ]]
}

@test "a disk that becomes full: denied and recorded, stopping works, and it resumes" {
	disk 96M
	run loom run -- echo before
	[ "$status" -eq 0 ]
	dd if=/dev/zero of="$DISK/ballast" bs=64k 2>/dev/null || true
	dd if=/dev/zero of="$DISK/ballast2" bs=1k 2>/dev/null || true
	# What was preallocated serves the record for a while; the workspace's changes have no room.
	run loom run -- sh -c 'echo started'
	echo "$output"
	[ "$status" -eq 120 ] || [ "$status" -eq 125 ]
	[[ $output =~ loom:\ (denied|failed):\ (audit-unavailable|limit-exceeded):\ .*pace.*\(trace\ op_ ]]
	[[ $output != *started* ]]
	run loom session ls
	[ "$status" -eq 0 ]
	rm "$DISK/ballast" "$DISK/ballast2"
	flow_until 20 bash -c '"$LOOM" run -- true'
	run loom ledger verify
	[ "$status" -eq 0 ]
}

@test "ledger verify: whole, while it runs and afterwards, and by directory" {
	loom run -- true
	run loom ledger verify
	[ "$status" -eq 0 ]
	[[ $output == *"witness: off"* ]]
	flow_stop
	run loom ledger verify
	[ "$status" -eq 0 ]
	run loom ledger verify "$XDG_STATE_HOME/loom/ledger"
	[ "$status" -eq 0 ]
	run loom ledger verify --json
	[ "$status" -eq 0 ]
	[ "$(flow_json 'd["status"], d["witness"]' <<<"$output")" = "('verified', 'off')" ]
}

@test "ledger verify: a changed byte, a missing ledger" {
	loom run -- true
	flow_stop
	cp -a "$XDG_STATE_HOME/loom/ledger" "$T/copy"
	run loom ledger verify "$T/copy"
	[ "$status" -eq 0 ]
	python3 - "$T/copy" <<-'PY'
		import os, sys
		# The first entry's text, in whatever file it lies: one letter of it becomes another.
		for root, _, files in os.walk(sys.argv[1]):
		    for name in files:
		        path = os.path.join(root, name)
		        data = open(path, "rb").read()
		        at = data.find(b'"capability":"exec"')
		        if at >= 0:
		            with open(path, "r+b") as f:
		                f.seek(at + 15)
		                f.write(b"E")
		            sys.exit(0)
		sys.exit("no entry found")
	PY
	run loom ledger verify "$T/copy"
	echo "$output"
	[ "$status" -eq 1 ]
	run loom ledger verify "$T/nowhere"
	[ "$status" -eq 2 ]
	mkdir "$T/empty"
	run loom ledger verify "$T/empty"
	[ "$status" -eq 2 ]
}

@test "ledger show, checkpoint and key" {
	run loom run --profile no-such -- true
	loom run -- true
	run loom ledger show
	[ "$status" -eq 0 ]
	[[ $output == *intent*exec* && $output == *outcome* ]]
	[ "${#lines[@]}" -le 20 ]
	run loom ledger show -n 2
	[ "${#lines[@]}" -eq 2 ]
	run loom ledger show -n 0
	[ "$status" -eq 125 ]
	[[ $output == *"--number 0"* ]]
	run loom ledger show --json --since 0 -n 3
	[ "$(flow_json '[e["index"] for e in d["entries"]]' <<<"$output")" = "[0, 1, 2]" ]
	run loom ledger key
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 1 ]
	origin=${output%%+*}
	run loom ledger checkpoint
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "$origin" ]
	[[ $output == *$'\n— '* ]]
}

@test "what the sandbox writes into the record cannot reach the terminal" {
	run loom run -- "$(printf 'no\033[31msuch\007')"
	[ "$status" -eq 120 ]
	[[ $output != *$'\033'* && $output != *$'\007'* ]]
	run -127 loom run --session evil -- "$(printf './no\xff\xe2\x80\xaesuch')"
	[[ $output != *$'\xff'* && $output != *$'\xe2\x80\xae'* ]]
	run loom run -- true "$(printf 'no\033[31msuch\007')"
	[ "$status" -eq 0 ]
	run loom ledger show
	[[ $output != *$'\033'* && $output != *$'\007'* ]]
	run loom ledger show --json
	[[ $output != *$'\033'* && $output != *$'\007'* ]]
}

@test "many clients at once start one daemon" {
	export XDG_RUNTIME_DIR=$T/run-race XDG_STATE_HOME=$T/state-race
	mkdir -m 700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"
	for i in 1 2 3 4 5 6; do
		loom run -- echo "served $i" >"$T/race-$i" 2>&1 &
	done
	wait
	for i in 1 2 3 4 5 6; do
		[ "$(cat "$T/race-$i")" = "served $i" ]
	done
	pids=$(flow_pids)
	[ -n "$pids" ]
	flow_stop
}

@test "an idle daemon goes away, and nobody notices" {
	export XDG_RUNTIME_DIR=$T/run-idle XDG_STATE_HOME=$T/state-idle
	mkdir -m 700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"
	"$LOOMD" --private --state "$XDG_STATE_HOME/loom" --run "$XDG_RUNTIME_DIR/loom" --idle 1s >"$T/idle.log" 2>&1 &
	daemon=$!
	flow_until 10 test -S "$XDG_RUNTIME_DIR/loom/cli.sock"
	run loom run -- echo served
	[ "$output" = served ]
	flow_until 10 flow_gone "$daemon"
	run wait "$daemon"
	run loom daemon status
	[ "$status" -eq 1 ]
	run loom run -- echo again
	[ "$output" = again ]
	flow_stop
}

@test "runs against a daemon that is always about to leave are all served" {
	export XDG_RUNTIME_DIR=$T/run-edge XDG_STATE_HOME=$T/state-edge
	mkdir -m 700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"
	for i in $(seq 8); do
		"$LOOMD" --private --state "$XDG_STATE_HOME/loom" --run "$XDG_RUNTIME_DIR/loom" --idle 1s >/dev/null 2>&1 &
		flow_until 10 test -S "$XDG_RUNTIME_DIR/loom/cli.sock"
		sleep "0.9$((i * 2 - 1))"
		run loom run -- echo "served $i"
		echo "$output"
		[ "$output" = "served $i" ]
		flow_stop
	done
}

@test "daemon status and stop" {
	run loom run -- true
	run loom daemon status
	[ "$status" -eq 0 ]
	[[ $output == *version* && $output == *pid* ]]
	run loom daemon status --json
	[ "$(flow_json 'd["pid"] > 1' <<<"$output")" = True ]
	run loom daemon stop
	[ "$status" -eq 0 ]
	run loom daemon stop
	[ "$status" -eq 0 ]
	[[ $output == *"no daemon is running"* ]]
	run loom daemon status
	[ "$status" -eq 1 ]
	run loom daemon status --json
	[ "$output" = '{"running":false}' ]
}

@test "the daemon holds nothing of the client that started it" {
	flow_stop
	# A pipeline waits for everybody who holds its pipe.
	run timeout 20 bash -c '"$LOOM" run -- echo piped | cat'
	[ "$output" = piped ]
	pid=$(loom daemon status --json | flow_json 'd["pid"]')
	[ "$(readlink "/proc/$pid/cwd")" = / ]
	run find "/proc/$pid/fd" -lname '/dev/pts/*' -o -lname "$WS*"
	[ -z "$output" ]
	run tr '\0' '\n' <"/proc/$pid/environ"
	[[ $output != *BATS* ]]
}
