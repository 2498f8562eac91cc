#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Real COMPARE_SWAP and FETCH_ADD packets over veths, answered by the XDP responder, in four scenes. Every
# command is shown, every packet is shown as it crossed the wire, every result is checked. Needs root; uses
# namespaces and a bpffs of its own and leaves nothing behind.
#
# Usage: demo.sh   (or: make demo)      BUILD=DIR where the programs are, default build
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build}
prefix=demo$$
nodes=4
adds=500 # by each node in scene (c)
checks=0
tap=

# Jobs may have children, but whatever runs in the namespaces, which are ours alone, was started here.
cleanup() {
	local status=$? ns
	trap - EXIT
	set +e
	jobs -p | xargs -r kill 2>/dev/null
	for ns in $(ip netns list | awk '{ print $1 }' | grep "^$prefix-"); do
		ip netns pids "$ns" | xargs -r kill 2>/dev/null
	done
	wait
	mountpoint -q "$work/bpf" && xatomic destroy >/dev/null 2>&1
	"$here/scripts/lab.sh" --prefix "$prefix" down
	umount "$work/bpf" 2>/dev/null
	rm -rf "$work"
	[ $status -eq 0 ] || echo "demo.sh: FAILED (status $status)" >&2
	exit $status
}

die() {
	echo "demo.sh: $1" >&2
	exit 1
}

title() { printf '\n== %s\n' "$1"; }
show() { printf '$ %s\n' "$*"; }
run() {
	show "$@"
	"$@"
}

expect() { # WHAT IS WANTED
	[ "$2" = "$3" ] || die "$1 is '$2' and should be '$3'"
	checks=$((checks + 1))
	echo "  ok: $1 is $2"
}

# What crosses the wires from now to tap_stop. The arguments go to the wiretap.
tap_start() {
	local i
	local -a taps=()
	for ((i = 1; i <= nodes; i++)); do
		taps+=("$prefix-node$i/eth0=node$i")
	done
	: >"$work/wire" # of the last time, or its "# tapping" would be taken for this one's
	"$build/wiretap" "$@" "${taps[@]}" >>"$work/wire" &
	tap=$!
	until grep -qs '^# tapping' "$work/wire"; do
		kill -0 "$tap" 2>/dev/null || die "the wiretap ended before it began"
		sleep 0.02
	done
}

tap_stop() {
	kill -TERM "$tap"
	wait "$tap"
	grep -v '^#' "$work/wire" | sed 's/^/  | /'
	grep 'not shown' "$work/wire" | sed 's/^# /  | /' || true
	# "# node1: 502 sent, 0 lost; 502 received, 1 lost" adds to the totals.
	grep '^# node' "$work/wire" | tr -d ',;' >>"$work/totals"
}

# Original values that node I gets, one a line, in $work/nodeI; the PSN moves on by the number of requests.
request() { # I COUNT ARGUMENTS OF xatomic-req
	local i=$1 count=$2
	shift 2
	local -a command=(xatomic-req --netns "$prefix-node$i" --dev eth0 --peer "10.77.$i.1"
		--lqpn $((16 + i)) --rqpn "${qpn[i]}" --sq-psn "${psn[i]}" --rkey "$rkey" "$@")
	show "${command[@]}"
	psn[i]=$((psn[i] + count))
	"${command[@]}" >"$work/node$i"
}

answer() { cat "$work/node$1"; }
word() { xatomic --json mr dump demo --offset "$1" --count 1 | jq '.words[0]'; }

set_up() {
	local i
	title "A responder and $nodes requesters, a veth pair between the responder and each"
	mkdir "$work/bpf"
	run mount -t bpf bpf "$work/bpf"
	export XATOMIC_BPFFS=$work/bpf PATH=$build:$PATH
	show export "XATOMIC_BPFFS=$XATOMIC_BPFFS"
	run "$here/scripts/lab.sh" --prefix "$prefix" up --nodes $nodes
	for ((i = 1; i <= nodes; i++)); do
		show xatomic attach "node$i" --netns "$prefix-resp" --max-qps 8 --max-mrs 8
		# The warning about the peer's program is answered: the lab has attached one.
		xatomic attach "node$i" --netns "$prefix-resp" --max-qps 8 --max-mrs 8 2>"$work/warning" ||
			die "$(cat "$work/warning")"
	done
	show xatomic mr add demo --words 1024 --iova 0x1000
	rkey=$(xatomic --json mr add demo --words 1024 --iova 0x1000 | jq .rkey)
	for ((i = 1; i <= nodes; i++)); do
		local -a add=(qp add --peer "10.77.$i.2" --local "10.77.$i.1" --rqpn $((16 + i))
			--rq-psn 3098)
		show xatomic "${add[@]}"
		qpn[i]=$(xatomic --json "${add[@]}" | jq .lqpn)
		psn[i]=3098
	done
}

