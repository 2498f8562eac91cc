#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kill -9 of both programs. xatomic is killed at each of its calls of bpf(2) and unlink(2) in turn, so that
# every step of a command is once the last one; after each, the data path must answer and the next command
# must work.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# strace and LeakSanitizer cannot both trace a process, so the plain programs are used here.
xatomic() { "$build/xatomic" "$@"; }
xatomic_req() { "$build/xatomic-req" "$@"; }

# Runs a command with SIGKILL at its Nth call of a system call; the shell's own word on that is not wanted.
killed_at() { # SYSCALL N ARGUMENTS OF xatomic
	local syscall=$1 n=$2
	shift 2
	{
		strace -f -qq -o /dev/null -e trace="$syscall" -e "inject=$syscall:signal=KILL:when=$n" \
			"$build/xatomic" "$@" >"$work/killed" 2>&1
	} 2>/dev/null
}

answers() {
	local got
	got=$(request 4 1 "$steady" "$psn" "$rkey" fadd --addr 0x1000 --add 1 2>&1)
	psn=$((psn + 1)) sum=$((sum + 1))
	[ "$got" = $((sum - 1)) ]
}

# The command is killed at its first, second, ... call until it runs through. PREPARE makes what it needs
# and may set $victim, which is put in place of the word VICTIM; VERIFY looks at what the kill has left.
kill_everywhere() { # SYSCALL PREPARE VERIFY ARGUMENTS OF xatomic
	local syscall=$1 prepare=$2 verify=$3 n status name
	shift 3
	name="$*, killed at $syscall"
	for ((n = 1; n <= 500; n++)); do
		if ! "$prepare" >"$work/prepare" 2>&1; then
			fail "$name: before call $n" "$(cat "$work/prepare")"
			return
		fi
		killed_at "$syscall" "$n" "${@/VICTIM/$victim}"
		status=$?
		if ! answers; then
			fail "$name: the data path answers after a kill at call $n"
			return
		fi
		if ! "$verify" >"$work/verify" 2>&1; then
			fail "$name: after a kill at call $n" "$(cat "$work/verify")"
			return
		fi
		[ $status -eq 137 ] || break
	done
	if [ $status -eq 0 ]; then
		at_least "$name: each time, $((n - 1)) times" $((n - 1)) 1
	else
		fail "$name: it runs through after $((n - 1)) kills" "status $status" "$(cat "$work/killed")"
	fi
}

show_works() { xatomic --json show | jq -e . && xatomic --json mr show | jq -e . && xatomic --json qp show | jq -e .; }

no_mr() {
	! xatomic mr show victim || xatomic mr del victim
}

# Whatever is there can be removed, and then the name is free.
mr_usable() {
	show_works && no_mr && [ "$(mr_add victim --words 8 --iova 0x9000)" -gt 0 ] && xatomic mr del victim
}

one_mr() {
	no_mr && mr_add victim --words 8 --iova 0x9000
}

# The QPs but the steady one go, whatever state they are in; a new one can be made and answers.
qps_usable() {
	local qpn
	show_works || return
	for qpn in $(xatomic --json qp show | jq ".[].lqpn | select(. != $steady)"); do
		xatomic qp del "$qpn" || return
	done
	qpn=$(qp_add 4 2 --rq-psn 5) || return
	[ -n "$(request 4 2 "$qpn" 5 "$rkey" fadd --addr 0x1008 --add 1)" ] && xatomic qp del "$qpn"
}

nothing() { :; }

one_qp() {
	victim=$(qp_add 4 2 --rq-psn 5)
	[ -n "$victim" ]
}

attach_again() {
	xatomic attach node2 --netns "$prefix-resp" --max-qps 16 --max-mrs 8 && show_works
}

# Nothing to detach is an error, and right after some of the kills.
detach_node2() {
	xatomic detach node2 --netns "$prefix-resp" || ! xatomic --json show | grep -q '"node2"'
}

# An instance of its own, on an interface that the steady one has left.
other_instance() {
	xatomic --instance other attach node2 --netns "$prefix-resp" && xatomic --instance other mr add m --words 1
}

other_usable() {
	xatomic --instance other destroy || [ ! -e "$XATOMIC_BPFFS/xatomic/other" ] || return
	other_instance && xatomic --instance other destroy && [ ! -e "$XATOMIC_BPFFS/xatomic/other" ]
}

other_gone() {
	[ ! -e "$XATOMIC_BPFFS/xatomic/other" ] || xatomic --instance other destroy
}

# A requester that is killed leaves a QP that the next one can go on with, at the PSN that it expects.
requester_killed() {
	local qpn pid next status
	qpn=$(qp_add 4 2 --rq-psn 0)
	xatomic mr set words 16 0
	"$build/xatomic-req" --netns "$prefix-node2" --dev eth0 --peer 10.77.2.1 --lqpn 18 --rqpn "$qpn" \
		--sq-psn 0 --rkey "$rkey" fadd --addr 0x1010 --add 1 --count 10000000 --window 8 >/dev/null &
	pid=$!
	wait_for 60 moved 16
	kill -9 $pid
	{ wait $pid; } 2>/dev/null
	status=$?
	is "the requester was killed in the middle" "$status" 137
	next=$(xatomic --json qp show "$qpn" | jq '."rq-psn"')
	is "as many additions as the expected PSN says" "$(word words 16)" "$next"
	is "the next requester goes on" \
		"$(request 4 2 "$qpn" "$next" "$rkey" fadd --addr 0x1010 --add 1)" "$next"
	xatomic qp del "$qpn"
}

moved() { [ "$(word words "$1")" -gt 0 ]; }

require_root
strace -o /dev/null -e inject=getpid:signal=KILL true 2>/dev/null || skip_all "strace cannot inject signals here"
lab_up --nodes 2
own_bpffs
attach 1 2 --max-qps 16 --max-mrs 8
rkey=$(mr_add words --words 512 --iova 0x1000)
steady=$(qp_add 4 1 --rq-psn 0)
psn=0 sum=0

victim=
check "the data path answers" answers
kill_everywhere bpf no_mr mr_usable mr add victim --words 8 --iova 0x9000
kill_everywhere bpf one_mr mr_usable mr del victim
kill_everywhere unlink one_mr mr_usable mr del victim
kill_everywhere bpf nothing qps_usable qp add --peer 10.77.2.2 --local 10.77.2.1 --rqpn 18
kill_everywhere bpf one_qp qps_usable qp reset VICTIM
kill_everywhere bpf one_qp qps_usable qp del VICTIM
kill_everywhere bpf nothing show_works show
requester_killed
kill_everywhere bpf detach_node2 attach_again attach node2 --netns "$prefix-resp"
kill_everywhere bpf attach_again detach_node2 detach node2 --netns "$prefix-resp"
kill_everywhere unlink attach_again detach_node2 detach node2 --netns "$prefix-resp"
check "node2 is free for another instance" detach_node2
kill_everywhere bpf other_gone other_usable --instance other attach node2 --netns "$prefix-resp"
kill_everywhere bpf other_instance other_usable --instance other destroy
kill_everywhere unlink other_instance other_usable --instance other destroy
check "destroy after all that" xatomic destroy
is "nothing is left" "$(find "$XATOMIC_BPFFS/xatomic" -mindepth 1 2>/dev/null)" ""
finish
