#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the requester needs from the kernel: own address, next hop, its MAC address; no ICMP against the
# responses; and one sentence when something is missing.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

node=$prefix-node1
in_node() { nsenter --net="/run/netns/$node" "$@"; }

# One FETCH_ADD of node 1 that nobody need answer. Keeps the exit status and both outputs.
ask() { # PEER [options]
	local peer=$1
	shift
	xatomic_req --peer "$peer" --lqpn 17 --rqpn 0x11 --sq-psn 100 --rkey 1 --retry 0 --timeout 1000 \
		fadd --addr 0 --add 1 "$@" >"$work/out" 2>"$work/err"
	status=$?
}

# One line, exit status 1, nothing on standard output, and the words that matter.
refused() { # NAME WORDS
	if [ "$status" = 1 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] &&
		grep -q -- "$2" "$work/err"; then
		pass "$1"
	else
		fail "$1" "exit status $status" "stdout: $(cat "$work/out")" "stderr: $(cat "$work/err")"
	fi
}

# Without the lab's permanent neighbours, the requester makes the kernel look for them.
resolves() { # FAMILY
	local qpn peer
	peer=$(address "$1" 1 1)
	qpn=$(qp_add "$1" 1 --rq-psn 5)
	ip -n "$node" neigh del "$peer" dev eth0
	is "IPv$1: the MAC address of an unknown neighbour is found" \
		"$(request "$1" 1 "$qpn" 5 "$rkey" cswap --addr 0 --compare 1 --swap 1)" 0
	is "IPv$1: the neighbour is in the kernel's table" \
		"$(ip -n "$node" -j neigh show "$peer" dev eth0 | jq -r '.[0].lladdr')" 02:00:00:00:01:01
	xatomic qp del "$qpn"
}

# The responder's address is behind a router; all that matters is the router's MAC address.
by_gateway() {
	local qpn
	ip -n "$prefix-resp" address add 10.78.0.1/32 dev lo
	ip -n "$node" route add 10.78.0.0/24 via 10.77.1.1 dev eth0
	qpn=$(xatomic --json qp add --peer 10.77.1.2 --local 10.78.0.1 --rqpn 17 --rq-psn 5 | jq .lqpn)
	is "a responder behind a gateway answers" \
		"$(xatomic_req --netns "$node" --dev eth0 --peer 10.78.0.1 --lqpn 17 --rqpn "$qpn" --sq-psn 5 \
			--rkey "$rkey" fadd --addr 8 --add 1)" 0
	xatomic qp del "$qpn"
}

# "destination unreachable" messages that the node has sent, IPv4 and IPv6.
icmp_sent() {
	# shellcheck disable=SC2016 # awk's own fields
	in_node awk '
		/^Icmp6OutDestUnreachs/ { print $2 }
		/^Icmp: / && column { print $column }
		/^Icmp: / { for (i = 1; i <= NF; i++) if ($i == "OutDestUnreachs") column = i }
	' /proc/net/snmp /proc/net/snmp6 | xargs
}

no_icmp() {
	local qpn before
	before=$(icmp_sent)
	for family in 4 6; do
		qpn=$(qp_add $family 1 --rq-psn 5)
		request $family 1 "$qpn" 5 "$rkey" fadd --addr 8 --add 1 --count 20 --window 4 >"$work/answers"
		is "IPv$family: twenty answers" "$(wc -l <"$work/answers")" 20
		xatomic qp del "$qpn"
	done
	is "no response is answered by ICMP" "$(icmp_sent)" "$before"
}

# As text and as JSON, in full: 64-bit numbers, which jq would round.
large_values() {
	local qpn
	local -a command
	qpn=$(qp_add 4 1 --rq-psn 5)
	command=(xatomic_req --netns "$node" --dev eth0 --peer 10.77.1.1 --lqpn 17 --rqpn "$qpn" --rkey "$rkey"
		fadd --addr 16 --add 1 --count 3)
	xatomic mr set words 16 0xfffffffffffffffe
	is "original values of 64 bits, as text" "$("${command[@]}" --sq-psn 5 | xargs)" \
		"18446744073709551614 18446744073709551615 0"
	xatomic mr set words 16 0xfffffffffffffffe
	is "original values of 64 bits, as JSON" "$("${command[@]}" --sq-psn 8 --json | tr -d '" ' | xargs)" \
		"{original:18446744073709551614} {original:18446744073709551615} {original:0}"
	xatomic qp del "$qpn"
}

