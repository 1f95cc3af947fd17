#!/usr/bin/env bats
# The HTTP API as curl meets it, with the daemons behind it.

load helpers

setup_file() {
	flow_setup_file
	mkdir "$T/ws"
	echo one >"$T/ws/file"
	"$LOOM" run --report "$T/report.json" -C "$T/ws" -- /bin/sh -c 'echo two >file; echo new >added' \
		>"$T/run.out" 2>&1
	OP=$(jq -r .operation "$T/report.json")
	SESSION=$(jq -r .session "$T/report.json")
	export OP SESSION
}

teardown_file() {
	flow_teardown_file
}

# http METHOD PATH [CURL OPTION…]: body to $T/body, headers to $T/head, the status to $status_code.
http() {
	local method=$1 path=$2
	shift 2
	status_code=$(curl -sS --max-time 20 --path-as-is -X "$method" -o "$T/body" -D "$T/head" \
		-w '%{http_code}' --unix-socket "$T/run/loom/loom.sock" "$@" "http://localhost$path")
}

# problem STATUS REASON: what the last answer must be.
problem() {
	[ "$status_code" = "$1" ] || { echo "status $status_code: $(cat "$T/body")"; return 1; }
	grep -qi '^content-type: application/problem+json' "$T/head"
	jq -e --arg r "$2" --argjson s "$1" '.reason == $r and .status == $s and (.detail | length > 0)' "$T/body"
}

@test "api: health says that the authority answers" {
	http GET /healthz
	[ "$status_code" = 200 ]
	jq -e '.status == "ok" and (.authority | type == "object")' "$T/body"
}

@test "api: the run is among the sessions, and alone under its id" {
	http GET /v1/sessions
	[ "$status_code" = 200 ]
	jq -e --arg s "$SESSION" '[.. | strings] | any(. == $s)' "$T/body"
	http GET "/v1/sessions/$SESSION"
	[ "$status_code" = 200 ]
	jq -e --arg s "$SESSION" '[.. | strings] | any(. == $s)' "$T/body"
}

@test "api: the diff lists what the session changed" {
	http GET "/v1/sessions/$SESSION/diff"
	[ "$status_code" = 200 ]
	jq -e '[.changes[] | {(.path): .kind}] | add == {"added": "added", "file": "modified"}' "$T/body"
}

@test "api: the trace is verified, link by link, and is what the command line prints" {
	http GET "/v1/operations/$OP/trace"
	[ "$status_code" = 200 ]
	jq -e --arg op "$OP" '.id == $op and .status == "verified" and (.links | length == 9)' "$T/body"
	jq -e '[.links[] | select(.status != "verified") | .link] == ["approval", "lease", "broker"]' "$T/body"
	"$LOOM" trace "$OP" --json >"$T/cli.json"
	[ "$(jq -S '[.links[] | {link, status}]' "$T/body")" = "$(jq -S '[.links[] | {link, status}]' "$T/cli.json")" ]
}

@test "api: profiles and the checkpoint" {
	http GET /v1/profiles
	[ "$status_code" = 200 ]
	jq -e '[.. | strings] | any(. == "default") and any(. == "build")' "$T/body"
	http GET /v1/ledger/checkpoint
	[ "$status_code" = 200 ]
	grep -qi '^content-type: text/plain' "$T/head"
	[ "$(sed -n 2p "$T/body")" -gt 0 ]
	grep -q '^— ' "$T/body"
}

@test "api: decide explains and never acts" {
	"$LOOM" ledger checkpoint >"$T/before"
	http POST /v1/decide -H 'Content-Type: application/json' \
		-d '{"profile":"default","request":{"capability":"exec"}}'
	[ "$status_code" = 200 ]
	jq -e '.verdict == "allow"' "$T/body"
	http POST /v1/decide -H 'Content-Type: application/json' \
		-d '{"profile":"default","request":{"capability":"net.http","method":"GET","url":"https://example.org/"}}'
	jq -e '[.. | strings] | any(. == "deny")' "$T/body"
	"$LOOM" ledger checkpoint >"$T/after"
	cmp "$T/before" "$T/after"
}

