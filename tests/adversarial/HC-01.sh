# A hostile client at cli.sock: malformed packets, wrong descriptors, floods. Each is refused, and nobody
# else notices.
. "$(dirname "$0")/lib.sh"
inside -- /bin/true >/dev/null 2>&1
cat >"$T/client.py" <<'PY'
import array, ctypes, fcntl, os, socket, struct, sys, time
SOCK, WS, T = sys.argv[1:4]
libc = ctypes.CDLL(None)
b = lambda x: struct.pack(">I", len(x)) + x
u32 = lambda *v: struct.pack(">%dI" % len(v), *v)
def packet(kind, body, magic=0x4c4f4f4d, length=None): return u32(magic, kind, len(body) if length is None else length) + body
def memfd(data, seals=15):
    fd = os.memfd_create("x", 3); os.write(fd, data)
    if seals: fcntl.fcntl(fd, 1033, seals)
    return fd
def args(*a): return b"\0" * 32 + b"".join(x.encode() + b"\0" for x in a)
def run(flags=0, profile=b"default", session=b"", cwd=b"", timeout=0, version=1, workflow=b""):
    return u32(version, flags) + b(profile) + b(workflow) + b(session) + b(cwd) + struct.pack(">Q", timeout) + u32(24, 80) + b(b"")
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(8); s.connect(SOCK); return s
def send(s, data, fds=()):
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
def answer(s):
    # end, or the reason of run_done; with "started" before it when it started.
    out = []
    try:
        while True:
            d = s.recv(70000)
            if not d: return out + ["end"]
            kind, p = struct.unpack(">III", d[:12])[1], d[12:]
            if kind == 0x18: out.append("started")
            elif kind == 0x19:
                n = struct.unpack(">I", p[4:8])[0]; return out + [p[8:8 + n].decode()]
            else: out.append(hex(kind))
    except ConnectionResetError: return out + ["end"]
    except OSError as e: return out + [str(e)]
null = os.open("/dev/null", os.O_RDWR)
O = os.open
def ask(name, want, ws=None, stdio=(null, null, null), a=None, env=None, **k):
    s = connect()
    fds = [O(WS, os.O_PATH) if ws is None else ws, *stdio, memfd(args("/bin/true")) if a is None else a] + ([env] if env is not None else [])
    try: send(s, packet(0x10, run(flags=2 if env is not None else 0, **k)), fds); got = answer(s)
    except OSError as e: got = [str(e)]
    s.close()
    print("ok" if got in want else "BAD", name, got, flush=True)
RUNS = [["started", "allowed"]]
ARG, REQ, PATH, LIMIT = [["invalid-argument"]], [["invalid-request"]], [["invalid-path"]], [["limit-exceeded"]]
def main():
    ask("control: a good request", RUNS)
    r, w = os.pipe(); one, two = socket.socketpair(); tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen()
    ask("control: pipes", RUNS, stdio=(r, w, w)); ask("control: a pair of sockets", RUNS, stdio=(one.fileno(),) * 3)
    for name, fd in (("O_PATH", O("/etc/passwd", os.O_PATH)), ("a directory", O("/tmp", os.O_RDONLY)), ("an epoll", libc.epoll_create1(0)), ("a pidfd", os.pidfd_open(os.getpid())),
                     ("procfs", O("/proc/self/maps", os.O_RDONLY)), ("a listening socket", tcp.fileno()), ("netlink", socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).detach()),
                     ("a datagram socket", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach())):
        ask("standard input is " + name, ARG, stdio=(fd, null, null))
    for name, fd in (("read-only", O("/dev/null", os.O_RDONLY)), ("procfs", O("/proc/self/oom_score_adj", os.O_WRONLY)), ("cgroup or sysfs", O("/proc/self/comm", os.O_WRONLY)), ("netlink", socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).detach())):
        ask("standard output is " + name, ARG, stdio=(null, fd, null))
    f = O(T + "/plain", os.O_RDWR | os.O_CREAT); os.write(f, args("/bin/true"))
    for name, fd in (("not sealed", memfd(args("/bin/true"), 0)), ("half sealed", memfd(args("/bin/true"), 6)), ("sealed for the future", memfd(args("/bin/true"), 22)), ("a plain file", f), ("a socket", one.fileno()),
                     ("too short", memfd(b"\0" * 31)), ("without an end", memfd(b"\0" * 32 + b"x"))): ask("arguments " + name, REQ, a=fd)
    ask("no arguments", ARG, a=memfd(b"\0" * 32)); ask("an empty command", ARG, a=memfd(b"\0" * 33)); ask("4 MiB of arguments", LIMIT, a=memfd(b"\0" * 32 + b"a\0" * (2 << 20)))
    for v in (b"=x\0", b"A\0", b"A=1\0A=2\0", b"a b=1\0"): ask("variables %r" % v, ARG, env=memfd(b"\0" * 32 + v))
    os.mkdir(T + "/gone"); gone = O(T + "/gone", os.O_PATH); os.rmdir(T + "/gone")
    for name, fd in (("a file", O("/etc/passwd", os.O_PATH)), ("/proc/self", O("/proc/self", os.O_PATH)), ("deleted", gone), ("/", O("/", os.O_PATH)), ("a socket", one.fileno()), ("a memfd", memfd(b""))): ask("workspace " + name, PATH, ws=fd)
    for c in (b"..", b"/etc", b"a/../..", b"a\0b", b"/proc/1/root", b"\xff"): ask("cwd %r" % c, PATH, cwd=c)
    ask("version", REQ, version=99); ask("workflow", [["not-authorized"]], workflow=b"root"); ask("profile ../default", REQ, profile=b"../default"); ask("session ../x", REQ, session=b"../x"); ask("timeout", LIMIT, timeout=2**64 - 1)
    good = [null] * 5
    for name, data, fds in (("magic", packet(0x10, run(), magic=1), good), ("length", packet(0x10, run(), length=9999), good), ("type", packet(0x99, b""), []), ("grant", packet(0x33, b"\0" * 100), [null]), ("examine", packet(0x30, b"\0" * 20), good),
                            ("few descriptors", packet(0x10, run()), [null]), ("seven", packet(0x10, run()), [null] * 7), ("253", packet(0x10, run()), [null] * 253), ("query with one", packet(0x13, u32(1, 0) + b(b"") + b(b"") + u32(0)), [null]),
                            ("cut body", packet(0x10, run()[:20]), good), ("trailing", packet(0x10, run() + b"x"), good), ("signal while idle", packet(0x11, u32(9)), []), ("tiny", b"LOOM", []), ("flags", packet(0x10, run(flags=0xfffffff8)), good),
                            ("bad UTF-8", packet(0x10, run(profile=b"\xff")), good), ("a NUL in a text", packet(0x10, run(profile=b"a\0b")), good)):
        s = connect(); send(s, data, fds); got = answer(s); s.close()
        print("ok" if got in ([["end"]] + REQ) else "BAD", "packet: " + name, got, flush=True)
    s = connect(); send(s, packet(0x10, run()), [O(WS, os.O_PATH), null, null, null, memfd(args("/bin/sleep", "20"))]); time.sleep(0.3); send(s, packet(0x10, run()), [O(WS, os.O_PATH), null, null, null, memfd(args("/bin/true"))])
    print("ok" if answer(s)[-1] == "end" else "BAD", "a second request while one runs"); s.close()
    many = []
    for _ in range(int(sys.argv[4])):
        try: c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); c.setblocking(False); c.connect(SOCK); many.append(c)
        except OSError: break
    print("flood", len(many), flush=True); time.sleep(float(sys.argv[5]))
