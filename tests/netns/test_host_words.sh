#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# One coherent domain: a host program adds to the words of an MR by C11 atomics while requesters add to the
# same words over the wire; not one addition of either is lost.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

nodes=2
adds=2000

# Node I adds to both words, one after the other.
add_from() {
	local offset qpn
	for offset in 0 8; do
		qpn=$(qp_add 4 "$1" --rq-psn 1)
		request 4 "$1" "$qpn" 1 "$rkey" fadd --addr $((0x2000 + offset)) --add 1 --count $adds \
			--window 16 >"$work/answers$1.$offset"
		xatomic qp del "$qpn"
	done
}

require_root
lab_up --nodes $nodes
own_bpffs
attach 1 $nodes --max-qps 16 --max-mrs 8
rkey=$(mr_add shared --words 2 --iova 0x2000)

# The host adds from before the first request until after the last answer.
"$build/tests/host_add" shared >"$work/host" 2>"$work/host.err" &
host=$!
wait_for 60 grep -q '^adding' "$work/host" || bail "the host program did not start: $(cat "$work/host.err")"
pids=()
for ((i = 1; i <= nodes; i++)); do
	add_from "$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid"
done
kill -TERM $host
wait $host
is "the host program ends well" $? 0
added=$(awk '/^added/ { print $2 }' "$work/host")
sent=$((nodes * adds))
for offset in 0 8; do
	is "word at $offset: host and requesters together" "$(word shared $offset)" $((sent + added))
	is "word at $offset: no two requests got the same answer" \
		"$(cat "$work"/answers*.$offset | sort -u | wc -l)" $sent
	last=$(cat "$work"/answers*.$offset | sort -n | tail -1)
	at_least "word at $offset: requesters saw what the host added" "$last" $sent
done
is "the library refuses an MR that is not there, in one sentence" \
	"$("$build/tests/host_add" nobody 2>&1 | grep -c nobody)" 1
finish
