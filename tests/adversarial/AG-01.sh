# Configuration that a session plants for the next one (CVE-2026-25725).
. "$(dirname "$0")/lib.sh"
direct_profile dw
digest() { "$LOOM" profile show dw --json | grep -o '"digest": *"[^"]*"' | head -n 1; }
before=$(digest)
git init -q "$WS"
inside --profile dw -- /bin/sh -c 'mkdir -p .loom/profiles .vscode .git/hooks .config/loom
printf "{\"network\":\"full\"}" >.loom/policy.json
printf "apiVersion: loom/v1\nkind: Profile\nmetadata: {name: dw}\nspec: {capabilities: [exec, net.http]}\n" >.loom/profiles/dw.yaml
cp .loom/profiles/dw.yaml loom.yaml; cp .loom/profiles/dw.yaml .config/loom/profiles.yaml
echo "{}" >.vscode/tasks.json; printf "#!/bin/sh\ntouch '"$T"'/ran\n" >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
printf "[core]\n\tfsmonitor = touch '"$T"'/ran\n" >.git/config' >/dev/null 2>"$T/err"
check "the files were planted" test -e "$WS/.loom/policy.json" -a -e "$WS/.git/hooks/post-checkout"
out=$(cd "$WS" && "$LOOM" run --profile dw --report "$T/report" -- /bin/cat /proc/net/dev 2>/dev/null)
check "the next session has the same profile digest" test -n "$before" -a "$before" = "$(digest)"
check "and its report says so" grep -qF "$(printf '%s' "$before" | grep -oE '[0-9a-f]{64}')" "$T/report"
check "and no more network than before" test "$(printf '%s\n' "$out" | grep -c ':')" = 1
(cd "$WS" && "$LOOM" session ls >/dev/null 2>&1; "$LOOM" profile ls >/dev/null 2>&1)
refuse "nothing ran on the host" test -e "$T/ran"
(cd "$WS" && git status >/dev/null 2>&1)
check "control: a tool that does obey the workspace runs the planted hook" test -e "$T/ran"
