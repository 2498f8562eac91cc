#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Answers as they came over a veth, judged by decoders that are not ours: scapy (which also sends the
# requests and computes the ICRC) and tshark.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

all_answered() { [ "$(seen 'resp  *-> node1 ')" -ge "$1" ]; }

converse() { # FAMILY
	local rqpn rkey
	local -a where
	rkey=$(mr_add "live$1" --words 2 --iova 0x2000)
	rqpn=$(qp_add "$1" 1 --rq-psn 0xfffffe) || bail "qp add"
	where=("$1" 17 "$rqpn" 0xfffffe "$rkey" 0x2000)
	tap_start 1 --pcap "$work/live.pcap"
	scripts/lab.sh --prefix "$prefix" exec node1 /usr/bin/python3 tests/netns/live.py send eth0 "${where[@]}"
	wait_for 30 all_answered 8
	tap_stop
	/usr/bin/python3 tests/netns/live.py check "$work/live.pcap" "${where[@]}" >"$work/judged" 2>&1 ||
		grep -q '^not ok' "$work/judged" || fail "IPv$1: decoders" "$(cat "$work/judged")"
	adopt <"$work/judged"
}

require_root
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null || skip_all "scapy with contrib.roce is not installed"
command -v tshark >/dev/null || skip_all "tshark is not installed"
lab_up --nodes 1
own_bpffs
attach 1 1 --max-qps 16 --max-mrs 8
converse 4
converse 6
finish
