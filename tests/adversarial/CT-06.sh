# cgroup v1 release_agent (CVE-2022-0492).
. "$(dirname "$0")/lib.sh"
agents() { find /sys/fs/cgroup -name release_agent -exec cat {} + 2>/dev/null | sha256sum; }
before=$(agents)
sh_inside 'unshare -UrmC sh -c "mkdir /tmp/c && mount -t cgroup -o memory c /tmp/c" && echo UNSHARED
unshare -m true && echo UNSHARED; unshare -C true && echo UNSHARED
mkdir -p /tmp/c; mount -t cgroup -o memory c /tmp/c && echo MOUNTED; mount -t cgroup2 c /tmp/c && echo MOUNTED
find / -xdev -name release_agent 2>/dev/null | sed "s/^/AGENT /"
find /sys /proc -maxdepth 4 -name "cgroup.procs" 2>/dev/null | sed "s/^/PROCS /"
grep " cgroup" /proc/self/mountinfo | sed "s/^/MOUNT /"; exit 0' >"$T/out" 2>/dev/null
for word in UNSHARED MOUNTED AGENT PROCS MOUNT; do refuse "no $word" grep -q "^$word" "$T/out"; done
check "release agents are what they were" test "$before" = "$(agents)"
check "control: outside, a user namespace with a cgroup namespace works" unshare -UrmC true
