#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Mutation test of the BPF program: are the tests good enough to notice?

Every mutant (see mutants.py) is compiled, put before the test programs by XATOMIC_TEST_OBJECT and must be
killed: refused by the verifier, or failed by a test. One that the compiler turns into the same code is no
mutant; one that no test can tell, with the reason why, is in equivalent.txt. What is left are survivors:
each is a test that is missing. Exit status 0 when there are none.

Run it by `make mutation`, which gives the compiler's command line in BPF_CC and the tests as arguments.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import mutants

SOURCES = ["bpf/*.bpf.h", "bpf/responder.bpf.c", "include/xatomic/abi.h", "include/xatomic/wire.h"]
HERE = pathlib.Path(__file__).parent
TIMEOUT = 300  # seconds for one test of one mutant; only hangs take so long
REFUSED = ["program can be loaded", "program cannot be loaded"]  # in a test's result when the kernel says no
VARIANTS = "tests/race/variants"  # of the program: the race test wants a slow one, of the mutant
VERDICTS = ["no code", "not compiled", "verifier", "test", "equivalent", "SURVIVED"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, help="build directory with the tests")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="mutants whose name or FILE:LINE contains this")
    parser.add_argument("--again", action="store_true", help="only those that survived the last run, or are new")
    parser.add_argument("tests", nargs="+", help="test programs in order, with NAME=VALUE before them")
    return parser.parse_args()


def read_sources():
    root = pathlib.Path.cwd()
    paths = [str(p.relative_to(root)) for pattern in SOURCES for p in sorted(root.glob(pattern))]
    return {path: mutants.Source(path, pathlib.Path(path).read_text()) for path in paths}


def read_equivalents():
    """Name -> reason. A paragraph is one reason, as comment lines, and the mutants that it is for."""
    reasons, reason, was_name = {}, "", False
    for line in (HERE / "equivalent.txt").read_text().splitlines():
        if line.startswith("#"):
            reason = (line[1:].strip() if was_name or not reason else f"{reason} {line[1:].strip()}")
            was_name = False
        elif line.strip():
            reasons[mutants.squeeze(line)] = reason
            was_name = True
        else:
            reason = ""
    return reasons


