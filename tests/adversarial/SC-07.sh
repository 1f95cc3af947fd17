# The old and the new mount API, handles, chroot.
. "$(dirname "$0")/lib.sh"
probe syscalls
inside -- ./syscalls mount >"$T/out" 2>"$T/err"
n=0
for name in mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr open_by_handle_at name_to_handle_at statmount listmount; do
	check "$name is refused by the filter" grep -qE "^$name (EPERM|ENOSYS)\$" "$T/out"
done
"$PROBES/syscalls" mount >"$T/control" 2>&1
check "control: outside, the kernel answers fsopen and open_tree" test "$(grep -cE '^(fsopen|open_tree) 0$' "$T/control")" = 2
