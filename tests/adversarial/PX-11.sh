# Out without a proxy: there is no way but loopback.
. "$(dirname "$0")/lib.sh"
cat >"$T/canary.py" <<'PY'
import select, socket, sys
socks = []
for fam, addr in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            s = socket.socket(fam, kind); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if fam == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            s.bind((addr, int(sys.argv[1]))); socks.append(s)
            if kind == socket.SOCK_STREAM: s.listen(16)
        except OSError: pass
print("up", flush=True)
while True:
    for s in select.select(socks, [], [])[0]:
        if s.type == socket.SOCK_STREAM:
            c = s.accept()[0]; c.settimeout(1)
            try: got = c.recv(100)
            except OSError: got = b""
            c.close()
        else: got = s.recv(100)
        with open(sys.argv[2], "ab") as f: f.write(b"heard " + got + b"\n")
PY
port=$((20000 + $$ % 20000))
: >"$T/heard"
python3 "$T/canary.py" $port "$T/heard" >"$T/up" &
BG="$BG $!"
for _ in $(seq 20); do grep -q up "$T/up" && break; sleep 0.1; done
host=$(hostname -I 2>/dev/null | awk '{print $1}')
host=${host:-127.0.0.1}
cat >"$WS/out.py" <<'PY'
import errno, socket, sys
port = int(sys.argv[1])
def say(name, f):
    try: f(); print("REACHED", name)
    except OSError as e: print(name, errno.errorcode.get(e.errno, e.errno))
def tcp(a):
    s = socket.create_connection((a, port), 2); s.send(b"tcp"); s.close()
def udp(a):
    s = socket.socket(socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"udp", (a, port))
def bound(a):
    s = socket.socket(); s.bind(("0.0.0.0", 0)); s.settimeout(2); s.connect((a, port)); s.send(b"bound")
def device(a):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 25, b"eth0\0"); s.settimeout(2); s.connect((a, port)); s.send(b"device")
def mark(a):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 36, 1); s.settimeout(2); s.connect((a, port)); s.send(b"mark")
def icmp(a):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b"\x08\0\0\0\0\0\0\0", (a, 0))
def raw(a): socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
def broadcast(a):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.sendto(b"bc", ("255.255.255.255", port))
def multicast(a): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"mc", ("224.0.0.1", port))
for a in sys.argv[2:]:
    for f in (tcp, udp, bound, device, mark, icmp, raw): say(f.__name__ + " " + a, lambda: f(a))
for f in (broadcast, multicast): say(f.__name__, lambda: f(""))
say("dns", lambda: socket.getaddrinfo("example.org", 80))
print("IFACES", sorted(n for _, n in socket.if_nameindex()) if False else open("/proc/net/dev").read().count(":"))
print("ROUTES", len(open("/proc/net/route").read().splitlines()) - 1)
PY
inside -- /usr/bin/python3 out.py $port "$host" 192.0.2.1 169.254.169.254 10.0.0.1 127.0.0.1 fe80::1 2001:db8::1 ::1 >"$T/out" 2>&1
# A datagram to one's own loopback is sent to nobody; what counts is what the canary hears.
refuse "nothing is reached" sh -c "grep '^REACHED' '$T/out' | grep -vqE '^REACHED udp (127\.0\.0\.1|::1)\$'"
check "an address outside is unreachable (ENETUNREACH)" grep -q '^tcp 192.0.2.1 ENETUNREACH' "$T/out"
check "there is one interface" grep -qx 'IFACES 1' "$T/out"
check "and no route" grep -qx 'ROUTES 0' "$T/out"
inside -- /bin/bash -c "for a in $host 127.0.0.1; do (echo dev >/dev/tcp/\$a/$port) 2>/dev/null; (echo dev >/dev/udp/\$a/$port) 2>/dev/null; done; ip route add default dev lo 2>&1; ip link add x type dummy 2>&1; true" >"$T/out" 2>&1
sleep 0.3
check "the canary heard nothing" test ! -s "$T/heard"
[ -s "$T/heard" ] && note "$(cat "$T/heard")"
inside -- /usr/bin/python3 -c '
import socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(); c = socket.create_connection(l.getsockname()); print("loopback works")' >"$T/out" 2>&1
check "control: inside, loopback works" grep -q 'loopback works' "$T/out"
python3 "$WS/out.py" $port 127.0.0.1 >"$T/out" 2>&1
sleep 0.3
check "control: outside, the canary hears" grep -q 'heard tcp' "$T/heard"