class Worker:
    """A copy of the sources in a directory of its own, and the tests that are put to a mutant of it."""

    def __init__(self, args, sources):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mutation-"))
        self.tests = args.tests
        self.sources = sources
        self.compiler = shlex.split(os.environ["BPF_CC"])
        for tree in ("bpf", "include", VARIANTS):
            shutil.copytree(tree, self.dir / tree)
        self.object = self.dir / "responder.bpf.o"
        self.slow = self.dir / "race/slow.bpf.o"
        self.slow.parent.mkdir()
        self.original = self.compile()
        if not self.original:
            raise SystemExit("mutate: the unchanged program does not compile; see 'make'")

    def run_compiler(self, source, output):
        command = [self.compiler[0], "-I", self.dir / "include", *self.compiler[1:], "-w", "-c",
                   self.dir / source, "-o", output]
        return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0

    def compile(self):
        """The code without debug information; None when it does not compile."""
        if not self.run_compiler("bpf/responder.bpf.c", self.object):
            return None
        bare = self.dir / "bare.o"
        subprocess.run(["llvm-objcopy", "-g", "-R", ".BTF", "-R", ".BTF.ext", "-R", ".rel.BTF",
                        "-R", ".rel.BTF.ext", self.object, bare], check=True)
        return bare.read_bytes()

    def run(self, mutant):
        """(verdict, what the test said)"""
        text = self.sources[mutant.file].text
        path = self.dir / mutant.file
        path.write_text(text[:mutant.start] + mutant.new + text[mutant.end:])
        try:
            code = self.compile()
            if code is None:
                return "not compiled", ""
            if code == self.original:
                return "no code", ""
            return self.put_to_test()
        finally:
            path.write_text(text)

    def put_to_test(self):
        for test in self.tests:
            said = self.fails(test)
            if said:
                return ("verifier" if any(words in said for words in REFUSED) else "test"), said
        return "SURVIVED", ""

    def fails(self, test):
        """The first sign that the test is not content, or ''. Ends the test there."""
        *settings, program = test.split()
        environment = dict(os.environ, XATOMIC_TEST_OBJECT=str(self.object))
        if program.endswith("test_race"):
            self.run_compiler(f"{VARIANTS}/slow.bpf.c", self.slow)
            environment["BUILD"] = str(self.dir)
        environment.update(setting.split("=", 1) for setting in settings)
        process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", env=environment, start_new_session=True)
        watchdog = threading.Timer(TIMEOUT, self.end, [process])
        watchdog.start()
        said = next((line for line in process.stdout if line.startswith(("not ok", "Bail out!", "# seed "))), "")
        if said:
            self.end(process)
        process.stdout.close()
        status = process.wait()
        watchdog.cancel()
        if said or not status:
            return said.strip() and f"{pathlib.Path(program).name}: {said.strip()}"
        return f"{pathlib.Path(program).name}: exit status {status}"

    @staticmethod
    def end(process):
        """The test and what it started; nothing else is in its session."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_all(todo, args, sources, equivalents):
    """Yields (mutant, verdict, what the test said, seconds), in the order of `todo`."""
    free = collections.deque(Worker(args, sources) for _ in range(args.jobs))
    workers = list(free)

    def one(mutant):
        if mutant.name() in equivalents:
            return mutant, "equivalent", equivalents[mutant.name()], 0
        worker = free.popleft()
        begin = time.monotonic()
        try:
            return mutant, *worker.run(mutant), time.monotonic() - begin
        finally:
            free.append(worker)

    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            yield from pool.map(one, todo)
    finally:
        for worker in workers:
            shutil.rmtree(worker.dir)


def print_table(all_mutants, record):
    """The table of docs/testing.md, from this run and what earlier ones have left."""
    per_file = collections.defaultdict(collections.Counter)
    for mutant in all_mutants:
        verdict = record.get(mutant.name(), "not run")
        per_file[mutant.file][verdict] += 1
        per_file["all"][verdict] += 1
    columns = [v for v in VERDICTS if v not in ("no code", "not compiled")]
    print("\n| file | mutants | killed by a test | refused by the verifier | equivalent | survived |")
    print("|---|---|---|---|---|---|")
    for file, count in per_file.items():
        if file != "all":
            print_row(f"`{file}`", count, columns)
    print_row("all", per_file["all"], columns)
    print(f"\nNot counted: {per_file['all']['no code']} that compile to the same code, "
          f"{per_file['all']['not compiled']} that do not compile, {per_file['all']['not run']} not run.")


def print_row(name, count, columns):
    total = sum(count[c] for c in columns)
    if total:
        print(f"| {name} | {total} | {count['test']} | {count['verifier']} | {count['equivalent']} | "
              f"{count['SURVIVED']} |")


def choose(all_mutants, args, last):
    chosen = [m for m in all_mutants if args.only in m.name() or args.only in f"{m.file}:{m.line}"]
    if args.again:
        chosen = [m for m in chosen if last.get(m.name()) in (None, "SURVIVED")]
    return chosen


def unique(all_mutants):
    """Different rules may come to the same change; what differs in its place alone is numbered."""
    changes, names = set(), collections.Counter()
    for mutant in all_mutants:
        change = (mutant.file, mutant.start, mutant.end, mutant.new)
        if change not in changes:
            changes.add(change)
            names[mutant.name()] += 1
            yield mutant._replace(nth=names[mutant.name()])


def main():
    args = arguments()
    sources = read_sources()
    equivalents = read_equivalents()
    all_mutants = list(unique(m for source in sources.values() for m in source.mutants))
    record = pathlib.Path(args.build) / "mutation.json"
    last = json.loads(record.read_text()) if record.exists() else {}
    for name in set(equivalents) - {m.name() for m in all_mutants}:
        print(f"equivalent.txt names a mutant that is no more: {name}")
    survivors = []
    for mutant, verdict, said, seconds in run_all(choose(all_mutants, args, last), args, sources, equivalents):
        last[mutant.name()] = verdict
        if verdict == "SURVIVED":
            survivors.append(mutant)
        print(f"{verdict:12} {mutant.file}:{mutant.line} {seconds:.1f} s {mutant.rule}: "
              f"{mutants.squeeze(mutant.old)}  ->  {mutants.squeeze(mutant.new)}  {said}", flush=True)
        record.write_text(json.dumps(last, indent=0))
    print_table(all_mutants, last)
    if survivors:
        print("\nSurvivors, as equivalent.txt would name them:")
    for mutant in survivors:
        print(mutant.name())
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
