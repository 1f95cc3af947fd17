# Host services behind pathname sockets and FIFOs: a network namespace does not keep them away.
. "$(dirname "$0")/lib.sh"
direct_profile dw
mkdir -p "$T/tools"
profile ro <<YAML
apiVersion: loom/v1
kind: Profile
metadata: {name: ro, description: "a read-only mount with a socket in it"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: overlay}
    tmp: {max: 16MiB}
    readOnly: [{host: $T/tools, at: /mnt/tools}]
  limits: {cpu: 2, memory: 512MiB, pids: 64, openFiles: 1024, timeout: 60s, output: 1MiB}
YAML
cat >"$T/serve.py" <<'PY'
import os, socket, sys
socks = []
for path in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX); s.bind(path); os.chmod(path, 0o777); s.listen(8); socks.append(s)
print("up", flush=True)
import select
while True:
    for s in select.select(socks, [], [])[0]:
        c = s.accept()[0]; c.settimeout(2)
        try: got = c.recv(100)
        except OSError: got = b""
        open(sys.argv[1], "ab").write(got + b"\n"); c.close()
PY
cat >"$WS/call.py" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(sys.argv[2].encode()); print("connected")
PY
cp "$WS/call.py" "$T/tools/"
python3 "$T/serve.py" "$T/got" "$WS/host.sock" "$T/tools/host.sock" >"$T/up" &
BG="$BG $!"
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q up "$T/up" && break; sleep 0.2; done
: >"$T/got"
inside -- /usr/bin/python3 call.py host.sock overlay-1 >/dev/null 2>&1
refuse "overlay: the host's server hears nothing" grep -q overlay-1 "$T/got"
inside --profile dw -- /usr/bin/python3 call.py host.sock direct-1 >/dev/null 2>&1
refuse "direct: the host's server hears nothing" grep -q direct-1 "$T/got"
inside --profile ro -- /usr/bin/python3 call.py /mnt/tools/host.sock readonly-1 >/dev/null 2>&1
refuse "read-only mount: the host's server hears nothing" grep -q readonly-1 "$T/got"
cat >"$WS/dgram.py" <<'PY'
import socket, sys
# One end of a pair of datagram sockets can send to any name.
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"pair-1", sys.argv[1])
PY
python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); print("up", flush=True)
while True: open(sys.argv[2], "ab").write(s.recv(100) + b"\n")' "$WS/dgram.sock" "$T/got2" >"$T/up2" &
BG="$BG $!"
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q up "$T/up2" && break; sleep 0.2; done
: >"$T/got2"
inside --profile dw -- /usr/bin/python3 dgram.py dgram.sock >/dev/null 2>&1
sleep 0.3
refuse "direct: nor by a pair of datagram sockets" grep -q pair-1 "$T/got2"
python3 "$WS/dgram.py" "$WS/dgram.sock"
sleep 0.3
check "control: outside, it does" grep -q pair-1 "$T/got2"
cat >"$WS/tools.py" <<'PY'
import multiprocessing, subprocess
def square(x): return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(2) as p: print("pool", p.map(square, [2, 3]))
    print("pipe", subprocess.run("echo a | cat", shell=True, capture_output=True, text=True).stdout.strip())
PY
inside --profile dw -- /usr/bin/python3 tools.py >"$T/out" 2>&1
check "control: inside, direct: processes of Python work together" sh -c "grep -qx 'pool \[4, 9\]' '$T/out' && grep -qx 'pipe a' '$T/out'"
if command -v make >/dev/null; then
	printf 'all: a b c\na b c:\n\t@echo made $@\n' >"$WS/Makefile"
	inside --profile dw -- make -j3 >"$T/out" 2>&1
	check "control: inside, direct: make -j works" test "$(grep -c ^made "$T/out")" = 3
fi
inside --profile dw -- /usr/bin/python3 -c 'import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))' >"$T/out" 2>&1
check "control: inside, a pair of sockets works" grep -q "b'x'" "$T/out"
python3 "$WS/call.py" "$WS/host.sock" outside-1 >/dev/null
sleep 0.3
check "control: outside, the server hears it" grep -q outside-1 "$T/got"
