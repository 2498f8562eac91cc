#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures the responder from this machine alone: a lab of one node (lab.sh) with a responder, a memory
# region and queue pairs, and `xatomic-req perf` on them.
set -eu

usage() {
	cat <<'USAGE'
Usage: perf-lab.sh [--prefix NAME] COMMAND
  up [--qps N] [--family 4|6] [--mode native|generic]
                make the lab: responder, queue pairs (16), one cache line of memory for each
  run [ARGUMENTS OF xatomic-req perf]
                measure in it; all queue pairs unless -q says fewer, all on one word unless
                --stride does (64: a cache line each); may be repeated
  show          the QPs, as JSON
  env           how to reach it, as JSON: netns dev peer rkey bpffs resp_netns resp_dev
  down          remove it
  once [--qps N] [--family 4|6] [--mode native|generic] [-- ARGUMENTS OF xatomic-req perf]
                up, run and down
NAME is 1-40 of A-Za-z0-9_- (default: xaperf). Programs are taken from $BUILD (default: build
beside this directory); $WRAP stands before xatomic-req, for example 'taskset -c 1'.
USAGE
}

die() {
	echo "perf-lab.sh: $1" >&2
	exit "${2:-1}"
}

here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build}
prefix=xaperf
qps=16 family=4 mode=native
cache_line=64 word=8 depth=128

state() { echo "/run/xatomic-$prefix"; }
lab() { BUILD=$build "$here/scripts/lab.sh" --prefix "$prefix" "$@"; }
xatomic() { "$build/xatomic" --bpffs "$(state)/bpf" "$@"; }
address() { [ "$family" = 4 ] && echo "10.77.1.$1" || echo "fd00:77:1::$1"; }
power_of_two() { # AT_LEAST
	local n=1
	while [ $n -lt "$1" ]; do n=$((2 * n)); done
	echo $n
}

read_options() { # prints nothing; sets qps, family, mode and rest
	rest=()
	while [ $# -gt 0 ]; do
		case $1 in
		--qps) qps=${2:-} ;;
		--family) family=${2:-} ;;
		--mode) mode=${2:-} ;;
		--)
			rest=("${@:2}")
			break
			;;
		*) die "unknown option '$1'; see perf-lab.sh --help" 2 ;;
		esac
		shift $(($# > 1 ? 2 : 1))
	done
	if ! [[ $qps =~ ^[1-9][0-9]{0,4}$ ]] || [ "$qps" -gt 32768 ]; then
		die "--qps takes a number from 1 to 32768, not '$qps'" 2
	fi
	[[ $family =~ ^[46]$ ]] || die "--family takes 4 or 6, not '$family'" 2
}

add_queue_pairs() {
	local i
	for ((i = 0; i < qps; i++)); do
		xatomic qp add --peer "$(address 2)" --local "$(address 1)" --rqpn $((256 + i)) \
			--depth $depth >/dev/null
	done
}

up() {
	read_options "$@"
	[ ! -e "$(state)" ] || die "the lab '$prefix' is there already; remove it with perf-lab.sh down"
	mkdir -p "$(state)/bpf"
	mount -t bpf bpf "$(state)/bpf"
	lab up --nodes 1 --family "$family" --no-pass
	# The warning says that the other end of the veth needs an XDP program; xatomic-req brings one.
	xatomic attach node1 --netns "$prefix-resp" --mode "$mode" --max-mrs 8 \
		--max-qps "$(power_of_two $((2 * qps)))" >/dev/null 2>"$(state)/warning" ||
		die "$(cat "$(state)/warning")"
	xatomic mr add words --words $((qps * cache_line / word)) >/dev/null
	add_queue_pairs
	echo "$family" >"$(state)/family"
}

need_lab() {
	[ -e "$(state)/family" ] || die "there is no lab '$prefix'; make it with perf-lab.sh up"
	family=$(cat "$(state)/family")
}

rkey() { xatomic --json mr show words | sed -n 's/.*"rkey":\([0-9]*\).*/\1/p'; }

# Each run begins where the one before ended.
run() {
	need_lab
	xatomic --json qp show >"$(state)/qps.json"
	${WRAP:-} "$build/xatomic-req" perf --netns "$prefix-node1" --dev eth0 \
		--qp-file "$(state)/qps.json" --rkey "$(rkey)" --addr 0 "$@"
}

show() {
	need_lab
	xatomic --json qp show
}

env_json() {
	need_lab
	printf '{"netns":"%s","dev":"eth0","peer":"%s","rkey":%s,"bpffs":"%s","resp_netns":"%s","resp_dev":"node1"}\n' \
		"$prefix-node1" "$(address 1)" "$(rkey)" "$(state)/bpf" "$prefix-resp"
}

down() {
	lab down
	umount -l "$(state)/bpf" 2>/dev/null || true
	rm -rf "$(state)"
}

once() {
	local -a arguments
	read_options "$@"
	arguments=("${rest[@]}")
	trap down EXIT
	trap 'exit 130' INT TERM HUP
	up --qps "$qps" --family "$family" --mode "$mode"
	run "${arguments[@]}"
}

if [ "${1:-}" = --prefix ]; then
	prefix=${2:-}
	shift $(($# > 1 ? 2 : 1))
fi
[[ $prefix =~ ^[A-Za-z0-9_-]{1,40}$ ]] || die "--prefix takes 1-40 of A-Za-z0-9_-, not '$prefix'" 2
case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
up | run | show | env | down | once) ;;
*)
	usage >&2
	exit 2
	;;
esac
[ "$(id -u)" -eq 0 ] || die "network namespaces need root; run it with sudo"
command=$1
shift
case $command in
env) env_json ;;
*) "$command" "$@" ;;
esac