@test "api: an unknown profile and an unknown capability are told with their reasons" {
	http POST /v1/decide -H 'Content-Type: application/json' \
		-d '{"profile":"nothere","request":{"capability":"exec"}}'
	[ "$status_code" -ge 400 ]
	http POST /v1/decide -H 'Content-Type: application/json' \
		-d '{"profile":"default","request":{"capability":"exec","surprise":1}}'
	[ "$status_code" -ge 400 ] || jq -e '.verdict == "deny"' "$T/body"
}

@test "api: refusals are problem documents" {
	http GET /nowhere
	problem 404 invalid-request
	http GET /v1/sessions/s_007
	problem 400 invalid-request
	http GET "/v1/sessions?all=1"
	problem 400 invalid-request
	http PUT /v1/sessions
	problem 405 invalid-request
	grep -qi '^allow: GET, HEAD' "$T/head"
	http GET /v1/sessions/s_999999
	problem 404 session-ended
	http POST /v1/decide -H 'Content-Type: application/json' -d '{"profile":"default"}'
	problem 400 invalid-request
	http POST /v1/decide -H 'Content-Type: application/json' --data-binary @<(head -c 9000 /dev/zero | tr '\0' ' ')
	problem 413 limit-exceeded
	http POST /v1/decide -H 'Content-Type: text/plain' -d '{}'
	problem 415 invalid-request
	http POST /v1/decide -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' -d '{}'
	problem 400 invalid-request
	http GET /healthz -H "X-Long: $(head -c 9000 /dev/zero | tr '\0' x)"
	problem 431 limit-exceeded
}

@test "api: nobody can say who they are" {
	http GET /v1/sessions -H 'X-Uid: 4711' -H 'Authorization: Bearer root' -H 'X-Forwarded-User: root'
	[ "$status_code" = 200 ]
	jq -e --arg s "$SESSION" '[.. | strings] | any(. == $s)' "$T/body"
}

@test "api: hostile bytes end their connection and nothing else" {
	local row
	for row in '\0\0\0\0' 'GET / HTTP/1.1\r\n' 'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n' \
		'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
		'\026\003\001\002\0'; do
		printf "$row" | timeout 15 socat -t 2 - "UNIX-CONNECT:$T/run/loom/loom.sock" >"$T/raw" || true
		! grep -qa '^HTTP/1.1 2' "$T/raw"
	done
	http GET /healthz
	[ "$status_code" = 200 ]
}

@test "api: headers that the parser would mend are refused, and end the connection" {
	local row
	for row in 'Host: x\r\nHost: y' 'Host: x\r\nX-A: a\0b' 'Host: x\r\nX-A: a\001b' 'Host: x\r\nX-A: a\r\n b' 'Host: x\nX-A: a'; do
		printf "GET /healthz HTTP/1.1\r\n$row\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" |
			timeout 15 socat -t 2 - "UNIX-CONNECT:$T/run/loom/loom.sock" >"$T/raw"
		[ "$(grep -ac '^HTTP/1.1 400' "$T/raw")" -eq 1 ]
		grep -qa 'application/problem+json' "$T/raw"
		! grep -qa '^HTTP/1.1 2' "$T/raw" || return 1
	done
}

@test "api: a crowd holds the door only until it leaves" {
	local i pids=
	for i in $(seq 64); do
		sleep 8 | socat - "UNIX-CONNECT:$T/run/loom/loom.sock" >/dev/null 2>&1 3>&- &
		pids="$pids $!"
	done
	# Whoever comes now is turned away, by a problem document or at the door.
	flow_until 5 turned_away
	kill $pids 2>/dev/null || true
	wait $pids 2>/dev/null || true
	flow_until 5 served
	jq -e '.api.connections < 64' "$T/body"
}
turned_away() { status_code=000; http GET /healthz 2>/dev/null || true; [ "$status_code" = 000 ] || [ "$status_code" = 503 ]; }
served() { http GET /healthz 2>/dev/null && [ "$status_code" = 200 ]; }

@test "api: DELETE throws the kept changes away, once" {
	http DELETE "/v1/sessions/$SESSION"
	[ "$status_code" = 204 ]
	[ "$(cat "$T/ws/file")" = one ]
	[ ! -e "$T/ws/added" ]
	http GET "/v1/sessions/$SESSION/diff"
	[ "$status_code" -ge 400 ]
	http DELETE "/v1/sessions/$SESSION"
	[ "$status_code" -ge 400 ]
}
