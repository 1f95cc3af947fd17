# Kernel-wide knobs under /proc/sys and /proc/sysrq-trigger.
. "$(dirname "$0")/lib.sh"
knobs="kernel/core_pattern kernel/modprobe vm/drop_caches kernel/hostname net/ipv4/ip_forward kernel/randomize_va_space"
values() { for k in $knobs; do echo "$k $(cat /proc/sys/$k 2>/dev/null)"; done; }
before=$(values | grep -v drop_caches)
sh_inside 'for k in '"$knobs"' fs/binfmt_misc/register; do p=/proc/sys/$k; v=$(cat $p 2>/dev/null); ( echo "${v:-1}" >$p ) 2>/dev/null && echo "WROTE $k"; done
( echo h >/proc/sysrq-trigger ) 2>/dev/null && echo WROTE sysrq
ls /sys/kernel/debug /sys/firmware 2>/dev/null | sed "s/^/SYS /"; ( head -c 1 /proc/kcore >/dev/null ) 2>/dev/null && echo KCORE
( head -c 1 /dev/mem >/dev/null ) 2>/dev/null && echo MEM; ( dmesg ) 2>/dev/null | head -n 1 | sed "s/^/DMESG /"; exit 0' >"$T/out" 2>"$T/err"
# The session's own uts and net namespaces' knobs may not be written either: nobody in there is root.
for word in WROTE SYS KCORE MEM DMESG; do refuse "no $word" grep -q "^$word" "$T/out"; done
check "the host's values are what they were" test "$before" = "$(values | grep -v drop_caches)"
v=$(cat /proc/sys/kernel/core_pattern)
check "control: outside, root can write the same value back" sh -c "printf '%s' '$v' >/proc/sys/kernel/core_pattern"
