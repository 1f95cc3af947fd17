# Socket families: only unix, inet and inet6.
. "$(dirname "$0")/lib.sh"
probe sockets
inside -- ./sockets >"$T/out" 2>"$T/err"
check "the probe ran to its end" grep -qx END "$T/out"
check "stream and datagram of unix, inet, inet6 work" test "$(grep -cE '^family (1|2|10) type (1|2) 0$' "$T/out")" = 6
refuse "every other family is refused by the filter" sh -c "grep '^family' $T/out | grep -vE '^family (1|2|10) ' | grep -v ' EPERM\$'"
check "raw sockets are refused" sh -c "! grep -E '^family (2|10) type 3 0\$' $T/out"
"$PROBES/sockets" >"$T/control" 2>&1
check "control: outside, netlink and packet sockets open" test "$(grep -cE '^family (16|17) type (2|3) 0$' "$T/control")" -ge 2
