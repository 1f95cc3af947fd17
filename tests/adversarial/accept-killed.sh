# Everything of Loom is killed while it takes changes over: nothing of it goes on alone, and the next
# command finds the workspace exactly as it was, or exactly as it was to be.
. "$(dirname "$0")/lib.sh"
FILES=3000
# Everything of a directory: names, types, modes, owners, contents.
picture() { (cd "$1" && find . -mindepth 1 -printf '%P %y %m %U:%G\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum; }
# What moves in it, besides: inodes and times.
motion() { find "$1" -printf '%P %i %C@ %s\n' | sort | sha256sum; }
alive() { local p s; for p; do s=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$p/status" 2>/dev/null); [ -n "$s" ] && [ "$s" != Z ] && return 0; done; return 1; }
# kill-when.py WS WHAT N PID: wait until the staging directory holds N entries (staged), or file N was
# replaced (placed); then end PID and everything beneath it but the child with the owner's ids.
cat >"$T/kill-when.py" <<'PY'
import glob, os, signal, sys, time
ws, what, n, pid = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def tree(top):
    # By everybody's parent: not every kernel lists children.
    parent = {}
    for p in os.listdir("/proc"):
        if not p.isdigit(): continue
        try: parent[int(p)] = int(open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[1])
        except OSError: pass
    out = [top]
    for p in out: out += [c for c in parent if parent[c] == p]
    return out
first = os.stat(f"{ws}/d/f{n}").st_ino
end = time.time() + 60
while time.time() < end:
    if what == "placed":
        try:
            if os.stat(f"{ws}/d/f{n}").st_ino != first: break
        except OSError: pass
    else:
        new = glob.glob(f"{ws}/.loom-accept-*/new")
        try:
            if new and len(os.listdir(new[0])) >= n: break
        except OSError: pass
else: sys.exit("never seen")
def is_owner(p):
    try: return "Uid:\t65534\t" in open(f"/proc/{p}/status").read()
    except OSError: return False
whole = tree(pid)
child = [p for p in whole if is_owner(p)]
# The one with the owner's ids is to go by itself.
for p in whole:
    if p in child: print("child", p)
    else:
        try: os.kill(p, signal.SIGKILL)
        except OSError: pass
print("pids", *whole)
PY
mkdir "$WS/d"
for i in $(seq $FILES); do echo "was $i" >"$WS/d/f$i"; done
chown -R nobody:nogroup "$WS"
before=$(picture "$WS")
cp -a "$WS" "$T/after"
for i in $(seq $FILES); do echo "will be $i, and longer" >"$T/after/d/f$i"; done
echo new >"$T/after/d/new"
chown -R nobody:nogroup "$T/after"
after=$(picture "$T/after")
for when in "staged 300" "staged 2900" "placed 1500"; do
	# shellcheck disable=SC2086
	set -- $when
	if [ "$(picture "$WS")" = "$after" ]; then
		rm -rf "$WS/d"
		mkdir "$WS/d"
		for i in $(seq $FILES); do echo "was $i" >"$WS/d/f$i"; done
		chown -R nobody:nogroup "$WS"
	fi
	inside -- /bin/sh -c "umask 022; i=1; while [ \$i -le $FILES ]; do echo \"will be \$i, and longer\" >d/f\$i; i=\$((i + 1)); done; echo new >d/new" >/dev/null 2>"$T/err"
	s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
	pid=$("$LOOM" daemon status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
	python3 "$T/kill-when.py" "$WS" "$1" "$2" "$pid" >"$T/killed" 2>"$T/killer.err" &
	killer=$!
	"$LOOM" session accept "$s" >"$T/accept" 2>&1
	refuse "$when: the accept does not say it was done" test $? = 0
	wait $killer
	check "$when: it was killed in the middle, its child at work" grep -q '^child' "$T/killed"
	sleep 0.2
	# shellcheck disable=SC2046
	refuse "$when: nothing of it lives on" alive $(sed -n 's/^pids //p' "$T/killed")
	m=$(motion "$WS")
	check "$when: it was cut off, and the workspace says so" test -n "$(find "$WS" -maxdepth 1 -name '.loom-accept-*')"
	sleep 1.5
	check "$when: the workspace moves no more" test "$(motion "$WS")" = "$m"
	"$LOOM" session ls >"$T/ls" 2>&1 || note "$(cat "$T/ls")"
	now=$(picture "$WS")
	check "$when: after the next command it is exactly as before or as after" test "$now" = "$before" -o "$now" = "$after"
	"$LOOM" ledger show --json -n 20 >"$T/ledger" 2>&1
	check "$when: the record says indeterminate" grep -q indeterminate "$T/ledger"
	check "$when: the record verifies" sh -c "'$LOOM' ledger verify >/dev/null 2>&1"
	if [ "$now" = "$before" ]; then "$LOOM" session rm "$s" >/dev/null 2>&1; fi
done
inside -- /bin/sh -c "umask 022; i=1; while [ \$i -le $FILES ]; do echo \"will be \$i, and longer\" >d/f\$i; i=\$((i + 1)); done; echo new >d/new" >/dev/null 2>"$T/err"
s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
"$LOOM" session accept "$s" >"$T/accept" 2>&1 || note "$(cat "$T/accept")"
check "control: nobody kills it, and everything is taken over" test "$(picture "$WS")" = "$after"
python3 -c 'import os, signal, sys, time
if os.fork() == 0:
    os.setuid(65534)
    for i in range(40): open(sys.argv[1], "a").write("x"); time.sleep(0.1)
    os._exit(0)
time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)' "$(mktemp -p "$T" control-XXXXXX | tee "$T/control-name" | xargs -I{} sh -c 'chmod 666 {}; echo {}')" 2>/dev/null
c=$(stat -c %s "$(cat "$T/control-name")")
sleep 0.5
check "control: an untied child with other ids outlives its parent" test "$(stat -c %s "$(cat "$T/control-name")")" -gt "$c"
