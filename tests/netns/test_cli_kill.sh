#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic killed, or let down by the kernel, at one system call after the other: the next command works, and
# nothing is left that nobody owns. strace does both, so the points are the same every time.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
command -v strace >/dev/null || skip_all "strace is not installed"
own_bpffs
lab_up --nodes 2
resp=$prefix-resp
dir=$XATOMIC_BPFFS/xatomic/default

# LeakSanitizer does not work below ptrace, so this is the plain program.
xatomic() { "$build/xatomic" "$@"; }

injected() { # CALL WHAT N COMMAND...: WHAT happens at the Nth CALL of xatomic COMMAND
	local call=$1 what=$2 n=$3
	shift 3
	# In a subshell, whose word about a killed process goes where the process's would.
	(
		strace -qqq -o /dev/null -e trace="$call" -e inject="$call:$what:when=$n" "$build/xatomic" "$@"
		exit $?
	) >"$work/out" 2>"$work/err"
}

# Not all of the loader's many calls, which only ask what the kernel can do; and of the mappings the last one,
# which is the queue pairs', as the others are the dynamic linker's.
worth_it() { # CALL N TOTAL
	[ "$1" != mmap ] || [ "$2" = "$3" ] || return 1
	[ $(($3 - $2)) -lt 6 ] || [ $(($2 % 8)) = 4 ]
}

calls() { # CALL COMMAND...: how often the command makes it
	local call=$1
	shift
	strace -qqq -o "$work/trace" -e trace="$call" "$build/xatomic" "$@" >/dev/null 2>&1
	grep -c "^$call(" "$work/trace"
}

strace -qqq -o /dev/null -e inject=getppid:signal=SIGKILL:when=1 true 2>"$work/err" ||
	skip_all "strace cannot inject here: $(cat "$work/err")"

