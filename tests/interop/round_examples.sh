#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Every example that needs an RDMA device, with soft-RoCE in the guest, against `xatomic serve` and a responder on the
# host's tap: first, sequencer, lease, meter, exchange.c and exchange.py.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

examples=$build/examples
numbers=500 # of each client of the sequencer
lease_ms=8000

# The file is the one of the guide.
serve_start() {
	sed -n '/^offer = /p' docs/clients.md >"$work/conf"
	nsenter --net="/run/netns/$host_ns" "$build/asan/xatomic" --json serve --config "$work/conf" \
		>"$work/serve" 2>"$work/serve-errors" &
	wait_for 30 grep -q '"event":"serving"' "$work/serve" || bail "xatomic serve: $(cat "$work/serve-errors")"
}

no_qps() { [ "$(xatomic --json qp show | jq length)" -eq 0 ]; }

# Whatever a program did and however it ended, its queue pair at the responder goes.
qps_go() { check "$1: no queue pair is left" wait_for 60 no_qps; }

clear_words() {
	xatomic mr set words 0 0
	xatomic mr set words 8 0
}

# ---- first ----

first() {
	clear_words
	is "first: IPv4" "$(in_guest "$examples/first" $host_ip4)" 0
	is "first: IPv6" "$(in_guest "$examples/first" $host_ip6)" 1
	is "first: the word" "$(word words 0)" 2
	in_guest "$examples/first" $host_ip4 18517 >"$work/out" 2>"$work/err"
	is "first: a port that nobody serves" "$? $(cat "$work/out" "$work/err")" \
		"1 first: no connection: Connection refused"
	qps_go first
}

# ---- sequencer ----

# Four clients at once, each with another block.
sequencers() { # NAME
	local block handle
	local -a handles=()
	clear_words
	for block in 1 7 16 100; do
		handles+=("$(guest_start "$examples/sequencer" $host_ip4 words $numbers $block)")
	done
	for handle in "${handles[@]}"; do
		guest_wait "$handle"
		is "$1: a client got what it wanted" "$? $(wc -l <"$handle.out") $(cat "$handle.err")" "0 $numbers "
	done
	is "$1: all numbers are distinct, and none is missing" \
		"$(sort -n "${handles[@]/%/.out}" | cmp - <(seq 0 $((4 * numbers - 1))) 2>&1)" ""
	is "$1: the next one" "$(word words 0)" $((4 * numbers))
	qps_go "$1"
}

refused() {
	in_guest "$examples/sequencer" $host_ip4 nosuch 1 >"$work/out" 2>"$work/err"
	is "sequencer: a region that is not offered" "$? $(cat "$work/out" "$work/err")" \
		"1 sequencer: $host_ip4 refuses: no memory region 'nosuch' is offered to this peer"
}

# ---- lease ----

# Starts a holder whose pid is in $share/lease.ID.
lease_start() { # ID STEPS [OPTIONS]
	local id=$1 steps=$2
	shift 2
	# shellcheck disable=SC2016 # expands in the guest
	guest_start bash -c 'echo $$ >"/share/lease.$1"; exec "${@:2}"' lease "$id" "$examples/lease" -t $lease_ms "$@" \
		$host_ip4 words "$id" "$steps"
}

signal() { # SIGNAL ID
	in_guest kill "-$1" "$(cat "$share/lease.$2")"
}

says() { wait_for 60 grep -q "$2" "$1.out"; } # HANDLE PATTERN

