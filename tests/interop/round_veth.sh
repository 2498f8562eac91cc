#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Everything inside the guest, on its kernel, the oldest that is supported: BPF programs of every compiler that is here
# are loaded, the tests that depend on the kernel run there, soft-RoCE sends atomics to the responder over a veth
# pair, and soft-RoCE's own responder is measured beside ours.
#
# What is left of `make check` needs no kernel (most unit tests), or compilers, tshark and scapy, which the guest does
# not have. All but test_prog use the programs without sanitizers: the CPU is emulated, and the host's tests have them.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"

compilers() {
	echo clang
	compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -uV
}

# How far the verifier walks is told, as its limit does not move; tests/verifier has a budget for the newest kernel.
load_programs() { # COMPILER
	local program out=$share/$1
	mkdir -p "$out"
	cp "$build/icrc_tables.h" "$build/gen_icrc_tables" "$out"
	for program in responder pass requester wiretap; do
		if ! make -s BUILD="$out" CLANG="$1" "$out/$program.bpf.o" >"$work/make" 2>&1; then
			fail "$1 compiles $program" "$(cat "$work/make")"
			continue
		fi
		check "$1's $program is taken by the kernel" \
			in_guest "$build/tests/measure" "/share/$1/$program.bpf.o"
		comment <"$work/check"
	done
}

# Under the names by which the tests call them.
without_sanitizers() {
	local program
	for program in xatomic xatomic-req; do
		in_guest mount --bind "$build/$program" "$build/asan/$program"
	done
}

run() { # [NAME=VALUE...] PROGRAM
	local begin=$SECONDS
	guest_results "$(guest_start env "$@")" "${*: -1}"
	comment <<<"$* took $((SECONDS - begin)) s"
}

# Two at a time where they are not about time, as the guest has two CPUs.
run_tests() {
	local cli e2e
	cli=$(guest_start tests/netns/test_cli.sh)
	run "$build/tests/test_prog"
	run STEPS=50000 "$build/tests/test_differential"
	guest_results "$cli" test_cli.sh
	e2e=$(guest_start tests/netns/test_e2e.sh)
	run ROUNDS=2000 "$build/tests/test_race"
	run tests/netns/test_host_words.sh
	guest_results "$e2e" test_e2e.sh
}

guest_limit=900
guest_up --no-rxe --memory 2048
comment <<<"kernel $(in_guest uname -r)"
for compiler in $(compilers); do
	load_programs "$compiler"
done
without_sanitizers
run_tests
guest_run veth_rxe.sh
guest_run veth_costs.sh
guest_down
finish
