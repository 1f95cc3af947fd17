# A request-chosen working directory that becomes the writable root (CVE-2025-59532).
. "$(dirname "$0")/lib.sh"
direct_profile dw
ln -s / "$WS/slash"
for cwd in /etc .. /proc/1/root slash "../$(basename "$T")" "sub/../../x"; do
	inside --cwd "$cwd" -- /bin/touch probe-ag02 >/dev/null 2>"$T/err"
	check "cwd $cwd is status 120" test $? = 120
done
check "no probe file anywhere" test ! -e /etc/probe-ag02 -a ! -e /probe-ag02 -a ! -e "$WS/probe-ag02" -a ! -e "$T/probe-ag02"
for dir in /etc / /proc /usr /root "$XDG_STATE_HOME" "$XDG_STATE_HOME/loom"; do
	"$LOOM" run -C "$dir" -- /bin/touch probe-ag02 >/dev/null 2>"$T/err"
	check "workspace $dir is status 120" test $? = 120
	check "workspace $dir is invalid-path" test "$(reason_of "$T/err")" = invalid-path
done
inside --profile dw -- /bin/touch in-the-workspace 2>/dev/null
check "control: without a cwd the write lands in the workspace" test -e "$WS/in-the-workspace"
