#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Disturbs the guest's eth0 both ways as netem can: what comes in is led through an ifb.
#
# Usage: netem.sh on NETEM_ARGUMENTS... | netem.sh off
set -eu

off() {
	tc qdisc del dev eth0 root 2>/dev/null || true
	tc qdisc del dev eth0 ingress 2>/dev/null || true
	ip link del dev in0 2>/dev/null || true
}

on() {
	off
	ip link add name in0 type ifb
	ip link set dev in0 up
	tc qdisc add dev in0 root netem limit 10000 "$@"
	tc qdisc add dev eth0 root netem limit 10000 "$@"
	tc qdisc add dev eth0 ingress
	tc filter add dev eth0 ingress matchall action mirred egress redirect dev in0
}

"$@"
