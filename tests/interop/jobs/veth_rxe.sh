#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in the guest: soft-RoCE sends atomics over a veth pair to the responder at its other end, in native and in
# generic mode.
# shellcheck source=tests/interop/jobs/veth_lib.sh
. "$(dirname "$0")/veth_lib.sh"

test_chains() { # MODE
	local operation window
	check "$1: a queue pair with soft-RoCE" open_xatomic
	for operation in faa cas; do
		for window in 1 16 128; do
			check "$1: soft-RoCE's $operation, $window in flight: every answer is right" \
				chain to-xatomic $operation 1000 $window
		done
	done
	is "$1: the word after 6000 operations" "$(word words 0)" 6000
	end_close to-xatomic
	is "$1: the requester ends well" "$? $(<"$work/to-xatomic.err")" "0 "
	xatomic qp del "$lqpn"
}

serve_start() {
	"$build/xatomic" --json serve --offer 'words to 10.78.0.0/24 depth 128' >"$work/serve" 2>"$work/serve.err" &
	serve_pid=$!
	wait_for 60 grep -q '"event":"serving"' "$work/serve" || bail "xatomic serve: $(cat "$work/serve.err")"
}

executed() { xatomic --json stat | jq '.cmp_swap.executed + .fetch_add.executed'; }

# perftest measures the frequency of the TSC first; where that varies it does all its work and then refuses to
# report. That says nothing about the responder: try again.
perftest_runs() { # PROGRAM OPTIONS...
	local i
	for i in 1 2 3 4 5; do
		timeout 60 "$@" -d rxe_requester $responder >"$work/perftest" 2>&1 && return
		grep -q "Can't produce a report" "$work/perftest" || return
	done
	return 1
}

perftest() { # MODE OPERATIONS PROGRAM OPTIONS...
	local mode=$1 count=$2 before
	shift 2
	before=$(executed)
	perftest_runs "$@" || { fail "$mode: $*" "$(cat "$work/perftest")"; return; }
	grep -A 1 '#bytes' "$work/perftest" | comment
	at_least "$mode: $*: operations" $(($(executed) - before)) "$count"
}

test_perftest() { # MODE
	local type qps
	serve_start
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		perftest "$1" 500 ib_atomic_lat -n 500 -A $type
		for qps in 1 4; do
			perftest "$1" $((qps * 1000)) ib_atomic_bw -n 1000 -q $qps -A $type
		done
	done
	kill -TERM $serve_pid
	wait $serve_pid
	is "$1: xatomic serve ends well" $? 0
}

lay_wire
for mode in native generic; do
	check "$mode mode on this kernel" xatomic attach ve1 --mode $mode --max-qps 16 --max-mrs 4
	rkey=$(mr_add words --words 512 --iova $iova)
	test_chains $mode
	test_perftest $mode
	check "$mode: destroy" xatomic destroy
done
finish
