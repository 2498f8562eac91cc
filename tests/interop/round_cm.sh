#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of librdmacm and plain verbs on soft-RoCE in a guest against xatomic serve on the host's tap: connections one
# by one, at once and in a row, refusals, bad requests and how they complete, a daemon that dies under traffic, a guest
# that dies, losses; and xatomic-req --connect against a server of librdmacm in the guest.
#
# Usage: round_cm.sh [PART...]   (default: all)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../netns/serve.sh
. "$(dirname "$0")/../netns/serve.sh"

# Numbers and names of enum ibv_wc_status; of enum ibv_qp_state.
flushed='5 Work Request Flushed Error'
invalid='9 remote invalid request error'
denied='10 remote access error'
qp_error=6

fails_with() { # NAME PATTERN COMMAND...: one line on stderr, that matches
	local name=$1 pattern=$2
	shift 2
	if "$@" >"$work/out" 2>"$work/err"; then
		fail "$name" "it succeeded"
	elif grep -qE -- "$pattern" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]; then
		pass "$name"
	else
		fail "$name" "it said: $(cat "$work/err")"
	fi
}

# ---- xatomic-req --connect and a server of librdmacm ----

server=

server_start() { # WAY...: cm_server, see there
	server=$(guest_start "$build/interop/cm_server" 7000 "$@")
	wait_for "$guest_limit" grep -q '^listening$' "$server.out" ||
		bail "cm_server: $(cat "$server.out" "$server.err")"
}

server_said() { # LINE TIMES: so often, or more
	[ "$(grep -c "^$1" "$server.out")" -ge "$2" ]
}

dial() { # COMMAND HOST ARGUMENTS...
	nsenter --net="/run/netns/$host_ns" "$build/asan/xatomic-req" "$1" --connect "$2" "${@:3}"
}

# In the order of the server's ways.
part_dial() {
	local rkey iova
	server_start offer offer offer plain plain refuse reject leave die
	is "librdmacm server: FETCH_ADD" "$(dial fadd "$guest_ip4:7000" --add 1 --count 3 | xargs)" "0 1 2"
	check "librdmacm server: it sees the end" wait_for 60 server_said words 1
	is "librdmacm server: its words" "$(grep '^words' "$server.out")" "words 3 0"
	is "librdmacm server: many in flight" \
		"$(dial fadd "$guest_ip4:7000" --offset 8 --add 5 --count 200 --window 16 | tail -1)" 995
	is "librdmacm server: IPv6, CMP_SWAP" "$(dial cswap "[$guest_ip6]:7000" --compare 0 --swap 100)" 0
	is "librdmacm server: it is told the depth" "$(grep '^request' "$server.out" | xargs)" \
		"request depth 1 request depth 16 request depth 1"
	fails_with "librdmacm server without an offer" 'tells of no memory region.*--rkey' \
		dial fadd "$guest_ip4:7000" --add 1
	check "librdmacm server without an offer: connection ended" wait_for 60 server_said words 4
	read -r rkey iova < <(sed -n 's/^accepted //p' "$server.out" | tail -1)
	is "librdmacm server without an offer: rkey and address by hand" \
		"$(dial fadd "$guest_ip4:7000" --rkey "$rkey" --offset "$iova" --add 1)" 0
	fails_with "librdmacm server refuses, with words" "refuses the connection: the shop is closed\$" \
		dial fadd "$guest_ip4:7000" --add 1
	fails_with "librdmacm server rejects" 'the program there has refused \(reason 28\)$' dial fadd "$guest_ip4:7000" --add 1
	fails_with "librdmacm server leaves in between" 'retry|answer' dial fadd "$guest_ip4:7000" --add 1 --count 1000000
	check "librdmacm server: it has left" wait_for 60 server_said words 6
	fails_with "librdmacm server dies in between" 'retry|answer' dial fadd "$guest_ip4:7000" --add 1 --count 1000000
	guest_wait "$server"
	is "librdmacm server: what it saw" \
		"$? $(grep -c RDMA_CM_EVENT_DISCONNECTED "$server.out") $(grep -c '^rejected' "$server.out")" "0 5 2"
	fails_with "no server any more" 'nobody listens on this port there \(reason 8\)$' dial fadd "$guest_ip4:7000" --add 1
}

# ---- connections ----

client() { # cm_client's options and host
	in_guest "$build/interop/cm_client" "$@" 18516
}

set_words() {
	local i
	for ((i = 0; i < ${1:-3}; i++)); do
		xatomic mr set words $((8 * i)) 0
	done
}

