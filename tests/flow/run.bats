#!/usr/bin/env bats
# loom run as a user meets it: streams, statuses, variables, time, the report.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown_file() { flow_teardown_file; }

@test "a command runs, and its streams and status are its own" {
	run --separate-stderr loom run -- sh -c 'echo out; echo err >&2; exit 7'
	[ "$status" -eq 7 ]
	[ "$output" = out ]
	[ "$stderr" = err ]
}

@test "a command opens its streams by their names" {
	run --separate-stderr loom run -- sh -c 'echo x >/dev/stderr; echo y >/dev/stdout; cat /dev/stdin; echo z >/proc/self/fd/1' <<<"given"
	[ "$status" -eq 0 ]
	[ "$output" = $'y\ngiven\nz' ]
	[ "$stderr" = x ]
	# The control: what nobody gave it cannot be opened like that.
	run loom run -- sh -c 'echo x >/proc/self/fd/9'
	[ "$status" -ne 0 ]
}

@test "a run without changes says nothing of its own" {
	run --separate-stderr loom run -- true
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ -z "$stderr" ]
}

@test "statuses: signal, not found, not executable" {
	run loom run -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	run loom run -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	run -127 loom run -- no-such-command
	[[ $output == *"loom: not found: no-such-command"*"(trace op_"* ]]
	run -127 loom run -- ./no-such-file
	echo data >plain
	run loom run -- ./plain
	[ "$status" -eq 126 ]
	[[ $output == *"loom: not executable: ./plain"* ]]
	run loom run -- /workspace
	[ "$status" -eq 126 ]
}

@test "a command that looks like an option is a command" {
	for word in --bind - -- --help; do
		run -127 loom run -- "$word"
	done
	printf '#!/bin/sh\necho "ran with $*"\n' >--version
	chmod +x ./--version
	run loom run -- ./--version --json
	[ "$status" -eq 0 ]
	[ "$output" = "ran with --json" ]
}

@test "arguments arrive as they are" {
	run loom run -- printf '[%s]' '' 'a b' '$HOME' $'line\nbreak' 'ä' '*'
	[ "$status" -eq 0 ]
	[ "$output" = $'[][a b][$HOME][line\nbreak][ä][*]' ]
}

@test "the workspace is the working directory, and --cwd starts beneath it" {
	mkdir -p sub/dir
	echo here >sub/dir/file
	run loom run -- sh -c 'pwd; cat sub/dir/file'
	[ "$output" = $'/workspace\nhere' ]
	run loom run --cwd sub//./dir -- sh -c 'pwd; cat file'
	[ "$output" = $'/workspace/sub/dir\nhere' ]
	run loom run -C sub -- ls
	[ "$output" = dir ]
	run loom run --workspace="$WS/sub/" -- ls
	[ "$output" = dir ]
}

@test "standard input arrives whole, and its end too" {
	head -c 3000000 /dev/urandom >data
	expected=$(sha256sum <data)
	run loom run -- sha256sum <data
	[ "$output" = "$expected" ]
	run bash -c 'cat data | "$LOOM" run -- sha256sum'
	[ "$output" = "$expected" ]
	run loom run -- wc -c </dev/null
	[ "$output" -eq 0 ]
	run bash -c '"$LOOM" run -- wc -c <&-'
	[ "$status" -eq 0 ]
	[ "$output" -eq 0 ]
}

@test "much output arrives whole on both streams" {
	loom run -- sh -c 'head -c 4000000 /dev/zero; head -c 3000000 /dev/zero >&2' >out 2>err
	[ "$(stat -c %s out)" -eq 4000000 ]
	[ "$(stat -c %s err)" -eq 3000000 ]
}

@test "output is live" {
	exec 8< <(exec "$LOOM" run -- sh -c 'echo first; sleep 4; echo second')
	begin=$(date +%s%N)
	read -r line <&8
	took=$((($(date +%s%N) - begin) / 1000000))
	[ "$line" = first ]
	[ "$took" -lt 3000 ]
	read -r line <&8
	[ "$line" = second ]
	exec 8<&-
}

@test "input is live: a dialogue" {
	coproc "$LOOM" run -- sh -c 'while read -r line; do echo "got $line"; done'
	echo one >&"${COPROC[1]}"
	read -r -t 10 line <&"${COPROC[0]}"
	[ "$line" = "got one" ]
	echo two >&"${COPROC[1]}"
	read -r -t 10 line <&"${COPROC[0]}"
	[ "$line" = "got two" ]
	eval "exec ${COPROC[1]}>&-"
	wait "$COPROC_PID"
}

@test "a reader that leaves does not hold the run" {
	run timeout 20 bash -c '"$LOOM" run -- sh -c "yes | head -c 5000000" | head -n 1'
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = y ]
}

