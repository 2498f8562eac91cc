#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
exchange.py - FETCH_ADD and COMPARE_SWAP from Python, by pyverbs (Debian: python3-pyverbs).

    exchange.py DEVICE GID_INDEX REGION COMMAND...
    exchange.py mlx5_0 3 counters ssh root@192.0.2.1 xatomic

COMMAND runs xatomic at the responder's host: it makes the queue pair there, and its JSON tells the numbers.
Adds 1 to the first word of the region, takes the second one from 0 to 1 if it is 0, and prints what they held
before.
"""
import ipaddress
import json
import struct
import subprocess
import sys

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT = 1
DEPTH = 1  # atomics in flight, on both sides


def ask(command, *words):
    """The JSON that a command of xatomic prints at the responder's host."""
    run = subprocess.run([*command, "--json", *words], check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout or "null")


def address_of(gid):
    """The IP address that a GID stands for; IPv4 is mapped, as ::ffff:192.0.2.1."""
    address = ipaddress.IPv6Address(gid)
    return str(address.ipv4_mapped or address)


def gid_of(address):
    address = ipaddress.ip_address(address)
    mapped = f"::ffff:{address}" if address.version == 4 else str(address)
    return GID(ipaddress.IPv6Address(mapped).exploded)


def make_qp(pd, cq):
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, sq_sig_all=1, cap=QPCap(max_send_wr=1))
    attr = QPAttr(port_num=PORT)
    return QP(pd, init, attr)  # in INIT, as an attribute is given


def connect(qp, gid_index, there):
    """To RTS. What concerns requests of the other side has no meaning, as it sends none."""
    route = GlobalRoute(dgid=gid_of(there["local"]), sgid_index=gid_index)
    attr = QPAttr(port_num=PORT)
    attr.ah_attr = AHAttr(port_num=PORT, is_global=1, gr=route)
    attr.dest_qp_num = there["lqpn"]
    attr.path_mtu = e.IBV_MTU_256  # an atomic is shorter than any
    attr.max_dest_rd_atomic = 1
    attr.sq_psn = there["rq-psn"]
    attr.max_rd_atomic = DEPTH
    attr.timeout = 14  # the first retry after 4.096 us * 2^14
    attr.retry_cnt = 6  # 7 is endless with soft-RoCE
    attr.rnr_retry = 6
    qp.to_rts(attr)


def atomic(qp, cq, mr, opcode, rkey, address, compare_add, swap=0):
    """Executes one atomic; returns what the word held before."""
    wr = SendWR(opcode=opcode, num_sge=1, sg=[SGE(mr.buf, 8, mr.lkey)])
    wr.set_wr_atomic(rkey, address, compare_add, swap)
    qp.post_send(wr)
    done = 0
    while not done:
        done, completions = cq.poll()
    if completions[0].status != e.IBV_WC_SUCCESS:
        sys.exit(f"exchange.py: the request failed with status {completions[0].status}")
    return struct.unpack("=Q", mr.read(8, 0))[0]  # in this host's byte order


def main(device, gid_index, region, *command):
    gid_index = int(gid_index)
    memory = ask(command, "mr", "show", region)
    rkey, iova = memory["rkey"], memory["iova"]
    with Context(name=device) as context, PD(context) as pd, CQ(context, 1) as cq, \
            MR(pd, 8, e.IBV_ACCESS_LOCAL_WRITE) as mr, make_qp(pd, cq) as qp:
        own = address_of(context.query_gid(PORT, gid_index).gid)
        there = ask(command, "qp", "add", "--peer", own, "--rqpn", str(qp.qp_num),
                    "--depth", str(DEPTH))
        try:
            connect(qp, gid_index, there)
            print("counter", atomic(qp, cq, mr, e.IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, iova, 1))
            print("lock", atomic(qp, cq, mr, e.IBV_WR_ATOMIC_CMP_AND_SWP, rkey, iova + 8, 0, 1))
        finally:
            ask(command, "qp", "del", str(there["lqpn"]))


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit("usage: exchange.py DEVICE GID_INDEX REGION COMMAND...")
    main(*sys.argv[1:])
