#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic-req perf and the AF_XDP transport: sums, columns, who may have the interface, and that nothing is
# left on it. Rates and times are shown and not judged.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

node=$prefix-node1
has_program() { ip -n "$node" -j link show dev eth0 | jq -e '.[0].xdp.prog.id' >/dev/null; }
has_no_program() { ! has_program; }

# All queue pairs of the node whose network this is. Each run begins where the one before ended.
perf() {
	xatomic --json qp show >"$work/qps"
	xatomic_req perf --netns "$node" --dev eth0 --qp-file "$work/qps" --rkey "$rkey" "$@" \
		>"$work/out" 2>"$work/err"
	status=$?
	comment <"$work/out"
}

facts() { # JQ FILTER
	jq -r "$1" "$work/out" | xargs
}

refused() { # NAME WORDS
	if [ "$status" = 1 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] &&
		grep -q -- "$2" "$work/err"; then
		pass "$1"
	else
		fail "$1" "exit status $status" "stdout: $(cat "$work/out")" "stderr: $(cat "$work/err")"
	fi
}

# The sum is what --verify promises and what the responder's own memory says.
sums() { # FAMILY TRANSPORT
	local label="$2, IPv$1" qpn
	qpn=$(qp_add "$1" 1 --depth 128 --rq-psn 0xffff00)
	xatomic mr set words 0 41
	perf -j --addr 0x1000 -o 64 -n 2000 --add 3 --verify --transport "$2"
	is "$label: facts of a run" "$(facts '[.mode, .op, .transport, .qp, .outs, .iterations, .verified] | map(tostring) | join(" ")')" \
		"bw fadd $2 1 64 2000 true"
	is "$label: the sum" "$(word words 0)" 6041
	perf -j --addr 0x1000 --lat -n 300 --verify --transport "$2"
	is "$label: latency has its order" \
		"$(facts '.t_min <= .t_typical and .t_typical <= .t_99 and .t_99 <= ."t_99.9" and ."t_99.9" <= .t_max and .t_min > 0')" true
	is "$label: the sum after latency mode" "$(word words 0)" 6341
	perf --addr 0x1000 --op cswap --compare 6341 --swap 7 -n 100 --verify --transport "$2"
	is "$label: compare and swap" "$status $(word words 0)" "0 7"
	xatomic qp del "$qpn"
}

# Many queue pairs, all on one word and each on its own.
many() { # TRANSPORT
	local i
	for ((i = 0; i < 8; i++)); do
		xatomic qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn $((100 + i)) >/dev/null
	done
	for i in 0 8 16 24; do xatomic mr set words $i 0; done
	perf -j --addr 0x1000 -n 500 -o 8 --verify --transport "$1"
	is "$1: eight queue pairs on one word" "$(facts .qp) $(facts .iterations) $(word words 0)" "8 4000 4000"
	perf -j --addr 0x1000 -q 3 -n 500 -o 8 --stride 8 --verify --transport "$1"
	is "$1: three queue pairs on three words" "$(facts .qp) $(word words 0) $(word words 8) $(word words 16) $(word words 24)" \
		"3 4500 500 500 0"
	perf -j --addr 0x1000 --lat -D 1 --transport "$1"
	is "$1: a run of a second" "$(facts '.seconds >= 1')" true
	perf --addr 0x1000 -q 9 --transport "$1"
	refused "$1: more queue pairs than there are" "names 8"
	perf --addr 0x1000 -o 17 --transport "$1"
	refused "$1: more in flight than the responder keeps answers for" "--depth 17"
	xatomic --json qp show | jq '.[].lqpn' | while read -r i; do xatomic qp del "$i"; done
}

columns() {
	local qpn
	qpn=$(qp_add 4 1 --rq-psn 100)
	perf --addr 0x1000 -n 100
	is "columns of the bandwidth mode" "$(head -1 "$work/out" | xargs)" \
		"#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]"
	is "values of the bandwidth mode" "$(tail -1 "$work/out" | grep -cE '^ 8 +100( +[0-9.]+){3}$')" 1
	perf --addr 0x1000 -n 100 --lat
	is "columns of the latency mode" "$(head -1 "$work/out" | xargs)" \
		"#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec] 99.9% percentile[usec]"
	is "values of the latency mode" "$(tail -1 "$work/out" | grep -cE '^ 8 +100( +[0-9.]+){7}$')" 1
	perf --addr 0x1004 -n 100
	refused "a refused operation ends the run" "IBV_WC_REM_INV_REQ_ERR at PSN 300 "
	xatomic qp del "$qpn"
}

# Somebody else changes the word in the middle: the values that come back say so.
wrong_sum() {
	local qpn other
	qpn=$(qp_add 4 1 --rq-psn 100)
	xatomic --json qp show >"$work/qps"
	other=$(xatomic --json qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 99 --rq-psn 0 | jq .lqpn)
	# Not by the function, which would put a shell between.
	"$build/asan/xatomic-req" --netns "$node" --dev eth0 --transport af_packet --peer 10.77.1.1 --lqpn 99 \
		--rqpn "$other" --sq-psn 0 --rkey "$rkey" fadd --addr 0x1000 --add 5 --count 100000000 >/dev/null 2>&1 &
	running=$!
	wait_for 30 changed_by "$other"
	xatomic_req perf --netns "$node" --dev eth0 --transport af_packet --qp-file "$work/qps" --rkey "$rkey" \
		--addr 0x1000 -D 60 --verify >"$work/out" 2>"$work/err"
	status=$?
	end KILL
	refused "a word that something else changes does not verify" "something else changes the word"
	xatomic qp del "$qpn"
	xatomic qp del "$other"
}