words() { # FIRST COUNT
	xatomic --json mr dump words --offset $((8 * $1)) --count "$2" | sed -n 's/.*"words":\[\([0-9,]*\)\].*/\1/p'
}

# The same number so often, with commas.
repeated() { # NUMBER TIMES
	local i list=$1
	for ((i = 1; i < $2; i++)); do
		list+=,$1
	done
	echo "$list"
}

gone() { # NAME
	check "$1: every queue pair is gone" wait_for 60 has_qps 0
	is "$1: as many ends as beginnings" "$(events disconnected)" "$(events connected)"
}

part_connect() {
	local host n
	for host in "$host_ip4" "$host_ip6"; do
		n=100
		[ "$host" = "$host_ip4" ] || n=20
		serve_restart
		set_words 34
		is "$host: one connection" "$(client -n 20 "$host")" "connected 1 added 20 swapped 20"
		is "$host: its words" "$(words 0 3)" "20,20,20"
		gone "$host: one connection"
		set_words 34
		is "$host: 32 at once" "$(client -c 32 -n 50 "$host")" "connected 32 added 1600 swapped 1600"
		is "$host: 32 at once: the common words" "$(words 0 2)" "1600,1600"
		is "$host: 32 at once: their own words" "$(words 2 32)" "$(repeated 50 32)"
		gone "$host: 32 at once"
		set_words 34
		is "$host: $n in a row" "$(client -r "$n" -n 2 "$host")" "connected $n added $((2 * n)) swapped $((2 * n))"
		is "$host: $n in a row: the words" "$(words 0 3)" "$(repeated $((2 * n)) 3)"
		gone "$host: $n in a row"
		is "$host: xatomic-req in the guest" \
			"$(in_guest "$build/asan/xatomic-req" fadd --connect "$host" --add 1 --count 2 | xargs)" \
			"$((2 * n)) $((2 * n + 1))"
		gone "$host: xatomic-req in the guest"
		is "$host: each was connected" "$(events connected)" $((34 + n))
		is "$host: nobody was refused" "$(events refused)" 0
	done
}

# ---- refusals ----

part_refuse() {
	local rejected='connection 0: RDMA_CM_EVENT_REJECTED'
	serve_restart
	fails_with "a region that is not there" "^$rejected 28 no memory region 'nosuch' is offered to this peer\$" \
		client -m nosuch "$host_ip4"
	fails_with "a region that is offered to others" "^$rejected 28 no memory region 'secret' is offered to this peer\$" \
		client -m secret "$host_ip4"
	is "a region by its name" "$(client -m second -n 3 "$host_ip4")" "connected 1 added 3 swapped 3"
	fails_with "a port that nobody has" "^$rejected 8 \$" \
		in_guest "$build/interop/cm_client" "$host_ip4" 18517
	set_words
	client -c 70 -n 5 "$host_ip4" >"$work/out" 2>"$work/err"
	is "more than a peer may have: the others" "$(cat "$work/out")" "connected 64 added 320 swapped 320"
	is "more than a peer may have: refused" "$(sort "$work/err" | sed 's/^connection [0-9]*: //' | uniq -c | xargs)" \
		"6 RDMA_CM_EVENT_REJECTED 3"
	is "more than a peer may have: the words" "$(words 0 2)" "320,320"
	gone "refusals"
	serve_stop
	serve_start --offer 'words to 10.99.0.0/16'
	fails_with "a peer that is offered nothing" "^$rejected 28 nothing is offered to this peer\$" client "$host_ip4"
	is "no queue pair for it" "$(qp_count)" 0
}

# ---- the daemon dies under traffic ----

held() { # FILE ARGUMENTS...: a client in the background, with its pid in FILE; prints its handle
	# shellcheck disable=SC2016 # the guest's
	guest_start bash -c 'echo $$ >"/share/$0" && exec "$@"' "$1" "$build/interop/cm_client" "${@:2}" "$host_ip4" 18516
}

said_reason() { grep -q "\"reason\":\"$1" "$work/serve"; }

