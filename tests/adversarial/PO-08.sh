# A session is bound to its identity, profile and workspace; another is a mismatch, and recorded.
. "$(dirname "$0")/lib.sh"
direct_profile dw
mkdir "$T/other"
sed 's/name: dw/name: p2/; s/mode: direct/mode: overlay/; s/512MiB/513MiB/' "$XDG_CONFIG_HOME/loom/profiles/dw.yaml" | profile p2
inside --profile p2 --session bound -- /bin/sh -c 'echo one >f' >/dev/null 2>"$T/err"
check "control: the session is there" sh -c "'$LOOM' session ls | grep -q bound"
bad() { # TITLE REASON… -- COMMAND…
	local title=$1 reasons=$2; shift 2
	"$@" >"$T/out" 2>"$T/err"
	check "$title: status 120" test $? = 120
	check "$title: $reasons" sh -c "echo '$(reason_of "$T/err")' | grep -qxE '$reasons'"
	refuse "$title: does not run" grep -q ran "$T/out"
	op=$(sed -n 's/.*(trace \(op_[0-9a-f]*\)).*/\1/p' "$T/err" | head -n 1)
	check "$title: recorded" sh -c "[ -n '$op' ] && '$LOOM' ledger show | grep -q '$op'"
}
bad "another profile" 'profile-mismatch' "$LOOM" run -C "$WS" --profile build --session bound -- /bin/echo ran
bad "the default profile, unnamed" 'profile-mismatch' "$LOOM" run -C "$WS" --session bound -- /bin/echo ran
bad "another workspace" 'invalid-path|conflicting-constraints|profile-mismatch' "$LOOM" run -C "$T/other" --profile p2 --session bound -- /bin/echo ran
sed -i s/513MiB/900MiB/ "$XDG_CONFIG_HOME/loom/profiles/p2.yaml"
bad "the profile changed on disk" 'profile-mismatch' "$LOOM" run -C "$WS" --profile p2 --session bound -- /bin/echo ran
sed -i s/900MiB/513MiB/ "$XDG_CONFIG_HOME/loom/profiles/p2.yaml"
inside --profile p2 --session bound -- /bin/sh -c 'cat f; echo ran' >"$T/out" 2>"$T/err"
check "control: the profile as it was, it continues" sh -c "grep -q one '$T/out' && grep -q ran '$T/out'"
id=$("$LOOM" session ls | awk '/bound/{print $1}' | head -n 1)
"$LOOM" session rm bound >/dev/null 2>&1
for name in "$id" s_0 s_999999; do
	"$LOOM" session accept "$name" >/dev/null 2>"$T/err"
	check "accept of the dead $name is refused" test $? = 120
	check "accept of the dead $name is session-ended" test "$(reason_of "$T/err")" = session-ended
done
# Another user at the door: the socket is shut, and if it were not, the peer's uid decides.
sock=$XDG_RUNTIME_DIR/loom/cli.sock
refuse "another user cannot connect" su -s /bin/sh nobody -c "python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(\"$sock\")' 2>/dev/null"
chmod 711 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/loom"
chmod 666 "$sock" "$XDG_RUNTIME_DIR/loom/loom.sock"
cat >"$T/foreign.py" <<'PY'
import array, fcntl, os, socket, struct, sys
b = lambda x: struct.pack(">I", len(x)) + x
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5); s.connect(sys.argv[1])
m = os.memfd_create("x", 3); os.write(m, b"\0" * 32 + b"/bin/touch\0ran-foreign\0"); fcntl.fcntl(m, 1033, 15)
n = os.open("/dev/null", os.O_RDWR); w = os.open(sys.argv[2], os.O_PATH)
body = struct.pack(">II", 1, 0) + b(b"default") + b(b"") + b(b"") + b(b"") + struct.pack(">QII", 0, 24, 80) + b(b"")
try:
    s.sendmsg([struct.pack(">III", 0x4c4f4f4d, 0x10, len(body)) + body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w, n, n, n, m]))])
    for _ in range(4):
        d = s.recv(70000)
        if not d: break
        print("type %#x" % struct.unpack(">III", d[:12])[1], b"identity-mismatch" in d)
        if struct.unpack(">III", d[:12])[1] == 0x19: break
except OSError as e: print(e)
PY
chmod 644 "$T/foreign.py"
python3 "$T/foreign.py" "$sock" "$WS" >"$T/own" 2>&1
check "control: the same request of one's own runs" grep -q 'type 0x18' "$T/own"
su -s /bin/sh nobody -c "python3 '$T/foreign.py' '$sock' '$WS'" >"$T/foreign" 2>&1
chmod 700 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/loom"
chmod 600 "$sock" "$XDG_RUNTIME_DIR/loom/loom.sock"
refuse "another user's does not start" grep -q 'type 0x18' "$T/foreign"
check "it is an identity mismatch" grep -q True "$T/foreign"
check "and recorded" sh -c "'$LOOM' ledger show | tail -n 3 | grep -q identity-mismatch"
