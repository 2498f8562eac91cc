#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The examples that need no RDMA stack, as their users run them: libxatomic's requester, and a program of the
# responder's host that works on the same words as remote hosts.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

adds=2000

# ---- examples/requester.c ----

# One run at node 1 on a queue pair of its own.
requester() { # FAMILY RKEY
	local status psn=7 qpn
	qpn=$(qp_add "$1" 1 --rq-psn $psn)
	nsenter --net="/run/netns/$prefix-node1" "$build/examples/requester" eth0 "$(address "$1" 1 1)" \
		"$qpn" $psn "$2" 0x2000
	status=$?
	xatomic qp del "$qpn"
	return $status
}

requester_works() {
	is "requester: IPv4" "$(requester 4 "$rkey" | xargs)" \
		"counter 0 counter 1 counter 2 counter 3 lock 0"
	is "requester: IPv6, and the lock is taken" "$(requester 6 "$rkey" | xargs)" \
		"counter 4 counter 5 counter 6 counter 7 lock 1"
	is "requester: the words" "$(word words 0) $(word words 8)" "8 1"
}

requester_fails() {
	requester 4 $((rkey ^ 1)) >"$work/out" 2>"$work/err"
	is "requester: a wrong rkey: exit status, output" "$? $(cat "$work/out")" "1 "
	is "requester: a wrong rkey: why" "$(cat "$work/err")" \
		"requester: the request failed: IBV_WC_REM_ACCESS_ERR"
	"$build/examples/requester" eth0 nowhere 2 0 1 0 2>"$work/err"
	is "requester: no address" "$? $(cat "$work/err")" "2 requester: 'nowhere' is no IP address"
	"$build/examples/requester" eth0 10.77.1.1 1 0 1 0 2>"$work/err"
	is "requester: no QPN" "$? $(cat "$work/err")" \
		"2 requester: QPN is a number from 2 to 16777215, not '1'"
}

# ---- examples/meter.c ----

add_from() { # NODE
	local qpn
	qpn=$(qp_add 4 "$1" --rq-psn 1)
	request 4 "$1" "$qpn" 1 "$rkey" fadd --addr 0x2000 --add 1 --count $adds --window 16 >/dev/null
	xatomic qp del "$qpn"
}

# The second node begins once something has been taken, so there is more than one to take.
meter_works() {
	local meter node
	xatomic mr set words 0 0
	xatomic mr set words 8 0
	"$build/examples/meter" words 1 >"$work/meter" 2>"$work/err" &
	meter=$!
	wait_for 60 grep -q '^metering' "$work/meter" || bail "meter: $(cat "$work/err")"
	add_from 1 &
	node=$!
	check "meter: takes while it comes in" wait_for 60 grep -q '^[0-9]' "$work/meter"
	add_from 2
	wait $node
	kill -TERM $meter
	wait $meter
	is "meter: ends well" $? 0
	is "meter: the total is what was sent" "$(sed -n 's/^total //p' "$work/meter")" $((2 * adds))
	is "meter: so is the sum of all that it took" \
		"$(awk '/^[0-9]/ { n += $1 } END { print n }' "$work/meter")" $((2 * adds))
	at_least "meter: it took more than once" "$(grep -c '^[0-9]' "$work/meter")" 2
	is "meter: nothing is left" "$(word words 0)" 0
	is "meter: the peak is the most that it took" "$(word words 8)" \
		"$(grep '^[0-9]' "$work/meter" | sort -n | tail -1)"
}

meter_fails() {
	"$build/examples/meter" nobody 2>"$work/err"
	is "meter: no such region: one sentence" "$? $(grep -c "'nobody'" "$work/err")" "1 1"
	mr_add one --words 1 >/dev/null
	"$build/examples/meter" one 2>"$work/err"
	is "meter: a region that is too small" "$? $(cat "$work/err")" \
		"1 meter: 'one' has one word, and two are needed"
}

require_root
lab_up --nodes 2
own_bpffs
attach 1 2 --max-qps 16 --max-mrs 8
rkey=$(mr_add words --words 8 --iova 0x2000)
requester_works
requester_fails
meter_works
meter_fails
finish
