#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What a user would pick instead: Redis INCR, memcached incr and a UDP server in user space against xatomic, on
# the same veth pair between two namespaces, each with its ordinary client. Client on CPU 0, server on CPU 1.
# Rounds are interleaved; every run is checked for the right count. See bench/README.md. Needs root.
#
# Usage: alternatives.sh [--rounds N] [--seconds N] [--json FILE]     BUILD=DIR where the programs are
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build}
prefix=xab$$
server=10.77.1.1 client=10.77.1.2
resp=$prefix-resp node=$prefix-node1
rqpn=0x2f
rounds=3 seconds=2 json=
declare -A pids=()

die() {
	echo "alternatives.sh: $1" >&2
	exit 1
}

stop() { # NAME...: ends servers that were started here
	local name
	for name in "$@"; do
		[ -n "${pids[$name]:-}" ] || continue
		kill "${pids[$name]}" 2>/dev/null || true
		wait "${pids[$name]}" 2>/dev/null || true
		unset "pids[$name]"
	done
}

cleanup() {
	local status=$?
	trap - EXIT
	set +e
	stop "${!pids[@]}"
	mountpoint -q "$work/bpf" && xatomic destroy >/dev/null 2>&1
	"$here/scripts/lab.sh" --prefix "$prefix" down
	umount "$work/bpf" 2>/dev/null
	rm -rf "$work"
	exit $status
}

xatomic() { "$build/xatomic" --bpffs "$work/bpf" "$@"; }
on_server() { nsenter --net="/run/netns/$resp" taskset -c 1 "$@"; }
# In the background: the process itself, so that its id is the one to end it by.
spawn() { exec nsenter --net="/run/netns/$resp" taskset -c 1 "$@"; }
on_client() { nsenter --net="/run/netns/$node" taskset -c 0 "$@"; }
# sysfs shows the interfaces of the namespace that it was mounted in.
set_sysfs() { # NAMESPACE FILE VALUE
	ip netns exec "$1" sh -c "echo $3 >/sys/class/net/$2"
}

# A NAPI kernel thread per interface, on the CPU of its side: XDP programs run in it.
threaded() {
	local ns dev cpu thread before
	for ns in "$resp node1 1" "$node eth0 0"; do
		read -r ns dev cpu <<<"$ns"
		before=$(pgrep "^napi/$dev-" || true)
		set_sysfs "$ns" "$dev/threaded" 1
		for thread in $(pgrep "^napi/$dev-"); do
			grep -qx "$thread" <<<"$before" || taskset -cp "$cpu" "$thread" >/dev/null
		done
	done
}

unthreaded() {
	set_sysfs "$resp" node1/threaded 0
	set_sysfs "$node" eth0/threaded 0
}

# Receive packet steering does for sockets what the interrupt of a NIC would: the stack runs on that CPU.
steer() {
	set_sysfs "$resp" node1/queues/rx-0/rps_cpus 2
	set_sysfs "$node" eth0/queues/rx-0/rps_cpus 1
}

xdp_on() {
	"$here/scripts/lab.sh" pass "$node" eth0
	xatomic attach node1 --netns "$resp" 2>/dev/null >/dev/null
}

node_gro() { nsenter --net="/run/netns/$node" ethtool -K eth0 gro "$1"; }

# AF_XDP brings a program of its own for the node's interface, where xdp_on() has put XDP_PASS. With GRO, which
# redirected frames do not meet, a veth keeps its NAPI thread while it has no program.
node_for_af_xdp() {
	node_gro on
	ip -n "$node" link set dev eth0 xdpdrv off
}

# No XDP program on either end, as one would have without xatomic: a veth is faster for sockets then.
xdp_off() {
	xatomic detach node1 --netns "$resp" >/dev/null
	node_gro off
	ip -n "$node" link set dev eth0 xdpdrv off
}

idle_ms() { awk -v cpu="cpu$1" '$1 == cpu { print ($5 + $6) * 10 }' /proc/stat; }

