# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Requesters that add 1 to one word without pause while something else happens, and what must be true of it
# afterwards: nothing lost, nothing doubled, no packet unanswered. To be sourced in place of lib.sh.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Requester I runs again and again, each time going on at the next PSN, until the file $work/enough is there.
# No retries: the first packet that is lost ends it, and the timer is so long that no slow machine ends it.
requester() { # I FAMILY QPN RKEY VA
	local i=$1 family=$2 qpn=$3 psn=0 batch=500
	until [ -e "$work/enough" ]; do
		"$build/xatomic-req" --netns "$prefix-node$i" --dev eth0 --peer "$(address "$family" "$i" 1)" \
			--lqpn $((16 + i)) --rqpn "$qpn" --sq-psn $psn --rkey "$4" --count $batch --window 16 \
			--retry 0 --timeout 60000000 fadd --addr "$5" --add 1 \
			>>"$work/originals$i" 2>>"$work/requester$i.err" || return
		psn=$(((psn + batch) & 0xffffff))
	done
}

traffic_pids=() traffic_qpns=()

# One requester a node from 1 on; the odd ones speak IPv4, the even ones IPv6.
traffic_start() { # NODES RKEY VA
	local i family
	rm -f "$work/enough" "$work"/originals* "$work"/requester*.err
	traffic_pids=() traffic_qpns=()
	for ((i = 1; i <= $1; i++)); do
		family=$((i % 2 ? 4 : 6))
		traffic_qpns[i]=$(qp_add "$family" "$i" --rq-psn 0)
		requester "$i" "$family" "${traffic_qpns[i]}" "$2" "$3" &
		traffic_pids[i]=$!
	done
	for i in "${!traffic_pids[@]}"; do
		wait_for 60 test -s "$work/originals$i" ||
			bail "requester $i does not start: $(cat "$work/requester$i.err")"
	done
}

# As many operations as each has had answers so far.
traffic_progress() { wc -l "$work"/originals* | awk '$2 != "total" { print $1 }'; }

# Does every requester get further answers?
traffic_moves() { # PROGRESS, as it was before
	local before=$1
	wait_for 60 advanced "$before"
}

advanced() {
	paste <(echo "$1") <(traffic_progress) | awk '$2 <= $1 { stands = 1 } END { exit stands }'
}

traffic_stop() { # NAME WORD: the value that the word has
	local name=$1 i status=0 sum
	touch "$work/enough"
	for i in "${!traffic_pids[@]}"; do
		wait "${traffic_pids[i]}" || status=$?
	done
	is "$name: no requester met an error" "$status $(cat "$work"/requester*.err)" "0 "
	sum=$(cat "$work"/originals* | wc -l)
	comment <<<"$sum operations"
	is "$name: each addition counts once" "$(word "${2%:*}" "${2#*:}")" "$sum"
	is "$name: the originals are all the partial sums, each once" \
		"$(cat "$work"/originals* | sort -nu | awk '$1 != NR - 1 { exit } END { print NR }')" "$sum"
	for i in "${!traffic_qpns[@]}"; do
		is "$name: QP $i answered each packet once and refused none" "$(xatomic --json qp show "${traffic_qpns[i]}" |
			jq -c '[.state, .requests, .replayed, .duplicates_dropped, .sequence_naks, .fatal_naks]')" \
			"[\"RTR\",$(wc -l <"$work/originals$i"),0,0,0,0]"
		xatomic qp del "${traffic_qpns[i]}"
	done
}