@test "the flags of the caller's streams are left alone" {
	run python3 - "$LOOM" <<-'PY'
		import fcntl, os, subprocess, sys
		out, to = os.pipe()
		frm, into = os.pipe()
		before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (to, frm)]
		child = subprocess.Popen([sys.argv[1], "run", "--", "sh", "-c", "echo x; sleep 1"], stdin=frm, stdout=to)
		os.read(out, 2)
		during = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (to, frm)]
		child.wait()
		after = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (to, frm)]
		assert before == during == after, (before, during, after)
	PY
	[ "$status" -eq 0 ]
}

@test "who does not read holds up nobody else" {
	mkfifo fifo
	exec 7<>fifo
	"$LOOM" run -- sh -c 'head -c 2000000 /dev/zero' >&7 7>&- &
	slow=$!
	sleep 1
	run timeout 10 "$LOOM" run -- echo quick
	[ "$output" = quick ]
	kill -TERM "$slow"
	run wait "$slow"
	exec 7>&-
	flow_until 5 flow_gone "$slow"
}

@test "--timeout ends the command and all it started, status 124" {
	begin=$(date +%s)
	run loom run --timeout 1s -- sh -c 'sleep 31.4159 & trap "" TERM INT; sleep 31.4159'
	[ "$status" -eq 124 ]
	[ $(($(date +%s) - begin)) -lt 6 ]
	[[ $output == *"loom: timed out"*"(trace op_"* ]]
	flow_until 3 flow_runs_not 31.4159
	for wrong in 0s 1 -1s 1.5s '' 1S 99999999999999999999s; do
		run loom run --timeout "$wrong" -- true
		[ "$status" -eq 125 ]
	done
}

@test "-e sets what it names, and nothing else gets in" {
	export LEAK=leak FROM_HERE='from here'
	run loom run -e A=1 -e FROM_HERE -e EMPTY= -e 'X=a=b' -- env
	[ "$status" -eq 0 ]
	[[ $'\n'$output$'\n' == *$'\nA=1\n'* ]]
	[[ $'\n'$output$'\n' == *$'\nFROM_HERE=from here\n'* ]]
	[[ $'\n'$output$'\n' == *$'\nEMPTY=\n'* ]]
	[[ $'\n'$output$'\n' == *$'\nX=a=b\n'* ]]
	[[ $output != *LEAK* ]]
	[[ $'\n'$output == *$'\nHOME=/tmp/home'* ]]
	[[ $'\n'$output == *$'\nLOOM_SESSION=s_'* ]]
	run loom run -e NOT_THERE_AT_ALL -- env
	[ "$status" -eq 125 ]
	[[ $output == *"not in the environment"* ]]
}

@test "values of -e are in no file of the record" {
	secret=hunter2-$RANDOM$RANDOM$RANDOM
	SECRET=$secret run loom run -e SECRET -- sh -c 'test -n "$SECRET"'
	[ "$status" -eq 0 ]
	run grep -rlaF "$secret" "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"
	[ "$status" -eq 1 ]
	# The control: such a search finds what is there.
	run loom run -- sh -c "echo kept-$secret >f"
	run grep -rlaF "$secret" "$XDG_STATE_HOME"
	[ "$status" -eq 0 ]
}

@test "--report holds what the contract says" {
	run loom run --profile build --report "$T/report.json" -- sh -c 'echo hello; echo no >&2; echo x >new; exit 3'
	[ "$status" -eq 3 ]
	[ "$(flow_json '{"changes", "exit", "operation", "output", "profile", "reason", "session", "trace", "usage", "verdict"} <= set(d)' <"$T/report.json")" = True ]
	[ "$(flow_json 'd["verdict"], d["reason"], d["trace"], d["changes"]' <"$T/report.json")" = "('allow', 'allowed', 'verified', 1)" ]
	[ "$(flow_json 'd["exit"]["code"], d["exit"]["signal"], d["exit"]["timedOut"]' <"$T/report.json")" = "(3, None, False)" ]
	[ "$(flow_json 'd["profile"]["name"], len(d["profile"]["digest"])' <"$T/report.json")" = "('build', 64)" ]
	[ "$(flow_json 'd["output"]["stdout"]["bytes"], d["output"]["stderr"]["bytes"]' <"$T/report.json")" = "(6, 3)" ]
	[ "$(flow_json 'd["output"]["stdout"]["sha256"]' <"$T/report.json")" = "$(echo hello | sha256sum | cut -d' ' -f1)" ]
	[ "$(flow_json 'd["output"]["stdout"]["truncated"]' <"$T/report.json")" = False ]
	[ "$(flow_json 'all(isinstance(d["usage"][k], int) for k in ("wallMs", "cpuMs", "memoryPeak", "pidsPeak"))' <"$T/report.json")" = True ]
	[ "$(flow_json 'd["operation"][:3] + d["session"][:2]' <"$T/report.json")" = op_s_ ]
}

