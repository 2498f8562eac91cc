#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Each BPF program, compiled by every clang that is here: the kernel takes it, and it costs no more than
# budgets.txt allows. What the newest compiler made of the responder also goes through the whole
# specification of the program, since it may have merged or split what the default one has not.
set -u
BUILD=${BUILD:-build}
cd "$(dirname "$0")/../.." || exit 1

programs=(responder pass wiretap)
# What Debian 12 has to offer, from the default compiler on; whatever else is installed comes too.
versions=(14 15 16 19 22)
tests=0 failures=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

result() { # STATUS NAME
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		failures=$((failures + 1))
		echo "not ok $tests - $2"
	fi
}

skip() { # NAME WHY
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

all_versions() {
	local path

	{
		printf '%s\n' "${versions[@]}"
		for path in /usr/bin/clang-[0-9]*; do
			[ -x "$path" ] && echo "${path##*-}"
		done
	} | grep -xE '[0-9]+' | awk '$1 >= 14' | sort -nu
}

check_budget() { # COMPILER PROGRAM processed=N size=N
	local budget processed=${3#*=} size=${4#*=}

	budget=$(awk -v p="$2" '$1 == p { print $2, $3 }' tests/verifier/budgets.txt)
	if [ -z "$budget" ]; then
		echo "# budgets.txt has no line for $2"
		result 1 "$2 by $1: has a budget"
		return
	fi
	[ "$processed" -le "${budget% *}" ] && [ "$size" -le "${budget#* }" ]
	result $? "$2 by $1: $processed instructions of ${budget% *}, $size bytes of ${budget#* }"
}

check_program() { # COMPILER NAME
	local out=$dir/$1 program

	if ! make -s BUILD="$out" CLANG="$1" "$out/$2.bpf.o" >"$dir/log" 2>&1; then
		sed 's/^/# /' "$dir/log" | tail -20
		result 1 "$2.bpf.c compiles with $1"
		return
	fi
	"$BUILD/tests/measure" "$out/$2.bpf.o" >"$dir/cost" 2>"$dir/log"
	program=$?
	[ $program -eq 0 ] || sed 's/^/# /' "$dir/log" | tail -20
	result $program "$2.bpf.c compiled with $1 is taken by the kernel"
	while read -r -a program; do
		check_budget "$1" "${program[@]}"
	done <"$dir/cost"
}

# The probe for what this user may do: an object that asks for nothing.
if ! "$BUILD/tests/measure" "$BUILD/pass.bpf.o" >/dev/null 2>&1; then
	skip "the programs can be loaded" "this user may load no BPF program"
	echo "1..$tests"
	exit 0
fi

newest=
for version in $(all_versions); do
	if ! command -v "clang-$version" >/dev/null; then
		skip "programs compiled with clang-$version" "clang-$version is not installed"
		continue
	fi
	newest=clang-$version
	for program in "${programs[@]}"; do
		check_program "$newest" "$program"
	done
done
if [ -n "$newest" ] && [ -f "$dir/$newest/responder.bpf.o" ]; then
	XATOMIC_TEST_OBJECT=$dir/$newest/responder.bpf.o "$BUILD/tests/test_prog" >"$dir/log" 2>&1
	status=$?
	[ $status -eq 0 ] || grep -B5 '^not ok' "$dir/log" | head -30 | sed 's/^/# /'
	result $status "what $newest made of responder.bpf.c does all that test_prog asks for"
fi
echo "1..$tests"
[ $failures -eq 0 ]
