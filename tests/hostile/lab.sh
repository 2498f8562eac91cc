# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The lab of the hostile wire: the lab of scripts/lab.sh, with a namespace put into every veth pair.
#
#   PREFIX-nodeI eth0 ---- nodeI PREFIX-wire respI ---- nodeI PREFIX-resp

set -u
# shellcheck source=tests/netns/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

# respI runs an XDP program, or what the responder sends by XDP_TX would vanish there; eth0 needs none, since
# its packets come from the stack, and has none, so that AF_XDP can have it.
splice() { # I
	local i=$1 mac
	mac=$(printf '02:00:00:00:%02x:01' "$i")
	ip -n "$prefix-resp" link set dev "node$i" netns "$prefix-wire" &&
		ip -n "$prefix-resp" link add name "node$i" address "$mac" type veth \
			peer name "resp$i" netns "$prefix-wire" &&
		pass_on "$prefix-wire" "resp$i" &&
		ip -n "$prefix-wire" link set dev "node$i" up &&
		ip -n "$prefix-wire" link set dev "resp$i" up &&
		ip -n "$prefix-resp" link set dev "node$i" up &&
		ip -n "$prefix-node$i" link set dev eth0 xdp off
}

# Neither IPv6 nor anything else of the stack has business in the middle.
hostile_lab_up() { # NODES
	local i
	require_root
	lab_up --nodes "$1"
	own_bpffs
	trap 'ip netns del "$prefix-wire" 2>/dev/null; cleanup' EXIT
	ip netns add "$prefix-wire" || skip_all "no namespace for the wire"
	nsenter --net="/run/netns/$prefix-wire" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
	for ((i = 1; i <= $1; i++)); do
		splice "$i" >"$work/lab" 2>&1 || bail "wire of node $i: $(cat "$work/lab")"
	done
}

hostile() { # PROGRAM [options] LOSS:OPERATIONS...
	local program=$1
	shift
	"$build/hostile/$program" --bpffs "$work/bpf" --prefix "$prefix" "$@"
}
