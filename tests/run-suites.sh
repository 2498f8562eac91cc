#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs test suites and sums them up. A suite is an executable that prints TAP: "ok N - name",
# "not ok N - name", "ok N - name # SKIP why". A suite that exits non-zero without a "not ok", or that
# prints other than the number of results that its plan says ("1..N"), counts as one failure: it died.
#
# Usage: BUILD=DIR tests/run-suites.sh [SUITE...]   (default: all)
set -u
BUILD=${BUILD:-build}
export BUILD CMOCKA_MESSAGE_OUTPUT=TAP
cd "$(dirname "$0")/.." || exit 1

shopt -s nullglob
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(tests/static/test_*.sh "$BUILD"/tests/test_* tests/*/test_*.sh)
logs=$BUILD/logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0
declare -A seen

count() { grep -cE "$1" "$2"; }

for suite in "${suites[@]}"; do
	[ -z "${seen[$suite]:-}" ] || continue
	seen[$suite]=1
	if [ ! -x "$suite" ] || [ -d "$suite" ]; then
		[ $# -gt 0 ] || continue
		echo "$suite is no suite; those of 'make check' are $BUILD/tests/test_* and tests/*/test_*.sh"
		failed=$((failed + 1))
		continue
	fi
	log=$logs/$(basename "$suite").log
	begin=$SECONDS
	"$suite" >"$log" 2>&1 </dev/null
	status=$?
	bad=$(count '^not ok' "$log")
	skip=$(count '^ok .*# SKIP' "$log")
	good=$(($(count '^ok' "$log") - skip))
	plan=$(sed -nE 's/^1\.\.([0-9]+).*/\1/p' "$log" | tail -1)
	note=
	if [ $((bad + skip + good)) -ne "${plan:-0}" ] || [ "${plan:-0}" -eq 0 ] ||
		{ [ $status -ne 0 ] && [ "$bad" -eq 0 ]; }; then
		bad=$((bad + 1))
		note=" (exit status $status, ${plan:-no} results planned)"
	fi
	printf '%-44s %5d passed %3d failed %3d skipped %4d s%s\n' \
		"$suite" "$good" "$bad" "$skip" $((SECONDS - begin)) "$note"
	grep -E '^ok .*# SKIP' "$log" | sed 's/^/    /'
	if [ "$bad" -gt 0 ]; then
		grep -E -B12 '^not ok' "$log" | sed 's/^/    /' | head -60
		[ -z "$note" ] || tail -20 "$log" | sed 's/^/    /'
	fi
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