main()
PY
sock=$XDG_RUNTIME_DIR/loom/cli.sock
authority=$(pgrep -P "$("$LOOM" daemon status | sed -n 's/^pid *//p')" loom-authority)
fds=$(ls "/proc/$authority/fd" | wc -l)
(ulimit -n 4096; timeout 120 python3 "$T/client.py" "$sock" "$WS" "$T" 400 0) >"$T/out" 2>&1
note "$(grep -E '^BAD|Error' "$T/out")"
check "it came to its end" grep -q '^flood' "$T/out"
check "at least 50 requests were judged" test "$(grep -c '^ok' "$T/out")" -ge 50
refuse "each got the answer that is due" grep -q '^BAD' "$T/out"
check "control: the good ones ran" test "$(grep -c '^ok control.*started' "$T/out")" = 3
check "the daemon is the same" test "$(pgrep -P "$("$LOOM" daemon status | sed -n 's/^pid *//p')" loom-authority)" = "$authority"
for _ in $(seq 30); do [ "$(ls "/proc/$authority/fd" | wc -l)" -le $((fds + 2)) ] && break; sleep 0.1; done
check "no descriptor of theirs is left with the authority" test "$(ls "/proc/$authority/fd" | wc -l)" -le $((fds + 2))
inside -- /bin/echo served >"$T/out" 2>/dev/null
check "and it serves" grep -q served "$T/out"
check "nothing runs any more" sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do '$LOOM' daemon status | grep -q '^live *0' && exit 0; sleep 0.2; done; exit 1"
# More silent connections than there is room for: who has something to ask is told busy, or served.
(ulimit -n 4096; exec python3 - "$sock" <<'PY'
import socket, sys, time
many = []
for _ in range(1500):
    try: c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); c.setblocking(False); c.connect(sys.argv[1]); many.append(c)
    except OSError: break
print("open", flush=True); time.sleep(30)
PY
) >"$T/flood" 2>&1 &
flood=$!
BG="$BG $flood"
for _ in $(seq 50); do grep -q open "$T/flood" && break; sleep 0.1; done
timeout 25 "$LOOM" run -C "$WS" -- /bin/echo in-the-flood >"$T/out" 2>"$T/err"
check "in a flood a run is served, or told that it is busy" sh -c "grep -q in-the-flood '$T/out' || grep -q 'denied: busy' '$T/err'"
kill $flood
wait $flood 2>/dev/null
sleep 0.5
inside -- /bin/echo after >"$T/out" 2>/dev/null
check "after it, all is as before" grep -q after "$T/out"
