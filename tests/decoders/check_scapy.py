#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Replies of the BPF program as scapy understands them.

Usage: check_scapy.py FILE.pcap, with FILE.pcap.txt beside it: a line per frame with opcode, DestQP, PSN,
syndrome, MSN and original value in decimal. Prints TAP without a plan.

scapy's contrib.roce knows BTH, AETH and the ICRC over IPv4; the atomic headers and IPv6 are added here.
"""
import struct
import sys
from zlib import crc32

from scapy.compat import raw
from scapy.contrib.roce import AETH, BTH
from scapy.fields import BitField, LongField, XByteField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers
from scapy.utils import RawPcapReader


class AtomicAck(Packet):
    """AETH and AtomicAckETH of an ATOMIC ACKNOWLEDGE (IBA 9.3.5.3)."""

    name = "AtomicAck"
    fields_desc = [XByteField("syndrome", 0), BitField("msn", 0, 24), LongField("before", 0)]


bind_layers(BTH, AtomicAck, opcode=0x12)


def icrc_over_ipv6(bth):
    """ICRC as scapy computes it over IPv4, for an IPv6 packet."""
    ip = bth.underlayer.underlayer.copy()
    ip.tc, ip.fl, ip.hlim = 0xFF, 0xFFFFF, 0xFF
    ip[UDP].chksum = 0xFFFF
    ip[BTH].fecn, ip[BTH].becn, ip[BTH].resv6 = 1, 1, 0x3F
    covered = ip[BTH].self_build() + raw(ip[BTH].payload)
    head = raw(IPv6(tc=ip.tc, fl=ip.fl, plen=ip.plen, nh=ip.nh, hlim=ip.hlim, src=ip.src, dst=ip.dst))
    udp = struct.pack("!HHHH", ip[UDP].sport, ip[UDP].dport, ip[UDP].len, ip[UDP].chksum)
    return struct.pack("<I", crc32(b"\xff" * 8 + head + udp + covered))


def icrc(frame):
    """(as it is in the frame, as scapy computes it)"""
    bth = frame[BTH]
    if IPv6 in frame:
        computed = icrc_over_ipv6(bth)
    else:
        computed = bth.compute_icrc(b"")
    return struct.pack("!I", bth.icrc), computed


def fields(frame):
    bth = frame[BTH]
    aeth = frame[AtomicAck] if bth.opcode == 0x12 else frame[AETH]
    original = aeth.before if bth.opcode == 0x12 else 0
    return [bth.opcode, bth.dqpn, bth.psn, aeth.syndrome, aeth.msn, original]


def result(number, wrong, name, count):
    for note in wrong[:5]:
        print("#", note)
    print("%sok %d - %s: %d replies" % ("not " if wrong or not count else "", number, name, count))


def main(path, number):
    frames = [Ether(data) for data, _ in RawPcapReader(path)]
    with open(path + ".txt", encoding="ascii") as file:
        expected = [[int(word) for word in line.split()] for line in file]
    numbered = list(enumerate(frames, 1))
    for layer in IP, IPv6:
        mine = [(n, f) for n, f in numbered if layer in f]
        wrong = ["frame %d: ICRC %s, scapy computes %s" % (n, a.hex(), b.hex())
                 for n, (a, b) in ((n, icrc(f)) for n, f in mine) if a != b]
        result(number, wrong, "scapy computes the same ICRC over " + layer.__name__, len(mine))
        number += 1
    wrong = ["frame %d: scapy reads %s, expected %s" % (n, fields(f), e)
             for (n, f), e in zip(numbered, expected) if fields(f) != e]
    if len(frames) != len(expected):
        wrong.append("%d frames, %d expected" % (len(frames), len(expected)))
    result(number, wrong, "scapy reads what each reply should say", len(frames))
    wrong = ["frame %d: bytes behind the reply, or too few" % n for n, f in numbered
             if len(raw(f)) != len(f.original) or Raw in f]
    result(number + 1, wrong, "scapy finds nothing that it does not know", len(frames))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
