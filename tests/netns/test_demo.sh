#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The demo: it succeeds, shows a lost acknowledgement, and leaves nothing behind, also when it is stopped or
# when a value is not what it should be.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Names of everything that the demo with this process id could leave.
left_by() { # PID
	ip netns list | grep "^demo$1-"
	findmnt -rn -t bpf -o TARGET | grep "^$work/tmp/"
	find "$work/tmp" -mindepth 1
}

# A build directory in which one program is replaced by a script.
build_with() { # PROGRAM SCRIPT
	rm -rf "$work/build"
	mkdir "$work/build"
	ln -s "$build"/* "$work/build/"
	rm "$work/build/$1"
	printf '#!/bin/bash\n%s\n' "$2" >"$work/build/$1"
	chmod +x "$work/build/$1"
}

start_demo() { # BUILD
	: >"$work/demo"
	BUILD=$1 TMPDIR=$work/tmp scripts/demo.sh >>"$work/demo" 2>&1 &
	demo=$!
}

require_root
lab_up --nodes 1
mkdir "$work/tmp"

start_demo "$build"
wait $demo
status=$?
is "the demo succeeds" $status 0
[ $status -eq 0 ] || tail -5 "$work/demo" | comment
at_least "a line per packet" "$(grep -c '  |  .* -> ' "$work/demo")" 20
is "one acknowledgement is lost" "$(grep -c 'ATOMIC_ACKNOWLEDGE .* LOST$' "$work/demo")" 1
is "it ends with totals" "$(tail -1 "$work/demo" | grep -c 'checks, all passed')" 1
is "nothing is left" "$(left_by $demo)" ""

start_demo "$build"
wait_for 60 grep -q '^== (b)' "$work/demo"
kill -TERM $demo
wait $demo
is "stopped in the middle: exit status" $? 130
is "stopped in the middle: nothing is left" "$(left_by $demo)" ""

# A responder that says another value than it should.
build_with xatomic-req "\"$build/xatomic-req\" \"\$@\" | sed s/^5\$/6/"
start_demo "$work/build"
wait $demo
is "a wrong answer: exit status" $? 1
is "a wrong answer: it says which" "$(grep -c "the answer is '6' and should be '5'" "$work/demo")" 1
is "a wrong answer: nothing is left" "$(left_by $demo)" ""

build_with wiretap "exit 1"
start_demo "$work/build"
wait $demo
is "no wiretap: exit status" $? 1
is "no wiretap: nothing is left" "$(left_by $demo)" ""
finish
