#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Requesters and the responder over veths: both operations, both families, native and generic mode, lost
# packets both ways, refused requests, many requesters on one word.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

nodes=4
adds=200

both_operations() { # LABEL FAMILY
	local label="$1, IPv$2" qpn
	qpn=$(qp_add "$2" 1 --rq-psn 0xfffffe)
	xatomic mr set words 0 5
	is "$label: CAS that matches answers the old value" \
		"$(request "$2" 1 "$qpn" 0xfffffe "$rkey" cswap --addr 0x1000 --compare 5 --swap 9)" 5
	is "$label: CAS that matches swaps" "$(word words 0)" 9
	is "$label: CAS that does not match answers what is there" \
		"$(request "$2" 1 "$qpn" 0xffffff "$rkey" cswap --addr 0x1000 --compare 5 --swap 7)" 9
	is "$label: CAS that does not match changes nothing" "$(word words 0)" 9
	xatomic mr set words 8 0xfffffffffffffffe
	is "$label: FETCH_ADD answers each old value, also over both wraps" \
		"$(request "$2" 1 "$qpn" 0 "$rkey" fadd --addr 0x1008 --add 1 --count 3 | xargs)" \
		"18446744073709551614 18446744073709551615 0"
	is "$label: FETCH_ADD adds" "$(word words 8)" 1
	xatomic qp del "$qpn"
}

# A packet of each kind is lost; the requester's timer or the sequence NAK repairs it, nothing runs twice.
one_loss() { # LABEL FAMILY WHAT
	local label="$1, IPv$2" qpn
	qpn=$(qp_add "$2" 1 --rq-psn 3100)
	xatomic mr set words 8 41
	tap_start 1 --lose "$3:3100:1"
	is "$label: a lost $3: the answer" \
		"$(request "$2" 1 "$qpn" 3100 "$rkey" fadd --addr 0x1008 --add 1)" 41
	tap_stop
	is "$label: a lost $3: the counter" "$(word words 8)" 42
	is "$label: a lost $3 was really lost" "$(seen "$3 .* LOST\$")" 1
	at_least "$label: a lost $3: the request was sent again" "$(seen 'FETCH_ADD .*psn 3100 ')" 2
	xatomic qp del "$qpn"
}

many_losses() { # LABEL FAMILY
	local label="$1, IPv$2" qpn
	qpn=$(qp_add "$2" 1 --rq-psn 100)
	xatomic mr set words 8 0
	tap_start 1 --lose FETCH_ADD:103:2 --lose ATOMIC_ACKNOWLEDGE:107:1 --lose FETCH_ADD:108:1 \
		--lose ATOMIC_ACKNOWLEDGE:120:3 --lose ACKNOWLEDGE:108:1 --lose ATOMIC_ACKNOWLEDGE:149:1
	request "$2" 1 "$qpn" 100 "$rkey" fadd --addr 0x1008 --add 1 --count 50 --window 8 >"$work/answers"
	tap_stop
	is "$label: many losses: every answer, in order" "$(xargs <"$work/answers")" "$(seq 0 49 | xargs)"
	is "$label: many losses: the sum" "$(word words 8)" 50
	at_least "$label: many losses: there were many" "$(seen 'LOST$')" 8
	xatomic qp del "$qpn"
}

all_lost() { # LABEL
	local qpn
	qpn=$(qp_add 4 1 --rq-psn 7)
	xatomic mr set words 8 0
	tap_start 1 --lose ATOMIC_ACKNOWLEDGE:7:1000
	status_of request 4 1 "$qpn" 7 "$rkey" fadd --addr 0x1008 --add 1 --retry 2 --timeout 1000
	tap_stop
	is "$1: every acknowledgement lost: exit status" "$status" 1
	is "$1: every acknowledgement lost: completion" "$(wc_status)" IBV_WC_RETRY_EXC_ERR
	is "$1: every acknowledgement lost: sent once and two more times" "$(seen FETCH_ADD)" 3
	is "$1: every acknowledgement lost: executed once" "$(word words 8)" 1
	xatomic qp del "$qpn"
}

# Runs the requester of `request`, keeps its exit status and all that it prints.
status_of() {
	shift
	local family=$1 i=$2 rqpn=$3 psn=$4 rkey=$5
	shift 5
	xatomic_req --netns "$prefix-node$i" --dev eth0 --peer "$(address "$family" "$i" 1)" \
		--lqpn $((16 + i)) --rqpn "$rqpn" --sq-psn "$psn" --rkey "$rkey" "$@" >"$work/said" 2>&1
	status=$?
}

