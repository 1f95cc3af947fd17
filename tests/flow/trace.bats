#!/usr/bin/env bats
# Traces by operation and by session, and the same over HTTP.

load helpers
setup_file() { flow_setup_file; }
setup() { flow_setup; }
teardown_file() { flow_teardown_file; }

get() { curl -sS --max-time 10 --unix-socket "$XDG_RUNTIME_DIR/loom/loom.sock" "$@"; }

# Run something and leave its ids in OP and SESSION.
ran() {
	loom run --report "$T/report.json" "$@" 2>/dev/null || true
	OP=$(flow_json 'd["operation"]' <"$T/report.json")
	SESSION=$(flow_json 'd["session"]' <"$T/report.json")
}

@test "an operation and its session are verified, and every link is there" {
	ran -- sh -c 'echo x >f'
	run loom trace "$OP"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *verified* ]]
	for link in profile decision grant session outcome ledger; do
		[[ $output == *"✓  $link"* ]]
	done
	run loom trace "$SESSION"
	[ "$status" -eq 0 ]
	run loom trace --json "$OP"
	[ "$status" -eq 0 ]
	[ "$(flow_json 'd["status"], [l["link"] for l in d["links"]]' <<<"$output")" = "('verified', ['profile', 'decision', 'approval', 'grant', 'lease', 'broker', 'session', 'outcome', 'ledger'])" ]
	[ "$(flow_json 'all(set(l) == {"link", "id", "status", "detail"} for l in d["links"])' <<<"$output")" = True ]
}

@test "a session of several operations, and a name" {
	ran --session traced -- sh -c 'echo x >f'
	first=$OP
	ran --session traced -- sh -c 'echo y >>f'
	loom session accept traced
	run loom trace --json "$SESSION"
	[ "$status" -eq 0 ]
	[ "$(flow_json 'len(d["links"])' <<<"$output")" -eq 27 ]
	[[ $output == *"$first"* && $output == *"$OP"* ]]
	run loom trace traced
	[ "$status" -ne 1 ]
}

@test "a failed command's trace is verified too" {
	ran -- sh -c 'exit 3'
	run loom trace "$OP"
	[ "$status" -eq 0 ]
	ran --timeout 1s -- sleep 30
	run loom trace "$OP"
	[ "$status" -eq 0 ]
	ran -- no-such-command
	run loom trace "$OP"
	[ "$status" -eq 0 ]
}

@test "what is not there" {
	for id in op_0123456789abcdef s_99999 nonsense '' 'op_../../x'; do
		run loom trace "$id"
		[ "$status" -eq 2 ]
	done
}

@test "a denial is recorded and can be looked up" {
	run loom run --profile no-such -- true
	op=$(flow_op <<<"$output")
	[ -n "$op" ]
	run loom trace "$op"
	[ "$status" -ne 2 ]
	[[ $output == *decision* ]]
}

@test "without UTF-8 the marks are words" {
	ran -- true
	LC_ALL=C run loom trace "$OP"
	[ "$status" -eq 0 ]
	[[ $output == *"ok  profile"* ]]
	[[ $output != *✓* ]]
}

@test "the daemon restarted: traces still verify" {
	ran -- true
	flow_stop
	run loom trace "$OP"
	[ "$status" -eq 0 ]
}

@test "HTTP: health, sessions, traces" {
	ran -- sh -c 'echo x >f'
	run get http://loom/healthz
	[ "$status" -eq 0 ]
	run get -o /dev/null -w '%{http_code}' http://loom/healthz
	[ "$output" = 200 ]
	run get http://loom/v1/sessions
	[[ $output == *"\"$SESSION\""* ]]
	flow_json 'len(d) > 0' <<<"$output"
	run get "http://loom/v1/sessions/$SESSION"
	[[ $output == *"\"$SESSION\""* ]]
	run get "http://loom/v1/operations/$OP/trace"
	[ "$(flow_json 'd["status"]' <<<"$output")" = verified ]
}

@test "HTTP: what is not there, and what is not allowed" {
	loom run -- true
	run get -o "$T/body" -w '%{http_code} %{content_type}' http://loom/v1/operations/op_0123456789abcdef/trace
	[[ $output == "404 application/problem+json"* ]]
	[ "$(flow_json '"title" in d or "type" in d' <"$T/body")" = True ]
	run get -o /dev/null -w '%{http_code}' http://loom/nothing
	[ "$output" = 404 ]
	run get -o /dev/null -w '%{http_code}' -X POST http://loom/healthz
	[ "$output" = 405 ]
}

@test "why: the same answer without doing it" {
	run loom why --capability exec --command make
	[ "$status" -eq 0 ]
	[[ $output == *allow* ]]
	run loom why --capability net.http --method GET --url https://example.org/
	[ "$status" -eq 120 ]
	[[ $output == *deny* ]]
	run loom why --capability fly --json
	[ "$status" -eq 120 ]
	[ "$(flow_json 'd["verdict"], d["reason"]' <<<"$output")" = "('deny', 'unknown-capability')" ]
	run loom why
	[ "$status" -eq 125 ]
	run loom why --capability exec --profile no-such
	[ "$status" -eq 120 ]
}
