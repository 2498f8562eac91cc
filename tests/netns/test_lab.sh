#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# scripts/lab.sh: up and down can be repeated, a half-made lab is completed or removed, nothing stays.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

lab() { BUILD=$build scripts/lab.sh --prefix "$prefix" "$@"; }

# Everything that a lab consists of, as far as it can be seen.
state() {
	local ns
	for ns in $(ip netns list | awk '{ print $1 }' | grep "^$prefix-" | sort); do
		echo "$ns"
		ip -n "$ns" -j -d link show | jq -c '.[] | [.ifname, .ifindex, .address, .xdp.prog.id]'
		ip -n "$ns" -j address show | jq -c '.[] | [.addr_info[] | [.local, .prefixlen]]'
		ip -n "$ns" -j neighbour show nud permanent | jq -c 'sort'
	done
}

# What must be the same before and after, on the machine as a whole; other tests may run beside this one.
machine() {
	ip netns list | grep "^$prefix-"
	ip -o link show | grep -c "$prefix"
	findmnt -rn -o TARGET | grep "$prefix"
}

responds() { # NODE ADDRESS: the responder's stack answers UDP to a closed port, so frames go both ways
	lab exec "$1" /usr/bin/python3 -c '
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect((sys.argv[1], 9))
s.send(b"x")
try:
    s.recv(1)
except ConnectionRefusedError:
    sys.exit(0)
sys.exit("no answer")' "$2"
}

require_root
own_bpffs
before=$(machine)
lab_up --nodes 3
is "nothing is made in a bpffs that is mounted" "$(find "$XATOMIC_BPFFS" -mindepth 1 ! -name "*.debug")" ""
check "node1 reaches the responder over IPv4" responds node1 10.77.1.1
check "node3 reaches the responder over IPv4" responds node3 10.77.3.1
check "node2 reaches the responder over IPv6" responds node2 fd00:77:2::1
is "one line per node" "$(lab show | grep -c '^node[123] ')" 3
is "every node's end has an XDP program" \
	"$(lab exec node2 ip -j link show dev eth0 | jq -r '.[0].xdp.prog.name')" xatomic_pass

first=$(state)
check "a second up succeeds" lab up --nodes 3
is "a second up changes nothing" "$(state)" "$first"

ip -n "$prefix-node2" link del dev eth0
ip netns del "$prefix-node3"
check "up completes a lab that lacks a link and a namespace" lab up --nodes 3
check "the completed link works" responds node2 10.77.2.1
check "the completed namespace works" responds node3 10.77.3.1

: >"/run/netns/$prefix-node4"
check "up makes good what a killed up left" lab up --nodes 4
check "that node works" responds node4 10.77.4.1

: >"/run/netns/$prefix-node5"
ip netns del "$prefix-node1"
check "down removes a lab that is only partly there" lab down
is "nothing is left behind" "$(machine)" "$before"
check "a second down succeeds" lab down

lab_up --nodes 1 --family 4 --no-pass
check "any veth end gets the program" scripts/lab.sh pass "$prefix-resp" node1
is "that end has it" "$(lab exec resp ip -j link show dev node1 | jq -r '.[0].xdp.prog.name')" xatomic_pass
is "--family 4 gives no IPv6 address" "$(ip -n "$prefix-node1" -6 -o address show dev eth0)" ""
check "down again" lab down

usage_error() { # NAME ARGUMENTS...: exit 2, one or two lines on stderr, and no lab
	local name=$1 status
	shift
	scripts/lab.sh "$@" >/dev/null 2>"$work/stderr"
	status=$?
	is "$name: exit status" "$status" 2
	is "$name: nothing made" "$(ip netns list | grep -c "^$prefix-")" 0
}
usage_error "no node" --prefix "$prefix" up --nodes 0
usage_error "too many nodes" --prefix "$prefix" up --nodes 251
usage_error "nodes that are no number" --prefix "$prefix" up --nodes x
usage_error "unknown family" --prefix "$prefix" up --family 5
usage_error "unknown option" --prefix "$prefix" up --node 1
usage_error "no interface for the program" pass "$prefix-resp"
usage_error "prefix with a slash" --prefix a/b up
usage_error "no command" --prefix "$prefix"
finish
