# Log injection through names, arguments and paths.
. "$(dirname "$0")/lib.sh"
evil=$(printf 'x\n{"seq":1}\033[2J\342\200\250\377')
mkdir "$WS/$(printf 'a\033[2Jb')" 2>/dev/null
inside -- /bin/echo "$evil" >/dev/null 2>&1
big=$(head -c 120000 /dev/zero | tr '\0' b)
inside -- /bin/true "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" >/dev/null 2>&1
check "a million bytes of arguments run" test $? = 0
"$LOOM" run -C "$WS/$(printf 'a\033[2Jb')" -- /bin/true >/dev/null 2>&1
"$LOOM" ledger show -n 50 >"$T/show" 2>&1
refuse "the printer emits no raw control bytes" grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$T/show"
"$LOOM" ledger show --json -n 50 >"$T/json"
check "every record is one document" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$T/json"
check "no record is forged" sh -c "! grep -q '^{\"seq\":1}' $T/show $T/json"
check "no record is larger than it may be" python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); d=d if isinstance(d,list) else d["entries"]; sys.exit(any(len(json.dumps(e))>70000 for e in d))' "$T/json"
check "and it all verifies" "$LOOM" ledger verify
check "control: the same bytes printed by echo are raw" sh -c "printf '%s' '$evil' | grep -qP '[\x1b]'"
