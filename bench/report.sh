#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes results.md and the plots in a directory from the JSON files that the bench has left there.
#
# Usage: report.sh DIRECTORY
set -euo pipefail

out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- tables ---

# Lines of tab-separated values to rows of a Markdown table.
rows() { awk -F '\t' '{ printf "|"; for (i = 1; i <= NF; i++) printf " %s |", $i; print "" }'; }

# shellcheck disable=SC2016 # jq's variables
number='def n(d): . as $x | pow(10; d) as $p | ($x * $p | round) / $p;
	def s(d): n(d) | tostring | if d == 0 or contains("e") then . elif contains(".") | not then . + "." + ("0" * d)
		else . + ("0" * (d - (split(".")[1] | length)) // "") end;'

conditions() {
	jq -r '"Machine: \(.machine), a virtual machine; kernel \(.kernel). Responder: \(.instructions) BPF instructions, "
		+ "\(.machine_code) bytes of machine code. Medians of \(.rounds) interleaved rounds of \(.frames) frames."' \
		"$out/openloop.json"
	jq -r '"Load average when it began: \(.load) (\(.date))."' "$out/conditions.json"
}

openloop_table() {
	echo '| frames | echo M/s | xatomic M/s | ratio | net ratio | path echo M/s | path xatomic M/s | path ratio | echo ns/run | xatomic ns/run |'
	echo '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|'
	jq -r "$number"' .rows[] | [.row, (1000 / .direct.echo.cpu_ns | s(2)), (1000 / .direct.xatomic.cpu_ns | s(2)),
		(.direct.ratio | s(3)), (.net_ratio | s(3)), (1000 / .path.echo.cpu_ns | s(2)),
		(1000 / .path.xatomic.cpu_ns | s(2)), (.path.ratio | s(3)), (.echo_program_ns | s(0)),
		(.xatomic_program_ns | s(0))] | @tsv' "$out/openloop.json" | rows
}

twocpus_table() {
	echo '| layout | echo M/s | xatomic M/s | xatomic, times one CPU |'
	echo '|---|--:|--:|--:|'
	jq -r "$number"' .[0].xatomic_mops as $one | .[] | [.layout, (.echo_mops | s(2)), (.xatomic_mops | s(2)),
		(.xatomic_mops / $one | s(2))] | @tsv' "$out/twocpus.json" | rows
}

closedloop_table() {
	echo '| in flight | QPs | echo M/s | xatomic M/s | xatomic p50 µs | p99 µs | p99.9 µs |'
	echo '|--:|--:|--:|--:|--:|--:|--:|'
	jq -r "$number"' .[] | [.in_flight, .qps, (.echo_mops | s(2)), (.xatomic_mops | s(2)), (.p50_us | s(2)),
		(.p99_us | s(2)), (.p999_us | s(2))] | @tsv' "$out/closedloop.json" | rows
}

alternatives_table() {
	echo '| server and client | operations/s | p50 µs | p99 µs | p99.9 µs | server CPU µs per operation |'
	echo '|---|--:|--:|--:|--:|--:|'
	jq -r "$number"' .[] | [.name, (.ops_per_second | s(0)), (.p50_us | s(1)), (.p99_us | s(1)), (.p999_us | s(1)),
		(if .server_cpu_us == null then "on the client\u0027s CPU" else .server_cpu_us | s(2) end)] | @tsv' \
		"$out/alternatives.json" | rows
}

memory_table() {
	echo '| what | bytes |'
	echo '|---|--:|'
	jq -r "$number"' .memory | [["QP: entry of `qps`", .qp], ["QP: window of `replay` (128 results)", .replay_window],
		["MR: entries of `mrs` and `mr_words`", .mr], ["words of an MR of 8 bytes", .words_8_bytes],
		["words of an MR of 4 KiB", .words_4_KiB], ["words of an MR of 1 MiB", .words_1_MiB]][]
		| [.[0], (.[1] | s(0))] | @tsv' "$out/openloop.json" | rows
}

spdx='SPDX-License-Identifier: BSD-2-Clause'

