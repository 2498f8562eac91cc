#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `xatomic detach` and `attach` under a requester's traffic: while the program is off nobody answers, and
# when it is back the requester's retransmissions find QP, replay window and words as they were.
# shellcheck source=../netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"

cycles=5
count=10000
interrupted=0

words_at_least() { [ "$(word counters 0)" -ge "$1" ]; }

# The program goes and comes back somewhere in the middle of `count` adds. Long timer: a slow machine may
# take a while to attach.
cycle() { # NUMBER
	local first=$(($1 * count))
	request 4 1 "$qpn" $((first & 0xffffff)) "$rkey" fadd --addr 0 --add 1 --count $count --window 8 \
		--timeout 250000 >"$work/answers" &
	local requester=$!
	wait_for 60 words_at_least $((first + 1))
	xatomic detach node1 --netns "$prefix-resp" >"$work/detach" 2>&1 || fail "detach" "$(cat "$work/detach")"
	words_at_least $((first + count)) || interrupted=$((interrupted + 1))
	xatomic attach node1 --netns "$prefix-resp" --mode "$mode" >"$work/attach" 2>&1 ||
		fail "attach" "$(cat "$work/attach")"
	wait $requester
	seq "$first" $((first + count - 1)) >"$work/wanted"
	cmp -s "$work/answers" "$work/wanted" && words_at_least $((first + count)) && return
	diff "$work/wanted" "$work/answers" | head -5 | comment
	broken=$((broken + 1))
}

run() { # MODE
	local i
	mode=$1 broken=0 interrupted=0
	attach 1 1 --mode "$mode"
	rkey=$(mr_add counters --words 1)
	qpn=$(qp_add 4 1 --rq-psn 0)
	for ((i = 0; i < cycles; i++)); do
		cycle $i
	done
	is "$mode: $cycles times detached and attached under traffic: every answer right" $broken 0
	is "$mode: each add was executed once" "$(word counters 0)" $((cycles * count))
	at_least "$mode: requests were under way when the program went" $interrupted $((cycles / 2))
	xatomic destroy
}

require_root
lab_up --nodes 1
own_bpffs
run native
run generic
finish
