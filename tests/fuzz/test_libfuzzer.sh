#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A bounded run of each libFuzzer target: the same number of inputs from the same seed each time, or
# SECONDS_EACH seconds from a random one. A crash prints what the target said and how to run the input again.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
RUNS=${RUNS:-20000}
found=$BUILD/fuzz-found
mkdir -p "$found"

if [ -n "${SECONDS_EACH:-}" ]; then
	limits=(-max_total_time="$SECONDS_EACH")
else
	limits=(-runs="$RUNS" -seed=1)
fi

tests=0 failed=0
for target in "$BUILD"/libfuzzer/fuzz_*; do
	if [ ! -f "$target" ] || [ ! -x "$target" ]; then
		continue
	fi
	name=${target##*/}
	corpus=$BUILD/fuzz-corpus/$name
	log=$BUILD/logs/$name.log
	mkdir -p "$corpus" "${log%/*}"
	dict=tests/fuzz/${name#fuzz_}.dict
	tests=$((tests + 1))
	[ -n "${SECONDS_EACH:-}" ] || corpus=
	[ -f "$dict" ] || dict=
	if "$target" "${limits[@]}" -max_len=512 -len_control=10 -rss_limit_mb=2048 -close_fd_mask=3 \
		-artifact_prefix="$found/$name-" ${dict:+-dict="$dict"} ${corpus:+"$corpus"} >"$log" 2>&1; then
		echo "ok $tests - $name: $(grep -aoE 'Done [0-9]+ runs' "$log")"
		continue
	fi
	failed=1
	input=$(grep -aoE 'Test unit written to .*' "$log" | tail -1)
	grep -aE 'ERROR|runtime error|SUMMARY' "$log" | head -5 | sed 's/^/# /'
	[ -z "$input" ] || "$target" "${input#Test unit written to }" 2>&1 | grep -a '^#' | head -20
	echo "not ok $tests - $name: $target ${input#Test unit written to }"
done
echo "1..$tests"
exit $failed
