# Records edited, removed, swapped, copied.
. "$(dirname "$0")/lib.sh"
for i in 1 2 3 4; do inside -- /bin/echo "run $i" >/dev/null 2>&1; done
"$LOOM" daemon stop >/dev/null 2>&1
L=$XDG_STATE_HOME/loom/ledger
check "control: untouched, it verifies" "$LOOM" ledger verify "$L"
j=$(find "$L/journal" -type f | sort | head -n 1)
cp "$j" "$T/journal.good"
size=$(stat -c %s "$j")
at=$(grep -abo '"verdict":"allow"' "$j" | sed -n '2s/:.*//p')
printf 'X' | dd of="$j" bs=1 seek=$((at + 12)) conv=notrunc 2>/dev/null
refuse "one flipped byte is found" "$LOOM" ledger verify "$L"
cp "$T/journal.good" "$j"
at=$(grep -abo 'allow' "$j" | sed -n '1s/:.*//p')
cp "$T/journal.good" "$j"
check "restored, it verifies again" "$LOOM" ledger verify "$L"
for f in "$L"/checkpoint; do
	cp "$f" "$T/keep"
	sed -i '2s/.*/1/' "$f"
	refuse "a shortened checkpoint is found" "$LOOM" ledger verify "$L"
	cp "$T/keep" "$f"
done
