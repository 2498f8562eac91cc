#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A hostile wire: requesters in three namespaces and threads of the host work on shared words while packets are
# lost, corrupted, duplicated and reordered, and everything must look as if each operation had run once, at
# some moment between its call and its return. Then the same with responders that are wrong, which must be found
# out.
#
# SEED=N repeats the wire's and the requesters' decisions of a run. OPS=N runs N operations instead of the bounded
# check, most of them where little gets lost, since the others take their time; without the wrong responders.

# shellcheck source=tests/hostile/lab.sh
. "$(dirname "$0")/lab.sh"

seed=${SEED:-}
[ -n "$seed" ] || seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')

long_run() {
	hostile hostile --seed "$seed" 0:$((OPS * 30 / 100)) 1:$((OPS * 30 / 100)) 5:$((OPS * 20 / 100)) \
		10:$((OPS * 10 / 100)) 20:$((OPS * 6 / 100)) 30:$((OPS * 4 / 100))
}

# As many operations as a slow machine under load has time for.
bounded_run() {
	hostile hostile --seed "$seed" 0:60000 5:30000 30:10000
}

# The checker has the last word; other checks may fail as well.
is_found_out() { # MUTANT WHAT
	hostile "$1/hostile" --seed "$seed" --corrupt 10 10:8000 >"$work/mutant" 2>&1
	if grep -q '^not ok .* linearizable' "$work/mutant" && grep -q 'not linearizable after' "$work/mutant"; then
		pass "a responder that $2 is found out by the checker"
	else
		fail "a responder that $2 is found out by the checker" "$(cat "$work/mutant")"
	fi
}

# Results of the program under this script's numbers, as they come.
adopt() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "*) pass "${line#* - }" ;;
		"not ok "*) fail "${line#* - }" ;;
		"exit "*) is "all stages were run: exit status" "${line#exit }" 0 ;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done
}

run() {
	"$@" 2>&1
	echo "exit $?"
}

hostile_lab_up 3
if [ -n "${OPS:-}" ]; then
	adopt < <(run long_run)
	finish
fi
adopt < <(run bounded_run)
is_found_out twice "runs a duplicate once more"
is_found_out wrong "answers a duplicate with another value"
is_found_out blind "takes corrupted packets"
finish