# What all holders have counted so far, by what they say.
counted() { cat "$share"/.guest/*.out | grep -c ' counts '; }

killed_holder() {
	local holder id status handle
	local -a handles=()
	holder=$(lease_start 1 1000000)
	check "lease: the first one has it" says "$holder" '^1 has the lease, token 1$'
	for id in 2 3 4; do
		handles+=("$(lease_start $id 5)")
	done
	check "lease: it works" says "$holder" '^1 counts 3$'
	signal KILL 1
	guest_wait "$holder"
	is "lease: the holder was killed" $? $((128 + 9))
	for handle in "${handles[@]}"; do
		guest_wait "$handle"
		status=$?
		is "lease: a waiting one got it, worked and gave it back" "$status $(grep -c counts "$handle.out")" "0 5"
	done
	cat "${handles[@]/%/.out}" >"$work/holders"
	is "lease: one of them recovered it from the dead holder" "$(grep -c ', recovered from 1$' "$work/holders")" 1
	is "lease: the others got it from that one" "$(grep -c 'recovered' "$work/holders")" 1
	is "lease: each has a token of its own" \
		"$(sed -n 's/.* token \([0-9]*\).*/\1/p' "$work/holders" | sort -n | xargs)" "2 3 4"
	is "lease: no two counted the same" \
		"$(cat "$holder.out" "$work/holders" | sed -n 's/.* counts //p' | sort | uniq -d | wc -l)" 0
	# The killed one may have counted once more than it could say.
	at_least "lease: nothing that was counted is lost" $(($(word words 8) & 0xffffffff)) "$(counted)"
}

# A holder that sleeps through its time: another one takes over, and it does no harm when it wakes up.
stopped_holder() {
	local holder heir first
	holder=$(lease_start 5 1000000)
	check "lease: another holder works" says "$holder" '^5 counts'
	signal STOP 5
	heir=$(lease_start 6 3)
	guest_wait "$heir"
	is "lease: recovered from a holder that is stopped" "$? $(grep -c 'recovered from 5$' "$heir.out")" "0 1"
	first=$(sed -n 's/^6 counts //p' "$heir.out" | head -1)
	is "lease: who recovered it counts, and nobody else" "$(sed -n 's/^6 counts //p' "$heir.out" | xargs)" \
		"$first $((first + 1)) $((first + 2))"
	signal CONT 5
	guest_wait "$holder"
	is "lease: the one that was stopped has lost it" "$? $(grep -c '5 has lost the lease' "$holder.err")" "3 1"
	is "lease: and has done nothing more" $(($(word words 8) & 0xffffffff)) $((first + 2))
}

# The token of a later holder is at the resource, though the lease itself looks all right.
fenced_holder() {
	local holder
	holder=$(lease_start 7 1000000 -p 500)
	check "lease: a third holder works" says "$holder" '^7 counts'
	xatomic mr set words 8 $((1000 << 32))
	guest_wait "$holder"
	is "lease: a lower token is refused" "$? $(grep -c 'fenced: token 1000 has been here' "$holder.err")" "3 1"
	is "lease: and has changed nothing" "$(word words 8)" $((1000 << 32))
}

leases() {
	clear_words
	killed_holder
	stopped_holder
	fenced_holder
	qps_go lease
}

# ---- meter ----

# A program of the host takes out what the guest adds.
meter() {
	local pid i handle
	local -a handles=()
	clear_words
	"$examples/meter" words 5 >"$work/meter" 2>&1 &
	pid=$!
	wait_for 30 grep -q '^metering' "$work/meter" || bail "meter: $(cat "$work/meter")"
	for i in 1 2; do
		# shellcheck disable=SC2016 # expands in the guest
		handles+=("$(guest_start bash -c 'for i in {1..10}; do "$1" "$2" || exit; done' meter "$examples/first" $host_ip4)")
	done
	for handle in "${handles[@]}"; do
		guest_wait "$handle" || fail "meter: a client" "$(cat "$handle.err")"
	done
	kill -TERM $pid
	wait $pid
	is "meter: the total is what the guest has added" "$(sed -n 's/^total //p' "$work/meter")" 20
	is "meter: nothing is left" "$(word words 0)" 0
}

# ---- exchange ----

# GID of the guest's device for an address, 4: IPv4.
gid_index() { # FAMILY
	local pattern=0000:0000:0000:0000:0000:ffff
	[ "$1" = 4 ] || pattern=fd00:0077
	# shellcheck disable=SC2016 # expands in the guest
	in_guest bash -c 'cd /sys/class/infiniband/rxe0/ports/1/gids && grep -ls "^$1" {0..15} | head -1' gid "$pattern"
}

