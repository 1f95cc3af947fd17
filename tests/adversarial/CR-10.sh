# Secrets of the host's user, and agent sockets.
. "$(dirname "$0")/lib.sh"
H=$T/home
mkdir -p "$H"
for d in .ssh .aws .config/gcloud .mozilla .docker .gnupg .kube; do mkdir -p "$H/$d"; echo canary-secret >"$H/$d/loom-canary"; done
echo canary-secret >"$H/.netrc-loom-canary"
R=/root/.loom-canary-$$
echo canary-secret >"$R"
E=/etc/loom-canary-$$
echo canary-secret >"$E"
HOME=$H SSH_AUTH_SOCK=$T/agent DBUS_SESSION_BUS_ADDRESS=unix:path=$T/bus DISPLAY=:0 WAYLAND_DISPLAY=w GPG_AGENT_INFO=x DOCKER_HOST=unix://$T/docker.sock AWS_SECRET_ACCESS_KEY=canary-secret \
	sh_inside 'find / -xdev -name "*loom-canary*" 2>/dev/null; find / -name "*loom-canary*" -not -path "/proc/*" 2>/dev/null
ls -d /root /home/* /etc/shadow /etc/gshadow /etc/ssl/private /etc/ssh /etc/loom /etc/sudoers /var/run/docker.sock /run/docker.sock /tmp/.X11-unix /run/user /run/dbus 2>/dev/null | sed "s/^/THERE /"
env | grep -E "SSH_AUTH_SOCK|DBUS|DISPLAY|GPG|DOCKER|AWS" | sed "s/^/ENV /"; exit 0' >"$T/out" 2>/dev/null
rm -f "$R" "$E"
refuse "no canary by name" grep -q canary "$T/out"
refuse "none of the places" grep -q '^THERE' "$T/out"
refuse "none of the variables" grep -q '^ENV' "$T/out"
check "control: outside, the canaries are found" test "$(find "$H" -name '*loom-canary*' | wc -l)" = 8
for host in /root /home / /etc /var /var/run/docker.sock "$H/.ssh" /proc /sys /dev /run; do
	profile wide <<EOF
apiVersion: loom/v1
kind: Profile
metadata: {name: wide}
spec:
  capabilities: [exec, workspace.read]
  filesystem:
    readOnly: [{host: $host, at: /opt/wide}]
EOF
	inside --profile wide -- /bin/ls /opt/wide >"$T/out" 2>"$T/err"
	check "a profile that mounts ${host#"$T"} is refused" test $? = 120
done
ln -s /root "$T/link-to-root"
profile wide <<EOF
apiVersion: loom/v1
kind: Profile
metadata: {name: wide}
spec:
  capabilities: [exec, workspace.read]
  filesystem:
    readOnly: [{host: $T/link-to-root, at: /opt/wide}]
EOF
inside --profile wide -- /bin/ls /opt/wide >"$T/out" 2>"$T/err"
check "a profile that mounts a link to one is refused" test $? = 120
