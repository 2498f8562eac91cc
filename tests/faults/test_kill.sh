#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kill -9 at random moments, until it has hit ROUNDS commands, under traffic: whatever command of xatomic is
# hit, requesters on two other interfaces get all their answers, none twice and none late, and in the end one
# run of each command has everything in order again. Then a requester is killed.
#
# SEED gives the same commands and the same pauses; when exactly a kill comes is the machine's.
# shellcheck source=tests/netns/traffic.sh
. "$(dirname "$0")/../netns/traffic.sh"

rounds=${ROUNDS:-60}
seed=${SEED:-$(date +%s)}
RANDOM=$seed
resp=$prefix-resp
longest_ms=40

xatomic() { "$build/xatomic" "$@"; }

tree() { (cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' | sed 's/-link[0-9]*$//' | sort); }

victim_qp() { xatomic --json qp show | jq 'first(.[] | select(.rqpn == 99).lqpn)'; }

has_mr() { [ -e "$XATOMIC_BPFFS/xatomic/default/mr/$1" ]; }
has_node3() { xatomic --json show | grep -q '"node3"'; }
has_other() { [ -e "$XATOMIC_BPFFS/xatomic/other" ]; }

# Sets `command` to one that has something to do.
choose() {
	local qpn
	qpn=$(victim_qp)
	case $((RANDOM % 10)) in
	0 | 1) has_mr m && command=(mr del m) || command=(mr add m --words 100000 --owner 65534) ;;
	2) command=(qp add --peer 10.77.3.2 --local 10.77.3.1 --rqpn 99) ;;
	3) [ -n "$qpn" ] && command=(qp del "$qpn") || command=(qp add --peer 10.77.3.2 --local 10.77.3.1 --rqpn 99) ;;
	4) [ -n "$qpn" ] && command=(qp reset "$qpn") || command=(qp add --peer 10.77.3.2 --local 10.77.3.1 --rqpn 99) ;;
	5) has_node3 && command=(detach node3 --netns "$resp") || command=(attach node3 --netns "$resp") ;;
	6) command=(upgrade) ;;
	7) has_other && command=(-i other destroy) || command=(-i other attach node4 --netns "$resp" --max-qps 4 --max-mrs 8) ;;
	8) command=(save "$work/saved") ;;
	9) has_mr n && command=(mr del n) || command=(restore "$work/n") ;;
	esac
}

# With 20 queue pairs left by qp add, it is time to take some away.
tidy() {
	local qpn
	[ "$(xatomic --json qp show | jq length)" -lt 12 ] ||
		for qpn in $(xatomic --json qp show | jq '.[] | select(.rqpn == 99).lqpn'); do xatomic qp del "$qpn"; done
}

# One build after the other, so that upgrades have something to do.
any_build() { [ $((RANDOM % 2)) = 0 ] && echo "$build/xatomic" || echo "$build/variant/xatomic"; }

one_kill() {
	local pid status
	choose
	"$(any_build)" "${command[@]}" >"$work/out" 2>&1 &
	pid=$!
	sleep "$(printf '0.%03d' $((RANDOM % longest_ms)))"
	kill -9 $pid 2>/dev/null
	{ wait $pid; } 2>/dev/null
	status=$?
	[ $status != 137 ] || killed=$((killed + 1))
	[ $status = 0 ] || [ $status = 1 ] || [ $status = 137 ] || return
	xatomic --json show >/dev/null && xatomic --json mr show >/dev/null && xatomic --json qp show >/dev/null
}

