# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the tests in this directory share: TAP, probes, a lab and a bpffs of the test's own, which go when
# the test ends, however it ends. Nothing here waits for a time, only for conditions.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$here" || exit 1
build=$(realpath "${BUILD:-build}")
PATH=$PATH:/usr/sbin:/sbin
prefix=xa$$
work=$(mktemp -d)
tests=0 failures=0
wiretap_pid=

# The tests run the programs built with ASan and UBSan unless they say otherwise.
xatomic() { "$build/asan/xatomic" "$@"; }
xatomic_req() { "$build/asan/xatomic-req" "$@"; }

cleanup() {
	local status=$? ns
	trap - EXIT
	jobs -p | xargs -r kill -9 2>/dev/null
	# Namespaces of this name are this test's alone, and so is what runs in them.
	for ns in $(ip netns list 2>/dev/null | awk '{ print $1 }' | grep "^$prefix-"); do
		ip netns pids "$ns" | xargs -r kill -9 2>/dev/null
	done
	wait
	[ ! -e "$work/bpf" ] || umount -l "$work/bpf" 2>/dev/null
	BUILD=$build scripts/lab.sh --prefix "$prefix" down 2>/dev/null
	for ns in $(ip netns list 2>/dev/null | awk '{ print $1 }' | grep "^$prefix-"); do
		ip netns del "$ns"
	done
	rm -rf "$work"
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

comment() { sed 's/^/# /'; }

pass() {
	tests=$((tests + 1))
	echo "ok $tests - $1"
}

fail() { # NAME [WHY...]
	tests=$((tests + 1)) failures=$((failures + 1))
	local name=$1
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | comment
	echo "not ok $tests - $name"
}

skip() { # NAME WHY
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# The command succeeds. Its output is shown when it does not.
check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$work/check" 2>&1; then
		pass "$name"
	else
		fail "$name" "command: $*" "$(cat "$work/check")"
	fi
}

is() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:    $2" "wanted: $3"
	fi
}

at_least() { # NAME GOT WANTED
	if [ "$2" -ge "$3" ] 2>/dev/null; then
		pass "$1"
	else
		fail "$1" "got:    $2" "wanted: $3 or more"
	fi
}

# Results that another program printed, numbered on as ours. What else it printed is kept as it is, but for its plan.
adopt() {
	local line name
	while IFS= read -r line; do
		name=${line#* - }
		case $line in
		"ok "*" # SKIP "*) skip "${name%% # SKIP *}" "${line#* # SKIP }" ;;
		"ok "*) pass "$name" ;;
		"not ok "*) fail "$name" ;;
		1..[0-9]*) ;;
		*) echo "$line" ;;
		esac
	done
}

finish() {
	echo "1..$tests"
	[ $failures -eq 0 ]
	exit
}

skip_all() {
	skip "$(basename "$0")" "$1"
	finish
}

bail() {
	fail "$(basename "$0"): set-up" "$@"
	finish
}

# Waits until the command succeeds; generous, for slow machines.
wait_for() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

require_root() { [ "$(id -u)" -eq 0 ] || skip_all "needs root for namespaces and BPF"; }

# By behaviour: a lab whose nodes carry a native XDP program comes up, or there is nothing to test here.
lab_up() { # lab.sh up options
	BUILD=$build scripts/lab.sh --prefix "$prefix" up "$@" >"$work/lab" 2>&1 ||
		skip_all "no lab of namespaces and veths with native XDP here: $(tail -1 "$work/lab")"
}

# The program that a veth end needs, or what its peer sends by XDP_TX vanishes.
pass_on() { BUILD=$build scripts/lab.sh pass "$@"; } # NETNS DEV

# Every test has its own bpffs, so that parallel runs cannot see each other.
own_bpffs() {
	mkdir -p "$work/bpf"
	mount -t bpf bpf "$work/bpf" 2>"$work/mount" || skip_all "no bpffs here: $(cat "$work/mount")"
	export XATOMIC_BPFFS=$work/bpf
}

attach() { # FIRST_NODE LAST_NODE [xatomic attach options]
	local i first=$1 last=$2
	shift 2
	for ((i = first; i <= last; i++)); do
		xatomic attach "node$i" --netns "$prefix-resp" "$@" >"$work/attach" 2>&1 ||
			bail "xatomic attach node$i: $(cat "$work/attach")"
	done
}

# Address of an end of node I's pair: 1 is the responder's, 2 the node's.
address() { # FAMILY I END
	[ "$1" = 4 ] && echo "10.77.$2.$3" || echo "fd00:77:$2::$3"
}

mr_add() { # NAME [options]; prints the rkey
	xatomic --json mr add "$@" | jq .rkey
}

# A QP for node I with the QPN 0x10 + I at the requester; prints the responder's QPN.
qp_add() { # FAMILY I [options]
	local family=$1 i=$2
	shift 2
	xatomic --json qp add --peer "$(address "$family" "$i" 2)" --local "$(address "$family" "$i" 1)" \
		--rqpn $((16 + i)) "$@" | jq .lqpn
}

# One run of the requester at node I; prints the original values, one a line.
request() { # FAMILY I RQPN PSN RKEY ARGUMENTS...
	local family=$1 i=$2 rqpn=$3 psn=$4 rkey=$5
	shift 5
	xatomic_req --json --netns "$prefix-node$i" --dev eth0 --peer "$(address "$family" "$i" 1)" \
		--lqpn $((16 + i)) --rqpn "$rqpn" --sq-psn "$psn" --rkey "$rkey" "$@" |
		sed -n 's/^{"original":\([0-9]*\)}$/\1/p'
}

# Not by jq, which rounds what needs more than 53 bits.
word() { # MR OFFSET
	xatomic --json mr dump "$1" --offset "$2" --count 1 | sed -n 's/.*"words":\[\([0-9]*\)\].*/\1/p'
}

# Watches (and by --lose OPCODE:PSN[:TIMES] disturbs) the wires of nodes 1 to N until tap_stop; the packets
# are then in $work/wire, a line each, and with --pcap FILE in FILE.
tap_start() { # N [wiretap options]
	local i n=$1
	local -a taps=()
	shift
	for ((i = 1; i <= n; i++)); do
		taps+=("$prefix-node$i/eth0=node$i")
	done
	: >"$work/wire" # of the last time, or its "# tapping" would be taken for this one's
	"$build/wiretap" "$@" "${taps[@]}" >>"$work/wire" 2>&1 &
	wiretap_pid=$!
	wait_for 30 grep -q '^# tapping' "$work/wire" || bail "wiretap: $(cat "$work/wire")"
}

tap_stop() {
	kill -TERM "$wiretap_pid"
	wait "$wiretap_pid"
}

# How many packets the wiretap has seen whose line matches the pattern.
seen() { grep -cE -- "$1" "$work/wire"; }
