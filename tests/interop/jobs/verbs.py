#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Atomics from pyverbs, over a queue pair whose numbers are exchanged through files. Prints TAP.

Usage: verbs.py LOCAL_IP REMOTE_IP OWN PEER COUNT

Writes {"qpn", "psn"} to the file OWN, waits for the file PEER with {"qpn", "rkey", "iova"}, all JSON, and then works on
words 0 and 1, which are 0. COUNT: adds in a row, of 1, 2, 3 and so on, WINDOW of them in flight.
"""
import ipaddress
import json
import os
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

WINDOW, PSN, MASK = 16, 0xfffff0, (1 << 64) - 1
results = []


def same(name, got, wanted):
    results.append(got == wanted)
    if got != wanted:
        print(f"# got:    {got}\n# wanted: {wanted}")
    print(f"{'ok' if got == wanted else 'not ok'} {len(results)} - pyverbs to {sys.argv[2]}: {name}", flush=True)


def gid_of(address):
    address = ipaddress.ip_address(address)
    return GID(ipaddress.ip_address(f"::ffff:{address}" if address.version == 4 else address).exploded)


def gid_index(context, address):
    for index in range(context.query_port(1).gid_tbl_len):
        if context.query_gid(1, index).gid == gid_of(address).gid:
            return index
    sys.exit(f"no GID for {address}")


def exchange(own, peer, numbers):
    with open(own + ".new", "w", encoding="ascii") as file:
        json.dump(numbers, file)
    os.rename(own + ".new", own)
    while not os.path.exists(peer):
        time.sleep(0.05)
    with open(peer, encoding="ascii") as file:
        return json.load(file)


class Requester:
    def __init__(self, local, remote, own, peer):
        context = Context(name="rxe0")
        self.pd = PD(context)
        self.buffer = MR(self.pd, 8 * WINDOW, e.IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(context, WINDOW)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=WINDOW)))
        self.peer = exchange(own, peer, {"qpn": self.qp.qp_num, "psn": PSN})
        self.connect(GlobalRoute(gid_of(remote), sgid_index=gid_index(context, local)))

    def connect(self, route):
        attr = QPAttr(port_num=1, path_mtu=e.IBV_MTU_1024)
        attr.dest_qp_num, attr.sq_psn = self.peer["qpn"], PSN
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.max_rd_atomic, attr.timeout, attr.retry_cnt, attr.rnr_retry = WINDOW, 14, 7, 7
        self.qp.to_rts(attr)

    def post(self, slot, opcode, word, compare_add, swap=0):
        request = SendWR(slot, opcode=opcode, num_sge=1, sg=[SGE(self.buffer.buf + 8 * slot, 8, self.buffer.lkey)],
                         send_flags=e.IBV_SEND_SIGNALED)
        request.set_wr_atomic(self.peer["rkey"], self.peer["iova"] + 8 * word, compare_add, swap)
        self.qp.post_send(request)

    def next_original(self):
        """Slot and original value of the oldest operation that is still open."""
        while True:
            count, completions = self.cq.poll(1)
            if count:
                break
        if completions[0].status != e.IBV_WC_SUCCESS:
            sys.exit(f"completion with status {completions[0].status}")
        slot = completions[0].wr_id
        return slot, int.from_bytes(self.buffer.read(8, 8 * slot), sys.byteorder)

    def once(self, *operation):
        self.post(0, *operation)
        return self.next_original()[1]

    def add(self, word, operand):
        return self.once(e.IBV_WR_ATOMIC_FETCH_AND_ADD, word, operand)

    def swap(self, word, compare, value):
        return self.once(e.IBV_WR_ATOMIC_CMP_AND_SWP, word, compare, value)

    def adds(self, word, count):
        """Originals of adds of 1, 2 ... count."""
        originals, posted = [], 0
        while len(originals) < count:
            while posted < count and posted - len(originals) < WINDOW:
                self.post(posted % WINDOW, e.IBV_WR_ATOMIC_FETCH_AND_ADD, word, posted + 1)
                posted += 1
            slot, original = self.next_original()
            if slot != len(originals) % WINDOW:
                sys.exit(f"completions out of order: slot {slot} at {len(originals)}")
            originals.append(original)
        return originals


def main(local, remote, own, peer, count):
    requester = Requester(local, remote, own, peer)
    same("CAS that takes: original", requester.swap(0, 0, 1 << 63 | 5), 0)
    same("CAS that does not: original", requester.swap(0, 7, 9), 1 << 63 | 5)
    same("FETCH_ADD: original", requester.add(0, MASK), 1 << 63 | 5)
    same("FETCH_ADD of -1 has counted", requester.swap(0, 1 << 63 | 4, 0), 1 << 63 | 4)
    originals = requester.adds(1, int(count))
    same(f"{count} adds, {WINDOW} in flight: every original is the sum of those before", originals,
         [n * (n + 1) // 2 for n in range(int(count))])
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
