# Names with newlines, escapes, bad UTF-8, direction marks, 255 bytes: listed reversibly, taken over, removed.
. "$(dirname "$0")/lib.sh"
session_of() { sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$1" | tail -n 1; }
cat >"$WS/make.py" <<'PY'
import os
names = [b"\n", b"x\x1b[2J", b"\xff\xfe", b"n" * 255, "\u202egpj".encode(), b"-rf", b"*", b"a\\x0ab", b"tab\there", b"\x7f", "\u2028".encode(), b'"q"', b"$(id)", b"{\"seq\":1}", b"\xed\xa0\x80", b" ", b"..."]
for n in names:
    with open(b"./" + n, "w") as f: f.write("x\n")
deep = b"/".join([b"d" * 250] * 20)
here = os.getcwd()
for part in deep.split(b"/"):
    os.mkdir(part); os.chdir(part)
open("bottom", "w").write("x")
os.chdir(here)
print(len(names))
PY
names=$(inside -- /usr/bin/python3 make.py 2>"$T/err")
s=$(session_of "$T/err")
check "they can be made" test "$names" = 17
clean() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1"; }
"$LOOM" session diff "$s" --stat --no-pager >"$T/stat" 2>"$T/err2"
"$LOOM" session diff "$s" --no-pager >"$T/diff" 2>>"$T/err2"
"$LOOM" session diff "$s" --json >"$T/json" 2>>"$T/err2"
for f in stat diff json err2; do check "$f has no raw control bytes" clean "$T/$f"; done
refuse "no direction mark is printed raw" grep -q "$(printf '\342\200\256')" "$T/stat"
check "the JSON list is one document with every name, reversibly" python3 - "$T/json" <<'PY'
import json, re, sys
doc = json.load(open(sys.argv[1]))
got = set()
for c in doc["changes"]:
    text, out, i = c["path"], b"", 0
    while i < len(text):
        if text[i] != "\\": out += text[i].encode(); i += 1
        elif text[i + 1] == "\\": out += b"\\"; i += 2
        else: out += bytes([int(text[i + 2:i + 4], 16)]); i += 4
    got.add(out)
want = [b"\n", b"x\x1b[2J", b"\xff\xfe", b"n" * 255, "\u202egpj".encode(), b"-rf", b"*", b"a\\x0ab", b"\x7f", b"$(id)", b"\xed\xa0\x80"]
sys.exit(0 if all(w in got for w in want) else 1)
PY
inside --cwd "$(printf 'a\001b')" -- /bin/true 2>"$T/err3"
check "a control byte in a path of a request is invalid-path" test "$(reason_of "$T/err3")" = invalid-path
check "told without the raw byte" clean "$T/err3"
"$LOOM" ledger show >"$T/show" 2>/dev/null
check "the record is printed without raw control bytes" clean "$T/show"
lines=$("$LOOM" ledger show 2>/dev/null | wc -l)
"$LOOM" session accept "$s" >"$T/acc" 2>&1 || note "$(cat "$T/acc")"
check "accept says nothing raw" clean "$T/acc"
check "one line is added for each event of it" test $(($("$LOOM" ledger show 2>/dev/null | wc -l) - lines)) -le 3
check "every name arrived" python3 -c '
import os, sys
have = set(os.listdir(os.fsencode(sys.argv[1])))
sys.exit(0 if {b"\n", b"x\x1b[2J", b"\xff\xfe", b"n" * 255, b"-rf", b"*", b"\xed\xa0\x80"} <= have else 1)' "$WS"
"$LOOM" session rm "$s" >/dev/null 2>&1
check "nothing is kept" test -z "$(ls -A "$XDG_STATE_HOME/loom/sessions" | grep -F "$s")"
printf 'x\033[2J' >"$T/raw"
refuse "control: the check sees a raw control byte" clean "$T/raw"
