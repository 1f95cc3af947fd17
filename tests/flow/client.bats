#!/usr/bin/env bats
# The command itself: what it links, its help, completions, manual pages; profiles and the doctor.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown_file() { flow_teardown_file; }

MAN=$BATS_TEST_DIRNAME/../../man

commands() { loom help | sed -n 's/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p'; }

# A sanitized build links and calls what its runtime wants; of ours it may be no more than otherwise.
plain_build() { ! grep -q __asan_init "$LOOM"; }

@test "loom links the C library and nothing else" {
	run readelf -d "$LOOM"
	[ "$status" -eq 0 ]
	[[ $output != *"[libcrypto"* && $output != *"[libjansson"* && $output != *"[libsystemd"* && $output != *"[libfyaml"* ]]
	if plain_build; then
		[ -z "$(grep NEEDED <<<"$output" | grep -vF '[libc.so.6]')" ]
	fi
	run nm "$LOOM"
	[[ $output != *json_loads* && $output != *EVP_* ]]
	# The control: the other program is seen to need more.
	run readelf -d "$LOOM_BUILD/src/cli/loom-inspect"
	[[ $output == *"[libcrypto.so"* && $output == *"[libjansson.so"* ]]
}

@test "a run makes few system calls" {
	command -v strace >/dev/null || flow_skip "strace is not installed"
	loom run -- true
	# From the first call of ours on: what the loader does, if there is one, is not counted.
	ASAN_OPTIONS=detect_leaks=0 strace -o trace "$LOOM" run -- true
	calls=$(sed -n '/^poll(/,$p' trace | grep -c '(')
	echo "$calls system calls"
	[ "$calls" -gt 10 ]
	if plain_build; then
		[ "$calls" -lt 60 ]
	fi
}