part_restart() {
	local busy idle killed before added
	serve_restart
	set_words
	busy=$(held busy -n 7 -b /share/stop-busy)
	idle=$(held idle -n 5 -i /share/stop-idle)
	killed=$(held killed -i /share/never)
	check "three clients are connected" wait_for "$guest_limit" has_events connected 3
	check "one of them is at work" wait_for "$guest_limit" word_above 100
	serve_kill
	before=$(word words 0)
	check "no daemon: the work goes on" wait_for "$guest_limit" word_above $((before + 500))
	# shellcheck disable=SC2016 # the guest's
	in_guest bash -c 'kill -9 "$(cat /share/killed)"'
	guest_wait "$killed"
	is "no daemon: a client is killed" "$?" 137
	is "no daemon: its queue pair stays" "$(qp_count)" 3
	serve_start --config "$work/conf"
	before=$(word words 0)
	check "the next daemon: the work goes on" wait_for "$guest_limit" word_above $((before + 500))
	check "the next daemon finds out who has gone" wait_for "$guest_limit" said_reason 'the peer has forgotten it'
	is "the next daemon keeps those who are there" "$(qp_count)" 2
	touch "$share/stop-idle"
	guest_wait "$idle"
	is "the next daemon: the one that did nothing works" "$? $(cat "$idle.out" "$idle.err")" \
		"0 connected 1 added 5 swapped 5"
	touch "$share/stop-busy"
	guest_wait "$busy"
	is "the next daemon: the one at work ends well" "$? $(cat "$busy.err")" "0 "
	added=$(sed -n 's/.*added \([0-9]*\) .*/\1/p' "$busy.out")
	is "the sum is that of both" "$(words 0 2)" "$((added + 5)),12"
	check "the next daemon: every queue pair is gone" wait_for 60 has_qps 0
}

# ---- plain verbs ----

verbs=() # handles, by family

# Its commands come by a pipe that stays open.
verbs_start() { # FAMILY
	local host=host_ip$1 guest=guest_ip$1
	in_guest mkfifo "/tmp/verbs$1"
	# shellcheck disable=SC2016 # the guest's
	verbs[$1]=$(guest_start bash -c 'exec "$@" <>"$0"' "/tmp/verbs$1" \
		"$build/interop/verbs_client" "${!guest}" "${!host}")
	wait_for "$guest_limit" test -e "${verbs[$1]}.out"
}

answers() { wc -l <"${verbs[family]}.out"; }
has_answers() { [ "$(answers)" -ge "$1" ]; }

ask() { # COMMAND [NUMBER...]; prints the answer
	local n
	n=$(($(answers) + 1))
	# shellcheck disable=SC2016 # the guest's
	in_guest bash -c 'echo "$1" >"/tmp/verbs$0"' "$family" "$*"
	wait_for "$guest_limit" has_answers "$n" || echo "no answer: $(cat "${verbs[family]}.err")"
	sed -n "${n}p" "${verbs[family]}.out"
}

# A queue pair on both sides: sets qpn, psn, lqpn.
verbs_connect() { # TIMEOUT [options of qp add]
	local host=host_ip$family guest=guest_ip$family timeout=$1
	shift
	read -r qpn psn < <(ask open "$timeout")
	lqpn=$(xatomic --json qp add --peer "${!guest}" --local "${!host}" --rqpn "$qpn" --rq-psn "$psn" "$@" | jq .lqpn)
	[ "$(ask connect "$lqpn")" = ok ]
}

last_nak() { xatomic --json qp show "$lqpn" | jq -r '[.state, .fatal_naks, .last_nak.reason, .last_nak.psn] | map(tostring) | join(" ")'; }

# The request and a good one behind it: the first completes with a status, the second is flushed, both queue pairs are
# in error, and the words and counters are as they should be.
bad_request() { # NAME STATUS REASON PSN REQUEST...
	local name=$1 status=$2 reason=$3 at=$4 before counted
	shift 4
	before=$(words 0 8)
	counted=$(counter "$reason")
	is "$name: posted" "$(ask "$@") $(ask fetch_add "${good[@]}" 1)" "ok ok"
	is "$name: its completion" "$(ask wait)" "$status 0"
	is "$name: that of the next" "$(ask wait)" "$flushed 0"
	is "$name: the client's queue pair" "$(ask state)" "$qp_error"
	is "$name: ours" "$(last_nak)" "ERR 1 $reason $at"
	is "$name: counted" "$(($(counter "$reason") - counted))" 1
	is "$name: no word has changed" "$(words 0 8)" "$before"
	xatomic qp del "$lqpn"
}

# After a good request, so that it is not the queue pair that does not work.
bad() { # NAME STATUS REASON REQUEST...
	local first
	first=$(word words 0)
	verbs_connect 14 || fail "$1: connected"
	is "$1: a good one before" "$(ask fetch_add "${good[@]}" 1) $(ask wait)" "ok 0 success $first"
	bad_request "$1" "$2" "$3" $(((psn + 1) & 0xffffff)) "${@:4}"
}

