#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The whole bench: measures, then writes docs/bench (or the directory given). Needs root.
#
# Usage: run.sh [DIRECTORY]     BUILD=DIR where the programs are
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$here/build}
export BUILD=$build
out=${1:-$here/docs/bench}
begin=$SECONDS

title() { printf '\n== %s\n' "$1"; }

[ "$(id -u)" -eq 0 ] || {
	echo "run.sh: network namespaces and BPF need root; run it with sudo" >&2
	exit 1
}
# Ratios of the open loop bear it; latencies and CPU time do not.
running=$(cut -d ' ' -f 1 /proc/loadavg)
if awk -v load="$running" 'BEGIN { exit load < 0.5 }'; then
	echo "run.sh: other work is running (load $running): latencies and CPU times will be too long" >&2
fi
mkdir -p "$out"
jq -n --arg load "$running" --arg date "$(date -u +%F)" \
	'{load: $load, date: $date}' >"$out/conditions.json"
title "Open loop: one core, echo against xatomic"
"$build/bench/openloop" --rounds 11 --json "$out/openloop.json"
title "Two CPUs"
"$build/bench/twocpus" --rounds 5 --json "$out/twocpus.json"
title "Closed loop in the kernel"
"$build/bench/closedloop" --rounds 5 --json "$out/closedloop.json"
title "What else a user would pick"
"$here/bench/alternatives.sh" --rounds 3 --seconds 2 --json "$out/alternatives.json"
title "Results"
"$here/bench/report.sh" "$out"
echo "$out/results.md and plots written after $((SECONDS - begin)) s"
