#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A lab of network namespaces on this machine: one responder, N requesters, a veth pair to each.
#
#   PREFIX-node1  eth0 10.77.1.2  ----  node1 10.77.1.1  PREFIX-resp
#   PREFIX-node2  eth0 10.77.2.2  ----  node2 10.77.2.1
#
# and the same in IPv6 as fd00:77:I::2 and fd00:77:I::1. Pairs rather than a bridge: what XDP sends back
# out of a veth (XDP_TX) goes straight to the peer, and a bridge port would never see it. Each node's
# end runs build/pass.bpf.o, without which a veth throws away what its peer sends by XDP_TX.
set -eu

usage() {
	cat <<'USAGE'
Usage: lab.sh [--prefix NAME] COMMAND
  up [--nodes N] [--family 4|6|both] [--no-pass]
                                      make the lab, or what is missing of it (default: 1 node, both);
                                      --no-pass: nodes run no XDP program, for one that brings its own
  down                                remove it
  show                                one line per node: namespaces, interfaces, addresses
  exec resp|nodeI COMMAND...          run a command in a namespace of the lab
  pass NETNS DEV                      put the XDP_PASS program on any veth end
NAME is 1-40 of A-Za-z0-9_- (default: xatomic); labs of different names do not touch each other.
The peer's program is taken from $BUILD (default: build beside this directory).
USAGE
}

die() {
	echo "lab.sh: $1" >&2
	exit "${2:-1}"
}

here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build}
prefix=xatomic

alive() { ip -n "$1" link show dev lo >/dev/null 2>&1; }

# A killed `ip netns add` leaves a name with nothing mounted on it: make that good too.
make_namespace() {
	alive "$1" && return
	ip netns del "$1" 2>/dev/null || true
	ip netns add "$1"
	ip -n "$1" link set dev lo up
}

has_link() { ip -n "$1" link show dev "$2" >/dev/null 2>&1; }

# No address that nobody asked for (addrgenmode), no checksum left to hardware that is not there, and VLAN
# tags in the frame, where XDP reads them.
set_link() {
	local ns=$1 dev=$2 mac=$3
	ip -n "$ns" link set dev "$dev" address "$mac" addrgenmode none
	nsenter --net="/run/netns/$ns" ethtool -K "$dev" rx off tx off rxvlan off txvlan off \
		>/dev/null 2>&1 || true
	ip -n "$ns" link set dev "$dev" up
}

# Neighbours are permanent so that no ARP or ND is on the wire.
set_addresses() {
	local ns=$1 dev=$2 net=$3 own=$4 other=$5 mac=$6
	if [ "$family" != 6 ]; then
		ip -n "$ns" address replace "10.77.$net.$own/24" dev "$dev"
		ip -n "$ns" neighbour replace "10.77.$net.$other" lladdr "$mac" dev "$dev" nud permanent
	fi
	if [ "$family" != 4 ]; then
		ip -n "$ns" address replace "fd00:77:$net::$own/64" dev "$dev" nodad
		ip -n "$ns" neighbour replace "fd00:77:$net::$other" lladdr "$mac" dev "$dev" nud permanent
	fi
}

# `ip link set ... xdp` makes directories of its own (tc, ip, xdp) in the first bpffs that it finds, which may be the
# one that an instance lives in. So it gets a mount namespace where it finds an empty one.
attach_pass() {
	nsenter --net="/run/netns/$1" unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh \
		ip link set dev "$2" xdpdrv object "$build/pass.bpf.o" section xdp ||
		die "cannot attach $build/pass.bpf.o to $2 of $1; build it with make, on a kernel with XDP on veth"
}

has_program() { ip -n "$1" -j link show dev "$2" | grep -q '"xdp"'; }

