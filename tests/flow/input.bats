#!/usr/bin/env bats
# Bad input: each ends in a clear error with its reason, and nothing is started.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown() {
	umount "$WS/mounted" 2>/dev/null || true
	rm -f "$XDG_CONFIG_HOME"/loom/profiles/*.yaml
	chmod 700 "$XDG_CONFIG_HOME"
	find "$XDG_CONFIG_HOME" -type d -exec chmod 700 {} +
}
teardown_file() { flow_teardown_file; }

# denied REASON: the last run was, with a trace.
denied() {
	echo "$output"
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: $1: "* ]]
}
# refused REASON: this side said no, so there is nothing to trace.
refused() {
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"loom: $1: "* ]]
}
# usage TEXT
usage() {
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == "loom: "*"$1"* ]]
	[[ $output == *"try 'loom"* ]]
}

@test "unknown command, option, value" {
	run loom
	usage "a command is missing"
	run loom fly
	usage "no command 'fly'"
	run loom session fly
	usage "session fly"
	run loom --fly
	usage "no option --fly"
	run loom run --fly -- true
	usage "no option --fly"
	run loom run -x -- true
	usage "no option -x"
	run loom run true
	usage "the command goes after --"
	run loom run
	usage "a command is missing"
	run loom run --
	usage "a command is missing"
	run loom run --profile -- true
	usage "needs a value"
	run loom run -t -t -- true
	usage "given twice"
	run loom run -e 1x=2 -- true
	usage "a name is"
	run loom run --json -t -- true
	usage "exclude each other"
	run loom trace
	usage "something is missing"
}

@test "what is not in this version says so" {
	for words in mcp "exec s_1" "session start" top "git status" setup "daemon drain" "ledger redact" agent; do
		# shellcheck disable=SC2086
		run loom $words
		[ "$status" -eq 125 ]
		[[ $output == *"not in this version"* ]]
	done
	run loom run --plan -- true
	[ "$status" -eq 125 ]
	[[ $output == *"not in this version"* ]]
	run loom help
	[[ $output != *mcp* ]]
}

@test "an ordinary user is told" {
	chmod 755 "$T"
	# A copy, because the checkout may lie where only root gets.
	install -D -m 755 "$LOOM" "$T/all/bin/loom"
	install -D -m 755 "$LOOM_BUILD/src/cli/loom-inspect" "$T/all/libexec/loom/loom-inspect"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$T/all/bin/loom" run -- true
	refused runtime-unavailable
	[[ $output == *"ordinary user is not in this version"*"sudo loom"* ]]
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$T/all/bin/loom" session ls
	[ "$status" -eq 125 ]
	[[ $output == *"ordinary user"* ]]
}

@test "unknown profile and workflow" {
	run loom run --profile no-such -- true
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: "*no-such* ]]
	for name in ../../etc/passwd '' 'a b' $'a\nb' DEFAULT /default default.yaml; do
		run loom run --profile "$name" -- true
		[ -z "$name" ] || [ "$status" -eq 120 ]
	done
	run loom run --workflow no-such -- true
	[ "$status" -eq 120 ]
}

@test "unknown key, capability and value in a profile, with the place" {
	flow_profile wrong <<-'YAML'
		apiVersion: loom/v1
		kind: Profile
		metadata: {name: wrong}
		spec:
		  runtime: namespaces
		  capabilities: [exec]
		  limitz: {cpu: 1}
	YAML
	run loom run --profile wrong -- true
	[ "$status" -eq 120 ]
	[[ $output == *limitz* ]]
	run loom profile check "$XDG_CONFIG_HOME/loom/profiles/wrong.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"wrong.yaml:7:3: "*limitz* ]]
	flow_profile wrong <<-'YAML'
		apiVersion: loom/v1
		kind: Profile
		metadata: {name: wrong}
		spec:
		  runtime: namespaces
		  capabilities: [exec, fly]
	YAML
	run loom profile check "$XDG_CONFIG_HOME/loom/profiles/wrong.yaml"
	[ "$status" -eq 1 ]
	[[ $output == *"wrong.yaml:6:"*fly* ]]
	run loom run --profile wrong -- true
	[ "$status" -eq 120 ]
}

@test "a profile with a shipped name is an error" {
	loom profile show default --json | flow_json 'd["digest"]' >before
	flow_direct_profile default
	run loom profile check "$XDG_CONFIG_HOME/loom/profiles/default.yaml"
	[ "$status" -eq 1 ]
	[ "$(loom profile show default --json | flow_json 'd["digest"]')" = "$(cat before)" ]
}

@test "a configuration that others may write is refused, with the chmod that mends it" {
	flow_direct_profile mine
	run loom run --profile mine -- true
	[ "$status" -eq 0 ]
	for path in loom/profiles/mine.yaml loom/profiles; do
		mode=$(stat -c %a "$XDG_CONFIG_HOME/$path")
		chmod go+w "$XDG_CONFIG_HOME/$path"
		run loom run --profile mine -- true
		[ "$status" -ne 0 ]
		[[ $output == *"chmod go-w"* ]]
		run loom profile check "$XDG_CONFIG_HOME/loom/profiles/mine.yaml"
		[ "$status" -eq 1 ]
		[[ $output == *"chmod go-w"* ]]
		chmod "$mode" "$XDG_CONFIG_HOME/$path"
	done
	run loom run --profile mine -- true
	[ "$status" -eq 0 ]
}

@test "a configuration directory or a folder above it that others may write is noticed at each run" {
	flow_direct_profile mine
	for path in "$XDG_CONFIG_HOME" "$XDG_CONFIG_HOME/loom"; do
		for fresh in yes no; do
			[ $fresh = no ] || flow_stop
			[ $fresh = yes ] || loom run -- true
			chmod go+w "$path"
			for profile in mine default; do
				run loom run --profile $profile -- true
				denied invalid-request
				[[ $output == *"chmod go-w $path"*"(trace op_"* ]]
			done
			run loom trace "$(flow_op <<<"$output")"
			[ "$status" -eq 0 ]
			chmod go-w "$path"
			run loom run --profile mine -- true
			[ "$status" -eq 0 ]
		done
	done
}

@test "nothing of a workspace is configuration" {
	mkdir -p .loom/profiles loom/profiles .config/loom/profiles
	for dir in .loom loom .config/loom; do
		printf 'apiVersion: loom/v1\nkind: Profile\nmetadata: {name: evil}\nspec: {runtime: namespaces, capabilities: [exec]}\n' >"$dir/profiles/evil.yaml"
	done
	run loom run --profile evil -- true
	[ "$status" -eq 120 ]
}

@test "workspace: missing, a file, a link, a link with a slash" {
	touch file
	mkdir dir
	ln -s dir link
	ln -s nowhere dangling
	run loom run -C nothing -- true
	denied invalid-path
	[[ $output == *"does not exist"* ]]
	run loom run -C file -- true
	denied invalid-path
	[[ $output == *"not a directory"* ]]
	for path in link link/ link/. link//./ dangling; do
		run loom run -C "$path" -- true
		denied invalid-path
		[[ $output == *"symbolic link"* ]]
	done
	run loom run -C '' -- true
	denied invalid-path
	run loom run --report "$T/refused.json" -C $'no\n\xffsuch' -- true
	denied invalid-path
	[ "$(flow_json 'd["verdict"], d["trace"]' <"$T/refused.json")" = "('deny', 'verified')" ]
	run loom ledger show --json -n 1
	[ "$(flow_json '[(e["entry"]["event"], e["entry"]["reason"]) for e in d["entries"]]' <<<"$output")" = "[('denied', 'invalid-path')]" ]
	[[ $(flow_json 'd["detail"]' <"$T/refused.json") == "the client says: workspace "* ]]
}

@test "workspace: forbidden places, and what contains them" {
	for path in / /proc /sys /dev /etc /usr /run /proc/sys "$XDG_STATE_HOME" "$XDG_STATE_HOME/loom" "$T"; do
		run loom run -C "$path" -- true
		denied invalid-path
		[[ $output == *"(trace op_"* ]]
	done
}

@test "workspace: containing mounts" {
	mkdir mounted
	mount -t tmpfs -o size=1M tmpfs mounted || flow_skip "mount does not work here"
	run loom run -- true
	denied invalid-path
	umount mounted
	run loom run -- true
	[ "$status" -eq 0 ]
}

@test "cwd: outside, absolute, a link out, missing" {
	ln -s / root
	touch file
	for path in .. ../x a/../.. /etc /proc/1/root root nothing file root/etc; do
		run loom run --cwd "$path" -- touch probe
		denied invalid-path
		[[ $output == *"(trace op_"* ]]
	done
	[ -z "$(find / -maxdepth 2 -name probe -newer file 2>/dev/null)" ]
}

@test "too many arguments and too large ones" {
	run bash -c 'exec "$LOOM" run -- true $(seq 40000)'
	denied invalid-argument
	run bash -c 'exec "$LOOM" run -- sh -c "echo \$#" sh $(seq 20000)'
	[ "$status" -eq 0 ]
	[ "$output" = 20000 ]
}

@test "directories of ours that are open to others, or somebody else's" {
	mkdir -m 700 "$T/r2" "$T/s2"
	XDG_RUNTIME_DIR=$T/r2 XDG_STATE_HOME=$T/s2 run loom run -- true
	[ "$status" -eq 0 ]
	chmod 750 "$T/r2/loom"
	XDG_RUNTIME_DIR=$T/r2 XDG_STATE_HOME=$T/s2 run loom run -- true
	[ "$status" -eq 125 ]
	[[ $output == *"open to others"*"chmod 0700"* ]]
	chmod 700 "$T/r2/loom"
	chown 1 "$T/r2"
	XDG_RUNTIME_DIR=$T/r2 XDG_STATE_HOME=$T/s2 run loom run -- true
	[ "$status" -eq 125 ]
	[[ $output == *XDG_RUNTIME_DIR* ]]
	chown 0 "$T/r2"
	XDG_RUNTIME_DIR=$T/r2 XDG_STATE_HOME=$T/s2 flow_stop
	chmod 755 "$T/s2/loom"
	XDG_RUNTIME_DIR=$T/r2 XDG_STATE_HOME=$T/s2 run loom run -- true
	[ "$status" -eq 125 ]
	[[ $output == *"chmod"* ]]
}

@test "nothing of all this left a session behind" {
	run loom session ls --json
	[ "$(flow_json '[s for s in d["sessions"] if s["state"] in ("live", "running")]' <<<"$output")" = "[]" ]
}
