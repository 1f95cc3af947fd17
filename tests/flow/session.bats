#!/usr/bin/env bats
# Sessions: what they changed, taking it over, discarding it, going on with it.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown_file() { flow_teardown_file; }

# Run a script and leave the session's id in SESSION.
change() {
	run --separate-stderr loom run "${@:2}" -- sh -c "$1"
	[ "$status" -eq 0 ]
	SESSION=$(sed -n 's/.*loom session diff \(s_[0-9]*\)$/\1/p' <<<"$stderr")
	[ -n "$SESSION" ]
}

@test "ls and show: a table for people, JSON for programs" {
	change 'echo x >f' --session named
	run loom session ls
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == SESSION*NAME*STATE*PROFILE*CHANGES*WORKSPACE* ]]
	[[ $output == *"$SESSION "*named*kept*default*"$WS"* ]]
	run loom session ls --json
	[ "$(flow_json '[s["state"] for s in d["sessions"] if s["id"] == "'"$SESSION"'"]' <<<"$output")" = "['kept']" ]
	run loom session show named
	[[ $output == *"$SESSION"* ]]
	run loom session show "$SESSION" --json
	[ "$(flow_json 'd["id"], d["state"]' <<<"$output")" = "('$SESSION', 'kept')" ]
}

@test "diff: added, changed, removed, and patch(1) can read it" {
	mkdir dir
	printf 'one\ntwo\nthree\n' >changed
	echo gone >removed
	echo same >same
	change 'sed -i s/two/TWO/ changed; rm removed; echo new >dir/added; chmod +x same'
	run loom session diff "$SESSION"
	[ "$status" -eq 0 ]
	[[ $output == *"-two"* && $output == *"+TWO"* && $output == *"-gone"* && $output == *"+new"* ]]
	[[ $output != *$'\033'* ]]
	cp -r . "$T/copy"
	loom session diff "$SESSION" >"$T/diff"
	(cd "$T/copy" && patch -s -p1 <"$T/diff")
	[ "$(sed -n 2p "$T/copy/changed")" = TWO ]
	[ "$(cat "$T/copy/dir/added")" = new ]
	[ ! -s "$T/copy/removed" ]
	run loom session diff --stat "$SESSION"
	[[ $output == *modified*changed* && $output == *deleted*removed* && $output == *added*dir/added* && $output == *same* ]]
	run loom session diff --json "$SESSION"
	[ "$(flow_json 'sorted((c["path"], c["kind"]) for c in d["changes"])' <<<"$output")" = "[('changed', 'modified'), ('dir/added', 'added'), ('removed', 'deleted'), ('same', 'mode')]" ]
	run loom session diff --path dir "$SESSION"
	[[ $output == *"+new"* && $output != *"+TWO"* ]]
}

@test "diff on a terminal escapes what a terminal would obey" {
	change 'printf "a\033[31mred\033]0;title\007\n" >f; touch "$(printf "n\033[2Jame")"'
	run flow_terminal "$LOOM" session diff --no-pager "$SESSION"
	[[ $output == *'\x1b[31mred\x1b]0;title\x07'* ]]
	[[ $output != *$'\033[31mred'* ]]
	[[ $output != *$'\033[2J'* ]]
	run flow_terminal env PAGER='sed s/^/paged:/' "$LOOM" session diff "$SESSION"
	[[ $output == *'paged:'*'\x1b[31mred'* ]]
	run flow_terminal env NO_COLOR=1 "$LOOM" session diff --no-pager "$SESSION"
	[[ $output != *$'\033'* ]]
	run loom session ls
	[[ $output != *$'\033'* ]]
	run loom session diff --stat "$SESSION"
	[[ $output != *$'\033'* ]]
}

@test "accept takes everything over, and the session is done with" {
	echo old >file
	echo gone >removed
	change 'echo new >file; rm removed; mkdir -p d/e; echo deep >d/e/f; ln -s file link'
	[ "$(cat file)" = old ]
	run loom session accept "$SESSION"
	[ "$status" -eq 0 ]
	[[ $output == *"taken over (trace op_"* ]]
	[ "$(cat file)" = new ]
	[ ! -e removed ]
	[ "$(cat d/e/f)" = deep ]
	[ "$(readlink link)" = file ]
	[ "$(stat -c %u:%g d/e/f)" = "$(stat -c %u:%g .)" ]
	[ -z "$(find . -name '.loom*')" ]
	run loom trace "$(flow_op <<<"$output")"
	[ "$status" -eq 0 ]
	run loom session diff "$SESSION"
	[ "$status" -ne 0 ]
}