pass() {
	[ $# -eq 2 ] || die "pass takes a network namespace and an interface" 2
	has_link "$1" "$2" || die "there is no interface $2 in network namespace $1"
	attach_pass "$1" "$2"
}

add_node() {
	local i=$1 resp=$prefix-resp node=$prefix-node$1 hex
	hex=$(printf '%02x' "$i")
	make_namespace "$node"
	if ! has_link "$node" eth0; then
		! has_link "$resp" "node$i" || ip -n "$resp" link del dev "node$i"
		ip -n "$resp" link add name "node$i" type veth peer name eth0 netns "$node"
	fi
	set_link "$resp" "node$i" "02:00:00:00:$hex:01"
	set_link "$node" eth0 "02:00:00:00:$hex:02"
	set_addresses "$resp" "node$i" "$i" 1 2 "02:00:00:00:$hex:02"
	set_addresses "$node" eth0 "$i" 2 1 "02:00:00:00:$hex:01"
	if [ "$pass" = yes ] && ! has_program "$node" eth0; then
		attach_pass "$node" eth0
	fi
}

up() {
	local nodes=1 i
	family=both pass=yes
	while [ $# -gt 0 ]; do
		case $1 in
		--no-pass)
			pass=no
			shift
			continue
			;;
		--nodes) nodes=${2:-} ;;
		--family) family=${2:-} ;;
		*) die "unknown option '$1' of up; see lab.sh --help" 2 ;;
		esac
		shift $(($# > 1 ? 2 : 1))
	done
	if ! [[ $nodes =~ ^[1-9][0-9]{0,2}$ ]] || [ "$nodes" -gt 250 ]; then
		die "--nodes takes a number from 1 to 250, not '$nodes'" 2
	fi
	[[ $family =~ ^(4|6|both)$ ]] || die "--family takes 4, 6 or both, not '$family'" 2
	[ -r "$build/pass.bpf.o" ] || die "$build/pass.bpf.o is missing; run make first"
	make_namespace "$prefix-resp"
	for ((i = 1; i <= nodes; i++)); do
		add_node "$i"
	done
}

namespaces() {
	ip netns list | awk '{ print $1 }' | grep -E "^$prefix-(resp|node[0-9]+)\$" || true
}

# Links go before their namespaces: a process that is still inside keeps a namespace alive, not a link.
down() {
	local ns
	for ns in $(namespaces); do
		if alive "$ns"; then
			ip -n "$ns" -o link show type veth | awk -F '[ @:]+' '{ print $2 }' |
				while read -r dev; do ip -n "$ns" link del dev "$dev" 2>/dev/null || true; done
		fi
		ip netns del "$ns"
	done
}

address() { ip -n "$1" -o "$2" address show dev "$3" scope global | awk '{ print $4; exit }'; }

show() {
	local node i resp=$prefix-resp
	for node in $(namespaces | grep -v -- '-resp$' | sort -V); do
		i=${node##*-node}
		printf 'node%d netns=%s dev=eth0 ipv4=%s ipv6=%s resp_netns=%s resp_dev=node%d resp_ipv4=%s resp_ipv6=%s\n' \
			"$i" "$node" "$(address "$node" -4 eth0)" "$(address "$node" -6 eth0)" \
			"$resp" "$i" "$(address "$resp" -4 "node$i")" "$(address "$resp" -6 "node$i")"
	done
}

run_in() {
	[ $# -ge 2 ] || die "exec takes resp or nodeI and a command" 2
	local ns=$prefix-$1
	shift
	alive "$ns" || die "there is no namespace $ns; make the lab with: lab.sh --prefix $prefix up"
	exec nsenter --net="/run/netns/$ns" "$@"
}

while [ $# -gt 0 ]; do
	case $1 in
	--prefix)
		prefix=${2:-}
		shift $(($# > 1 ? 2 : 1))
		;;
	-h | --help)
		usage
		exit 0
		;;
	*) break ;;
	esac
done
[[ $prefix =~ ^[A-Za-z0-9_-]{1,40}$ ]] || die "--prefix takes 1-40 of A-Za-z0-9_-, not '$prefix'" 2
case ${1:-} in
up | down | show | exec | pass) ;;
*)
	usage >&2
	exit 2
	;;
esac
[ "$(id -u)" -eq 0 ] || die "network namespaces need root; run it with sudo"
command=$1
shift
case $command in
exec) run_in "$@" ;;
*) "$command" "$@" ;;
esac
