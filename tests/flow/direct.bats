#!/usr/bin/env bats
# Workspaces that are written through, and two runs that would meet in one.

load helpers
setup_file() {
	flow_setup_file
	flow_direct_profile through
}
setup() { flow_setup; }
teardown_file() { flow_teardown_file; }

# A direct run on DIR that holds it until RELEASE goes away.
hold() {
	touch "$T/hold"
	loom run --profile through -C "$1" -- sh -c 'touch held; while [ -e held ]; do sleep 0.05; done' 2>/dev/null &
	HOLDER=$!
	flow_until 10 test -e "$1/held"
}
release() {
	rm -f "$1/held"
	wait "$HOLDER"
}

@test "direct writes through, and files keep their owner" {
	echo old >file
	run --separate-stderr loom run --profile through -- sh -c 'echo new >file; echo more >other'
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(cat file)" = new ]
	[ "$(stat -c %u:%g other)" = 0:0 ]
	chown 12345:12346 .
	run loom run --profile through -- sh -c 'echo mine >mine; stat -c %u:%g mine'
	[ "$status" -eq 0 ]
	[ "$output" = 1000:1000 ]
	[ "$(stat -c %u:%g mine)" = 12345:12346 ]
}

@test "files of others are seen as nobody's and cannot be changed" {
	echo secret >theirs
	chown 23456:23456 theirs
	chmod 644 theirs
	run loom run --profile through -- sh -c 'stat -c %u theirs; echo x >theirs || echo refused'
	[[ $output == *65534* && $output == *refused* ]]
	[ "$(cat theirs)" = secret ]
}

@test "no set-id file reaches the host" {
	run loom run --profile through -- sh -c 'cp /bin/true t; chmod 4755 t || echo refused; chmod g+s t || echo refused'
	[[ $output == *refused*refused* ]]
	[ -z "$(find . -perm /6000)" ]
}

@test "overlapping direct workspaces are busy: the same, one above, one below" {
	mkdir -p a/b/c a-sibling
	hold a/b
	for dir in a/b a a/b/c; do
		run loom run --profile through -C "$dir" -- true
		[ "$status" -eq 120 ]
		[[ $output == *"loom: denied: busy: "*"(trace op_"* ]]
	done
	# An overlay beneath it would see it change.
	run loom run -C a -- true
	[ "$status" -eq 120 ]
	[[ $output == *"loom: denied: busy: "* ]]
	# The controls: a neighbour is free, and so is the same one afterwards.
	run loom run --profile through -C a-sibling -- true
	[ "$status" -eq 0 ]
	release a/b
	run loom run --profile through -C a -- true
	[ "$status" -eq 0 ]
}

@test "overlays on one workspace do not meet" {
	loom run -- sh -c 'echo x >f; sleep 2' 2>/dev/null &
	sleep 0.5
	run --separate-stderr loom run -- ls
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	wait
}

@test "a bind mount of the same directory is the same directory" {
	mkdir real alias
	mount --bind real alias || flow_skip "mount does not work here"
	hold real
	run loom run --profile through -C alias -- true
	busy=$status
	release real
	umount alias
	[ "$busy" -eq 120 ]
}
