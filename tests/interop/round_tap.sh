#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The responder natively on the host's tap, soft-RoCE in the guest as requester: perftest as Debian ships it, pyverbs, and
# both over a wire that loses and reorders. All packets are captured and judged by decoders that are not ours.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/lib.sh"

# A page for each of 8 queue pairs, which is the buffer of perftest's client.
words=4096
verbs_runs=0
# Seconds for a client, and how often it may be repeated for what is no fault of the responder's.
limit=60 tries=10

executed() { xatomic --json stat | jq ".$1.executed"; }
counter() { xatomic --json stat | jq "[.. | objects | .$1? // empty] | add"; }
sum() { xatomic --json mr dump words | jq '.words | add'; }
no_qps() { [ "$(xatomic --json qp show | jq length)" -eq 0 ]; }

refusals() { grep -c '"event":"refused"' "$work/serve"; }

more_refusals_than() { [ "$(refusals)" -gt "$1" ]; }

serve_start() {
	nsenter --net="/run/netns/$host_ns" "$build/asan/xatomic" --json serve \
		--offer 'words to 10.77.0.0/24,fd00:77::/64' >"$work/serve" 2>&1 &
	serve_pid=$!
	wait_for 30 grep -q '"event":"serving"' "$work/serve" || bail "xatomic serve: $(cat "$work/serve")"
}

serve_stop() {
	kill -TERM "$serve_pid"
	wait "$serve_pid"
	is "xatomic serve ends well" $? 0
}

# perftest calibrates its clock, and on a busy emulator says now and then that it cannot, after all its atomics were done.
noisy_clock() { grep -q 'Correlation coefficient' "$work/perftest"; }

# The figures of the last run: "bytes iterations ...".
figures() { awk '/^ *#bytes/ { getline; print }' "$work/perftest"; }

# A run that was ended by its limit through no fault of the responder's counts for nothing.
stalled() { # NAME STATUS
	[ "$2" -eq 124 ] && rxe_fell_silent && echo "# $1: rxe fell silent, with its last request answered; again"
}

perftest() { # NAME CLASS COMMAND [ARG...]: sets $ran and $added
	local name=$1 class=$2 try status before sum_before
	shift 2
	for ((try = 0; try < tries; try++)); do
		before=$(executed "$class") sum_before=$(sum)
		in_guest timeout $limit "$@" >"$work/perftest" 2>&1
		status=$?
		if noisy_clock; then
			echo "# $name: its clock was too noisy; again"
		elif ! stalled "$name" $status; then
			break
		fi
	done
	ran=$(($(executed "$class") - before)) added=$(($(sum) - sum_before))
	is "$name: exit status" "$status" 0
	[ $status -eq 0 ] || comment <"$work/perftest"
	echo "# $*: $(figures)"
}

# A number of iterations: each has run once, and each add has counted once.
iterations() { # PREFIX TYPE CLASS QPS N COMMAND [ARG...]
	local name="$1 $6 $2, $4 QPs" type=$2 class=$3 total=$(($4 * $5)) sum=0
	[ "$class" = cmp_swap ] || sum=$total
	shift 5
	perftest "$name" "$class" "$@" -A "$type"
	is "$name: atomics that ran" "$ran" $total
	is "$name: what was added" "$added" $sum
	is "$name: iterations that it reports" "$(figures | awk '{ print $2 }')" $total
}

# A time: perftest counts only what lies between its margins.
duration() { # PREFIX COMMAND [ARG...]
	local name="$1 $2 for a time"
	shift
	perftest "$name" fetch_add "$@"
	is "$name: each that ran has added once" "$added" "$ran"
	at_least "$name: more ran than it reports" "$ran" "$(figures | awk '{ print $2 }')"
	at_least "$name: iterations that it reports" "$(figures | awk '{ print $2 }')" 100
}

# perftest's own exchange is over IPv4 in either case: the GID says what its packets are.
every_perftest() { # NAME GID_INDEX N
	local qps type class
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		class=fetch_add
		[ $type = FETCH_AND_ADD ] || class=cmp_swap
		iterations "$1" $type $class 1 "$3" ib_atomic_lat -d rxe0 -x "$2" -n "$3" $host_ip4
		for qps in 1 2 4 8; do
			iterations "$1" $type $class $qps "$3" ib_atomic_bw -d rxe0 -x "$2" -n "$3" -q $qps $host_ip4
		done
	done
	duration "$1" ib_atomic_lat -d rxe0 -x "$2" -D 2 $host_ip4
	duration "$1" ib_atomic_bw -d rxe0 -x "$2" -D 2 -q 4 $host_ip4
}

gid_index() { # GID, as sysfs writes it
	in_guest grep -l "$1" -r /sys/class/infiniband/rxe0/ports/1/gids/ | sed 's|.*/||'
}

# At once and with a message, not by a limit of time that passes.
refused() { # NAME CLIENT_SAYS SERVER_SAYS COMMAND [ARG...]
	local name=$1 pattern=$2 reason=$3 status before
	before=$(refusals)
	shift 3
	in_guest timeout 60 "$@" >"$work/refused" 2>&1
	status=$?
	echo "# $*: exit status $status: $(grep -oE "$pattern" "$work/refused" | head -1)"
	is "$name: exit status" $status 1
	wait_for 10 more_refusals_than "$before"
	check "$name: the client says why" grep -qE "$pattern" "$work/refused"
	is "$name: the server says why" "$(sed -n 's/.*"event":"refused".*"reason":"\(.*\)"}$/\1/p' "$work/serve" |
		tail -n +$((before + 1)))" "$reason"
}

