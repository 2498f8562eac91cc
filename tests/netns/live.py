# SPDX-License-Identifier: BSD-2-Clause
"""A requester made of scapy, and what scapy and tshark make of the answers that came over the wire.

live.py send IFACE FAMILY LQPN RQPN PSN RKEY VA   sends the frames of scenario()
live.py check PCAP FAMILY LQPN RQPN PSN RKEY VA   prints TAP for the answers in a capture
"""
import json
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
# pylint: disable=wrong-import-position
from roce import (ACKNOWLEDGE, AETH, ATOMIC_ACKNOWLEDGE, BTH, COMPARE_SWAP, FETCH_ADD, UDP, AtomicAckETH,
                  AtomicETH, Ether, IPv6, icrc_on_wire_and_computed)
from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1AD, Dot1Q
from scapy.utils import rdpcap

NODE, RESP = "02:00:00:00:01:02", "02:00:00:00:01:01"
ADDRESSES = {4: ("10.77.1.2", "10.77.1.1"), 6: ("fd00:77:1::2", "fd00:77:1::1")}
TAGS = ([], [Dot1Q(vlan=7)], [Dot1AD(vlan=3), Dot1Q(vlan=7)])


def ip(family, tos):
    src, dst = ADDRESSES[family]
    if family == 4:
        return IP(src=src, dst=dst, id=0x1c46, flags="DF", ttl=3, tos=tos)
    return IPv6(src=src, dst=dst, tc=tos, fl=0x1face, hlim=3)


def request(family, rqpn, psn, payload, opcode, tags=(), tos=0, **bth):
    frame = Ether(src=NODE, dst=RESP)
    for tag in tags:
        frame = frame / tag.copy()
    return bytes(frame / ip(family, tos) / UDP(sport=0xc123, dport=4791, chksum=0) /
                 BTH(opcode=opcode, dqpn=rqpn, psn=psn & 0xffffff, ackreq=1, **bth) / payload)


def scenario(family, rqpn, psn, rkey, va):
    """[(frame, (opcode, PSN offset, syndrome, MSN, original))]: the word holds 0 at first."""
    def add(at, operand, **more):
        return request(family, rqpn, psn + at, AtomicETH(va=va, rkey=rkey, swap_add=operand),
                       FETCH_ADD, **more)

    def swap(at, compare, value, where=0):
        return request(family, rqpn, psn + at, AtomicETH(va=va + where, rkey=rkey, swap_add=value,
                                                         compare=compare), COMPARE_SWAP)

    steps = []
    for i, tags in enumerate(TAGS):
        steps.append((add(i, 10, tags=tags, tos=i << 2, migreq=i & 1),
                      (ATOMIC_ACKNOWLEDGE, i, 0x1f, i + 1, 10 * i)))
    steps.append((swap(3, 30, (1 << 64) - 1), (ATOMIC_ACKNOWLEDGE, 3, 0x1f, 4, 30)))
    steps.append((add(4, 2), (ATOMIC_ACKNOWLEDGE, 4, 0x1f, 5, (1 << 64) - 1)))
    steps.append((add(2, 10, tags=TAGS[2], tos=8), (ATOMIC_ACKNOWLEDGE, 2, 0x1f, 5, 20)))  # duplicate
    steps.append((add(7, 1), (ACKNOWLEDGE, 5, 0x60, 5, None)))   # ahead of the expected PSN
    steps.append((swap(5, 0, 0, where=4), (ACKNOWLEDGE, 5, 0x61, 5, None)))  # not a multiple of 8
    return steps


def send(iface, steps):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((iface, 0))
        for frame, _ in steps:
            wire.send(frame)


class Tap:
    """Test results on stdout."""

    def __init__(self):
        self.tests = self.failures = 0

    def same(self, name, got, wanted):
        self.tests += 1
        if got != wanted:
            self.failures += 1
            print(f"# got:    {got}\n# wanted: {wanted}")
        print(f"{'ok' if got == wanted else 'not ok'} {self.tests} - {name}")


def answer_of(packet):
    aeth = packet[AETH]
    original = packet[AtomicAckETH].original_value if AtomicAckETH in packet else None
    return packet[BTH].opcode, packet[BTH].psn, aeth.syndrome, aeth.msn, original