@test "accept gives files to the owner of the workspace" {
	chown 12345:12346 .
	change 'echo mine >f'
	run loom session accept "$SESSION"
	[ "$status" -eq 0 ]
	[ "$(stat -c %u:%g f)" = 12345:12346 ]
}

@test "accept --path takes only what it names and keeps the rest" {
	change 'echo a >a; echo b >b; mkdir d; echo c >d/c'
	run loom session accept --path a --path ./d/ "$SESSION"
	[ "$status" -eq 0 ]
	[ -e a ] && [ -e d/c ] && [ ! -e b ]
	run loom session diff "$SESSION"
	[[ $output == *"+b"* && $output != *"+a"* ]]
	run loom session accept "$SESSION"
	[ "$status" -eq 0 ]
	[ -e b ]
	for path in /etc/passwd ../x a/../../x ''; do
		run loom session accept --path "$path" "$SESSION"
		[ "$status" -eq 125 ]
	done
}

@test "accept refuses what changed in the workspace meanwhile, and changes nothing" {
	echo base >file
	change 'echo inside >file; echo other >other'
	echo outside >file
	run loom session accept "$SESSION"
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: "* ]]
	[ "$(cat file)" = outside ]
	[ ! -e other ]
	# The control: put back, it is taken over.
	run loom session diff "$SESSION"
	[ "$status" -eq 0 ]
}

@test "rm of a running session: its client does not speak of changes that are gone" {
	loom run --session doomed -- sh -c 'echo x >f; echo ready; sleep 60' >"$T/doomed.out" 2>"$T/doomed.err" &
	client=$!
	flow_until 10 grep -q ready "$T/doomed.out"
	run loom session rm doomed
	[ "$status" -eq 0 ]
	wait "$client" || true
	cat "$T/doomed.err"
	grep -q stopped "$T/doomed.err"
	run grep -c "session diff" "$T/doomed.err"
	[ "$output" = 0 ]
}

@test "rm discards and says how much" {
	change 'echo x >f; echo y >g'
	run loom session rm "$SESSION"
	[ "$status" -eq 0 ]
	[[ $output == *"2 changes discarded"* ]]
	run loom session diff "$SESSION"
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: session-ended: "* ]]
	[ ! -e f ]
	run find "$XDG_STATE_HOME/loom/sessions" -name "$SESSION"
	[ -z "$output" ]
}

@test "--session goes on with what was kept" {
	change 'echo one >f' --session again
	run --separate-stderr loom run --session again -- sh -c 'cat f; echo two >>f'
	[ "$output" = one ]
	[ "$(sed -n 's/.*diff \(s_[0-9]*\)$/\1/p' <<<"$stderr")" = "$SESSION" ]
	run loom run --session "$SESSION" -- cat f
	[[ $output == $'one\ntwo'* ]]
	run loom run -- ls
	[ -z "$output" ]
	loom session accept again
	[ "$(cat f)" = $'one\ntwo' ]
}

@test "a session is bound to its workspace, its profile, and one run at a time" {
	change 'echo x >f' --session bound
	mkdir "$T/elsewhere"
	run loom run --session bound -C "$T/elsewhere" -- cat f
	[ "$status" -eq 120 ]
	run loom run --session bound --profile build -- cat f
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: profile-mismatch: "* ]]
	loom run --session bound -- sleep 3 2>/dev/null &
	sleep 1
	run loom run --session bound -- cat f
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: busy: "* ]]
	run loom session rm bound
	[ "$status" -eq 120 ] || [ "$status" -eq 0 ]
	wait
}

@test "changes outlive the daemon" {
	change 'echo kept >f' --session survivor
	flow_stop
	run loom session diff survivor
	[ "$status" -eq 0 ]
	[[ $output == *"+kept"* ]]
	run loom session accept survivor
	[ "$status" -eq 0 ]
	[ "$(cat f)" = kept ]
}

@test "a session that is not there" {
	for verb in show diff accept stop rm; do
		run loom session "$verb" s_999999
		[ "$status" -eq 120 ]
		[[ $output == *"loom: denied: session-ended: "* ]]
		run loom session "$verb" 'no such
name'
		[ "$status" -eq 120 ]
	done
}

@test "set-id bits do not come out" {
	change 'echo x >f; chmod 4755 f 2>/dev/null; chmod 755 f'
	run loom session accept "$SESSION"
	[ "$status" -eq 0 ]
	[ "$(stat -c %a f)" = 755 ]
}