wc_status() { grep -oE 'IBV_WC_[A-Z_]+' "$work/said" | head -1; }

refused() { # LABEL NAME COMPLETION REASON RKEY ARGUMENTS...
	local label="$1: $2" completion=$3 reason=$4 key=$5 qpn
	shift 5
	qpn=$(qp_add 4 2 --rq-psn 50)
	status_of request 4 2 "$qpn" 50 "$key" "$@"
	is "$label: exit status" "$status" 1
	is "$label: completion" "$(wc_status)" "$completion"
	is "$label: the QP is in error and says why" \
		"$(xatomic --json qp show "$qpn" | jq -r '[.state, .last_nak.reason, .last_nak.psn] | join(" ")')" \
		"ERR $reason 50"
	xatomic qp reset "$qpn" --rq-psn 60 >/dev/null
	is "$label: after a reset it answers again" \
		"$(request 4 2 "$qpn" 60 "$rkey" fadd --addr 0x1ff8 --add 0)" 0
	xatomic qp del "$qpn"
}

sum_of_many() { # LABEL FAMILY
	local i pid qpn label="$1, IPv$2"
	local -a pids=()
	xatomic mr set words 0 0
	rm -f "$work"/node*
	for ((i = 1; i <= nodes; i++)); do
		qpn=$(qp_add "$2" "$i" --rq-psn 1)
		request "$2" "$i" "$qpn" 1 "$rkey" fadd --addr 0x1000 --add 1 --count $adds --window 16 \
			>"$work/node$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	is "$label: $nodes nodes add to one word: the sum" "$(word words 0)" $((nodes * adds))
	is "$label: $nodes nodes add to one word: every value once" \
		"$(cat "$work"/node* | sort -n | cksum)" "$(seq 0 $((nodes * adds - 1)) | cksum)"
	xatomic --json qp show | jq '.[].lqpn' | while read -r qpn; do xatomic qp del "$qpn"; done
}

lock() { # LABEL
	local i pid
	local -a pids=()
	xatomic mr set words 16 0
	rm -f "$work"/node*
	for ((i = 1; i <= nodes; i++)); do
		request 4 "$i" "$(qp_add 4 "$i" --rq-psn 1)" 1 "$rkey" cswap --addr 0x1010 --compare 0 --swap 1 \
			>"$work/node$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	is "$1: $nodes nodes want a lock: one gets it" "$(cat "$work"/node* | sort -n | xargs)" "0 1 1 1"
}

scenario() { # MODE
	attach 1 $nodes --mode "$1" --max-qps 16 --max-mrs 8
	is "$1: mode of every interface" "$(modes)" "$(printf "$1%.0s\n" 1 2 3 4)"
	rkey=$(mr_add words --words 512 --iova 0x1000)
	for family in 4 6; do
		both_operations "$1" $family
		one_loss "$1" $family ATOMIC_ACKNOWLEDGE
		one_loss "$1" $family FETCH_ADD
		many_losses "$1" $family
		sum_of_many "$1" $family
	done
	all_lost "$1"
	refused "$1" "address that is not aligned" IBV_WC_REM_INV_REQ_ERR alignment "$rkey" \
		fadd --addr 0x1004 --add 1
	refused "$1" "address outside" IBV_WC_REM_ACCESS_ERR bounds "$rkey" fadd --addr 0x2000 --add 1
	refused "$1" "unknown rkey" IBV_WC_REM_ACCESS_ERR rkey $((rkey ^ 1)) fadd --addr 0x1000 --add 1
	lock "$1"
	check "$1: destroy" xatomic destroy
}

# As the kernel sees them: 1 is native, 2 is generic.
modes() {
	ip -n "$prefix-resp" -j link show | jq -r '.[] | .xdp.mode // empty' | sed 's/^1$/native/; s/^2$/generic/'
}

require_root
lab_up --nodes $nodes
own_bpffs
for mode in native generic; do
	if xatomic attach node1 --netns "$prefix-resp" --mode $mode --max-qps 16 --max-mrs 8 >"$work/attach" 2>&1; then
		scenario $mode
	else
		skip "$mode mode" "cannot attach: $(tail -1 "$work/attach")"
	fi
done
finish