every_refusal() {
	local option no_service='nobody listens on this port' no_requester what
	no_requester="the client's -b wants atomics from this side, which only answers them"
	for what in "ib_atomic_lat -R" "ib_atomic_bw -R" "ib_atomic_lat -z" "ib_atomic_bw -z"; do
		# shellcheck disable=SC2086
		refused "$what" 'Unexpected CM event bl blka 8' "$no_service" $what -d rxe0 $host_ip4
	done
	for option in "-q 1" "-q 2"; do
		# shellcheck disable=SC2086
		refused "ib_atomic_bw -b $option" "Failed status 9|Couldn't read remote address" "$no_requester" \
			ib_atomic_bw -d rxe0 -b $option -n 1000 $host_ip4
	done
}

exists_one() { [ -e "$1" ] || [ -e "$2" ]; }

# One run of verbs.py; sets $mr, $qpn and $handle.
start_verbs() { # LOCAL_IP REMOTE_IP COUNT
	local own=$share/own peer=$share/peer rkey
	rm -f "$own" "$peer"
	mr=verbs$((++verbs_runs))
	rkey=$(mr_add $mr --words 2 --iova 0x10000) || bail "mr add"
	handle=$(guest_start timeout $limit tests/interop/jobs/verbs.py "$1" "$2" /share/own /share/peer "$3")
	wait_for "$guest_limit" exists_one "$own" "$handle.status"
	[ -e "$own" ] || bail "verbs.py: $(cat "$handle.err")"
	qpn=$(xatomic --json qp add --peer "$1" --local "$2" --rqpn "$(jq .qpn "$own")" --rq-psn "$(jq .psn "$own")" \
		--depth 16 | jq .lqpn)
	echo "{\"qpn\": $qpn, \"rkey\": $rkey, \"iova\": 65536}" >"$peer.new"
	mv "$peer.new" "$peer"
}

verbs() { # NAME LOCAL_IP REMOTE_IP COUNT
	local mr qpn handle try
	for ((try = 0; try < tries; try++)); do
		start_verbs "$2" "$3" "$4"
		guest_wait "$handle" 2>/dev/null
		stalled "$1" $? || break
		xatomic qp del "$qpn"
	done
	guest_results "$handle" "$1"
	is "$1: the sum" "$(word "$mr" 8)" $(($4 * ($4 + 1) / 2))
	is "$1: the queue pair has refused nothing but what was out of order" \
		"$(xatomic --json qp show "$qpn" | jq -c '[.state, .fatal_naks]')" '["RTR",0]'
	echo "# $1: $(xatomic --json qp show "$qpn" |
		jq -c '{requests, replayed, duplicates_dropped, sequence_naks}')"
	xatomic qp del "$qpn"
}

# Few operations where most packets are sent again and again, or where rxe falls silent in every other run of many.
disturbed() { # NAME N NETEM_ARGUMENTS...
	local name=$1 n=$2 replayed
	shift 2
	replayed=$(counter replayed)
	in_guest tests/interop/jobs/netem.sh on "$@" || bail "netem: $*"
	iterations "$name:" FETCH_AND_ADD fetch_add 1 "$n" ib_atomic_lat -d rxe0 -x "$gid4" -n "$n" $host_ip4
	iterations "$name:" FETCH_AND_ADD fetch_add 4 "$n" ib_atomic_bw -d rxe0 -x "$gid4" -n "$n" -q 4 $host_ip4
	iterations "$name:" FETCH_AND_ADD fetch_add 2 "$n" ib_atomic_bw -d rxe0 -x "$gid6" -n "$n" -q 2 $host_ip4
	iterations "$name:" CMP_AND_SWAP cmp_swap 2 "$n" ib_atomic_bw -d rxe0 -x "$gid4" -n "$n" -q 2 $host_ip4
	verbs "$name: pyverbs over IPv4" $guest_ip4 $host_ip4 $((2 * n))
	verbs "$name: pyverbs over IPv6" $guest_ip6 $host_ip6 "$n"
	replayed=$(($(counter replayed) - replayed))
	at_least "$name: duplicates were answered again" $replayed 1
	echo "# $name: $replayed duplicates answered again"
	in_guest tests/interop/jobs/netem.sh off
}

guest_up --capture "$build/interop/round_tap.pcap"
own_bpffs
check "attached natively to the tap" xatomic attach $host_dev --netns "$host_ns" --mode native
mr_add words --words $words >/dev/null
serve_start
gid4=$(gid_index 0000:0000:0000:0000:0000:ffff:0a4d:0002) gid6=$(gid_index fd00:0077:0000:0000:0000:0000:0000:0002)
every_perftest IPv4 "$gid4" 500
every_perftest IPv6 "$gid6" 200
every_refusal
verbs "pyverbs over IPv4" $guest_ip4 $host_ip4 1000
verbs "pyverbs over IPv6" $guest_ip6 $host_ip6 1000
disturbed "1 % lost" 500 loss 1%
disturbed "5 % lost" 100 loss 5%
disturbed "reordered" 60 delay 3ms reorder 50% 25%
check "no queue pair is left" wait_for 30 no_qps
guest_down
serve_stop
/usr/bin/python3 tests/interop/check_capture.py "$capture" 1000 "$build/interop/model.so" >"$work/judged" 2>&1 ||
	grep -q '^not ok' "$work/judged" || fail "decoders" "$(cat "$work/judged")"
adopt <"$work/judged"
finish
