#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every RoCE packet of a capture, judged by tshark and by the model's ICRC, and a sample by scapy's.

Usage: check_capture.py FILE.pcap AT_LEAST MODEL. Prints TAP. AT_LEAST: how many packets there must be of either IP
version. MODEL: shared library of tests/model, whose ICRC is computed bit by bit from the rules.
"""
import ctypes
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
# pylint: disable=wrong-import-position
from roce import icrc_on_wire_and_computed
from scapy.utils import RawPcapReader

NOTES_MAX, SAMPLE = 5, 1000
ROCE_PORT, UDP = 4791, 17
ETH_LEN, IP4_LEN, IP6_LEN, UDP_LEN, ICRC_LEN = 14, 20, 40, 8, 4


def version(frame):
    """4 or 6 for RoCEv2 over that, else 0."""
    ethertype = int.from_bytes(frame[12:14], "big")
    if ethertype == 0x0800 and frame[ETH_LEN + 9] == UDP:
        udp, found = ETH_LEN + IP4_LEN, 4
    elif ethertype == 0x86dd and frame[ETH_LEN + 6] == UDP:
        udp, found = ETH_LEN + IP6_LEN, 6
    else:
        return 0
    return found if int.from_bytes(frame[udp + 2:udp + 4], "big") == ROCE_PORT else 0


def model_icrc(library):
    """What returns both ICRCs of a frame over an IP version, as numbers in the byte order of the wire."""
    function = ctypes.CDLL(library).model_icrc
    function.argtypes = ctypes.c_char_p, ctypes.c_bool, ctypes.c_size_t, ctypes.c_int
    function.restype = ctypes.c_uint32

    def both(frame, family):
        udp = ETH_LEN + (IP4_LEN if family == 4 else IP6_LEN)
        length = int.from_bytes(frame[udp + 4:udp + 6], "big") - UDP_LEN - ICRC_LEN
        end = udp + UDP_LEN + length
        computed = function(frame[ETH_LEN:], family == 6, length, 0)
        return int.from_bytes(frame[end:end + ICRC_LEN], "little"), computed
    return both


def differing(roce, both):
    for number, frame in roce:
        on_wire, computed = both(frame)
        if on_wire != computed:
            yield f"frame {number}: ICRC {on_wire:08x}, computed {computed:08x}"


def tshark(path, display_filter):
    done = subprocess.run(["tshark", "-n", "-o", "udp.ignore_ipv6_zero_checksum:TRUE", "-r", path,
                           "-Y", f"udp.dstport == {ROCE_PORT} && ({display_filter})"],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main(path, at_least, library):
    number, failures = 0, 0

    def result(name, wrong):
        nonlocal number, failures
        number, failures = number + 1, failures + bool(wrong)
        for note in wrong[:NOTES_MAX]:
            print("#", note)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}", flush=True)

    model = model_icrc(library)
    frames = [(n, frame, version(frame)) for n, (frame, _) in enumerate(RawPcapReader(path), 1)]
    for family in (4, 6):
        roce = [(n, frame) for n, frame, found in frames if found == family]
        sample = roce[::len(roce) // SAMPLE + 1]
        name = f"captured over IPv{family}: {len(roce)} RoCE packets"
        result(name, [] if len(roce) >= int(at_least) else [f"fewer than {at_least}"])
        result(f"{name}: the model computes the same ICRC for each",
               list(differing(roce, lambda frame, family=family: model(frame, family))))
        result(f"{name}: scapy computes the same ICRC for {len(sample)} of them",
               list(differing(sample, icrc_on_wire_and_computed)))
    result("tshark takes each for RoCE", tshark(path, "!infiniband.bth"))
    result("tshark finds none malformed and nothing to warn of",
           tshark(path, "_ws.malformed || _ws.expert.severity >= 0x600000"))
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