@test "every command has help, on standard output, status 0" {
	[ "$(commands | wc -l)" -ge 20 ]
	while read -r words; do
		# shellcheck disable=SC2086
		run --separate-stderr loom $words --help
		[ "$status" -eq 0 ]
		[[ $output == "Usage: loom $words"* ]]
		[ -z "$stderr" ]
		# shellcheck disable=SC2086
		run loom help $words
		[ "$status" -eq 0 ]
		[[ $output == "Usage: loom $words"* ]]
	done < <(commands)
	run loom --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^"loom "[0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "help that cannot be written is an error" {
	run bash -c '"$LOOM" help >/dev/full'
	[ "$status" -eq 125 ]
}

@test "completions are valid scripts and know every option" {
	loom completion bash >bash.sh
	bash -n bash.sh
	loom completion zsh >zsh.sh
	loom completion fish >fish.sh
	for script in bash.sh zsh.sh fish.sh; do
		for word in session accept workspace report completion; do grep -q -- "$word" "$script"; done
	done
	for shell in zsh fish; do
		if command -v "$shell" >/dev/null; then "$shell" -n "$shell.sh"; fi
	done
	run loom completion tcsh
	[ "$status" -eq 125 ]
}

@test "the bash completion completes" {
	loom completion bash >"$T/completion.sh"
	complete_at() {
		# The words as a person has typed them; the last one is to be completed.
		bash -c '. "$T/completion.sh"; PATH=$(dirname "$LOOM"):$PATH; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _loom; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
	}
	run complete_at loom se
	[ "$output" = session ]
	run complete_at loom session ac
	[ "$output" = accept ]
	run complete_at loom run --wo
	[ "$output" = $'--workflow\n--workspace' ]
	run complete_at loom completion z
	[ "$output" = zsh ]
	run complete_at loom run --profile bu
	[ "$output" = build ]
	run complete_at loom why --capability workspace.r
	[ "$output" = workspace.read ]
	# Exactly the capabilities of this build.
	capabilities=$(sed -n 's/^CAPABILITY([A-Z_]*, "\(.*\)", 1)$/\1/p' "$BATS_TEST_DIRNAME/../../src/model/capability.def")
	run complete_at loom why --capability ''
	[ "$output" = "$capabilities" ]
}

@test "every option is on its manual page, which lists statuses and files" {
	while read -r words; do
		# shellcheck disable=SC2086
		help=$(loom $words --help)
		page=$(sed -n 's/^The manual page is \(.*\)(1)\.$/\1/p' <<<"$help")
		[ -s "$MAN/$page.1" ]
		for section in 'EXIT STATUS' FILES; do grep -qx ".Sh $section" "$MAN/$page.1"; done
		while read -r option; do
			[ "$option" = help ] || [ "$page" = loom ] || grep -qE -- "Fl (.*, Fl )?-$option( |\$)" "$MAN/$page.1" || {
				echo "--$option is not on $page.1"
				false
			}
		done < <(sed -n 's/^  \(-[a-zA-Z],\|   \) --\([a-z-]*\).*/\2/p' <<<"$help")
	done < <(commands)
}

@test "manual pages are clean" {
	command -v mandoc >/dev/null || flow_skip "mandoc is not installed"
	for page in "$MAN"/*.[158]; do
		run mandoc -Tlint -Wwarning "$page"
		echo "$output"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}

@test "profiles: listed, shown, and the schema is one" {
	run loom profile ls
	[ "$status" -eq 0 ]
	[[ $output == *default* && $output == *build* ]]
	run loom profile ls --json
	[ "$(flow_json 'sorted(p["name"] for p in d["profiles"] if p["shipped"])' <<<"$output")" = "['build', 'default']" ]
	run loom profile show default --json
	[ "$(flow_json 'd["name"], len(d["digest"])' <<<"$output")" = "('default', 64)" ]
	run loom profile show default
	[ "$status" -eq 0 ]
	[[ $output == *'"workspace"'* ]]
	run loom profile schema
	[ "$status" -eq 0 ]
	[[ $(flow_json 'd["$schema"]' <<<"$output") == https://json-schema.org/* ]]
	run loom profile show no-such
	[ "$status" -eq 120 ]
}

@test "profile check: good, missing, not a file, JSON" {
	flow_direct_profile good
	run loom profile check "$XDG_CONFIG_HOME/loom/profiles/good.yaml"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"profile good is good"* ]]
	run loom profile check --json "$XDG_CONFIG_HOME/loom/profiles/good.yaml"
	[ "$(flow_json 'd["valid"], d["name"]' <<<"$output")" = "(True, 'good')" ]
	run loom profile check "$T/nothing.yaml"
	[ "$status" -eq 2 ]
	run loom profile check "$T"
	[ "$status" -eq 2 ]
	mkfifo "$T/fifo"
	run timeout 5 "$LOOM" profile check "$T/fifo"
	[ "$status" -eq 2 ]
	rm -f "$XDG_CONFIG_HOME/loom/profiles/good.yaml"
}

@test "the doctor runs every shipped profile and says what it saw" {
	run loom doctor
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"✓  default  a command ran, and its trace is verified (trace op_"* ]]
	[[ $output == *"✓  build  "* ]]
	[[ $output == *"Every shipped profile works here."* ]]
	run --separate-stderr loom doctor --json
	[ "$status" -eq 0 ]
	[ "$(flow_json 'd["works"], sorted(p["profile"] for p in d["profiles"]), len(d["checks"]) > 5' <<<"$output")" = "(True, ['build', 'default'], True)" ]
	[ "$(flow_json 'all(p["works"] and p["box"] for p in d["profiles"])' <<<"$output")" = True ]
	[ -z "$(find /var/tmp -maxdepth 1 -name 'loom-doctor-*')" ]
}

@test "in a container with Docker's defaults: refused, recorded, and the doctor says why" {
	export XDG_STATE_HOME=$T/state-docker XDG_RUNTIME_DIR=$T/run-docker
	mkdir -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"
	docker() {
		setpriv --inh-caps=-all --bounding-set=-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write "$@"
	}
	run docker "$LOOM" run -- sh -c 'echo started'
	echo "$output"
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: runtime-unavailable: "*"(trace op_"* ]]
	[[ $output != *started* ]]
	run docker "$LOOM" doctor
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"default  runtime-unavailable: "* ]]
	[[ $output == *"fix: "* ]]
	flow_stop
	# The control: with its capabilities the same machine runs it.
	run loom run -- echo started
	[ "$output" = started ]
	flow_stop
}

@test "installed, the programs find each other, wherever that is" {
	mkdir -p "$T/inst/bin" "$T/inst/libexec/loom"
	cp "$LOOM" "$T/inst/bin/"
	cp "$LOOM_BUILD"/src/cli/loom-inspect "$LOOM_BUILD"/src/loomd/loomd "$LOOM_BUILD"/src/authority/loom-authority \
		"$LOOM_BUILD"/src/box/loom-box "$LOOM_BUILD"/src/ledger/loom-ledger "$LOOM_BUILD"/src/api/loom-api "$T/inst/libexec/loom/"
	export XDG_STATE_HOME=$T/state-inst XDG_RUNTIME_DIR=$T/run-inst
	mkdir -m 700 "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"
	run "$T/inst/bin/loom" run -- echo installed
	[ "$output" = installed ]
	run "$T/inst/bin/loom" session ls
	[ "$status" -eq 0 ]
	pid=$("$T/inst/bin/loom" daemon status --json | flow_json 'd["pid"]')
	[ "$(readlink "/proc/$pid/exe")" = "$T/inst/libexec/loom/loomd" ]
	flow_stop
	# A part that is missing is said, not searched for elsewhere.
	rm "$T/inst/libexec/loom/loom-inspect"
	PATH=$LOOM_BUILD/src/cli:$PATH run "$T/inst/bin/loom" session ls
	[ "$status" -eq 125 ]
	[[ $output == *"loom-inspect is not beside"* ]]
}
