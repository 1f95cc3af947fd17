# IPC, keyrings and the kernel's quotas: what one session takes, nobody else misses.
. "$(dirname "$0")/lib.sh"
cat >"$WS/take.py" <<'PY'
import ctypes, os, sys, time, resource, signal
c = ctypes.CDLL(None, use_errno=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def inotify():
    n = 0
    while n < 2000 and c.inotify_init1(0) >= 0: n += 1
    return n
def watches():
    fd = c.inotify_init1(0); n = 0
    os.makedirs("/tmp/w", exist_ok=True)
    while n < 60000:
        p = b"/tmp/w/%d" % n
        try: os.close(os.open(p, os.O_CREAT | os.O_RDONLY))
        except OSError: break
        if c.inotify_add_watch(fd, p, 2) < 0: break
        n += 1
    return n
def aio():
    n, k = 0, 65536
    while k >= 1 and n < 200000:
        ctx = ctypes.c_ulong(0)
        if c.syscall(206, k, ctypes.byref(ctx)) == 0: n += k
        else: k //= 2
    return n
def ptys():
    # Each child says one number, how many it has, and holds them.
    r, w = os.pipe(); total = 0
    for _ in range(4):
        if os.fork() == 0:
            n = 0
            try:
                while n < 1000: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY); n += 1
            except OSError: pass
            os.write(w, n.to_bytes(4, "little")); time.sleep(60); os._exit(0)
        total += int.from_bytes(os.read(r, 4), "little")
    return total
def ipc():
    return sum(c.syscall(n, 0x4c4f, *rest) >= 0 for n, rest in ((29, (4096, 0o1600)), (64, (1, 0o1600)), (68, (0o1600,))))
def signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, [40]); n = 0
    while n < 200000 and c.sigqueue(os.getpid(), 40, 0) == 0: n += 1
    return n
print(sys.argv[1], globals()[sys.argv[1]](), flush=True)
open("/tmp/ready", "w").close(); time.sleep(float(sys.argv[2]))
os.killpg(0, 9) if sys.argv[1] == "ptys" else None
PY
cp "$WS/take.py" "$T/take.py"
# with KIND COMMAND…: the command while a session holds all it can of KIND.
with() {
	local kind=$1 pid; shift
	"$LOOM" run -C "$WS" -- /usr/bin/python3 take.py "$kind" 30 >"$T/holder" 2>/dev/null &
	pid=$!
	BG="$BG $pid"
	for _ in $(seq 100); do grep -q "$kind" "$T/holder" && break; sleep 0.1; done
	note "one session holds: $(cat "$T/holder")"
	"$@"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	# A session dies with its client; what the kernel then frees, it frees a little later.
	for _ in $(seq 50); do "$LOOM" daemon status 2>/dev/null | grep -q '^live *0' && break; sleep 0.1; done
	sleep 0.5
}
number() { awk '{print $2}' "$1"; }
others() {
	inside -- /usr/bin/python3 take.py "$1" 0 >"$T/second" 2>/dev/null
	check "$1: a second session gets as much as the first" test "$(number "$T/second")" -ge "$(number "$T/holder")"
	check "$1: and it is something" test "$(number "$T/second")" -ge "$2"
}
inotify_host() { others inotify 1; check "inotify: the host still gets instances" python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).inotify_init1(0) < 0)'; }
watches_host() { others watches 1; }
aio_host() { check "aio: the machine's count is (nearly) unmoved" test "$(cat /proc/sys/fs/aio-nr)" -le $((AIO + 1024)); }
ptys_host() {
	check "ptys: far from all of the machine's" test "$(number "$T/holder")" -le 256
	inside -t -- /bin/echo tty-works </dev/null >"$T/out" 2>&1
	check "ptys: a second session still gets a terminal" grep -q tty-works "$T/out"
}
AIO=$(cat /proc/sys/fs/aio-nr)
with inotify inotify_host
with watches watches_host
with aio aio_host
with ptys ptys_host
with signals others signals 1
before=$(ipcs | md5sum)
inside -- /usr/bin/python3 take.py ipc 0 >"$T/out" 2>&1
check "System V objects can be made inside" grep -qE 'ipc [1-3]' "$T/out"
check "and the host sees none" test "$(ipcs | md5sum)" = "$before"
inside -- /usr/bin/python3 take.py ipc 0 >"$T/second" 2>&1
check "nor does a second session (each key is new to it)" test "$(cat "$T/second")" = "$(cat "$T/out")"
sh_inside 'cat /proc/keys' >"$T/a" 2>/dev/null
sh_inside 'cat /proc/keys' >"$T/b" 2>/dev/null
refuse "two sessions see no key in common" sh -c "cut -d' ' -f1 '$T/a' | grep . | grep -Fqf - '$T/b'"
check "control: outside, aio moves the machine's count" python3 -c '
import ctypes, sys
c = ctypes.CDLL(None); x = ctypes.c_ulong(0); n = int(open("/proc/sys/fs/aio-nr").read())
sys.exit(not (c.syscall(206, 64, ctypes.byref(x)) == 0 and int(open("/proc/sys/fs/aio-nr").read()) > n))'