@test "the report of a signal, of a timeout, of a denial" {
	run loom run --report "$T/report.json" -- sh -c 'kill -9 $$'
	[ "$(flow_json 'd["exit"]["code"], d["exit"]["signal"], d["exit"]["timedOut"]' <"$T/report.json")" = "(None, 9, False)" ]
	run loom run --report "$T/report.json" --timeout 1s -- sleep 20
	[ "$(flow_json 'd["exit"]["timedOut"]' <"$T/report.json")" = True ]
	run loom run --report "$T/report.json" --profile no-such -- true
	[ "$status" -eq 120 ]
	[ "$(flow_json 'd["verdict"]' <"$T/report.json")" = deny ]
}

@test "--report is refused where the sandbox could reach it, before anything starts" {
	mkdir sub
	ln -s /etc/hostname link
	for file in report sub/report "$WS/report" sub/../report; do
		run loom run --report "$file" -- sh -c 'echo started'
		[ "$status" -eq 125 ]
		[[ $output == *"loom: invalid-path: "*"workspace"* ]]
		[[ $output != *started* ]]
	done
	ln -s "$T/elsewhere" "$T/report-link"
	run loom run --report "$T/report-link" -- true
	[ "$status" -eq 125 ]
	[[ $output == *"symbolic link"* ]]
	[ ! -e "$T/elsewhere" ]
	[ ! -e report ]
}

@test "--json prints one document and moves the command's output" {
	run --separate-stderr loom run --json -- sh -c 'echo out; echo err >&2; echo x >f; exit 2'
	[ "$status" -eq 2 ]
	[ "$(flow_json 'd["exit"]["code"]' <<<"$output")" = 2 ]
	[ "${#lines[@]}" -eq 1 ]
	[ "$(sort <<<"$stderr")" = $'err\nout' ]
	run --separate-stderr loom run --json --profile no-such -- true
	[ "$status" -eq 120 ]
	[ "$(flow_json 'd["verdict"]' <<<"$output")" = deny ]
	run --separate-stderr loom run --json -C /nowhere -- true
	[ "$status" -eq 120 ]
	[ "$(flow_json 'd["reason"]' <<<"$output")" = invalid-path ]
}

@test "changes stay apart and are told" {
	echo old >file
	run --separate-stderr loom run -- sh -c 'echo new >file; echo more >other; mkdir d; rm -f nothing'
	[ "$status" -eq 0 ]
	[[ $stderr =~ ^"loom: 3 files changed: loom session diff s_"[0-9]+$ ]]
	[ "$(cat file)" = old ]
	[ ! -e other ]
}

@test "more output than the profile allows is cut and said" {
	loom run --report "$T/report.json" -- sh -c 'head -c 40000000 /dev/zero; true' >"$T/big" || true
	[ "$(flow_json 'd["output"]["stdout"]["truncated"]' <"$T/report.json")" = True ]
	[ "$(stat -c %s "$T/big")" -le $((16 * 1024 * 1024)) ]
	[ "$(stat -c %s "$T/big")" -gt 1000000 ]
}

@test "there is no terminal inside, and with -t there is one of its own" {
	run flow_terminal "$LOOM" run -- sh -c 'tty; tty <&1; exec 3<>/dev/tty'
	[[ $output == *"not a tty"* ]]
	[[ $output != *"/dev/pts"* ]]
	run flow_terminal "$LOOM" run -t -- sh -c 'tty && test -t 0 && test -t 1 && test -t 2 && echo all three'
	[ "$status" -eq 0 ]
	[[ $output == *"/dev/pts/"* ]]
	[[ $output == *"all three"* ]]
}

@test "TERM is the client's on a terminal, and dumb without one or when it is no name" {
	for pair in xterm-256color:xterm-256color vt100:vt100 ../evil:dumb :dumb; do
		TERM=${pair%:*} run flow_terminal "$LOOM" run -t -- sh -c 'echo "[$TERM]"'
		echo "$pair: $output"
		[ "$status" -eq 0 ]
		[[ $output == *"[${pair#*:}]"* ]]
	done
	TERM=vt100 run loom run -- sh -c 'echo "[$TERM]"'
	[ "$output" = "[dumb]" ]
}

@test "two runs at a time are two sandboxes" {
	loom run -- sh -c 'echo one >f; sleep 1; cat f' >"$T/one" 2>/dev/null &
	first=$!
	run --separate-stderr loom run -- sh -c 'sleep 0.5; ls; echo two >f; cat f'
	[ "$output" = two ]
	wait "$first"
	[ "$(cat "$T/one")" = one ]
}
