#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs in the guest: what an atomic costs the responder's CPU, soft-RoCE's responder and ours by turns at the same end
# of a veth pair. Every answer of both is checked; the costs are printed, and nothing is asked of them.
#
# Environment: ROUNDS (default 5), OPERATIONS in a run (default 500)
# shellcheck source=tests/interop/jobs/veth_lib.sh
. "$(dirname "$0")/veth_lib.sh"

rounds=${ROUNDS:-5}
operations=${OPERATIONS:-500}
responders="soft-RoCE soft-RoCE+XDP_PASS xatomic"
loads="faa.1 faa.16 cas.128" # operation, and how many are in flight

thread_id() { grep -lx "$1" /proc/[0-9]*/comm | sed 's,/proc/\([0-9]*\)/comm,\1,'; }

# Requester and responder each have a CPU: what the two ends of the wire receive is handled in a kernel thread
# each, and all that answers a request, in soft-RoCE as in XDP, happens in that of the responder's end. Everything
# else stays on the requester's CPU.
part_cpus() {
	napi=$(thread_id 'napi/ve1-.*') ksoftirqd=$(thread_id ksoftirqd/1)
	[ -n "$napi" ] && [ -n "$ksoftirqd" ] || return
	taskset -cp 1 "$napi"
	taskset -cp 0 "$(thread_id 'napi/ve0-.*')"
	taskset -cp 0 $$
}

# CPU time in ns that the responder's thread has had so far, with what was left to CPU 1's softirq thread, and how many
# times they were given the CPU.
spent() {
	cat "/proc/$napi/schedstat" "/proc/$ksoftirqd/schedstat" |
		awk '{ ns += $1; n += $3 } END { printf "%.0f %.0f\n", ns, n }'
}

# Puts soft-RoCE, soft-RoCE behind a program that passes everything, or ours at the responder's end.
take_place() {
	case $1 in
	xatomic) xatomic attach ve1 --mode native >/dev/null 2>&1 ;;
	soft-RoCE+XDP_PASS) bpftool net attach xdpdrv pinned "$work/bpf/pass" dev ve1 ;;
	esac
}

leave_place() {
	case $1 in
	xatomic) xatomic detach ve1 ;;
	soft-RoCE+XDP_PASS) bpftool net detach xdpdrv dev ve1 ;;
	esac
}

one_run() { # WHO OPERATION WINDOW
	local who=$1 name=to-rxe before after
	[ "$who" != xatomic ] || name=to-xatomic
	before=$(spent)
	chain $name "$2" "$operations" "$3" 2>>"$work/complaints" || echo "$* failed" >>"$work/complaints"
	after=$(spent)
	echo "$before $after" | awk -v n="$operations" '{ print ($3 - $1) / n, ($4 - $2) / n }' >>"$work/costs.$who.$2.$3"
}

measure() {
	local round who load
	for ((round = 0; round < rounds; round++)); do
		for who in $responders; do
			take_place "$who"
			for load in $loads; do
				one_run "$who" "${load%.*}" "${load#*.}"
			done
			leave_place "$who"
		done
	done
}

median() { # COLUMN FILE
	sort -g -k "$1,$1" "$2" | awk -v c="$1" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}

# Median of a load's rounds, and in brackets the lowest, the highest, and how often the thread was woken up.
cell() { # FILE
	printf '%6.0f (%.0f-%.0f, %.2f)' "$(median 1 "$1")" "$(sort -g "$1" | awk 'NR == 1 { print $1 }')" \
		"$(sort -g "$1" | awk 'END { print $1 }')" "$(median 2 "$1")"
}

report() {
	local load who
	echo "CPU time of the responder's side in ns per operation: median (lowest-highest, wake-ups per operation) of"
	echo "$rounds rounds by turns, $operations operations each. The CPU is emulated: what a real one does well (CRC"
	echo "instructions, caches, taken branches) costs other multiples here, and a busy host adds to every figure."
	# shellcheck disable=SC2086
	printf '%-18s %-28s %-28s %-28s %s\n' load $responders "soft-RoCE / xatomic"
	for load in $loads; do
		printf '%-18s ' "${load%.*}, ${load#*.} in flight"
		for who in $responders; do
			printf '%-28s ' "$(cell "$work/costs.$who.$load")"
		done
		awk -v a="$(median 1 "$work/costs.soft-RoCE.$load")" -v b="$(median 1 "$work/costs.xatomic.$load")" \
			'BEGIN { printf "%.2f\n", a / b }'
	done
	printf 'requests that were sent again: %d to soft-RoCE, %d to xatomic\n' "$(repeats_of_rxe)" "$(repeats_of_xatomic)"
}

repeats_of_xatomic() { xatomic --json qp show "$lqpn" | jq '.replayed + .duplicates_dropped + .sequence_naks'; }

repeats_of_rxe() {
	rdma -j statistic show link rxe_responder/1 | jq '.[0] | .duplicate_request + .out_of_seq_request'
}

test_costs() {
	local who end
	measure
	report | comment
	is "every answer was right" "$(head -20 "$work/complaints" 2>/dev/null)" ""
	is "each operation ran once: the word that xatomic serves" "$(word words 0)" "${sent[to-xatomic]}"
	for end in to-xatomic to-rxe rxe; do
		end_close $end
		is "$end ends well" "$? $(<"$work/$end.err")" "0 "
	done
	is "each operation ran once: the word that soft-RoCE serves" "$(tail -1 "$work/rxe.out")" "${sent[to-rxe]}"
}

lay_wire
part_cpus >"$work/cpus" 2>&1 || bail "no thread for each end of the wire: $(cat "$work/cpus")"
xatomic attach ve1 --mode native --max-qps 16 --max-mrs 4 >"$work/attach" 2>&1 || bail "$(cat "$work/attach")"
rkey=$(mr_add words --words 1 --iova $iova)
open_xatomic || bail "no chain to xatomic"
xatomic detach ve1
open_rxe || bail "no chain to soft-RoCE"
test_costs
xatomic destroy
finish
