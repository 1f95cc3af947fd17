# A component of a path swapped between check and use: by a session that runs, against diff and accept.
. "$(dirname "$0")/lib.sh"
direct_profile dw
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
mkdir "$WS/d" "$T/outside"
echo canary >"$T/outside/canary"
for i in $(seq 20); do echo "was $i" >"$WS/d/f$i"; done
cat >"$WS/swap.py" <<'PY'
import ctypes, os, sys, time
c = ctypes.CDLL(None)
target = sys.argv[1]
try: os.symlink(target, "s")
except FileExistsError: pass
end, n = time.time() + float(sys.argv[2]), 0
print("swapping", flush=True)
while time.time() < end:
    c.renameat2(-100, b"d", -100, b"s", 2)  # RENAME_EXCHANGE
    n += 1
if os.path.islink("d"): c.renameat2(-100, b"d", -100, b"s", 2)
print(n, flush=True)
PY
for round in 1 2 3; do
	inside -- /bin/sh -c "for i in \$(seq 20); do echo new $round >d/f\$i; echo $round >d/n$round-\$i; done" >/dev/null 2>"$T/err$round"
done
"$LOOM" run --profile dw -C "$WS" --timeout 60s -- /usr/bin/python3 swap.py "$T/outside" 12 >"$T/swaps" 2>"$T/swap.err" &
swapper=$!
BG="$BG $swapper"
for _ in $(seq 50); do grep -q swapping "$T/swaps" && break; sleep 0.1; done
check "a session swaps a directory and a link to outside" grep -q swapping "$T/swaps"
tries=0
while kill -0 $swapper 2>/dev/null && [ $tries -lt 300 ]; do
	s=$(session_of "$T/err$((tries % 3 + 1))")
	case $((tries % 4)) in
	0) "$LOOM" session diff "$s" --no-pager >>"$T/diffs" 2>/dev/null ;;
	1) "$LOOM" session diff "$s" --stat --no-pager >>"$T/diffs" 2>/dev/null ;;
	2) "$LOOM" session accept "$s" --path "d/f$((tries % 20 + 1))" >>"$T/accepts" 2>&1 ;;
	3) "$LOOM" session accept "$s" >>"$T/accepts" 2>&1 ;;
	esac
	tries=$((tries + 1))
done
wait $swapper
note "$tries tries against $(tail -n 1 "$T/swaps") swaps"
check "enough of both" test $tries -ge 20 -a "$(tail -n 1 "$T/swaps")" -gt 1000
check "outside is as it was" test "$(ls "$T/outside")" = canary -a "$(cat "$T/outside/canary")" = canary
refuse "no diff shows what lies outside" grep -q canary "$T/diffs"
check "no half-done accept is left in the workspace" test -z "$(find "$WS" -maxdepth 1 -name '.loom*')"
"$LOOM" session ls >/dev/null 2>&1
check "the daemon lives" test $? = 0
rm -f "$WS/s"
echo fresh >"$WS/d/g"
inside -- /bin/sh -c 'echo new >d/g2' >/dev/null 2>"$T/err"
"$LOOM" session accept "$(session_of "$T/err")" >/dev/null 2>"$T/out" || note "$(cat "$T/out")"
check "control: without the swapping, accept works" test "$(cat "$WS/d/g2")" = new
(cd "$T" && mkdir w && cd w && mkdir d && timeout 2 python3 "$WS/swap.py" "$T/outside" 1 >/dev/null & sleep 0.3; cd "$T/w" && n=0; while [ $n -lt 400 ]; do echo x >d/hit 2>/dev/null; n=$((n + 1)); done; wait)
check "control: outside, a plain writer is led out" test -e "$T/outside/hit"