scene_a() {
	title "(a) COMPARE_SWAP 5 to 9: on a word that holds 5, then on a word that holds 7"
	run xatomic mr set demo 0 5
	tap_start
	request 1 1 cswap --addr 0x1000 --compare 5 --swap 9
	tap_stop
	expect "the answer" "$(answer 1)" 5
	expect "the word" "$(word 0)" 9
	run xatomic mr set demo 0 7
	tap_start
	request 1 1 cswap --addr 0x1000 --compare 5 --swap 9
	tap_stop
	expect "the answer" "$(answer 1)" 7
	expect "the word" "$(word 0)" 7
}

scene_b() {
	title "(b) FETCH_ADD 1 on a counter that holds 41; its acknowledgement is lost"
	run xatomic mr set demo 8 41
	tap_start --lose ATOMIC_ACKNOWLEDGE:3100:1
	request 1 1 fadd --addr 0x1008 --add 1
	tap_stop
	expect "the number of lost packets" "$(grep -c 'ATOMIC_ACKNOWLEDGE .* LOST' "$work/wire")" 1
	# Twice; more often on a machine that is too slow for the retry timer.
	[ "$(grep -c 'FETCH_ADD .*psn 3100 ' "$work/wire")" -ge 2 ] || die "PSN 3100 was not sent again"
	expect "the answer" "$(answer 1)" 41
	expect "the counter" "$(word 8)" 42
}

scene_c() {
	local i pid
	local -a pids=()
	title "(c) $nodes nodes add 1 to the word at 0x2000, $adds times each, at the same time"
	tap_start --head 4
	for ((i = 1; i <= nodes; i++)); do
		request "$i" "$adds" fadd --addr 0x2000 --add 1 --count "$adds" --window 8 &
		pids+=($!)
		psn[i]=$((psn[i] + adds)) # request does it in its own process
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	tap_stop
	expect "the sum" "$(word 0x1000)" $((nodes * adds))
	sort -n "$work"/node[1-9] >"$work/all"
	seq 0 $((nodes * adds - 1)) | cmp -s - "$work/all" || die "the answers are not 0, 1, 2, … once each"
	expect "the number of different answers" "$(uniq "$work/all" | wc -l)" $((nodes * adds))
}

scene_d() {
	local first
	title "(d) two nodes want the lock word: COMPARE_SWAP 0 to 1"
	run xatomic mr set demo 16 0
	tap_start
	request 1 1 cswap --addr 0x1010 --compare 0 --swap 1 &
	first=$!
	request 2 1 cswap --addr 0x1010 --compare 0 --swap 1
	wait "$first"
	tap_stop
	expect "the pair of answers" "$(sort -n "$work/node1" "$work/node2" | xargs)" "0 1"
	expect "the lock word" "$(word 16)" 1
	if [ "$(answer 1)" = 0 ]; then
		echo "  node1 has the lock"
	else
		echo "  node2 has the lock"
	fi
}

# Entries that are in use, one a line.
dump() { # PIN FILTER
	show "bpftool -j map dump pinned $1 | jq -c '$2'"
	bpftool -j map dump pinned "$1" | jq -c "$2"
}

look_inside() {
	local pins=$XATOMIC_BPFFS/xatomic/default
	title "Inside: the maps as bpftool shows them, without the unused entries"
	dump "$pins/qps" '.[].formatted.value | select(.qpn != 0)'
	dump "$pins/mrs" '.[].formatted.value | select(.state == "XA_MR_VALID")'
	echo "The last two atomics that each QP would answer again (without the guard word, too long for jq):"
	dump "$pins/replay" '.[].formatted | [.value.saved[] | select(.qpn != 0)] | sort_by(.psn)[-2:][] | del(.guard)'
	dump "$(xatomic --json mr show demo | jq -r .map)" '.[].formatted | select(.value != 0)'
}

totals() {
	title "Totals"
	run xatomic stat
	awk '{ sent += $3; received += $7; lost += $5 + $9 }
		END { printf "%d requests and %d answers crossed the wires, %d lost\n", sent, received, lost }' \
		"$work/totals"
	echo "$checks checks, all passed, in $SECONDS s"
}

[ "$(id -u)" -eq 0 ] || die "network namespaces and BPF need root; run it with sudo"
for program in xatomic xatomic-req wiretap; do
	[ -x "$build/$program" ] || die "$build/$program is missing; run make demo"
done
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
declare -a qpn psn
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
set_up
scene_a
scene_b
scene_c
scene_d
look_inside
totals
