#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Replies of the BPF program as scapy understands them.

Usage: check_scapy.py FILE.pcap NUMBER, with FILE.pcap.txt beside it: a line per frame with opcode, DestQP,
PSN, syndrome, MSN and original value in decimal. Prints TAP, from result NUMBER on, and the plan up to its last one.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
# pylint: disable=wrong-import-position
from roce import AETH, ATOMIC_ACKNOWLEDGE, BTH, AtomicAckETH, icrc_on_wire_and_computed
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import RawPcapReader

NOTES_MAX = 5


def fields(frame):
    """What a line of FILE.pcap.txt says, as scapy reads it."""
    bth, aeth, original = frame[BTH], frame[AETH], 0
    if bth.opcode == ATOMIC_ACKNOWLEDGE:
        original = frame[AtomicAckETH].original_value
    return [bth.opcode, bth.dqpn, bth.psn, aeth.syndrome, aeth.msn, original]


def result(number, wrong, name, count):
    for note in wrong[:NOTES_MAX]:
        print("#", note)
    print(f"{'not ' if wrong or not count else ''}ok {number} - {name}: {count} replies")


def check_icrc(number, frames, layer):
    wrong, count = [], 0
    for n, (data, frame) in enumerate(frames, 1):
        if layer not in frame:
            continue
        count += 1
        on_wire, computed = icrc_on_wire_and_computed(data)
        if on_wire != computed:
            wrong.append(f"frame {n}: ICRC {on_wire:08x}, scapy computes {computed:08x}")
    result(number, wrong, f"scapy computes the same ICRC over {layer.__name__}", count)


def main(path, number):
    frames = [(data, Ether(data)) for data, _ in RawPcapReader(path)]
    with open(path + ".txt", encoding="ascii") as file:
        expected = [[int(word) for word in line.split()] for line in file]

    check_icrc(number, frames, IP)
    check_icrc(number + 1, frames, IPv6)
    wrong = [f"frame {n}: scapy reads {fields(frame)}, expected {line}"
             for n, ((_, frame), line) in enumerate(zip(frames, expected), 1)
             if fields(frame) != line]
    if len(frames) != len(expected):
        wrong.append(f"{len(frames)} frames, {len(expected)} expected")
    result(number + 2, wrong, "scapy reads what each reply should say", len(frames))
    wrong = [f"frame {n}: bytes behind the reply" for n, (_, frame) in enumerate(frames, 1)
             if Raw in frame]
    result(number + 3, wrong, "scapy finds nothing that it does not know", len(frames))
    print(f"1..{number + 3}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