# By the checksum at its end.
is_whole() {
	/usr/bin/python3 -c 'import sys, zlib
data = open(sys.argv[1], "rb").read()
sys.exit(len(data) < 24 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"))' "$1"
}

kill_often() {
	local i bad=0 progress
	for ((i = 1; killed < rounds && i <= 20 * rounds; i++)); do
		progress=$(traffic_progress)
		tidy >/dev/null
		if ! one_kill 2>"$work/looked"; then
			bad=$((bad + 1))
			comment <<<"round $i, ${command[*]}: $(cat "$work/out" "$work/looked")"
		fi
		if ! traffic_moves "$progress"; then
			bad=$((bad + 1))
			comment <<<"round $i, ${command[*]}: the requesters get no answers"
			break
		fi
		if [ -e "$work/saved" ] && ! is_whole "$work/saved"; then
			bad=$((bad + 1))
			comment <<<"round $i, ${command[*]}: the saved file is torn"
		fi
	done
	comment <<<"$killed commands were killed, $((i - 1 - killed)) were faster"
	is "kills under traffic, SEED=$seed" "$bad" 0
	is "kills that hit a command" "$killed" "$rounds"
}

# Each command runs once to its end.
put_in_order() {
	local name qpn
	for qpn in $(xatomic --json qp show | jq '.[] | select(.rqpn == 99).lqpn'); do
		xatomic qp del "$qpn" || return
	done
	for name in m n; do
		! xatomic mr show "$name" || xatomic mr del "$name" || return
	done
	xatomic mr add last --words 1 && xatomic mr del last || return
	xatomic attach node3 --netns "$resp" && xatomic detach node3 --netns "$resp" || return
	xatomic -i other attach node4 --netns "$resp" --max-qps 4 --max-mrs 8 && xatomic -i other destroy || return
	"$build/variant/xatomic" upgrade && xatomic upgrade && xatomic save "$work/saved"
}

# Words of regions that were there for a while, and programs.
objects() {
	bpftool -j map show | jq '[.[] | select((.name == "m" and .max_entries == 100000) or (.name == "n" and .max_entries == 4321))] | length'
	program_count
}

program_count() {
	local map
	map=$(bpftool -j map show pinned "$XATOMIC_BPFFS/xatomic/default/qps" | jq .id)
	bpftool -j prog show | jq "[.[] | select(.map_ids // [] | index($map))] | length"
}

settled() { [ "$(objects | xargs)" = "0 1" ]; }

# A requester that is killed leaves a QP that the next one can go on with, at the PSN that it expects.
requester_killed() {
	local qpn pid next status
	qpn=$(qp_add 4 2 --rq-psn 0)
	xatomic mr set words 16 0
	"$build/xatomic-req" --netns "$prefix-node2" --dev eth0 --peer 10.77.2.1 --lqpn 18 --rqpn "$qpn" \
		--sq-psn 0 --rkey "$rkey" fadd --addr 0x1010 --add 1 --count 10000000 --window 8 >/dev/null &
	pid=$!
	wait_for 60 moved 16
	kill -9 $pid
	{ wait $pid; } 2>/dev/null
	status=$?
	is "the requester was killed in the middle" "$status" 137
	next=$(xatomic --json qp show "$qpn" | jq '."rq-psn"')
	is "as many additions as the expected PSN says" "$(word words 16)" "$next"
	is "the next requester goes on" \
		"$(request 4 2 "$qpn" "$next" "$rkey" fadd --addr 0x1010 --add 1)" "$next"
	xatomic qp del "$qpn"
}

moved() { [ "$(word words "$1")" -gt 0 ]; }

require_root
own_bpffs
lab_up --nodes 4
attach 1 1 --max-qps 16 --max-mrs 8
attach 2 2 --mode generic
rkey=$(mr_add words --words 512 --iova 0x1000)
# A file with one region, to be restored.
xatomic mr add n --words 4321 >/dev/null
xatomic mr del words
xatomic save "$work/n" >/dev/null
xatomic mr del n
rkey=$(mr_add words --words 512 --iova 0x1000)
before=$(tree) killed=0
traffic_start 2 "$rkey" 0x1000
kill_often
check "after all that, each command works" put_in_order
traffic_stop "$rounds kills" words:0
is "nothing is left of them" "$(tree)" "$before"
check "in the kernel neither" wait_for 30 settled
requester_killed
check "destroy" xatomic destroy
finish
