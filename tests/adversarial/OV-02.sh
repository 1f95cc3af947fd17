# Socket memory counts against the session's limit (version 1 keeps it in a counter of its own).
. "$(dirname "$0")/lib.sh"
profile small <<YAML
apiVersion: loom/v1
kind: Profile
metadata: {name: small, description: "64 MiB"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: overlay}
    tmp: {max: 16MiB}
  limits: {cpu: 2, memory: 64MiB, pids: 64, openFiles: 1024, timeout: 60s, output: 1MiB}
YAML
cat >"$WS/fill.py" <<'PY'
import socket, sys
# Fill loopback connections and hold them; print what was taken in all, in MiB.
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1000)
data, held, total = b"x" * (1 << 20), [], 0
for i in range(int(sys.argv[1])):
    try:
        c = socket.socket(); c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
        c.connect(l.getsockname()); c.setblocking(False); a = l.accept()[0]; held += [c, a]
        a.setblocking(False)
        for s in (c, a):
            try:
                for _ in range(16): total += s.send(data)
            except OSError: pass
    except OSError: break
print(total >> 20, flush=True)
PY
before=$(awk '$1=="TCP:"{print $NF}' /proc/net/sockstat)
inside --profile small -- /usr/bin/python3 fill.py 60 >"$T/out" 2>"$T/err"
mib=$(cat "$T/out")
note "inside: ${mib:-none} MiB in sockets of a session of 64 MiB"
# Ended by the kernel (nothing printed) or held down: both are within.
check "inside: socket memory stays near the limit of 64 MiB" test "${mib:-0}" -le 96
sleep 1
after=$(awk '$1=="TCP:"{print $NF}' /proc/net/sockstat)
check "and is free again afterwards" test $((after - before)) -le 8192
mib=$(python3 "$WS/fill.py" 60)
note "outside: $mib MiB"
check "control: outside, the same takes more" test "$mib" -gt 96
inside --profile small -- /usr/bin/python3 fill.py 1 >"$T/out" 2>&1
check "control: inside, one connection works" grep -qE '^[0-9]+$' "$T/out"