# Runs a client that prints a line of JSON, and adds to it what the server's CPU was busy for meanwhile. On a
# veth as it is, XDP runs on the CPU of whoever sends: there the server's share cannot be told apart.
measured() { # NAME COMMAND...
	local name=$1 idle begin busy
	shift
	begin=$(date +%s%N) idle=$(idle_ms 1)
	"$@" >"$work/result" || die "$name failed"
	idle=$(($(idle_ms 1) - idle)) busy=$((($(date +%s%N) - begin) / 1000000))
	busy=$((busy > idle ? busy - idle : 0))
	jq -c --arg name "$name" --argjson busy $busy \
		'. + {name: $name, server_cpu_us: (if $name | contains("veth as it is") then null
			else $busy * 1000 / .operations end)}' \
		"$work/result" >>"$work/lines"
}

operations() { jq .operations "$work/result"; }

check() { # NAME WANTED GOT
	[ "$2" = "$3" ] || die "$1: the counter is $3 after $2 operations"
}

# --- xatomic and the UDP server: the same client, which checks every original value itself ---

sockclient() { # LQPN RKEY IN-FLIGHT
	on_client "$build/bench/sockclient" $client $server $rqpn "$1" 0 "$2" "$3" "$seconds"
}

xatomic_row() { # NAME IN-FLIGHT
	xatomic qp reset "$lqpn" --rq-psn 0 >/dev/null
	xatomic mr set counter 0 0
	measured "$1" sockclient "$lqpn" "$rkey" "$2"
	check "$1" "$(operations)" "$(xatomic -j mr dump counter | jq '.words[0]')"
}

# The requester of this project, in perftest's terms: latency is told of one in flight only.
perf_json() {
	jq '{operations: .iterations, seconds: .seconds, ops_per_second: (.msg_rate * 1e6),
		p50_us: .t_typical, p99_us: .t_99, p999_us: ."t_99.9"}'
}

requester() { # TRANSPORT IN-FLIGHT
	local transport=$1 mode=(-o "$2")
	shift
	[ "$1" -gt 1 ] || mode=(--lat)
	taskset -c 0 "$build/xatomic-req" -j perf --dev eth0 --netns "$node" --peer $server --lqpn $rqpn \
		--rqpn "$lqpn" --sq-psn 0 --rkey "$rkey" --addr 0 --op fadd --transport "$transport" \
		"${mode[@]}" -D "$seconds" >"$work/perf"
	[ "$(jq -r .transport "$work/perf")" = "$transport" ] || die "xatomic-req has not used $transport"
	perf_json <"$work/perf"
}

requester_row() { # NAME TRANSPORT IN-FLIGHT
	xatomic qp reset "$lqpn" --rq-psn 0 >/dev/null
	xatomic mr set counter 0 0
	measured "$1" requester "$2" "$3"
	check "$1" "$(operations)" "$(xatomic -j mr dump counter | jq '.words[0]')"
}

xatomic_rows() { # WHERE: what the names say of where the responder runs
	local n
	for n in 1 16 64; do
		requester_row "xatomic-req, $1, $n in flight" af_packet $n
		xatomic_row "xatomic by UDP socket, $1, $n in flight" $n
	done
	node_for_af_xdp
	for n in 1 16 64; do
		requester_row "xatomic-req, AF_XDP, $1, $n in flight" af_xdp $n
	done
}

udp_row() { # NAME IN-FLIGHT [--busy]
	spawn "$build/bench/udpserver" ${3:+"$3"} $server 0x11 $rqpn 0 0xab 1 &
	pids[udp]=$!
	until grep -qi ':12B7 ' <(on_server cat /proc/net/udp); do sleep 0.02; done
	measured "$1" sockclient 0x11 0xab "$2"
	stop udp
}

udp_rows() {
	local n
	for n in 1 16 64; do
		udp_row "UDP server, blocking, $n in flight" $n
		udp_row "UDP server, busy polling, $n in flight" $n --busy
	done
}

# --- Redis ---

# redis-benchmark tells the whole distribution: the first line at or above a percentile is that percentile.
redis_json() {
	awk '
	/% <= / { p = $1 + 0; us = $3 * 1000
		  if (!a && p >= 50) a = us; if (!b && p >= 99) b = us; if (!c && p >= 99.9) c = us }
	/requests completed in/ { n = $1; s = $5 }
	/throughput summary/ { r = $3 }
	END { printf "{\"operations\": %d, \"seconds\": %f, \"ops_per_second\": %f, " \
		     "\"p50_us\": %f, \"p99_us\": %f, \"p999_us\": %f}\n", n, s, r, a, b, c }'
}

