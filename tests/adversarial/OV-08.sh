# Devices and whiteouts that hide files from an overlay, other protocols, other ABIs, and the
# kernel's counts: refused, or harmless, and what programs need of the same calls goes on.
. "$(dirname "$0")/lib.sh"
if [ "$(uname -m)" != x86_64 ]; then
	skip "the numbers of its calls are x86_64's"
	exit 0
fi
direct_profile dw
cat >"$WS/try.py" <<'PY'
import ctypes, errno, os, signal, socket, stat
c = ctypes.CDLL(None, use_errno=True)
def say(name, f):
    try: r = f()
    except OSError as e: r = errno.errorcode[e.errno]
    print(name, "ok" if r is None or r == 0 else r)
def call(nr, *args):
    r = c.syscall(nr, *args)
    return errno.errorcode[ctypes.get_errno()] if r < 0 else 0
def close(s): s.close()
say("whiteout", lambda: os.mknod("white", stat.S_IFCHR | 0o600, 0))
say("block", lambda: os.mknod("block", stat.S_IFBLK | 0o600, os.makedev(7, 0)))
say("fifo", lambda: os.mknod("fifo", stat.S_IFIFO | 0o600))
open("from", "w").close()
say("leave-whiteout", lambda: call(316, -100, b"from", -100, b"to", 4))
say("rename", lambda: call(316, -100, b"from", -100, b"to", 0))
say("sync", lambda: call(162))
say("syncfs", lambda: call(306, os.open(".", os.O_RDONLY)))
say("fsync", lambda: os.fsync(os.open("to", os.O_RDWR)))
say("aio", lambda: call(206, 1, ctypes.byref(ctypes.c_ulong(0))))
for name, proto in (("mptcp", 262), ("sctp", 132)):
    say(name, lambda: close(socket.socket(socket.AF_INET, socket.SOCK_STREAM, proto)))
say("udplite", lambda: close(socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)))
say("tcp", lambda: close(socket.socket(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP)))
say("udp", lambda: close(socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)))
say("x32", lambda: call(0x40000000 | 39))
n = lambda f: open("/proc/sys/user/" + f).read().strip()
print("instances", n("max_inotify_instances"), "namespaces", n("max_user_namespaces"))
try: open("/proc/sys/user/max_inotify_instances", "w").write("9999"); print("raised")
except OSError as e: print("bound stays")
PY
for p in default dw; do
	if [ $p = dw ]; then set -- --profile dw; else set --; fi
	inside "$@" -- /usr/bin/python3 try.py >"$T/out" 2>&1
	for name in whiteout block leave-whiteout mptcp sctp udplite; do check "$p: $name: EPERM" grep -qx "$name EPERM" "$T/out"; done
	for name in fifo rename sync syncfs fsync tcp udp; do check "$p: $name goes on" grep -qx "$name ok" "$T/out"; done
	check "$p: aio: ENOSYS" grep -qx "aio ENOSYS" "$T/out"
	check "$p: an x32 number: EPERM, and the process lives" grep -qx "x32 EPERM" "$T/out"
	check "$p: quotas of its own" grep -qx "instances 64 namespaces 0" "$T/out"
	check "$p: which it cannot raise" grep -qx "bound stays" "$T/out"
	[ $p = dw ] || rm -f "$WS/fifo" "$WS/to"
done
refuse "no device is left in the workspace" sh -c "find '$WS' -type c -o -type b | grep -q ."
check "control: outside, a whiteout can be made" mknod "$T/white" c 0 0
check "control: outside, the count is larger" test "$(cat /proc/sys/user/max_user_namespaces)" -gt 0
