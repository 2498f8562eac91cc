# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# For jobs in the guest: a veth pair with soft-RoCE on both of its ends, and chains of atomics (clients/chain.c) over
# it, to our responder or to soft-RoCE's. To be sourced in place of tests/netns/lib.sh.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../netns/lib.sh"

requester=10.78.0.2 responder=10.78.0.1
iova=0x10000
xatomic() { "$build/xatomic" "$@"; }

# One end of the pair. What comes in here is for this host although it also comes from this host.
end_up() { # DEVICE OWN PEER PEER_MAC TABLE
	ip address add "$2/24" dev "$1"
	sysctl -qw "net.ipv4.conf.$1.rp_filter=0" "net.ipv4.conf.$1.accept_local=1"
	ip neighbour add "$3" lladdr "$4" dev "$1"
	ip route add "$3" dev "$1" src "$2" table "$5"
	ip rule add pref "$5" to "$3" lookup "$5"
	ip rule add pref $(($5 - 100)) iif "$1" lookup local
}

# Both ends are in the initial network namespace, as soft-RoCE of this kernel has its socket nowhere else. Packets
# from one to the other take the wire because their routes come before the table of local addresses.
wire_up() {
	local dev
	[ ! -e /sys/class/net/ve0 ] || return 0
	modprobe -a veth rdma_rxe
	ip link add ve0 address 02:00:00:00:78:02 numtxqueues 1 numrxqueues 1 type veth \
		peer name ve1 address 02:00:00:00:78:01 numtxqueues 1 numrxqueues 1
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	end_up ve0 $requester $responder 02:00:00:00:78:01 101
	end_up ve1 $responder $requester 02:00:00:00:78:02 102
	ip rule add pref 200 lookup local
	ip rule del pref 0
	# With GRO and without TSO the driver receives by NAPI also when there is no XDP program.
	for dev in ve0 ve1; do
		ethtool -K $dev gro on tso off >/dev/null
		ip link set $dev up
		echo 1 >/sys/class/net/$dev/threaded
	done
	ping -c 1 -q -I $requester $responder
	rdma link add rxe_requester type rxe netdev ve0
	rdma link add rxe_responder type rxe netdev ve1
}

# The wire of an earlier job will do. Never on a machine that somebody uses: its routing is turned round.
lay_wire() {
	[ -e /share/.guest/config ] || skip_all "changes the machine's routing; it is for the guest of make interop"
	require_root
	own_bpffs
	wire_up >"$work/wire" 2>&1 || bail "the wire: $(cat "$work/wire")"
	pass_on_requester >"$work/wire" 2>&1 || bail "XDP_PASS on the requester's end: $(cat "$work/wire")"
}

# A program on the requester's end, without which a veth throws away what its peer sends by XDP_TX.
pass_on_requester() {
	bpftool prog load "$build/pass.bpf.o" "$work/bpf/pass" type xdp &&
		bpftool net attach xdpdrv pinned "$work/bpf/pass" dev ve0 overwrite
}

# ---- chains of atomics ----

declare -A end_pid end_fd sent

end_start() { # NAME request|respond DEVICE OWN PEER
	local name=$1 fd
	shift
	rm -f "$work/$name".{in,out,err}
	mkfifo "$work/$name.in"
	(
		# Another's input, or it would never see its end.
		for fd in "${end_fd[@]}"; do exec {fd}>&-; done
		exec "$build/interop/chain" "$@" <"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err"
	) &
	end_pid[$name]=$!
	exec {fd}>"$work/$name.in"
	end_fd[$name]=$fd
	end_says "$name" 1
}

end_tell() { echo "$2" >&"${end_fd[$1]}"; }

# Waits for its nth line.
end_says() { # NAME N
	wait_for 120 has_said_or_ended "$@"
	[ "$(wc -l <"$work/$1.out")" -ge "$2" ] && return
	cat "$work/$1.err" >&2
	return 1
}

has_said_or_ended() { [ "$(wc -l <"$work/$1.out")" -ge "$2" ] || ! kill -0 "${end_pid[$1]}"; }

end_close() { # NAME
	local fd=${end_fd[$1]}
	exec {fd}>&-
	unset "end_fd[$1]"
	wait "${end_pid[$1]}"
}

# A chain from soft-RoCE to the word 0 of `words`, over a queue pair of its own.
open_xatomic() {
	local qp
	end_start to-xatomic request rxe_requester $requester $responder || return
	xatomic mr set words 0 0
	qp=$(xatomic --json qp add --peer $requester --local $responder --rqpn "$(<"$work/to-xatomic.out")" --depth 128)
	lqpn=$(jq .lqpn <<<"$qp")
	end_tell to-xatomic "$lqpn $(jq '."rq-psn"' <<<"$qp") $rkey $((iova))"
	sent[to-xatomic]=0
}

# The same to soft-RoCE at the other end.
open_rxe() {
	end_start rxe respond rxe_responder $responder $requester &&
		end_start to-rxe request rxe_requester $requester $responder || return
	end_tell rxe "$(<"$work/to-rxe.out")"
	end_says rxe 2 || return
	end_tell to-rxe "$(head -1 "$work/rxe.out")"
	sent[to-rxe]=0
}

# Sends more of a chain; succeeds when each answer was the right one.
chain() { # NAME faa|cas COUNT WINDOW
	local lines
	lines=$(wc -l <"$work/$1.out")
	sent[$1]=$((sent[$1] + $3))
	end_tell "$1" "$2 $3 $4"
	end_says "$1" $((lines + 1)) && [ "$(tail -1 "$work/$1.out")" = "${sent[$1]}" ]
}
