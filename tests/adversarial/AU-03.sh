# A torn last record: cut at many places, and with garbage behind it.
. "$(dirname "$0")/lib.sh"
L=$XDG_STATE_HOME/loom/ledger
J=$L/journal/00000000000000000000
for i in 1 2 3; do inside -- /bin/echo "run $i" >/dev/null 2>&1; done
"$LOOM" daemon stop >/dev/null 2>&1
check "control: untouched, it verifies" sh -c "'$LOOM' ledger verify >/dev/null"
cp -a "$L" "$T/good"
# The end of what was written: behind it are zeroes.
end=$(python3 -c 'import sys; print(len(open(sys.argv[1],"rb").read().rstrip(b"\0")))' "$J")
entries=$("$LOOM" ledger verify "$L" | sed -n 's/^entries *\([0-9]*\):.*/\1/p')
again() { rm -rf "$L"; cp -a "$T/good" "$L"; }
# How many entries of before are still there, unchanged and in order?
kept() { "$LOOM" ledger show 2>/dev/null | head -n "$entries" | cut -c1-60 | cmp -s - "$T/show"; }
"$LOOM" ledger show 2>/dev/null | head -n "$entries" | cut -c1-60 >"$T/show"
bad_verify=0 bad_start=0 lost=0 silent=0 n=0
for k in 1 2 3 7 8 16 31 32 64 65 100 128 200 300 400 500; do
	for with in zeroes garbage; do
		again
		python3 - "$J" "$end" "$k" $with <<'PY'
import os, sys
path, end, k, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(path, "r+b") as f:
    f.seek(end - k)
    f.write(b"\0" * k if kind == "zeroes" else os.urandom(k + 40))
PY
		n=$((n + 1))
		"$LOOM" ledger verify "$L" >"$T/v" 2>&1 && bad_verify=$((bad_verify + 1))
		grep -qE '(offset|byte) [0-9]+' "$T/v" || bad_verify=$((bad_verify + 1))
		if inside -- /bin/true >/dev/null 2>"$T/err"; then
			"$LOOM" ledger verify "$L" >"$T/v" 2>&1 || bad_start=$((bad_start + 1))
			grep -q '^recovered' "$T/v" || silent=$((silent + 1))
			kept || lost=$((lost + 1))
		fi
		"$LOOM" daemon stop >/dev/null 2>&1
	done
done
note "$n tears"
check "each is found by verify, with an offset" test $bad_verify = 0
check "each that is mended verifies afterwards" test $bad_start = 0
check "and leaves a record of the recovery" test $silent = 0
check "and no complete record that was signed is lost" test $lost = 0
# Not the end, the middle: that is no crash, and nobody mends it.
again
python3 -c 'import sys; f=open(sys.argv[1],"r+b"); f.seek(int(sys.argv[2])//2); f.write(b"\0"*64)' "$J" "$end"
refuse "a hole in the middle is found" sh -c "'$LOOM' ledger verify '$L' >/dev/null 2>&1"
refuse "and no run starts over it" sh -c "'$LOOM' run -C '$WS' -- /bin/true >/dev/null 2>&1"
again
inside -- /bin/true >/dev/null 2>&1
check "control: restored, it runs" test $? = 0