results() {
	cat <<-END
		<!-- $spdx -->
		# Results of the bench

		Made by \`make bench\`; what each figure means is in [bench/README.md](../../bench/README.md). No wire and
		no NIC: veth pairs in a virtual machine. Compare within a table, not with a data sheet.

		$(conditions)

		## Open loop, one core

		![Echo and xatomic by kind of frame](openloop.svg)

		$(openloop_table)

		![Rate against the number of QPs](qps.svg)
		![Rate against the memory that words are taken from](words.svg)
		![Rate against the number of MRs](mrs.svg)

		## Two CPUs

		$(twocpus_table)

		## Closed loop in the kernel, one core

		$(closedloop_table)

		![Latency against the number of QPs](latency.svg)

		## What else a user would pick

		![Operations per second](alternatives.svg)
		![Latency](alternatives-latency.svg)

		$(alternatives_table)

		## Memory

		As the kernel charges it (memlock of the map's fdinfo), per entry.

		$(memory_table)
	END
}

# --- plots ---

style='set terminal svg size 860,420 dynamic font "Helvetica,14" background "white"
set encoding utf8
set border 3 lc rgb "#606060"
set tics nomirror textcolor rgb "#303030"
set grid ytics lc rgb "#e0e0e0" lt 1
set termoption noenhanced
set key above right samplen 2
set rmargin 4
set style fill solid 1.0 noborder
set datafile separator "\t"
echo_color = "#9aa5b1"
xatomic_color = "#1f5fa8"
accent = "#c2571a"'

plot() { # NAME COMMANDS
	gnuplot <<-END
		$style
		set output "$out/$1.svg"
		$2
	END
	sed -i "1a <!-- $spdx -->" "$out/$1.svg"
}

direct() { # jq's condition and x value
	jq -r ".rows[] | select($1) | [$2, 1000 / .direct.echo.cpu_ns, 1000 / .direct.xatomic.cpu_ns] | @tsv" \
		"$out/openloop.json"
}

plot_openloop() {
	direct '.row | IN("faa", "cas", "duplicate", "gap", "ipv6", "vlan")' .row >"$work/kinds"
	plot openloop "set title 'One core, open loop: frames answered'
		set ylabel 'million frames a second'
		set yrange [0:*]
		set style data histograms
		set style histogram clustered gap 1
		plot '$work/kinds' using 2:xtic(1) title 'XDP echo' lc rgb echo_color, \
			'' using 3 title 'xatomic' lc rgb xatomic_color, \
			'' using (\$0 + 0.17):3:(sprintf('%.2f', \$3 / \$2)) with labels offset 0,0.7 notitle"
}

curve() { # NAME TITLE XLABEL DATA [COMMANDS]
	plot "$1" "set title '$2'
		set xlabel '$3'
		set ylabel 'million frames a second'
		set logscale x 2
		set yrange [0:*]
		${5:-}
		plot '$4' using 1:2 with linespoints pt 7 lw 2 lc rgb echo_color title 'XDP echo', \
			'' using 1:3 with linespoints pt 7 lw 2 lc rgb xatomic_color title 'xatomic'"
}

plot_curves() {
	direct '.row == "faa" or (.row | startswith("qps"))' .qps | sort -n >"$work/qps"
	curve qps 'FETCH_ADD on QPs in turn, one word' QPs "$work/qps"
	direct '.row == "faa" or (.row | startswith("words"))' '.words * 8' | sort -n >"$work/words"
	curve words 'FETCH_ADD on words at random' 'memory of the MR that the words are taken from' "$work/words" \
		"set xtics ('8 B' 8, '8 KiB' 2**13, '1 MiB' 2**20, '64 MiB' 2**26, '1 GiB' 2**30)"
	direct '.row == "faa" or (.row | startswith("mrs"))' .mrs | sort -n >"$work/mrs"
	curve mrs 'FETCH_ADD on MRs at random' MRs "$work/mrs"
}

plot_latency() {
	jq -r '.[] | select(.in_flight == 1) | [.qps, .p50_us, .p99_us] | @tsv' "$out/closedloop.json" \
		>"$work/latency"
	plot latency "set title 'Closed loop in the kernel, one in flight on QPs in turn'
		set xlabel 'QPs'
		set ylabel 'microseconds'
		set logscale x 2
		set yrange [0:*]
		plot '$work/latency' using 1:3 with linespoints pt 7 lw 2 lc rgb accent title 'p99', \
			'' using 1:2 with linespoints pt 7 lw 2 lc rgb xatomic_color title 'p50'"
}

# Horizontal bars: names are long. The last column is a colour, xatomic_color or echo_color; jq has no hex.
plot_alternatives() {
	jq -r 'to_entries | reverse | to_entries[] | [.key, .value.value.name, .value.value.ops_per_second,
		.value.value.p50_us, .value.value.p99_us, .value.value.p999_us,
		(if .value.value.name | startswith("xatomic") then 2056104 else 10134961 end)] | @tsv' \
		"$out/alternatives.json" >"$work/alternatives"
	local bars="set terminal svg size 940,900 dynamic noenhanced font 'Helvetica,14' background 'white'
		set output OUT
		set style fill solid 1.0 noborder
		unset grid
		set grid xtics lc rgb '#e0e0e0' lt 1
		set logscale x 10
		set yrange [-0.7:*]
		set lmargin 44"
	plot alternatives "${bars/OUT/\"$out/alternatives.svg\"}
		set title 'Client and server on a CPU each'
		set xlabel 'operations a second (logarithmic)'
		set format x '%.0s%c'
		set xrange [1000:*]
		plot '$work/alternatives' using ((1000 + \$3) / 2):1:((\$3 - 1000) / 2):(0.35):7:ytic(2) \
			with boxxy lc rgb variable notitle"
	plot alternatives-latency "${bars/OUT/\"$out/alternatives-latency.svg\"}
		set title 'Latency of an operation'
		set xlabel 'microseconds (logarithmic)'
		set format x '%.0s%c'
		plot '$work/alternatives' using 4:1:ytic(2) with points pt 7 ps 0.9 lc rgb xatomic_color title 'p50', \
			'' using 5:1 with points pt 5 ps 0.8 lc rgb accent title 'p99', \
			'' using 6:1 with points pt 9 ps 0.9 lc rgb echo_color title 'p99.9'"
}

results >"$out/results.md"
plot_openloop
plot_curves
plot_latency
plot_alternatives