first_psn() {
	local qpn
	qpn=$(qp_add 4 1 --rq-psn 5)
	xatomic_req --netns "$node" --dev eth0 --peer 10.77.1.1 --lqpn 17 --rqpn "$qpn" --sq-psn 9 \
		--rkey "$rkey" --timeout 1000 fadd --addr 8 --add 1 >"$work/out" 2>"$work/err"
	status=$?
	refused "a start at a wrong PSN names the right one" 'IBV_WC_RETRY_EXC_ERR .* PSN 5, so'
	xatomic qp del "$qpn"
}

refused_operations() {
	local qpn
	qpn=$(qp_add 4 1 --rq-psn 5)
	xatomic_req --json --netns "$node" --dev eth0 --peer 10.77.1.1 --lqpn 17 --rqpn "$qpn" --sq-psn 5 \
		--rkey "$rkey" --count 9 --window 3 fadd --addr 4 --add 1 >"$work/out" 2>"$work/err"
	is "an unaligned address: exit status" $? 1
	is "an unaligned address: one line on standard error" "$(grep -c IBV_WC_REM_INV_REQ_ERR "$work/err")" 1
	is "an unaligned address: its completion, and those flushed behind it" \
		"$(jq -r '"\(.status) \(.psn)"' "$work/out" | xargs)" \
		"IBV_WC_REM_INV_REQ_ERR 5 IBV_WC_WR_FLUSH_ERR 6 IBV_WC_WR_FLUSH_ERR 7"
	xatomic qp del "$qpn"
}

missing_things() {
	ask 10.77.1.1 --netns "$node" --dev eth9
	refused "an unknown interface" "no interface 'eth9'"
	ask 10.77.1.1 --netns "$prefix-none" --dev eth0
	refused "an unknown network namespace" "no network namespace '$prefix-none'"
	ask 10.77.1.1 --netns "$node" --dev lo
	refused "an interface that is no Ethernet" "no Ethernet"
	ask 10.77.1.2 --netns "$node" --dev eth0
	refused "an own address as peer" "this host itself"
	ask fd00:99::1 --netns "$node" --dev eth0
	refused "a peer that no route leads to" "no route"
	ask 10.77.1.99 --netns "$node" --dev eth0
	refused "a peer that does not tell its MAC address" "MAC address"
	ip -n "$node" link add bare type veth peer name bare2
	ask 10.77.1.1 --netns "$node" --dev bare
	refused "an interface that is down" "is down"
	ip -n "$node" link set bare up
	ask 10.77.1.1 --netns "$node" --dev bare
	refused "an interface without an address" "no IPv4 address"
	ip -n "$node" link del bare
}

privileges() {
	if ! setpriv --bounding-set -net_raw true 2>/dev/null; then
		skip "without CAP_NET_RAW" "setpriv cannot drop capabilities here"
		return
	fi
	in_node setpriv --bounding-set -net_raw,-sys_admin --inh-caps -net_raw,-sys_admin \
		"$build/asan/xatomic-req" --dev eth0 --peer 10.77.1.1 --lqpn 17 --rqpn 0x11 --sq-psn 1 \
		--rkey 1 fadd --addr 0 --add 1 >"$work/out" 2>"$work/err"
	status=$?
	refused "without CAP_NET_RAW" CAP_NET_RAW
}

silence() {
	ask 10.77.1.1 --netns "$node" --dev eth0
	refused "silence points at the queue pair" 'IBV_WC_RETRY_EXC_ERR .* is in state RTR'
	ip -n "$node" link set dev eth0 xdp off
	ask 10.77.1.1 --netns "$node" --dev eth0
	refused "silence on a veth without an XDP program points at that" \
		'IBV_WC_RETRY_EXC_ERR .* veth without an XDP program'
}

require_root
lab_up --nodes 1
own_bpffs
attach 1 1 --max-qps 4 --max-mrs 4
rkey=$(mr_add words --words 4)
for family in 4 6; do
	resolves $family
done
by_gateway
no_icmp
large_values
first_psn
refused_operations
missing_things
privileges
silence
finish
