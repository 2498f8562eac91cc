#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic serve and xatomic-req --connect over veths: connections, lost messages, refusals, limits, a daemon that dies
# and comes back, a flood.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=serve.sh
. "$(dirname "$0")/serve.sh"

offer='words to 10.77.0.0/16,fd00:77::/32'

connect() { # NODE HOST[:PORT] ARGUMENTS...: prints the original values
	local node=$1 host=$2
	shift 2
	xatomic_req --netns "$prefix-node$node" "$1" --connect "$host" "${@:2}"
}

refused_with() { # NAME PATTERN COMMAND...
	local name=$1 pattern=$2
	shift 2
	if "$@" >"$work/out" 2>"$work/err"; then
		fail "$name" "it succeeded"
	elif grep -qE "$pattern" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]; then
		pass "$name"
	else
		fail "$name" "it said: $(cat "$work/err")"
	fi
}

# ---- connections ----

both_families() {
	local host
	for host in 10.77.1.1 '[fd00:77:1::1]:18516'; do
		xatomic mr set words 0 41
		is "$host: FETCH_ADD on a connection" "$(connect 1 "$host" fadd --add 1 --count 3 | xargs)" "41 42 43"
		is "$host: CAS on a connection" "$(connect 1 "$host" cswap --compare 44 --swap 9)" 44
		is "$host: the word" "$(word words 0)" 9
		is "$host: another word" "$(connect 1 "$host" fadd --offset 16 --add 7)" 0
		is "$host: that word" "$(word words 16)" 7
		xatomic mr set words 16 0
	done
	check "queue pairs are gone with their connections" wait_for 10 has_qps 0
	check "every connection has begun and ended" wait_for 10 has_events disconnected 6
	is "connected as often as disconnected" "$(events connected)" 6
	is "events are JSON that names peer and region" \
		"$(jq -r 'select(.event == "connected") | [.service, .peer, .mr] | join(" ")' "$work/serve" | sort -u | xargs)" \
		"rdma_cm 10.77.1.2 words rdma_cm fd00:77:1::2 words"
}

lost() { # WHAT ATTRIBUTE
	xatomic mr set words 0 0
	tap_start 1 --lose "UD_SEND_ONLY:$2:1"
	is "a lost $1: the operation" "$(connect 1 10.77.1.1 fadd --add 1 --count 2 | xargs)" "0 1"
	tap_stop
	is "a lost $1 was really lost" "$(seen "CM $1 .*LOST\$|CM $1\$.*LOST|CM $1 *LOST")" 1
	check "a lost $1: no queue pair is left" wait_for 10 has_qps 0
	is "a lost $1: the word" "$(word words 0)" 2
}

many() {
	local i pid
	local -a pids=()
	xatomic mr set words 0 0
	for i in 1 2 1 2 1 2 1 2; do
		connect $i "10.77.$i.1" fadd --add 1 --count 200 --window 8 >/dev/null 2>>"$work/many" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "many at once: a client" "$(cat "$work/many")"
	done
	is "eight connections at once: the sum" "$(word words 0)" 1600
	for ((i = 0; i < 20; i++)); do
		connect 1 10.77.1.1 fadd --add 1 >/dev/null
	done
	is "twenty in a row: the sum" "$(word words 0)" 1620
	check "no queue pair is left" wait_for 10 has_qps 0
}

refusals() {
	refused_with "a port that nobody has" 'nobody listens on this port there \(reason 8\)$' \
		connect 1 10.77.1.1:18517 fadd --add 1
	refused_with "a region that is not offered" "no memory region 'other' is offered to this peer\$" \
		connect 1 10.77.1.1 fadd --mr other --add 1
	refused_with "a region that is offered to another" "no memory region 'second' is offered" \
		connect 1 10.77.1.1 fadd --mr second --add 1
	is "a region by its name" "$(connect 2 10.77.2.1 fadd --mr second --add 5)" 0
	is "no queue pair was made" "$(qp_count)" 0
	refused_with "a refused access" "IBV_WC_REM_ACCESS_ERR.* 'xatomic stat' at the responder counts the reason" \
		connect 1 10.77.1.1 fadd --rkey 1 --add 1
	at_least "the operator learns of it" "$(events refused)" 3
}

