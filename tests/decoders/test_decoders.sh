#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Replies of the BPF program as decoders see them that had no part in making them: tshark and scapy.
set -u
BUILD=${BUILD:-build}
cd "$(dirname "$0")/../.." || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
replies=$dir/replies.pcap
number=0

result() { # STATUS NAME
	number=$((number + 1))
	[ "$1" -eq 0 ] || printf 'not '
	echo "ok $number - $2"
}

# What tshark reads, in the columns of replies.pcap.txt. It knows no original value in a NAK: 0 there.
read_with_tshark() {
	tshark -r "$replies" -T fields -E separator=' ' -e infiniband.bth.opcode -e infiniband.bth.destqp \
		-e infiniband.bth.psn -e infiniband.aeth.syndrome -e infiniband.aeth.msn \
		-e infiniband.atomicacketh.origremdt 2>"$dir/errors" |
		/usr/bin/python3 -c 'import sys
for line in sys.stdin:
    print(*[int(word, 0) for word in (line.split() + ["0"])[:6]])'
}

# Frames that match a display filter; a checksum of 0 is right for UDP here, also over IPv6.
count_with_tshark() { # FILTER
	tshark -r "$replies" -o ip.check_checksum:TRUE -o udp.ignore_ipv6_zero_checksum:TRUE -Y "$1" \
		2>>"$dir/errors" | wc -l
}

none() { # FILTER NAME
	local found

	found=$(count_with_tshark "$1")
	[ "$found" -eq 0 ] || echo "# $found frames match: $1"
	result "$((found > 0))" "$2"
}

if ! "$BUILD/tests/test_prog" --pcap "$replies" >"$dir/log" || [ ! -s "$replies.txt" ]; then
	grep -B5 '^not ok' "$dir/log" | sed 's/^/# /'
	result 1 "replies can be captured"
	exit 1
fi

if command -v tshark >/dev/null; then
	read_with_tshark >"$dir/read"
	diff "$replies.txt" "$dir/read" >"$dir/diff"
	status=$?
	head -10 "$dir/diff" | sed 's/^/# /'
	result $status "tshark reads what each reply should say: $(wc -l <"$dir/read") replies"
	none '!infiniband.invariant.crc' "tshark takes every reply for RoCEv2"
	none '_ws.malformed' "tshark finds no reply malformed"
	none '_ws.expert.severity >= 0x600000' "tshark has nothing to warn of in any reply"
	none 'ip && ip.checksum.status != "Good"' "tshark finds every IPv4 header checksum right"
	none 'eth.trailer || eth.padding || data' "tshark finds nothing behind the ICRC"
else
	number=$((number + 1))
	echo "ok $number - replies read by tshark # SKIP tshark is not installed"
fi

number=$((number + 1))
if /usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null; then
	/usr/bin/python3 tests/decoders/check_scapy.py "$replies" "$number"
else
	echo "ok $number - replies read by scapy # SKIP scapy is not installed"
	echo "1..$number"
fi
