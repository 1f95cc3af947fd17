# The supervisor's memory, files and environment, looked for from inside (tj-actions, CVE-2025-30066).
. "$(dirname "$0")/lib.sh"
profile pt <<'YAML'
apiVersion: loom/v1
kind: Profile
metadata: {name: pt, description: "may trace its own children"}
spec:
  runtime: namespaces
  capabilities: [exec, workspace.read, workspace.write]
  filesystem:
    root: host
    workspace: {at: /workspace, mode: overlay}
    tmp: {max: 16MiB}
  limits: {cpu: 2, memory: 512MiB, pids: 64, openFiles: 1024, timeout: 60s, output: 4MiB}
  debug: ptrace
YAML
export CANARY_SECRET=canary-of-the-client
inside -- /bin/true >/dev/null 2>&1
daemon=$("$LOOM" daemon status | sed -n 's/^pid *//p')
check "control: there is a daemon, and outside its memory map can be read" test -r "/proc/$daemon/maps" -a -n "$daemon"
look='for p in /proc/[0-9]*; do n=${p#/proc/}; echo "pid $n $(tr "\0" " " <$p/cmdline)"; [ $n = $$ ] && continue
for f in mem maps environ auxv syscall stack exe cwd root; do head -c 1 $p/$f >/dev/null 2>&1 && echo "READ $n $f $(cat $p/comm)"; done
ls $p/fd >/dev/null 2>&1 && echo "READ $n fd $(cat $p/comm)"; done'
for prof in default pt; do
	inside --profile $prof -- /bin/sh -c "$look" >"$T/out" 2>/dev/null
	check "$prof: the probe saw processes" grep -q '^pid 1 ' "$T/out"
	refuse "$prof: no daemon, keeper or other process of the host is listed" grep -qE 'loomd|loom-(authority|ledger|api)|keeper' "$T/out"
	refuse "$prof: nothing of init can be read" grep -q '^READ 1 ' "$T/out"
	refuse "$prof: the daemon's number is not there" grep -q "^pid $daemon " "$T/out"
	inside --profile $prof -- /bin/sh -c 'strings=$(cat /proc/[0-9]*/environ | tr "\0" "\n"); echo "$strings"' >"$T/out" 2>/dev/null
	refuse "$prof: the client's environment is nowhere" grep -q canary-of-the-client "$T/out"
	cat >"$WS/vm.py" <<'PY'
import ctypes
c = ctypes.CDLL(None, use_errno=True)
def show(name, r): print(name, r, ctypes.get_errno() if r < 0 else 0)
buf = ctypes.create_string_buffer(64)
iov = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 64)
show("attach", c.ptrace(16, 1, 0, 0)); show("seize", c.ptrace(0x4206, 1, 0, 0))
show("readv", c.process_vm_readv(1, iov, 1, iov, 1, 0)); show("writev", c.process_vm_writev(1, iov, 1, iov, 1, 0))
fd = c.syscall(434, 1, 0); show("getfd", c.syscall(438, fd, 0, 0)); show("kcmp", c.syscall(312, 1, 1, 0, 0, 0))
show("setns", c.setns(fd, 0x20000000)); show("madvise", c.syscall(440, fd, iov, 1, 21, 0))
PY
	inside --profile $prof -- /usr/bin/python3 vm.py >"$T/out" 2>&1
	check "$prof: eight calls were tried" test "$(grep -c ' -\?[0-9]* ' "$T/out")" = 8
	refuse "$prof: all are refused" sh -c "grep -v ' -1 ' '$T/out' | grep -q ."
done
for p in "$daemon" $(pgrep -P "$daemon"); do
	check "the daemon's $(cat /proc/$p/comm) is not to be dumped or read by others" sh -c "
		[ \"\$(stat -c %u /proc/$p/environ)\" = 0 ] && ! su -s /bin/sh nobody -c 'cat /proc/$p/environ' >/dev/null 2>&1"
done