# librdmacm's provider for rxe refuses it itself, so the request is made by hand: that of the queue pair gets lost, as
# its frame goes to a MAC address that nobody has, and xatomic-req in the guest sends another one under its name.
misaligned() {
	local sent
	verbs_connect 0 || fail "no multiple of 8: connected"
	is "no multiple of 8: the provider refuses it" "$(ask fetch_add $((iova + 1)) "$rkey" 1)" \
		"error: post: Invalid argument"
	in_guest ip neighbour replace "$host_ip4" lladdr 03:00:00:00:00:01 dev eth0 nud permanent
	sent=$(packets_sent)
	is "no multiple of 8: a good one, which gets lost" "$(ask fetch_add "${good[@]}" 1)" ok
	check "no multiple of 8: it is sent" wait_for 60 packets_sent_above "$sent"
	in_guest ip neighbour replace "$host_ip4" lladdr "$host_mac" dev eth0 nud permanent
	fails_with "no multiple of 8: xatomic-req is told as well" 'no multiple of 8' \
		in_guest "$build/asan/xatomic-req" --dev eth0 --retry 0 --timeout 10000000 fadd --peer "$host_ip4" --lqpn "$qpn" \
		--rqpn "$lqpn" --sq-psn "$psn" --rkey "$rkey" --addr $((iova + 1)) --add 1
	is "no multiple of 8: completion" "$(ask wait)" "$invalid 0"
	is "no multiple of 8: the client's queue pair" "$(ask state)" "$qp_error"
	is "no multiple of 8: ours" "$(last_nak)" "ERR 1 alignment $psn"
	is "no multiple of 8: no word has changed" "$(word words 0)" "$before"
	xatomic qp del "$lqpn"
}

packets_sent() { in_guest cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }
packets_sent_above() { [ "$(packets_sent)" -gt "$1" ]; }

part_verbs() {
	local family rkey iova qpn psn lqpn before
	local -a good
	serve_restart
	set_words
	read -r rkey iova < <(xatomic --json mr show words | jq -r '"\(.rkey) \(.iova)"')
	good=("$iova" "$rkey")
	for family in 6 4; do
		verbs_start "$family"
		bad "IPv$family: wrong rkey" "$denied" rkey fetch_add "$iova" $((rkey + 1)) 1
	done
	bad "rkey of nobody" "$denied" rkey cmp_swap "$iova" 0 0 1
	bad "region of another protection domain" "$denied" pd fetch_add 0 "$(rkey_of second)" 1
	bad "region without atomic access" "$denied" mr_access cmp_swap 0 "$(rkey_of readonly)" 0 1
	bad "behind the end" "$denied" bounds fetch_add $((iova + 4096)) "$rkey" 1
	bad "before the beginning" "$denied" bounds fetch_add $((iova - 8)) "$rkey" 1
	bad "READ" "$invalid" opcode read "${good[@]}"
	bad "WRITE" "$invalid" opcode write "${good[@]}"
	verbs_connect 14 --access read,write || fail "queue pair without atomic access: connected"
	bad_request "queue pair without atomic access" "$invalid" qp_access "$psn" fetch_add "${good[@]}" 1
	before=$(word words 0)
	misaligned
	verbs_connect 14 || fail "a good one at last: connected"
	is "a good one at last" "$(ask fetch_add "${good[@]}" 1) $(ask wait)" "ok 0 success $before"
	xatomic qp del "$lqpn"
	is "no queue pair is left" "$(qp_count)" 0
}

rkey_of() { xatomic --json mr show "$1" | jq .rkey; }

# ---- perftest with -b ----

# perftest looks for one by itself for ever.
gid_index() { # of $guest_ip4
	in_guest bash -c 'cd /sys/class/infiniband/rxe0/ports/1/gids && grep -ls "^0000:0000:0000:0000:0000:ffff" {0..15}' | head -1
}

