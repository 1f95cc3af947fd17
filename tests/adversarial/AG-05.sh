# Each verb by which a path can be asked for, with the same bad paths: one mediator, one answer.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
echo canary >"$T/canary"
direct_profile dw
sh_inside 'echo x >f; mkdir d; echo x >d/f' >/dev/null 2>"$T/err"
s=$(session_of "$T/err")
sock=$XDG_RUNTIME_DIR/loom/loom.sock
cat >"$T/http.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1])
s.sendall((sys.argv[2] + " " + sys.argv[3] + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(sys.argv[4] if len(sys.argv) > 4 else "")).encode() + (sys.argv[4].encode() if len(sys.argv) > 4 else b""))
out = b""
while True:
    d = s.recv(65536)
    if not d: break
    out += d
print(out.decode("latin-1"))
PY
http() { python3 "$T/http.py" "$sock" "$@"; }
for p in /etc/passwd ../canary d/../../canary "$T/canary" /workspace/f; do
	inside --cwd "$p" -- /bin/true 2>"$T/err"
	check "run --cwd $p: 120" test $? = 120
	check "run --cwd $p: invalid-path" test "$(reason_of "$T/err")" = invalid-path
	op=$(sed -n 's/.*(trace \(op_[0-9a-f]*\)).*/\1/p' "$T/err" | head -n 1)
	check "run --cwd $p: recorded" sh -c "[ -n '$op' ] && '$LOOM' ledger show | grep -q '$op'"
	inside --profile dw --cwd "$p" -- /bin/true 2>"$T/err"
	check "run (direct) --cwd $p: 120" test $? = 120
	"$LOOM" session diff "$s" --no-pager --path "$p" >"$T/out" 2>"$T/err"
	check "session diff --path $p fails" test $? != 0
	refuse "session diff --path $p: no content" grep -qE 'canary$|root:' "$T/out" "$T/err"
	"$LOOM" session accept "$s" --path "$p" >"$T/out" 2>"$T/err"
	check "session accept --path $p fails" test $? != 0
	"$LOOM" session diff "$p" --no-pager >"$T/out" 2>&1
	check "session diff $p (as a session) fails" test $? != 0
	"$LOOM" trace "$p" >"$T/out" 2>&1
	check "trace $p fails" test $? != 0
	"$LOOM" session rm "$p" >"$T/out" 2>&1
	check "session rm $p fails" test $? != 0
	inside --profile "$p" -- /bin/true >/dev/null 2>&1
	check "run --profile $p fails" test $? != 0
	for path in "/v1/sessions/$p" "/v1/sessions/$s/files/$p" "/v1/operations/$p/trace" "/v1/sessions/$s/diff?path=$p" "/v1/sessions/..%2f..%2f..$p" "/v1/ledger/$p"; do
		http GET "$path" >"$T/out" 2>/dev/null
		refuse "GET ${path#/v1/}: no content" grep -qE '^canary|root:x:0' "$T/out"
	done
	http POST /v1/sessions "{\"workspace\":\"$p\"}" >"$T/out" 2>/dev/null
	refuse "POST sessions with workspace $p: none is made" grep -qE '^HTTP/1.1 20' "$T/out"
done
check "nothing was taken over" test ! -e "$WS/f" -a ! -e "$WS/canary"
check "control: a good path is accepted" "$LOOM" session accept "$s" --path d/f
check "control: the HTTP door answers" sh -c "python3 '$T/http.py' '$sock' GET /healthz | grep -q '^HTTP/1.1 200'"
