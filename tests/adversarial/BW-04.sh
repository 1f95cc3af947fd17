# Security state read back from what the sandbox can write (firejail 0.9.60).
. "$(dirname "$0")/lib.sh"
state='grep -E "^(Cap|NoNewPrivs|Seccomp:|Uid|Groups)" /proc/self/status | sort; readlink /proc/self/ns/user >/dev/null; cat /proc/self/cgroup | wc -l'
inside --session bw04 -- /bin/sh -c "$state; find / -xdev -writable -type f 2>/dev/null | grep -v -e '^/proc' -e '^/workspace' -e '^/tmp' -e '^/dev/shm' | sed 's/^/WRITABLE /'
find / -xdev -writable -type f ! -path '/workspace/*' ! -path '/proc/*' -exec sh -c ': >\"\$1\"' sh {} \; 2>/dev/null; echo x >changed; true" >"$T/first" 2>/dev/null
inside --session bw04 -- /bin/sh -c "$state" >"$T/second" 2>/dev/null
refuse "nothing outside the workspace and tmp is writable" grep -q WRITABLE "$T/first"
check "the second run has the very same walls" diff "$T/first" "$T/second"
check "and its records were there to compare" test "$(wc -l <"$T/second")" -gt 6
check "control: outside, there are writable files beyond the workspace" test -n "$(find /etc -maxdepth 1 -writable -type f -print -quit)"