part_bidirectional() {
	local options gid
	gid=$(gid_index)
	serve_restart
	set_words
	for options in '-n 1000' '-D 60' '-n 1000 -q 2'; do
		# shellcheck disable=SC2086 # several words
		in_guest ib_atomic_bw -d rxe0 -x "$gid" -b $options "$host_ip4" >"$work/out" 2>&1
		is "ib_atomic_bw -b $options fails" "$(($? != 0))" 1
		comment <"$work/out"
		is "ib_atomic_bw -b $options: no atomic was executed" "$(words 0 3)" "0,0,0"
		check "ib_atomic_bw -b $options: no queue pair is left" wait_for 60 has_qps 0
	done
	is "each time the operator is told why" "$(grep -c "\"refused\".*the client's -b" "$work/serve")" 3
	check "a bandwidth test with one queue pair" in_guest ib_atomic_bw -d rxe0 -x "$gid" -n 1000 "$host_ip4"
	check "a latency test" in_guest ib_atomic_lat -d rxe0 -x "$gid" -n 100 "$host_ip4"
	check "no queue pair is left" wait_for 60 has_qps 0
	is "nobody else was refused" "$(events refused)" 3
}

# ---- losses ----

# A fifth of all messages gets lost, both ways, while connections begin and end. Not while there are atomics, as rxe's
# requester does not always come to terms with losses.
part_loss() {
	local handle
	serve_restart
	set_words 10
	in_guest tests/interop/jobs/netem.sh on loss 20% || bail "no netem in the guest"
	handle=$(guest_start "$build/interop/cm_client" -c 8 -n 50 -i /share/go -e /share/end "$host_ip4" 18516)
	check "losses: eight are connected all the same" wait_for "$guest_limit" has_events connected 8
	in_guest tests/interop/jobs/netem.sh off
	touch "$share/go"
	check "losses: they work" wait_for "$guest_limit" words_are "400,400,$(repeated 50 8)"
	in_guest tests/interop/jobs/netem.sh on loss 20%
	touch "$share/end"
	guest_wait "$handle"
	is "losses: they end well" "$? $(cat "$handle.out" "$handle.err")" "0 connected 8 added 400 swapped 400"
	check "losses: every queue pair is gone" wait_for "$guest_limit" has_qps 0
	is "losses: each was connected once" "$(events connected) $(events disconnected)" "8 8"
	in_guest tests/interop/jobs/netem.sh off
}

words_are() { [ "$(words 0 10)" = "$1" ]; }

# ---- a guest dies ----

# As a machine without power. Another one has its address afterwards.
guest_crash() {
	kill -9 "$guest_pid"
	wait "$guest_pid" 2>/dev/null
	rm -rf "$share/.guest"
	write_config yes
	boot 1024
	guest_reaches ready || bail "the guest does not come up again" "$(guest_last_words)"
}

gets_through() { [ "$(client -n 3 "$host_ip4")" = "connected 1 added 3 swapped 3" ]; }

part_crash() {
	serve_stop
	serve_start --config "$work/conf" --qps-per-peer 1
	held dead -i /share/never >/dev/null
	check "a client is connected" wait_for "$guest_limit" has_events connected 1
	guest_crash
	set_words
	fails_with "its host comes again: the old queue pair is in the way" 'REJECTED (3|10)' client "$host_ip4"
	check "but not for ever" wait_for "$guest_limit" gets_through
	is "as its peer does not know it any more" "$(grep -c 'the peer has forgotten it' "$work/serve")" 1
	check "no queue pair is left" wait_for 60 has_qps 0
}

# ---- all of it ----

cat >"$work/conf" <<CONF
offer = words to 10.77.0.0/24,fd00:77::/64
offer = second to 10.77.0.2
offer = secret to 10.99.0.0/16
CONF

# Each part has a daemon of its own, with its own events.
serve_restart() {
	[ -z "$serve_pid" ] || serve_stop
	serve_start --config "$work/conf"
}

# shellcheck disable=SC2034 # of serve.sh
serve_program=(nsenter "--net=/run/netns/$host_ns" "$build/asan/xatomic")
[ $# -gt 0 ] || set -- dial connect refuse restart verbs bidirectional loss crash
# shellcheck disable=SC2119
guest_up
own_bpffs
if [ "$1" = dial ]; then
	part_dial
	shift
fi
xatomic attach "$host_dev" --netns "$host_ns" --mode native --max-qps 256 --max-mrs 16 >"$work/attach" 2>&1 ||
	bail "xatomic attach: $(cat "$work/attach")"
mr_add words --words 512 --iova 0x10000 >/dev/null
mr_add second --words 64 --pd 2 >/dev/null
mr_add readonly --words 64 --access read,write >/dev/null
mr_add secret --words 64 --pd 3 >/dev/null
for part; do
	"part_$part"
done
[ -z "$serve_pid" ] || serve_stop
guest_down
finish
