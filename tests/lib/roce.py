# SPDX-License-Identifier: BSD-2-Clause
"""scapy's RoCEv2 layers, extended by what it lacks: the two headers of atomics, and the ICRC over IPv6.

The ICRC over IPv4 is scapy's own code, so it judges ours independently.
"""
import zlib

from scapy.contrib.roce import AETH, BTH
from scapy.fields import LongField, XIntField, XLongField
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, bind_layers

ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = 0x11, 0x12, 0x13, 0x14


class AtomicETH(Packet):
    name = "AtomicETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), LongField("swap_add", 0),
                   LongField("compare", 0)]


class AtomicAckETH(Packet):
    name = "AtomicAckETH"
    fields_desc = [LongField("original_value", 0)]  # Packet has an attribute "original" of its own


bind_layers(BTH, AtomicETH, opcode=COMPARE_SWAP)
bind_layers(BTH, AtomicETH, opcode=FETCH_ADD)
bind_layers(BTH, AETH, opcode=ATOMIC_ACKNOWLEDGE)
bind_layers(AETH, AtomicAckETH)

scapy_icrc = BTH.compute_icrc


def compute_icrc(self, roce):
    """As scapy's, which knows IPv4 only; `roce` ends with room for the ICRC."""
    udp = self.underlayer
    if not isinstance(udp.underlayer, IPv6):
        return scapy_icrc(self, roce)
    ip = udp.underlayer.copy()
    ip.remove_payload()
    ip.tc, ip.fl, ip.hlim, ip.plen, ip.nh = 0xff, 0xfffff, 0xff, 8 + len(roce), 17
    ports = udp.copy()
    ports.remove_payload()
    ports.len, ports.chksum = 8 + len(roce), 0xffff
    body = bytearray(roce[:-4])
    body[4] = 0xff
    return self.pack_icrc(zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(ports) + bytes(body)))


BTH.compute_icrc = compute_icrc


def icrc_on_wire_and_computed(frame):
    """Both ICRCs of an Ethernet frame (bytes), as numbers in wire order."""
    bth = Ether(frame)[BTH]
    roce = bth.original[:bth.underlayer.len - 8]
    return bth.icrc, int.from_bytes(bth.compute_icrc(roce), "big")