several_ports() {
	serve_stop
	serve_start --offer "$offer" --ports 18516,7000
	is "the first of two ports" "$(connect 1 10.77.1.1 fadd --offset 128 --add 1)" 0
	is "the second one" "$(connect 1 10.77.1.1:7000 fadd --offset 128 --add 1)" 1
	refused_with "a port beside them" 'nobody listens on this port there' connect 1 10.77.1.1:7001 fadd --add 1
	serve_stop
	serve_start
	refused_with "without an offer nobody gets anything" 'nothing is offered to this peer' \
		connect 1 10.77.1.1 fadd --add 1
	serve_stop
	serve_start --offer "$offer" --half-open 16 --qps-per-peer 8
}

# What the daemon is told by the kernel that it lives, and by its death that it does not.
privileges() {
	local status=/proc/$serve_pid/status
	is "all capabilities but one are gone" "$(sed -n 's/^CapPrm:\t*//p' $status)" 0000008000000000
	is "and cannot come back" "$(sed -n 's/^CapBnd:\t*//p' $status) $(sed -n 's/^NoNewPrivs:\t*//p' $status)" \
		"0000000000000000 1"
}

# ---- the daemon dies ----

long_request() {
	"$build/asan/xatomic-req" --netns "$prefix-node1" fadd --connect 10.77.1.1 --add 1 \
		--count 100000000 >/dev/null 2>"$work/long" &
	long_pid=$!
	wait_for 30 word_above 0 || bail "the long request: $(cat "$work/long")"
}

# A packet for QP 1 goes to the host's stack.
host_has_qp1() {
	timeout 1 "$build/xatomic-req" --netns "$prefix-node2" fadd --connect 10.77.2.1 --add 1
	[ "$(counter gsi)" -gt 0 ]
}

restart() {
	local before
	xatomic mr set words 0 0
	long_request
	serve_kill
	before=$(word words 0)
	check "the data path goes on without the daemon" wait_for 30 word_above $((before + 100))
	check "packets for QP 1 are the host's again" wait_for 60 host_has_qp1
	serve_start --offer "$offer" --half-open 16 --qps-per-peer 8
	before=$(word words 0)
	check "the data path goes on beside the new one" wait_for 30 word_above $((before + 100))
	is "the queue pair is still there" "$(qp_count)" 1
	kill -INT "$long_pid"
	wait "$long_pid"
	is "an interrupted command fails" $? 1
	check "and says what it has done" grep -qE \
		'interrupted after [0-9]+ of 100000000 operations; [01] more were under way' "$work/long"
	check "the new daemon ends the connection" wait_for 10 has_events disconnected 1
	check "and takes its queue pair down" wait_for 10 has_qps 0
}

stopped() {
	xatomic mr set words 0 0
	long_request
	serve_stop
	is "a daemon that is ended ends well" $? 0
	serve_start --offer "$offer" --half-open 16 --qps-per-peer 8
	kill -HUP "$serve_pid"
	wait "$serve_pid"
	is "also when its terminal has gone" $? 0
	check "its connections live on" wait_for 30 word_above $(($(word words 0) + 100))
	serve_start --offer "$offer" --half-open 16 --qps-per-peer 8
	kill -INT "$long_pid"
	wait "$long_pid"
	check "and can be ended by the next one" wait_for 10 has_qps 0
}

one_at_a_time() {
	refused_with "a second daemon is refused" "one 'xatomic serve' can run at a time" \
		xatomic serve --netns "$prefix-resp" --perftest-port 0
}

destroyed() {
	xatomic destroy
	wait "$serve_pid"
	is "a daemon whose instance is destroyed ends" $? 1
	is "and says why" "$(grep -c 'has been destroyed' "$work/serve-errors")" 1
}

# ---- a flood ----

# As setpriv wants them: ",+bpf,+net_admin,...".
unit_capabilities() {
	sed -n 's/^CapabilityBoundingSet=//p' scripts/systemd/xatomic-serve@.service.in | tr '[:upper:]' '[:lower:]' |
		sed 's/^cap_/,+/; s/ cap_/,+/g'
}

