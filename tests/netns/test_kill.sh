#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# kill -9 of both programs. xatomic is killed at each of its bpf(2) calls in turn, so that every step of a
# command is once the last one; after each, the data path must answer and the next command must work.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# strace and LeakSanitizer cannot both trace a process, so the plain programs are used here.
xatomic() { "$build/xatomic" "$@"; }
xatomic_req() { "$build/xatomic-req" "$@"; }

# Runs a command with SIGKILL at its Nth bpf(2) call.
killed_at() { # N ARGUMENTS OF xatomic
	local n=$1
	shift
	strace -f -qq -o "$work/strace" -e trace=bpf -e "inject=bpf:signal=KILL:when=$n" \
		"$build/xatomic" "$@" >"$work/killed" 2>&1
}

answers() {
	local got
	got=$(request 4 1 "$steady" "$psn" "$rkey" fadd --addr 0x1000 --add 1 2>&1)
	psn=$((psn + 1)) sum=$((sum + 1))
	[ "$got" = $((sum - 1)) ]
}

# The command is killed at its first, second, ... call until it runs through. PREPARE makes what it needs,
# VERIFY looks at what a kill has left; both get N.
kill_everywhere() { # NAME PREPARE VERIFY ARGUMENTS...
	local name=$1 prepare=$2 verify=$3 n status
	shift 3
	for ((n = 1; n <= 500; n++)); do
		if ! "$prepare" "$n" >"$work/prepare" 2>&1; then
			fail "$name: before call $n" "$(cat "$work/prepare")"
			return
		fi
		killed_at "$n" "$@"
		status=$?
		if ! answers; then
			fail "$name: the data path answers after a kill at call $n"
			return
		fi
		if ! "$verify" "$n" >"$work/verify" 2>&1; then
			fail "$name: after a kill at call $n" "$(cat "$work/verify")"
			return
		fi
		[ $status -ne 0 ] || break
		if [ $status -ne 137 ]; then
			fail "$name: it runs through or is killed" "status $status" "$(cat "$work/killed")"
			return
		fi
	done
	at_least "$name: killed at each of its calls" $((n - 1)) 1
	comment <<<"$name: $((n - 1)) kills"
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

# The victim's QPN changes with every round, so the command line is made anew.
kill_on_qp() { # NAME VERB
	local name=$1 verb=$2 n status victim
	for ((n = 1; n <= 500; n++)); do
		victim=$(qp_add 4 2 --rq-psn 5)
		killed_at "$n" qp "$verb" "$victim"
		status=$?
		if ! answers || ! qps_usable >"$work/verify" 2>&1; then
			fail "$name: after a kill at call $n" "$(cat "$work/verify")"
			return
		fi
		[ $status -eq 137 ] || break
	done
	is "$name: runs through after $((n - 1)) kills" "$status" 0
}

attach_again() {
	xatomic attach node2 --netns "$prefix-resp" --max-qps 16 --max-mrs 8 && show_works
}

detach_node2() {
	xatomic detach node2 --netns "$prefix-resp" || ! xatomic --json show | grep -q '"node2"'
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
	wait $pid 2>/dev/null
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

check "the data path answers" answers
kill_everywhere "mr add" no_mr mr_usable mr add victim --words 8 --iova 0x9000
kill_everywhere "mr del" one_mr mr_usable mr del victim
kill_everywhere "qp add" nothing qps_usable qp add --peer 10.77.2.2 --local 10.77.2.1 --rqpn 18
kill_on_qp "qp reset" reset
kill_on_qp "qp del" del
kill_everywhere "attach" detach_node2 attach_again attach node2 --netns "$prefix-resp"
kill_everywhere "detach" attach_again detach_node2 detach node2 --netns "$prefix-resp"
kill_everywhere "show" nothing show_works show
requester_killed
check "destroy after all that" xatomic destroy
is "nothing is left of the instance" "$(find "$XATOMIC_BPFFS" -mindepth 1 -name '*' -not -name xatomic)" ""
finish