tree() { (cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' | sed 's/-link[0-9]*$//' | sort); }

maps_of_words() { bpftool -j map dump pinned "$dir/mr_words" | jq '[.[] | select(.value | type == "array")] | length'; }

# Every pin is an MR's, every MR has its pin and its words, and no words are left without an MR.
consistent() {
	local names
	names=$(xatomic --json mr show | jq -r '.[].name' | sort | xargs)
	[ "$names" = "$(find "$dir/mr" -type f -printf '%f\n' | sort | xargs)" ] || return 1
	[ "$(wc -w <<<"$names")" = "$(maps_of_words)" ] || return 1
	[ "$(xatomic --json show | jq .num_qp)" = "$(xatomic --json qp show | jq length)" ] || return 1
	! find "$XATOMIC_BPFFS/xatomic" -name '*+*' | grep -q .
}

# Runs a command, killed at each point in turn, and what must work after it. `before` and `after` are functions;
# after gets the exit status of the command.
kill_everywhere() { # NAME BEFORE AFTER COMMAND...
	local name=$1 before=$2 after=$3 call n total bad=0 points=0 status
	shift 3
	for call in bpf mkdir rename unlink rmdir chmod; do
		$before
		total=$(calls "$call" "$@")
		$after 0 || bad=$((bad + 1))
		for ((n = 1; n <= total; n++)); do
			worth_it "$call" "$n" "$total" || continue
			$before
			injected "$call" signal=SIGKILL "$n" "$@"
			status=$?
			points=$((points + 1))
			if ! $after $status; then
				bad=$((bad + 1))
				echo "# $name: killed at $call number $n of $total"
			fi
		done
	done
	is "$name, killed at $points points" "$bad" 0
}

# The same with calls that fail: either that does not matter, or there is one line and nothing has changed.
fail_everywhere() { # NAME BEFORE AFTER COMMAND...
	local name=$1 before=$2 after=$3 call n total bad=0 points=0 status was
	shift 3
	for call in bpf mkdir rename chmod mmap; do
		$before
		total=$(calls "$call" "$@")
		$after 0 || bad=$((bad + 1))
		for ((n = 1; n <= total; n++)); do
			worth_it "$call" "$n" "$total" || continue
			$before
			was=$(tree)
			injected "$call" error=ENOMEM "$n" "$@"
			status=$?
			points=$((points + 1))
			if { [ $status -ne 0 ] && { [ "$(tree)" != "$was" ] || [ "$(wc -l <"$work/err")" != 1 ]; }; } ||
				! $after $status; then
				bad=$((bad + 1))
				echo "# $name: failed at $call number $n of $total: status $status $(cat "$work/err")"
			fi
		done
	done
	is "$name, let down at $points points" "$bad" 0
}

nothing() { :; }

# Other limits do for the next attach, unless the killed one had come to its end.
after_first_attach() {
	local limits=(--max-qps 16)
	[ ! -e "$dir" ] || limits=(--max-qps 8)
	xatomic attach node1 --netns "$resp" "${limits[@]}" >/dev/null 2>"$work/next" || return 1
	consistent || return 1
	[ "$(find "$dir/links" -type f | wc -l)" = 1 ] || return 1
	xatomic destroy || return 1
	[ -z "$(tree)" ]
}

only_node1() { xatomic detach node2 --netns "$resp" 2>/dev/null; }

after_second_attach() {
	xatomic attach node2 --netns "$resp" >/dev/null 2>&1 && [ "$(find "$dir/links" -type f | wc -l)" = 2 ]
}

both() { xatomic attach node2 --netns "$resp" >/dev/null 2>&1; }

after_detach() {
	xatomic attach node2 --netns "$resp" >/dev/null 2>&1 && [ "$(find "$dir/links" -type f | wc -l)" = 2 ]
}

after_mr_add() {
	xatomic mr del m 2>/dev/null
	xatomic mr add m --words 4 >/dev/null && consistent && xatomic mr del m && consistent
}

with_mr() { xatomic mr add m --words 4 >/dev/null; }

after_mr_del() {
	xatomic mr del m 2>/dev/null
	after_mr_add
}

after_qp_add() {
	local lqpn
	consistent || return 1
	for lqpn in $(xatomic --json qp show | jq '.[].lqpn'); do xatomic qp del "$lqpn" || return 1; done
	xatomic qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 18 >/dev/null || return 1
	xatomic qp del "$(xatomic --json qp show | jq '.[].lqpn')"
}

# The number has to be known to the command that is killed, so one QP serves until it is gone.
with_qp() {
	lqpn=$(xatomic --json qp show | jq 'first(.[].lqpn)')
	[ -n "$lqpn" ] || lqpn=$(xatomic --json qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 17 | jq .lqpn)
	echo "$lqpn" >"$work/lqpn"
}

on_that_qp() { # WORD CALL WHAT N
	local word=$1
	shift
	injected "$@" qp "$word" "$(cat "$work/lqpn")"
}

# Ready with one of the two PSNs, or gone.
after_qp() { [ "$(xatomic --json qp show | jq '[.[] | select(.state != "RTR")] | length')" = 0 ] && consistent; }

kill_qp_command() { # WORD
	local n bad=0 total
	with_qp
	total=$(calls bpf qp "$1" "$(cat "$work/lqpn")")
	for ((n = 1; n <= total; n++)); do
		with_qp
		on_that_qp "$1" bpf signal=SIGKILL $n
		after_qp || bad=$((bad + 1))
	done
	is "qp $1, killed at $total points" "$bad" 0
	for lqpn in $(xatomic --json qp show | jq '.[].lqpn'); do xatomic qp del "$lqpn"; done
}

with_everything() {
	xatomic attach node1 --netns "$resp" --max-qps 8 >/dev/null 2>&1
	with_mr
	with_qp
}

after_destroy() {
	xatomic destroy 2>/dev/null
	xatomic attach node1 --netns "$resp" --max-qps 8 >/dev/null 2>&1 && consistent && xatomic destroy &&
		[ -z "$(tree)" ]
}

kill_everywhere "first attach" nothing after_first_attach attach node1 --netns "$resp" --max-qps 8
fail_everywhere "first attach" nothing after_first_attach attach node1 --netns "$resp" --max-qps 8
xatomic attach node1 --netns "$resp" --max-qps 8 >/dev/null 2>&1
kill_everywhere "second attach" only_node1 after_second_attach attach node2 --netns "$resp"
fail_everywhere "second attach" only_node1 after_second_attach attach node2 --netns "$resp"
kill_everywhere "detach" both after_detach detach node2 --netns "$resp"
kill_everywhere "mr add" nothing after_mr_add mr add m --words 4
fail_everywhere "mr add" nothing after_mr_add mr add m --words 4
kill_everywhere "mr del" with_mr after_mr_del mr del m
kill_everywhere "qp add" nothing after_qp_add qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 17
fail_everywhere "qp add" nothing after_qp_add qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 17
kill_qp_command del
kill_qp_command reset
xatomic destroy
kill_everywhere "destroy" with_everything after_destroy destroy
is "no program is left on an interface" "$(ip -n "$resp" -j link | jq -c '[.[].xdp // empty]')" "[]"
is "no pin is left" "$(tree)" ""
finish
