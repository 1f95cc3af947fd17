# Awkward leftovers: shut directories, odd names, ACLs and attributes, many files. All are removed.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
cat >"$WS/leave.py" <<'PY'
import os, socket, ctypes
os.mkdir("shut"); open("shut/f", "w").write("x"); os.chmod("shut", 0)
os.mkdir("ro"); open("ro/f", "w").write("x"); os.mkdir("ro/in"); open("ro/in/f", "w").write("x"); os.chmod("ro/in", 0o555); os.chmod("ro", 0o555)
os.mkdir("wx"); open("wx/f", "w").write("x"); os.chmod("wx", 0o300)
os.mkdir("sticky"); open("sticky/f", "w").write("x"); os.chmod("sticky", 0o1777)
open("none", "w").write("x"); os.chmod("none", 0)
for n in (b"\n", b"-rf", b"\xff", b"n" * 255, b"*", b" "): open(b"./" + n, "w").write("x")
for n, v in (("user.overlay.opaque", b"y"), ("user.overlay.redirect", b"/etc"), ("user.overlay.metacopy", b""), ("user.overlay.whiteout", b"y"), ("user.x", b"y" * 1000)):
    for t in ("sticky", "sticky/f"):
        try: os.setxattr(t, n, v)
        except OSError as e: pass
try: os.setxattr("sticky/f", "system.posix_acl_access", bytes.fromhex("02000000" "01000700ffffffff" "02000700e8030000" "04000700ffffffff" "10000700ffffffff" "20000700ffffffff"))
except OSError as e: print("acl", e)
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("sock"); os.symlink("/etc/passwd", "link"); os.link("none", "hard")
os.mkdir("many")
for i in range(30000): os.close(os.open("many/%d" % i, os.O_CREAT | os.O_WRONLY))
fd = os.open("held", os.O_CREAT | os.O_RDWR); os.unlink("held"); os.ftruncate(fd, 1 << 20)
print("left")
PY
start=$(date +%s)
inside -- /usr/bin/python3 leave.py >"$T/out" 2>"$T/err"
check "they were left" grep -q left "$T/out"
s=$(session_of "$T/err")
check "and told" test -n "$s"
check "the run ended within 30 s" test $(($(date +%s) - start)) -le 30
"$LOOM" session diff "$s" --stat --no-pager >"$T/stat" 2>"$T/err"
check "the list is there" test "$(wc -l <"$T/stat")" -gt 30000
check "with what lies in shut directories" grep -q 'shut/f' "$T/stat"
"$LOOM" session accept "$s" >/dev/null 2>"$T/err"
check "accept refuses fifo and socket by name" grep -qE 'fifo|sock' "$T/err"
check "and changes nothing" test "$(ls -A "$WS")" = leave.py
start=$(date +%s)
"$LOOM" session rm "$s" >/dev/null 2>"$T/err"
check "rm works" test $? = 0
check "within 20 s" test $(($(date +%s) - start)) -le 20
check "nothing of it is left" test -z "$(ls -A "$XDG_STATE_HOME/loom/sessions" | grep -F "$s")"
inside -- /bin/sh -c 'ls -A' >"$T/out" 2>/dev/null
check "the next session sees the workspace alone" test "$(cat "$T/out")" = leave.py
refuse "no sandbox's process is left" pgrep -f '^/usr/bin/python3 leave[.]py'
# Without awkward kinds it is taken over, shut directories and all.
inside -- /bin/sh -c 'mkdir shut ro; echo x >shut/f; echo y >ro/f; chmod 0 shut; chmod 555 ro; echo z >none; chmod 0 none' 2>"$T/err" >/dev/null
"$LOOM" session accept "$(session_of "$T/err")" >/dev/null 2>"$T/out" || note "$(cat "$T/out")"
check "shut directories are taken over with their modes" test "$(stat -c %a "$WS/shut" "$WS/ro" "$WS/none" 2>/dev/null | tr '\n' ' ')" = "0 555 0 "
mkdir "$T/c" "$T/c/shut" && touch "$T/c/shut/f" && chown -R nobody "$T/c" && chmod 0 "$T/c/shut"
refuse "control: outside, rm -r as their owner fails on a shut directory" su -s /bin/sh nobody -c "rm -r '$T/c/shut' 2>/dev/null"
