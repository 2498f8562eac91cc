#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends what a connection manager should not get: forged REQs, garbage in datagrams for QP 1 whose ICRC is right,
and ones whose ICRC is wrong. Standard library only, and no code shared with the project.

Usage: cm_flood.py IFACE DESTINATION_MAC DESTINATION_IP PREFIX COUNT [PORT]
PREFIX (of /16) is where the forged sources are taken from: "10.99" makes 10.99.x.y.
"""
import ipaddress
import random
import socket
import struct
import sys
import zlib

QKEY, REQ, PORT = 0x80010000, 0x10, 18516


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(macs, source, destination, mad, icrc_xor=0):
    roce = struct.pack("!BBHII", 0x64, 0, 0xffff, 1, random.getrandbits(24)) + struct.pack("!II", QKEY, 1) + mad
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(roce) + 4, 0, 0x4000, 64, 17, 0, source, destination)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", 0xc001, 4791, 8 + len(roce) + 4, 0)
    masked = bytearray(ip + udp + roce)
    for at in (1, 8, 10, 11, 26, 27, 32):
        masked[at] = 0xff
    icrc = zlib.crc32(b"\xff" * 8 + masked) ^ icrc_xor
    return macs + b"\x08\x00" + ip + udp + roce + struct.pack("<I", icrc)


def mad_of(attribute, message):
    header = struct.pack("!BBBBHHQHHI", 1, 7, 2, 3, 0, 0, random.getrandbits(64), attribute, 0, 0)
    return header + message


def req(source, destination, port):
    mapped = bytes(10) + b"\xff\xff"
    return mad_of(REQ, struct.pack(
        "!IIQQIIIIIIHBBHH16s16sIBBBB44sBBH16s16s56s",
        random.getrandbits(32), 0, 0x01060000 | port, random.getrandbits(64), 0, 0,
        random.randrange(2, 0xffffff) << 8, 16, 20 << 3, 20 << 3 | 7, 0xffff, 3 << 4, 15 << 4, 0, 0,
        mapped + source, mapped + destination, 0, 0, 64, 0, 14 << 3, bytes(44),
        0, 4 << 4, 0, bytes(12) + source, bytes(12) + destination, bytes(56)))


def any_frame(macs, source, destination, port):
    kind = random.randrange(4)
    if kind < 2:
        return frame(macs, source, destination, req(source, destination, port))
    garbage = mad_of(random.randrange(0x10, 0x1c), random.randbytes(232))
    if kind == 2:
        return frame(macs, source, destination, garbage)
    return frame(macs, source, destination, random.randbytes(256), random.choice((0, 1)))


def main():
    iface, mac, destination, prefix, count = sys.argv[1:6]
    port = int(sys.argv[6]) if len(sys.argv) > 6 else PORT
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((iface, 0))
    macs = bytes.fromhex(mac.replace(":", "")) + wire.getsockname()[4][:6]
    destination = ipaddress.ip_address(destination).packed
    for _ in range(int(count)):
        source = ipaddress.ip_address(f"{prefix}.{random.randrange(256)}.{random.randrange(1, 255)}").packed
        wire.send(any_frame(macs, source, destination, port))


main()
