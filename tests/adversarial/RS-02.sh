# Memory, tmpfs, shm and memfd filled up.
. "$(dirname "$0")/lib.sh"
probe bombs
profile small <<'EOF'
apiVersion: loom/v1
kind: Profile
metadata: {name: small}
spec:
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    tmp: {max: 16MiB}
  limits: {cpu: 1, memory: 128MiB, pids: 64, openFiles: 256, timeout: 2m, output: 1MiB}
EOF
free_before=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
for what in "head -c 1G /dev/zero >/tmp/x" "head -c 1G /dev/zero >/dev/shm/x" "./bombs memfd" "./bombs memory" "./bombs mlock"; do
	inside --profile small -- /bin/sh -c "$what && echo ALL-OF-IT" >"$T/out" 2>"$T/err"
	refuse "$what does not get all it asks for" grep -q ALL-OF-IT "$T/out"
done
sh_inside 'i=0; while [ $i -lt 300 ]; do mkdir /tmp/d$i || exit 1; i=$((i+1)); done' >/dev/null 2>&1
"$LOOM" run -C "$WS" --profile small --report "$T/report" -- ./bombs memory >/dev/null 2>&1
peak=$(grep -oE '"memoryPeak": ?[0-9]+' "$T/report" | grep -oE '[0-9]+$')
check "the peak stayed within the limit (${peak:-none})" test "${peak:-999999999999}" -le $((128 * 1024 * 1024))
inside --profile small -- ./bombs inodes >"$T/out" 2>&1
check "inodes of /tmp end" grep -qE 'inodes (ENOSPC|ENOMEM|EDQUOT)' "$T/out"
sleep 0.5
free_after=$(awk '/MemAvailable/ {print $2}' /proc/meminfo)
check "the host's memory is back (${free_before} kB before, ${free_after} kB after)" test $((free_before - free_after)) -lt 400000
check "control: outside, 256 MiB of shared memory is no problem" sh -c 'head -c 256M /dev/zero >/dev/shm/loom-control && rm /dev/shm/loom-control'
