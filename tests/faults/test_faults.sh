#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Each command of xatomic with its first, second, ... call to the kernel failing, and killed there, until there
# is no such call any more.
#
# After a failure the instance is as before or the command has done its work; there is one sentence on stderr,
# nothing on stdout, no leak of memory (LSan) or of a descriptor, and the same command again does its work. After
# a kill, packets are answered, the instance can be looked at, and the same command again does its work. After all
# of them, the kernel has no map and no program that it did not have before.
#
# FAULTS=all takes every call, otherwise of those that are alike the first and the last. FAULT_ERRNOS is a list of
# error numbers to fail with, "usual" being one that is likely for the call.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"

all=${FAULTS:-some}
errnos=${FAULT_ERRNOS:-usual}
resp=$prefix-resp
# How many memory regions an instance has, and words a region, tells them from those of others on this machine.
marker=$((64 + $$ % 900))

xatomic() { "$build/xatomic" "$@"; }

limits=(--max-qps 4 --max-mrs "$marker")

tree() {
	(cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' -printf '%P %m %U:%G\n' | sed 's/-link[0-9]*//' | sort)
}

# What can be seen of an instance, but for numbers that are new each time: those of programs, and of the memory
# regions and the queue pairs (with the peer's QPN 99) that come and go here. The queue pair that answers all the
# time moves on.
state() {
	local mr dir=$XATOMIC_BPFFS/xatomic/$instance
	tree
	[ ! -e "$watched" ] || cksum "$watched"
	[ ! -e "$watched.tmp" ] || echo "a draft"
	[ -e "$dir" ] || return 0
	{ xatomic -i "$instance" --json show && xatomic -i "$instance" --json mr show &&
		xatomic -i "$instance" --json qp show; } >"$work/state" || return
	jq -c 'if type == "object" then del(.program.id, .program.name) | .interfaces |= sort_by(.interface)
		else sort_by(.name // .rqpn) | map(if .name == "m" then del(.rkey) elif .rqpn == 99 then del(.lqpn)
			elif .rqpn == 17 then .lqpn else . end) end' "$work/state"
	for mr in m n; do
		[ ! -e "$dir/mr/$mr" ] || xatomic -i "$instance" mr dump $mr 2>/dev/null || echo "stray"
	done
}

answers() {
	local got
	got=$("$build/xatomic-req" --netns "$prefix-node1" --dev eth0 --peer 10.77.1.1 --lqpn 17 --rqpn "$steady" \
		--sq-psn $psn --rkey "$rkey" fadd --addr 0x1000 --add 1 2>&1)
	psn=$((psn + 1))
	[ "$got" = $((psn - 1)) ] || { echo "# no answer: $got"; return 1; }
}

faulty() { # N ERRNO ARGUMENTS
	local n=$1 error=$2
	shift 2
	[ "$n" = 0 ] || rm -f "$work/fired"
	rm -f "${FAULT_TRACE:-$work/none}"
	# In a subshell, whose word about a killed process is not wanted.
	(
		[ "$error" = usual ] || export FAULT_ERRNO=$error
		FAULT=$n FAULT_LOG=$work/fired "$build/faulty/xatomic" -i "$instance" "$@" >"$work/out" 2>"$work/err"
		exit $?
	) 2>/dev/null
}

# The numbers of the calls to try: of those that are alike the first and the last, and for kills those before a
# call that changes something.
changing='^(bpf (0|2|3|5|6|26|28|29|34)|(mkdir|rename|unlink|rmdir|remove|nftw|chown|chmod|fchmod|fsync|ftruncate) .*)$'
points_of() { # ERRNO
	if [ "$all" = all ]; then
		seq "$(wc -l <"$work/calls")"
	elif [ "$1" = kill ]; then
		grep -nE "$changing" "$work/calls" | awk -F: '!($2 in first) { first[$2] = $1 } { last[$2] = $1 }
			END { for (i in first) { print first[i]; print last[i] } }' | sort -nu
	else
		awk '!($0 in first) { first[$0] = NR } { last[$0] = NR }
			END { for (i in first) { print first[i]; print last[i] } }' "$work/calls" | sort -nu
	fi
}

wrong() { # WHAT
	bad=$((bad + 1))
	echo "# $series at call $n, $(cat "$work/fired"): $1" | tr '\n' ' '
	echo
}

same() { # STATE STATE
	[ "$1" = "$2" ] || { diff <(echo "$1") <(echo "$2") | grep '^[<>]' | head -5 | comment; false; }
}

# The command runs again, unless its work is done. A queue pair whose reset was killed may be gone.
repeat() { # ARGUMENTS
	[ "$error $series" != "kill qp reset" ] || [ -n "$(xatomic --json qp show | jq '.[] | select(.rqpn == 99)')" ] || return 0
	if [ "$now" != "$complete" ]; then
		faulty 0 usual "$@" || { wrong "the command again: $(cat "$work/err")"; return; }
		now=$(state)
	fi
	same "$now" "$complete" || wrong "the command again has not the same result"
}

judge_failure() { # STATUS
	if grep -qE 'Sanitizer|runtime error|left open' "$work/err" || [ "$1" -gt 1 ]; then
		wrong "status $1: $(head -20 "$work/err")"
	elif [ "$1" = 1 ] && { [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" != 1 ]; }; then
		wrong "not one sentence on stderr: $(cat "$work/out" "$work/err")"
	elif [ "$1" = 0 ] && [ "$now" != "$complete" ]; then
		wrong "it says that all is well"
		same "$now" "$complete"
	elif [ "$1" = 1 ] && [ "$now" != "$was" ] && [ "$now" != "$complete" ]; then
		wrong "half done: $(cat "$work/err")"
		same "$was" "$now"
	fi
}

prepare() {
	"$before" >"$work/before" 2>&1 || wrong "cannot go back to the state before: $(cat "$work/before")"
}

# One failure or kill and what must be true after it.
one() { # ERRNO ARGUMENTS
	local error=$1 status
	shift
	faulty "$n" "$error" "${@/VICTIM/$victim}"
	status=$?
	if ! now=$(state); then
		wrong "the instance cannot be looked at"
	fi
	[ "$error" = kill ] || judge_failure $status
	answers || wrong "packets are not answered"
	repeat "${@/VICTIM/$victim}"
	[ "$now" = "$was" ] || prepare
}

# NAME, a function that makes the state before, the command. The word VICTIM becomes $victim.
series() { # NAME BEFORE ARGUMENTS
	local n bad=0 points=0 error was now complete
	series=$1 before=$2
	shift 2
	for error in $errnos kill; do
		n=0 victim=
		: >"$work/fired"
		prepare
		was=$(state)
		FAULT_TRACE=$work/calls faulty 0 usual "${@/VICTIM/$victim}" || wrong "it fails without a fault: $(cat "$work/err")"
		complete=$(state)
		prepare
		for n in $(points_of "$error"); do
			points=$((points + 1))
			one "$error" "$@"
			[ $bad -lt 20 ] || break
		done
	done
	is "$series: $points failures and kills" "$bad" 0
	check "$series: nothing is left in the kernel" wait_for 30 settled
}

# Maps of instances and of words that come and go here, and interfaces with a program: as many as there should be.
settled() {
	local maps words instances
	maps=$(bpftool -j map show | jq "[.[] | select(.max_entries == $marker and (.name | IN(\"mrs\", \"m\", \"n\")))] | length")
	words=$(find "$XATOMIC_BPFFS"/xatomic/*/mr -type f -name '[mn]' | wc -l)
	instances=$(find "$XATOMIC_BPFFS/xatomic" -mindepth 1 -maxdepth 1 | wc -l)
	[ "$maps" -le $((words + instances)) ] &&
		[ "$(ip -n "$resp" -j link show | jq '[.[] | select(.xdp)] | length')" = "$(find "$XATOMIC_BPFFS"/xatomic/*/links -type f | wc -l)" ]
}

# Commands that only look say the same as ever, or fail.
looking() { # ARGUMENTS
	local n bad=0 points=0 status error was=same now=same complete=same
	series=$*
	: >"$work/fired"
	for error in $errnos; do
		FAULT_TRACE=$work/calls faulty 0 usual "$@"
		mv "$work/out" "$work/wanted"
		for n in $(points_of "$error"); do
			points=$((points + 1))
			faulty "$n" "$error" "$@"
			status=$?
			judge_failure $status
			[ $status != 0 ] || cmp -s "$work/out" "$work/wanted" || wrong "it says something else"
		done
	done
	is "$series: $points failures" "$bad" 0
}

no_other() {
	! ls -d "$XATOMIC_BPFFS"/xatomic/other* || xatomic -i other destroy
}

other() {
	no_other
	xatomic -i other attach node2 --netns "$resp" "${limits[@]}" && xatomic -i other mr add m --words "$marker" &&
		xatomic -i other qp add --peer 10.77.2.2 --rqpn 99 --local 10.77.2.1 --rq-psn 5
}

without_node2() { [ -z "$(node2)" ] || xatomic detach node2 --netns "$resp"; }
with_node2() { [ -n "$(node2)" ] || xatomic attach node2 --netns "$resp"; }
node2() { xatomic --json show | grep -o '"node2"'; }

without_m() { ! xatomic mr show m || xatomic mr del m; }
with_m() { xatomic mr show m || xatomic mr add m --words "$marker"; }

without_qp() {
	local qpn
	for qpn in $(xatomic --json qp show | jq '.[] | select(.rqpn == 99).lqpn'); do xatomic qp del "$qpn"; done
}

with_qp() {
	without_qp && xatomic qp add --peer 10.77.2.2 --local 10.77.2.1 --rqpn 99 --rq-psn 5 &&
		victim=$(xatomic --json qp show | jq '.[] | select(.rqpn == 99).lqpn')
}

with_variant() { "$build/variant/xatomic" upgrade; }

# Both regions, one with other words than in the file.
with_old_file() { cp "$work/old" "$work/file"; }

empty_other() {
	local mr
	for mr in m n; do ! xatomic -i other mr show "$mr" || xatomic -i other mr del "$mr"; done
}

require_root
own_bpffs
lab_up --nodes 2
instance=default watched=$work/file victim=
attach 1 1 "${limits[@]}"
rkey=$(mr_add words --words 4 --iova 0x1000)
steady=$(qp_add 4 1 --rq-psn 0)
psn=0

series "mr add" without_m mr add m --words "$marker" --owner 65534:65533 --perm 640
series "mr del" with_m mr del m
without_m
series "qp add" without_qp qp add --peer 10.77.2.2 --local 10.77.2.1 --rqpn 99 --rq-psn 5
series "qp del" with_qp qp del VICTIM
series "qp reset" with_qp qp reset VICTIM --rq-psn 777
without_qp
series "attach of a second interface" without_node2 attach node2 --netns "$resp"
series "detach" with_node2 detach node2 --netns "$resp"
series "upgrade" with_variant upgrade
without_node2
looking show
looking mr show
looking mr dump words
looking qp show
looking stat --openmetrics
instance=other
no_other
series "first attach" no_other attach node2 --netns "$resp" "${limits[@]}"
series "destroy" other destroy
check "an instance with a region" other
xatomic -i other mr add n --words "$marker" >/dev/null
xatomic -i other save "$work/old" >/dev/null
xatomic -i other mr set n 0 7
series "save" with_old_file save "$work/file"
xatomic -i other save "$work/file" >/dev/null
series "restore" empty_other restore "$work/file"
xatomic -i other destroy
finish
