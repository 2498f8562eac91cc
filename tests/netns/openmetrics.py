#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks standard input against the rules of the OpenMetrics text format 1.0 that a scraper stumbles over."""
import re
import sys

SAMPLE = re.compile(r'^([a-z_]+)\{((?:[a-z]+="[^"\\\n]*",?)*)\} ([0-9]+)$')


def main():
    text = sys.stdin.read()
    assert text.endswith("# EOF\n"), "the last line is # EOF"
    types, current, seen = {}, None, set()
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            _, _, current, kind = line.split(" ")
            assert current not in types, f"{current} is described once, its samples together"
            assert kind in ("counter", "gauge"), kind
            types[current] = kind
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == current, "HELP belongs to the TYPE before"
        else:
            match = SAMPLE.match(line)
            assert match, f"no sample: {line}"
            suffix = "_total" if types[current] == "counter" else ""
            assert match[1] == current + suffix, f"{match[1]} below {current}"
            assert (match[1], match[2]) not in seen, f"twice: {line}"
            seen.add((match[1], match[2]))
    assert len(types) >= 3 and "counter" in types.values() and "gauge" in types.values()


main()
