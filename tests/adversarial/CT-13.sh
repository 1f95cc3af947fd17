# Set-id files left on the host through a writable workspace.
. "$(dirname "$0")/lib.sh"
direct_profile dw
probe setid
chown -R nobody:nogroup "$WS"
for how in direct overlay; do
	args=; [ $how = direct ] && args='--profile dw'
	# shellcheck disable=SC2086
	inside $args -- /bin/sh -c 'cp /bin/true x; chmod 4755 x; chmod 2755 x; chmod u+s x; install -m 6755 /bin/true y; mknod -m 4755 p p; mkdir -m 2755 d; ./setid; true' >"$T/out" 2>"$T/err"
	check "$how: the probe ran to its end" grep -qx END "$T/out"
	refuse "$how: every call with a set-id bit is refused" sh -c "grep -vE '^END' $T/out | grep -v ' EPERM\$' | grep -v ' ENOSYS\$'"
	if [ $how = overlay ]; then
		s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
		find "$XDG_STATE_HOME/loom/sessions" -type f -perm /6000 >"$T/upper"
		check "overlay: nothing set-id in the kept changes" test ! -s "$T/upper"
		"$LOOM" session accept "$s" >"$T/accept" 2>&1 || note "$(cat "$T/accept")"
	fi
	check "$how: no set-id file on the host" test -z "$(find "$WS" -type f -perm /6000)"
	check "$how: the plain file is there" test -e "$WS/x"
	rm -rf "$WS/x" "$WS/y" "$WS/p" "$WS/d"
done
cp /bin/true "$WS/lower"
chown nobody:nogroup "$WS/lower"
chmod 4755 "$WS/lower"
inside -- /bin/sh -c 'touch lower; echo >>lower; cp -p lower lower2; mv lower lower3; true' >/dev/null 2>"$T/err"
s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
[ -n "$s" ] && "$LOOM" session accept "$s" >"$T/accept" 2>&1
check "an existing set-id file of the lower tree leaves no new one" test -z "$(find "$WS" -type f -perm /6000 ! -name lower)"
"$PROBES/setid" "$T" >"$T/control" 2>&1
check "control: outside, the same calls succeed" test "$(grep -c ' 0$' "$T/control")" -ge 6
# A set-id file that is there already: a store through a shared mapping takes no bit off.
probe setid-map
rm -f "$WS"/lower*
mkdir "$WS/sub"
cp /bin/true "$WS/sub/there"
chown -R nobody:nogroup "$WS/sub" "$WS/setid-map"
for mode in 4755 2755; do
	chmod "$mode" "$WS/sub/there"
	inside --profile dw -- ./setid-map sub/there >"$T/out" 2>"$T/err"
	check "direct, a file of mode $mode is there: the run is refused" test $? = 120
	check "as invalid-path" test "$(reason_of "$T/err")" = invalid-path
	check "with the file's name and the remedy" sh -c "grep -q 'sub/there' '$T/err' && grep -q 'chmod u-s,g-s' '$T/err'"
	refuse "and nothing ran" grep -q mapped "$T/out"
	check "and the file is as it was" cmp -s /bin/true "$WS/sub/there"
done
chmod 4755 "$WS/sub/there"
inside -- ./setid-map sub/there >"$T/out" 2>"$T/err"
check "overlay: the same runs" grep -qx mapped "$T/out"
s=$(sed -n 's/.*loom session diff \(s_[0-9]*\).*/\1/p' "$T/err")
check "overlay: the file below is as it was" cmp -s /bin/true "$WS/sub/there"
"$LOOM" session accept "$s" >"$T/accept" 2>&1 || note "$(cat "$T/accept")"
check "overlay: what is accepted has the bit no more" test "$(stat -c %a "$WS/sub/there")" = 755
inside --profile dw -- ./setid-map sub/there >"$T/out" 2>"$T/err"
check "control: without the bit, direct runs" grep -qx mapped "$T/out"
cp /bin/true "$T/mine"
chmod 4755 "$T/mine"
chown nobody "$T/mine" && chmod 4755 "$T/mine"
setpriv --reuid nobody --regid nogroup --clear-groups "$PROBES/setid-map" "$T/mine" >/dev/null 2>&1
check "control: outside, the owner's store leaves the bit" sh -c "test \$(stat -c %a '$T/mine') = 4755 && head -c 9 '$T/mine' | grep -q REWRITTEN"
