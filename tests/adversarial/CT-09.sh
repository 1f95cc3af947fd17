# Left-over capabilities, groups, or no_new_privs not set.
. "$(dirname "$0")/lib.sh"
read_status='grep -E "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp|Groups|Uid|Gid):" /proc/self/status; cat /proc/self/uid_map /proc/self/gid_map'
for round in first second; do
	inside --session ct09 -- /bin/sh -c "touch $round; $read_status" >"$T/$round" 2>"$T/err"
	for set in Inh Prm Eff Bnd Amb; do check "$round run: Cap$set is empty" grep -qxP "Cap$set:\t0{16}" "$T/$round"; done
	check "$round run: no_new_privs" grep -qxP 'NoNewPrivs:\t1' "$T/$round"
	check "$round run: seccomp filter mode" grep -qxP 'Seccomp:\t2' "$T/$round"
	check "$round run: no group" grep -qxP 'Groups:\t *' "$T/$round"
	check "$round run: uid 1000 inside" grep -qxP 'Uid:\t1000\t1000\t1000\t1000' "$T/$round"
	check "$round run: one id mapped, not host root" awk '/^ *1000 +[0-9]+ +1$/ {n++; if ($2 == 0) bad = 1} /^ *[0-9]+ +[0-9]+ +[0-9]+$/ {m++} END {exit !(n == 2 && m == 2 && !bad)}' "$T/$round"
done
check "control: outside, there are capabilities" sh -c "! grep -qxP 'CapEff:\t0{16}' /proc/self/status"