def around(packet):
    """What of Ethernet, VLAN and IP an answer takes over from its request (without the direction)."""
    layers = [(tag.type, tag.vlan) for tag in (packet.getlayer(Dot1AD), packet.getlayer(Dot1Q)) if tag]
    if IP in packet:
        return layers, packet[IP].tos, packet[IP].id, packet[IP].frag
    return layers, packet[IPv6].tc, packet[IPv6].fl


def check_with_scapy(tap, family, steps, answers, lqpn, psn):
    src, dst = ADDRESSES[family]
    net = IP if family == 4 else IPv6
    for number, ((frame, wanted), packet) in enumerate(zip(steps, answers)):
        sent, name = Ether(frame), f"scapy, IPv{family}, answer {number}"
        opcode, offset, *rest = wanted
        tap.same(f"{name}: opcode, PSN, syndrome, MSN, original", answer_of(packet),
                 (opcode, (psn + offset) & 0xffffff, *rest))
        tap.same(f"{name}: VLAN tags, DSCP, identification", around(packet), around(sent))
        tap.same(f"{name}: addresses turned round", (packet.src, packet.dst, packet[net].src,
                                                     packet[net].dst), (RESP, NODE, dst, src))
        tap.same(f"{name}: QPN, ports, MigReq, AckReq, P_Key",
                 (packet[BTH].dqpn, packet[UDP].sport, packet[UDP].dport, packet[BTH].migreq,
                  packet[BTH].ackreq, packet[BTH].pkey),
                 (lqpn, 0xc123, 4791, sent[BTH].migreq, 0, 0xffff))
        on_wire, computed = icrc_on_wire_and_computed(bytes(packet))
        tap.same(f"{name}: ICRC", f"{on_wire:#x}", f"{computed:#x}")
        if family == 4:
            copy = packet.copy()
            del copy[IP].chksum
            tap.same(f"{name}: IPv4 checksum", packet[IP].chksum, Ether(bytes(copy))[IP].chksum)


def tshark(path, *options):
    # UDP without a checksum is what RoCEv2 uses over IPv6 too.
    done = subprocess.run(["tshark", "-n", "-o", "udp.ignore_ipv6_zero_checksum:TRUE", "-r", path, *options],
                          capture_output=True, text=True, check=True)
    return done.stdout


def check_with_tshark(tap, family, path, steps, psn):
    name = f"tshark, IPv{family}"
    tap.same(f"{name}: nothing malformed, no warning",
             tshark(path, "-Y", "_ws.malformed || _ws.expert.severity >= 0x600000"), "")
    tap.same(f"{name}: every packet is RoCE",
             len(tshark(path, "-Y", "infiniband.bth").splitlines()), 2 * len(steps))
    fields = ["opcode", "psn"]
    answers = tshark(path, "-Y", "infiniband.aeth", "-T", "json", "--no-duplicate-keys")
    wanted = [(opcode, (psn + offset) & 0xffffff, msn, original)
              for _, (opcode, offset, _, msn, original) in steps]
    got = []
    for answer in json.loads(answers):
        tree = flat(answer["_source"]["layers"])
        original = tree.get("infiniband.atomicacketh.origremdt")
        got.append((*(int(tree[f"infiniband.bth.{field}"], 0) for field in fields),
                    int(tree["infiniband.aeth.msn"], 0), None if original is None else int(original, 0)))
    tap.same(f"{name}: opcode, PSN, MSN, original of every answer", got, wanted)


def flat(tree):
    """Every leaf of tshark's nested objects by its name."""
    leaves = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            leaves.update(flat(value))
        else:
            leaves[key] = value
    return leaves


def check(path, family, lqpn, rqpn, psn, rkey, va):
    tap, steps = Tap(), scenario(family, rqpn, psn, rkey, va)
    packets = rdpcap(path)
    answers = [packet for packet in packets if packet.src == RESP]
    tap.same(f"IPv{family}: one answer per request", len(answers), len(steps))
    check_with_scapy(tap, family, steps, answers, lqpn, psn)
    check_with_tshark(tap, family, path, steps, psn)
    return 1 if tap.failures else 0


def main():
    command, where, *numbers = sys.argv[1:]
    family, lqpn, rqpn, psn, rkey, va = (int(number, 0) for number in numbers)
    if command == "send":
        return send(where, scenario(family, rqpn, psn, rkey, va))
    return check(where, family, lqpn, rqpn, psn, rkey, va)


if __name__ == "__main__":
    sys.exit(main())
