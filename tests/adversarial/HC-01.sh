# Standard streams that judge who reads or writes them: the kernel's files, and sockets that are no streams.
. "$(dirname "$0")/lib.sh"
say() { inside -- /bin/sh -c "$1"; }
# streams: what is to be refused is status 120 and invalid-argument.
refused() {
	check "$1 is status 120" test "$2" = 120
	check "$1 is invalid-argument" test "$(reason_of "$T/err")" = invalid-argument
}
before=$(cat /proc/self/oom_score_adj)
say 'echo 7' >/proc/$$/oom_score_adj 2>"$T/err"; refused "output to oom_score_adj" $?
check "the score is what it was" test "$(cat /proc/$$/oom_score_adj)" = "$before"
say 'cat' </proc/self/maps >"$T/out" 2>"$T/err"; refused "input from maps" $?
say 'cat' </sys/kernel/uevent_seqnum >"$T/out" 2>"$T/err"; refused "input from sysfs" $?
say 'cat' </etc >"$T/out" 2>"$T/err"; refused "input from a directory" $?
if [ -w /dev/kmsg ]; then say 'echo loom-canary' >/dev/kmsg 2>"$T/err"; refused "output to kmsg" $?; fi
check "control: outside, maps can be read" grep -q stack /proc/self/maps
# What people use works.
say 'cat; echo done' </dev/null >"$T/out" 2>"$T/err"
check "no input, output to a file" grep -q done "$T/out"
check "input and output by pipes" test "$(echo in | say cat 2>"$T/err" | cat)" = in
mkfifo "$T/fifo"
cat "$T/fifo" >"$T/out" &
say 'echo by-fifo' >"$T/fifo" 2>"$T/err"
wait $!
check "output to a FIFO" grep -q by-fifo "$T/out"
say 'echo x' >/dev/null 2>&1 </dev/zero
check "null and zero" test $? = 0
if command -v script >/dev/null; then
	script -qec "$LOOM run -C $WS -- /bin/echo by-terminal" /dev/null </dev/null >"$T/out" 2>&1
	check "a terminal" grep -q by-terminal "$T/out"
fi
if command -v python3 >/dev/null; then
	cat >"$T/sockets.py" <<'PY'
import os, select, socket, subprocess, sys
run = sys.argv[1:]
def go(name, fd, want, which="stdout"):
	with open(os.devnull, "r+b") as null:
		streams = {"stdin": null, "stdout": null}
		streams[which] = fd
		p = subprocess.run(run, stderr=subprocess.PIPE, **streams)
	good = p.returncode == want and (want == 0 or b"denied: invalid-argument" in p.stderr)
	print("ok" if good else "not", name, p.returncode, p.stderr.decode().strip())
a, b = socket.socketpair()
go("a Unix stream", a, 0)
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
c = socket.create_connection(l.getsockname()); s, _ = l.accept()
go("a TCP stream", c, 0)
go("a TCP stream as input", s, 0, "stdin") if c.shutdown(socket.SHUT_WR) is None else None
go("a listening socket", l, 120)
go("a listening socket as input", l, 120, "stdin")
d, e = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
go("a Unix datagram socket", d, 120)
q, e2 = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
go("a Unix packet socket", q, 120)
go("an unconnected socket", socket.socket(), 120)
go("a netlink socket", socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), 120)
go("a UDP socket", socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 120)
go("an epoll", select.epoll(), 120)
if hasattr(os, "pidfd_open"):
	go("a pidfd", os.pidfd_open(os.getpid()), 120)
if hasattr(os, "eventfd"):
	go("an eventfd", os.eventfd(0), 120)
PY
	timeout 120 python3 "$T/sockets.py" "$LOOM" run -C "$WS" -- /bin/true >"$T/out" 2>"$T/py-err"
	check "sockets: all were tried" test "$(grep -c . "$T/out")" -ge 11
	while read -r how rest; do check "stream: ${rest%% [0-9]*}" test "$how" = ok; done <"$T/out"
	sed 's/^/# /' "$T/out" | grep '^# not'
else
	skip "python3 is not here to make sockets with"
fi
