#!/usr/bin/env bats
# The box guesses where the next run will be and prepares for it. A wrong guess costs time and nothing
# else, also when the guessed workspace is gone by then.

load helpers
setup_file() { flow_setup_file; }
teardown_file() { flow_teardown_file; }

@test "a workspace that was removed does not spoil the next run elsewhere" {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		mkdir "$T/here" "$T/there"
		loom run -C "$T/here" -- true
		rm -rf "$T/here"
		loom run -C "$T/there" -- true
		rm -rf "$T/there"
	done
}

# Not `i`, which bats uses itself in `run`.
@test "a workspace that was replaced by another of the same name is the new one" {
	local round
	for round in 1 2 3 4 5 6 7 8 9 10; do
		mkdir "$T/same"
		echo "$round" >"$T/same/which"
		run -0 loom run -C "$T/same" -- cat which
		[ "$output" = "$round" ]
		rm -rf "$T/same"
	done
}