redis_benchmark() { # CLIENTS PIPELINE REQUESTS
	on_client redis-benchmark -h $server -t incr -c "$1" -P "$2" -n "$3" | redis_json
}

redis_cli() { on_client redis-cli -h $server "$@"; }

redis_row() { # NAME CLIENTS PIPELINE REQUESTS-A-SECOND
	redis_cli flushall >/dev/null
	measured "$1" redis_benchmark "$2" "$3" $(($4 * seconds))
	check "$1" "$(operations)" "$(redis_cli get 'counter:__rand_int__')"
}

redis_rows() {
	redis_row "Redis INCR, 1 client" 1 1 20000
	redis_row "Redis INCR, 50 clients" 50 1 60000
	redis_row "Redis INCR, 1 client, pipeline 16" 1 16 200000
	redis_row "Redis INCR, 1 client, pipeline 100" 1 100 500000
}

# --- memcached: the client checks the sum of all answers ---

memcached_row() { # NAME CONNECTIONS PIPELINE
	measured "$1" on_client "$build/bench/memcached_incr" $server "$2" "$3" "$seconds"
}

memcached_rows() {
	memcached_row "memcached incr, 1 client" 1 1
	memcached_row "memcached incr, 50 clients" 50 1
	memcached_row "memcached incr, 1 client, pipeline 16" 1 16
}

start_servers() {
	spawn redis-server --bind $server --protected-mode no --save '' --appendonly no \
		--logfile /dev/null --dir "$work" >/dev/null &
	pids[redis]=$!
	spawn memcached -u nobody -t 1 -U 0 -l $server -m 64 &
	pids[memcached]=$!
	until [ "$(redis_cli ping 2>/dev/null)" = PONG ]; do sleep 0.05; done
	until grep -qi ':2BCB ' <(on_server cat /proc/net/tcp); do sleep 0.05; done
}

# The median of each figure over the rounds, rows in the order in which they first came.
summary() {
	jq -s 'def median: sort | if .[0] == null then null elif length % 2 == 1 then .[length / 2 | floor]
			else (.[length / 2 - 1] + .[length / 2]) / 2 end;
		. as $all | reduce .[].name as $n ([]; if index($n) then . else . + [$n] end)
		| map(. as $n | [$all[] | select(.name == $n)]
			| {name: $n} + ([.[0] | keys[] | select(. != "name")] as $keys
				| [. as $runs | $keys[] | {(.): (. as $k | [$runs[][$k]] | median)}] | add))' \
		"$work/lines"
}

table() {
	jq -r '.[] | [.name, (.ops_per_second | round), .p50_us, .p99_us, .p999_us, .server_cpu_us] | @tsv' |
		awk -F '\t' 'BEGIN { printf "%-52s %9s %9s %9s %9s %14s\n", "", "ops/s", "p50 us", "p99 us",
					     "p99.9 us", "server CPU us" }
			{ printf "%-52s %9d %9.1f %9.1f %9.1f %14s\n", $1, $2, $3, $4, $5,
				 $6 == "" ? "-" : sprintf("%.2f", $6) }'
}

while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=${2:-} ;;
	--seconds) seconds=${2:-} ;;
	--json) json=${2:-} ;;
	*) die "unknown option '$1'" ;;
	esac
	shift $(($# > 1 ? 2 : 1))
done
[ "$(id -u)" -eq 0 ] || die "network namespaces need root; run it with sudo"
work=$(mktemp -d)
trap cleanup EXIT
trap 'exit 1' INT TERM
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf"
"$here/scripts/lab.sh" --prefix "$prefix" up --family 4
steer
xatomic attach node1 --netns "$resp" --max-qps 16 --max-mrs 16 >/dev/null 2>&1
rkey=$(xatomic -j mr add counter --words 1 | jq .rkey)
lqpn=$(xatomic -j qp add --peer $client --local $server --rqpn $rqpn --rq-psn 0 --depth 64 | jq .lqpn)
xdp_off
start_servers
for ((round = 0; round < rounds; round++)); do
	xdp_on
	xatomic_rows "veth as it is"
	xdp_off
	xdp_on
	threaded
	xatomic_rows "own CPU"
	unthreaded
	xdp_off
	udp_rows
	redis_rows
	memcached_rows
done
summary >"$work/summary"
table <"$work/summary"
[ -z "$json" ] || cp "$work/summary" "$json"