flood() {
	local mac before after
	serve_stop
	# The daemon as it is shipped, with no more than its unit lets it have.
	serve_program=(nsenter "--net=/run/netns/$prefix-resp" setpriv "--bounding-set=-all$(unit_capabilities)" "$build/xatomic")
	serve_start --offer 'words to 10.0.0.0/8' --half-open 16 --qps-per-peer 8 --sessions 4 --user nobody
	is "it runs as the user that it is told to be" "$(ps -o user= -p "$serve_pid")" nobody
	xatomic mr set words 0 0
	long_request
	mac=$(ip -n "$prefix-resp" -j link show dev node2 | jq -r '.[0].address')
	# Once all that it will ever allocate is there.
	nsenter --net="/run/netns/$prefix-node2" /usr/bin/python3 tests/netns/cm_flood.py eth0 "$mac" \
		10.77.2.1 10.99 2000
	before=$(sed -n 's/^VmRSS:[ \t]*\([0-9]*\).*/\1/p' "/proc/$serve_pid/status")
	nsenter --net="/run/netns/$prefix-node2" /usr/bin/python3 tests/netns/cm_flood.py eth0 "$mac" \
		10.77.2.1 10.99 40000
	silent_sessions
	after=$(sed -n 's/^VmRSS:[ \t]*\([0-9]*\).*/\1/p' "/proc/$serve_pid/status")
	at_least "a flood came in" $(($(counter gsi_agent) + $(counter gsi_full))) 20000
	at_least "wrong ICRCs get no further than the program" "$(counter icrc)" 1000
	at_least "a flood costs no memory to speak of" $((before + 512)) "$after"
	at_least "half-open connections have their limit" $((16 + 1)) "$(qp_count)"
	check "the established queue pair has gone on" wait_for 30 word_above $(($(word words 0) + 100))
	check "a new connection gets through" wait_for 60 connect 1 10.77.1.1 fadd --add 0
	kill -INT "$long_pid"
	wait "$long_pid"
	is "the established queue pair has lost nothing" "$(grep -v 'interrupted after' "$work/long")" ""
}

# TCP connections of which nothing comes: more than there may be at once.
silent_sessions() {
	nsenter --net="/run/netns/$prefix-node2" /usr/bin/python3 -c '
import socket
all = [socket.create_connection(("10.77.2.1", 18515)) for _ in range(20)]
for one in all:
    one.settimeout(10)
refused = sum(one.recv(1) == b"" for one in all[4:])
assert refused == 16, refused
'
	is "silent clients of perftest have their limit" $? 0
}

# ---- limits ----

per_peer() {
	local i
	local -a pids=()
	for ((i = 0; i < 8; i++)); do
		"$build/asan/xatomic-req" --netns "$prefix-node2" fadd --connect 10.77.2.1 --add 1 \
			--count 100000000 >/dev/null 2>&1 &
		pids+=($!)
	done
	check "a peer gets as many queue pairs as it may" wait_for 30 has_qps 8
	refused_with "and not one more" 'no resources left for this peer' connect 2 10.77.2.1 fadd --add 1
	is "another peer gets its own" "$(connect 1 10.77.1.1 fadd --offset 64 --add 1)" 0
	kill -INT "${pids[@]}"
	wait "${pids[@]}"
	check "all are gone again" wait_for 30 has_qps 0
}

serve_program=(nsenter "--net=/run/netns/$prefix-resp" "$build/asan/xatomic")
require_root
lab_up --nodes 2
own_bpffs
attach 1 2 --max-qps 64 --max-mrs 8
xatomic mr add words --words 512 --iova 0x1000 >/dev/null
xatomic mr add second --words 8 --pd 2 >/dev/null
cat >"$work/conf" <<CONF
# who may have what
offer = $offer
offer = second to 10.77.2.2
qps-per-peer 8
CONF
serve_start --config "$work/conf"
both_families
lost REQ 0x10
lost REP 0x13
lost RTU 0x14
lost DREQ 0x15
lost DREP 0x16
many
refusals
privileges
one_at_a_time
restart
stopped
several_ports
per_peer
flood
destroyed
finish