changed_by() { # LQPN
	[ "$(xatomic --json qp show "$1" | jq .msn)" -gt 0 ]
}

end() { # SIGNAL
	kill "-$1" "$running"
	wait "$running" 2>/dev/null
}

# The answer of a port that nobody has is a packet for the kernel's stack.
reaches_the_stack() {
	nsenter --net="/run/netns/$node" timeout 20 bash -c ': >/dev/tcp/10.77.1.1/9' 2>&1 | grep refused
}

# A run that goes on until it is ended.
endless() {
	xatomic --json qp show >"$work/qps"
	"$build/asan/xatomic-req" perf --netns "$node" --dev eth0 --qp-file "$work/qps" --rkey "$rkey" \
		--addr 0x1000 -D 1000 --transport af_xdp >/dev/null 2>&1 &
	running=$!
	wait_for 30 has_program
}

# The interface is one process's; the packets of everybody else go through.
who_has_it() {
	local qpn other
	qpn=$(qp_add 4 1 --rq-psn 100)
	endless
	other=$(xatomic --json qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 99 --rq-psn 0 | jq .lqpn)
	xatomic --json qp show "$other" >"$work/other"
	xatomic_req perf --netns "$node" --dev eth0 --qp-file "$work/other" --rkey "$rkey" --addr 0x1008 \
		--transport af_xdp >"$work/out" 2>"$work/err"
	status=$?
	refused "a second process cannot have the interface by AF_XDP" "runs an XDP program or has an AF_XDP socket"
	xatomic_req perf -j --netns "$node" --dev eth0 --qp-file "$work/other" --rkey "$rkey" --addr 0x1008 \
		-n 100 --verify >"$work/out" 2>"$work/err"
	is "but it gets by with AF_PACKET" "$(facts .transport) $(facts .iterations)" "af_packet 100"
	xatomic qp del "$other"
	check "other packets pass the XDP program" reaches_the_stack
	end KILL
	check "kill -9 leaves no XDP program" wait_for 30 has_no_program
	xatomic qp reset "$qpn" --rq-psn 5 >/dev/null
	perf -j --addr 0x1008 -n 100 --verify --transport af_xdp
	is "and the interface can be had again" "$(facts .transport)" af_xdp
	endless
	end TERM
	check "SIGTERM leaves no XDP program" wait_for 30 has_no_program
	xatomic qp del "$qpn"
}

# An XDP program that is there is left alone.
foreign_program() {
	local qpn before
	qpn=$(qp_add 4 1 --rq-psn 100)
	pass_on "$node" eth0
	before=$(ip -n "$node" -j link show dev eth0 | jq '.[0].xdp.prog.id')
	perf --addr 0x1000 -n 10 --transport af_xdp
	refused "an interface with an XDP program is refused to AF_XDP" "xdp off"
	perf -j --addr 0x1000 -n 10 --verify
	is "an interface with an XDP program gets AF_PACKET" "$(facts .transport)" af_packet
	is "the XDP program is still there" "$(ip -n "$node" -j link show dev eth0 | jq '.[0].xdp.prog.id')" "$before"
	ip -n "$node" link set dev eth0 xdp off
	xatomic qp del "$qpn"
}

several_queues() {
	ip -n "$node" link add wide numrxqueues 2 numtxqueues 2 type veth peer name wide2
	ip -n "$node" link set wide up
	ip -n "$node" link set wide2 up
	ip -n "$node" address add 10.79.0.2/24 dev wide
	ip -n "$node" neighbour add 10.79.0.1 lladdr 02:00:00:00:79:01 dev wide nud permanent
	xatomic_req --netns "$node" --dev wide --transport af_xdp --peer 10.79.0.1 --lqpn 17 --rqpn 17 --sq-psn 0 \
		--rkey 1 fadd --addr 0 --add 1 >"$work/out" 2>"$work/err"
	status=$?
	refused "an interface with two receive queues is refused to AF_XDP" "2 receive queues"
	ip -n "$node" link del wide
}

# fadd and cswap can have it too.
one_operation() {
	local qpn
	qpn=$(qp_add 4 1 --rq-psn 100)
	xatomic mr set words 0 5
	is "one operation by AF_XDP" \
		"$(request 4 1 "$qpn" 100 "$rkey" --transport af_xdp fadd --addr 0x1000 --add 1)" 5
	check "no XDP program is left" has_no_program
	xatomic qp del "$qpn"
}

require_root
lab_up --nodes 1 --no-pass
own_bpffs
attach 1 1 --max-qps 16 --max-mrs 8
rkey=$(mr_add words --words 512 --iova 0x1000)
# By behaviour: can this kernel do it on a veth?
qpn=$(qp_add 4 1 --rq-psn 5)
perf --addr 0x1000 -n 1 --transport af_xdp
[ "$status" = 0 ] || skip_all "no AF_XDP on veth here: $(cat "$work/err")"
xatomic qp del "$qpn"
one_operation
for family in 4 6; do
	sums $family af_xdp
done
many af_xdp
columns
who_has_it
foreign_program
several_queues
pass_on "$node" eth0
sums 4 af_packet
many af_packet
wrong_sum
finish
