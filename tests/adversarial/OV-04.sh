# A forbidden place by another name: bind mounts of it, of what is in it, and above it.
. "$(dirname "$0")/lib.sh"
mkdir "$T/b1" "$T/b2" "$T/b3" "$T/tree" "$T/tree/sub" "$T/plain" "$T/plain/src"
echo mine >"$T/plain/src/mine"
mkdir "$T/bound"
MOUNTS="$T/b1 $T/b2 $T/b3 $T/tree/sub $T/bound"
if ! mount --bind /etc "$T/b1" || ! mount --bind /etc/ssl "$T/b2" || ! mount --bind /usr/lib "$T/b3" ||
	! mount --bind /etc/ssl "$T/tree/sub" || ! mount --bind "$T/plain/src" "$T/bound"; then
	skip "bind mounts cannot be made here"
	exit 0
fi
for dir in "$T/b1" "$T/b2" "$T/b2/certs" "$T/b3" "$T/tree"; do
	[ -d "$dir" ] || continue
	"$LOOM" run -C "$dir" -- /bin/true 2>"$T/err"
	check "workspace ${dir#"$T"/} is status 120" test $? = 120
	check "workspace ${dir#"$T"/} is invalid-path" test "$(reason_of "$T/err")" = invalid-path
done
for dir in "$T/b1" "$T/b2" "$T/tree"; do
	profile ro <<YAML
apiVersion: loom/v1
kind: Profile
metadata: {name: ro, description: "a read-only mount"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: overlay}
    tmp: {max: 16MiB}
    readOnly: [{host: $dir, at: /mnt/x}]
  limits: {cpu: 2, memory: 512MiB, pids: 64, openFiles: 1024, timeout: 60s, output: 1MiB}
YAML
	"$LOOM" run --profile ro -C "$WS" -- /bin/true 2>"$T/err"
	check "read-only mount of ${dir#"$T"/} is status 120" test $? = 120
done
"$LOOM" run -C "$T/bound" -- /bin/cat mine >"$T/out" 2>"$T/err"
check "control: a bind mount of one's own files is a workspace like another" grep -q mine "$T/out"
check "control: outside, the bind mounts show what was bound" test -e "$T/b1/passwd" -a -e "$T/b3/os-release"