# `ssh HOST xatomic` in the guest runs xatomic on the host.
own_ssh() {
	local port=7022
	nsenter --net="/run/netns/$host_ns" /usr/bin/python3 tests/interop/at_host.py serve $host_ip4 $port \
		env "XATOMIC_BPFFS=$XATOMIC_BPFFS" "$build/asan/xatomic" >"$work/at_host" 2>&1 &
	wait_for 30 grep -q serving "$work/at_host" || bail "at_host.py: $(cat "$work/at_host")"
	cat >"$share/ssh" <<-SSH
		#!/bin/bash
		exec python3 $here/tests/interop/at_host.py ask $host_ip4 $port "\${@:3}"
	SSH
	chmod +x "$share/ssh"
}

exchange() { # NAME COMMAND...
	local name=$1 family
	shift
	for family in 4 6; do
		clear_words
		is "$name, IPv$family" "$(in_guest "$1" rxe0 "$(gid_index $family)" "${@:2}" 2>&1 | xargs)" "counter 0 lock 0"
		is "$name, IPv$family, again" "$(in_guest "$1" rxe0 "$(gid_index $family)" "${@:2}" 2>&1 | xargs)" \
			"counter 1 lock 1"
	done
	qps_go "$name"
}

exchanges() {
	own_ssh
	exchange exchange.c "$examples/exchange" words "/share/ssh root@$host_ip4 xatomic"
	exchange exchange.py examples/exchange.py words /share/ssh root@$host_ip4 xatomic
	in_guest "$examples/exchange" rxe0 "$(gid_index 4)" nosuch "/share/ssh root@$host_ip4 xatomic" >"$work/out" 2>"$work/err"
	is "exchange.c: a region that is not there" "$? $(tail -1 "$work/err")" \
		"1 exchange: the other side has no queue pair for us"
	in_guest "$examples/exchange" nodev 0 words true 2>"$work/err"
	is "exchange.c: a device that is not there" "$? $(cut -d: -f1-2 "$work/err")" "1 exchange: nodev with GID 0 is of no use"
}

# ---- docs/clients.md ----

guide_command() { # COMMAND WANTED
	local got='' wanted=$2 tries=0
	[ -n "$1" ] || return
	# perftest now and then finds no measure for the emulator's clock: it says so, and has to be run again.
	while [ $((tries++)) -lt 5 ] && { [ $tries -eq 1 ] || [[ $got == *'Correlation coefficient'* ]]; }; do
		got=$(in_guest env "PATH=$examples:$here/examples:/share:$PATH" bash -c "$1" 2>&1)
	done
	wanted=${wanted//[/\\[}
	# shellcheck disable=SC2053 # a pattern
	if [[ $got == ${wanted//.../*} ]]; then
		pass "guide: $1"
	else
		fail "guide: $1" "got:" "$got" "wanted:" "$2"
	fi
}

# The commands of the guide at the prompt "client$" print what it says; "..." stands for anything.
guide() {
	local line command='' wanted=''
	clear_words
	while IFS= read -r line; do
		case $line in
		'client$ '*)
			guide_command "$command" "$wanted"
			command=${line#'client$ '} wanted=
			;;
		'```')
			guide_command "$command" "$wanted"
			command=
			;;
		*) wanted+=${wanted:+$'\n'}$line ;;
		esac
	done <docs/clients.md
}

# ---- a wire that loses ----

lossy() {
	in_guest tc qdisc add dev eth0 root netem loss 5% || bail "no netem in the guest"
	sequencers "sequencer, 5 % lost"
	at_least "packets were lost" "$(in_guest tc -s -j qdisc show dev eth0 | jq '.[0].drops')" 10
	in_guest tc qdisc del dev eth0 root
}

# shellcheck disable=SC2119 # as it is
guest_up
own_bpffs
xatomic attach $host_dev --netns "$host_ns" --max-qps 64 --max-mrs 8 >"$work/attach" 2>&1 ||
	bail "xatomic attach: $(cat "$work/attach")"
mr_add words --words 512 --iova 0x1000 >/dev/null
mr_add numbers --words 1 >/dev/null
mr_add locks --words 2 >/dev/null
serve_start
first
sequencers sequencer
refused
leases
meter
exchanges
guide
lossy
guest_down
finish
