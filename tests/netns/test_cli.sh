#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic end to end: every command on veths in native and generic mode, what it prints, and what it refuses.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
require_root
own_bpffs
lab_up --nodes 2
chmod 755 "$work"
resp=$prefix-resp
dir=$XATOMIC_BPFFS/xatomic/default

# Runs a command and keeps what it prints in $out and $err. Errors of exit status 1 are one line, those of 2 at
# most two lines, and nothing but errors is expected on stderr.
try() { # NAME STATUS COMMAND...
	local name=$1 wanted=$2 lines status
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	out=$(cat "$work/out") err=$(cat "$work/err")
	lines=$(wc -l <"$work/err")
	if [ $status -ne "$wanted" ] || { [ "$wanted" = 1 ] && [ "$lines" -ne 1 ]; } ||
		{ [ "$wanted" = 2 ] && [ "$lines" -gt 2 ]; } || grep -q Sanitizer "$work/err"; then
		fail "$name" "command: $*" "status $status, wanted $wanted" "stdout: $out" "stderr: $err"
		return 1
	fi
	pass "$name"
}

refuse() { # NAME STATUS PATTERN COMMAND...
	local name=$1 status=$2 pattern=$3
	shift 3
	try "$name" "$status" "$@" || return
	grep -qE -- "$pattern" <<<"$err" || fail "$name: sentence" "wanted: $pattern" "got: $err"
}

has() { # NAME PATTERN TEXT
	if grep -qE -- "$2" <<<"$3"; then pass "$1"; else fail "$1" "wanted: $2" "got: $3"; fi
}

full_output() { xatomic "$@" >/dev/full; }

keys() { jq -r 'keys_unsorted | join(" ")' <<<"$1"; }

tree() { (cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' | sort); }

# As root, but with no more than these capabilities; in the responder's network namespace.
with_only() { # +CAPABILITY[,+CAPABILITY...] COMMAND...
	nsenter --net="/run/netns/$resp" setpriv --bounding-set "-all,$1" --inh-caps=-all \
		-- "$build/asan/xatomic" "${@:2}"
}

test_capabilities() {
	local three=+bpf,+net_admin,+perfmon
	refuse "no CAP_NET_ADMIN" 1 "lacks CAP_NET_ADMIN, which" with_only +bpf attach node1
	refuse "no CAP_BPF" 1 "lacks CAP_BPF, which" with_only +net_admin attach node1
	refuse "neither" 1 "lacks CAP_BPF and CAP_NET_ADMIN, which" with_only +chown attach node1
	refuse "no CAP_PERFMON" 1 "needs CAP_PERFMON as well" with_only +bpf,+net_admin attach node1
	mkdir -p "$work/unmounted"
	refuse "no CAP_SYS_ADMIN to mount" 1 "to mount one needs CAP_SYS_ADMIN" \
		unshare -m setpriv --bounding-set "-all,$three" --inh-caps=-all \
		-- "$build/asan/xatomic" --bpffs "$work/unmounted" attach lo
	refuse "no CAP_SYS_ADMIN to go to another namespace" 1 \
		"network namespace '$prefix-node1' is another one, .* CAP_SYS_ADMIN" \
		with_only $three attach eth0 --netns "$prefix-node1"
	is "nothing was made" "$(tree)" ""
	try "three capabilities attach where one is" 0 with_only $three attach node1
	try "and in this namespace by its name" 0 with_only $three attach node2 --netns "$resp"
	try "show" 0 with_only +bpf,+net_admin --json show
	is "both interfaces" "$(jq -c '[.interfaces[].interface] | sort' <<<"$out")" '["node1","node2"]'
	refuse "upgrade without CAP_PERFMON" 1 "needs CAP_PERFMON as well" with_only +bpf,+net_admin upgrade
	try "detach" 0 with_only +bpf,+net_admin detach node1
	try "destroy" 0 with_only +bpf,+net_admin destroy
	is "nothing is left" "$(tree)" ""
}

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

test_without_instance() {
	local command
	refuse "unknown interface" 1 "no interface 'nothing' in network namespace '?$resp" \
		xatomic attach nothing --netns "$resp"
	refuse "unknown interface of the own namespace" 1 "no interface '$prefix-none'" xatomic attach "$prefix-none"
	refuse "unknown namespace" 1 "no network namespace 'nowhere'" xatomic attach node1 --netns nowhere
	refuse "namespace with a slash" 1 "no network namespace" xatomic attach node1 --netns ../x
	for command in show "mr show" "mr show m" "mr del m" "mr dump m" "mr set m 0 0" "mr add m --words 1" \
		"qp show" "qp show 17" "qp del 17" "qp reset 17" "qp add --peer 10.0.0.1 --rqpn 17" stat monitor \
		"detach node1 --netns $resp" destroy; do
		# shellcheck disable=SC2086
		refuse "without an instance: $command" 1 "no instance 'default' below $XATOMIC_BPFFS" xatomic $command
	done
	is "nothing was made" "$(tree)" ""
	refuse "a directory that is no bpffs" 1 "no BPF file system is mounted on $work" xatomic --bpffs "$work" show
	refuse "a bpffs directory that is not there" 1 "$work/none" \
		xatomic --bpffs "$work/none" attach node1 --netns "$resp"
	refuse "a kernel that is too old" 1 "Linux 2.6.* is too old" \
		setarch --uname-2.6 "$build/asan/xatomic" attach node1 --netns "$resp"
	refuse "no privilege" 1 "run xatomic as root" as_nobody "$unprivileged" attach node1 --netns "$resp"
	refuse "no privilege to look" 1 "run xatomic as root" as_nobody "$unprivileged" show
	is "still nothing was made" "$(tree)" ""
	as_nobody mkdir "$XATOMIC_BPFFS/xatomic"
	refuse "a directory of somebody else" 1 "belongs to another user \(uid 65534\)" \
		xatomic attach node1 --netns "$resp"
	rmdir "$XATOMIC_BPFFS/xatomic"
}

test_attach() {
	local before link
	try "attach in native mode" 0 xatomic --json attach node1 --netns "$resp" --mode native --max-qps 60 --max-mrs 4
	is "what attach prints" "$out" "$(jq -cn --arg ns "$resp" --argjson w $((64 + 128 * ($(cpus) + 1))) \
		'{instance: "default", interface: "node1", netns: $ns, mode: "native", max_qps: 64, max_mrs: 4,
		replay_windows: $w, unknown_qp: "pass"}')"
	has "attach warns of a veth's peer" '^xatomic: node1 is a veth in native mode.*pass.bpf.o' "$err"
	is "the warning is one line" "$(wc -l <"$work/err")" 1
	before=$(tree)
	try "the same again" 0 xatomic attach node1 --netns "$resp" --mode native --max-qps 60 --max-mrs 4
	is "the same again says nothing" "$err" ""
	try "the same without limits" 0 xatomic attach node1 --netns "$resp"
	refuse "other --max-qps" 1 "--max-qps 64, not 65" xatomic attach node1 --netns "$resp" --max-qps 65
	refuse "other --max-mrs" 1 "--max-mrs 4, not 5" xatomic attach node2 --netns "$resp" --max-mrs 5
	refuse "other --replay-windows" 1 "--replay-windows [0-9]+, not 7" \
		xatomic attach node1 --netns "$resp" --replay-windows 7
	refuse "other --unknown-qp" 1 "--unknown-qp pass, not drop" \
		xatomic attach node1 --netns "$resp" --unknown-qp drop
	mkdir "$work/other"
	# shellcheck disable=SC2016
	refuse "an interface that another instance has" 1 "node1" unshare -m sh -c '
		"$1" --bpffs "$2" attach node1 --netns "$3"; status=$?
		! findmnt "$2" >&2 || exit 9
		exit $status' sh "$build/asan/xatomic" "$work/other" "$resp"
	refuse "other mode" 1 "native mode already, not generic" \
		xatomic attach node1 --netns "$resp" --mode generic
	is "nothing changed" "$(tree)" "$before"
	try "a second interface in generic mode" 0 xatomic attach node2 --netns "$resp" --mode generic
	is "generic mode needs no warning" "$err" ""
	is "one link each" "$(find "$dir/links" -type f | wc -l)" 2
	refuse "an interface with another program" 1 \
		"node1 runs another XDP program \(id [0-9]+\).*detach node1 --netns $resp' or 'ip -n $resp link set dev node1 " \
		xatomic -i second attach node1 --netns "$resp"
	is "a refused set-up leaves nothing" "$(find "$XATOMIC_BPFFS/xatomic" -name 'second*')" ""
	link=$(find "$dir/links" -type f | head -1)
	is "pins are their owner's alone" "$(stat -c %a "$dir/qps" "$dir/prog" "$link" | sort -u)" 600
	is "directories can be passed through" \
		"$(stat -c %a "$XATOMIC_BPFFS/xatomic" "$dir" "$dir/mr" | sort -u)" 755
}

cpus() { # possible ones
	python3 -c 'print(sum(int(b or a) - int(a) + 1 for a, _, b in (r.partition("-") for r in
		open("/sys/devices/system/cpu/possible").read().split(","))))'
}

test_show() {
	try "show" 0 xatomic --json show
	is "what show prints" "$(keys "$out")" "instance transport version kernel program layout_version atomic_cap \
max_qp max_mr max_mr_size max_qp_rd_atom page_size_cap replay_windows unknown_qp num_qp num_mr interfaces"
	is "capabilities" "$(jq -c '[.atomic_cap, .max_qp, .max_mr, .max_qp_rd_atom, .num_qp, .num_mr]' <<<"$out")" \
		'["ATOMIC_GLOB",64,4,128,0,0]'
	is "interfaces, namespaces, modes, states" \
		"$(jq -c '[.interfaces[] | [.interface, .netns, .mode, .state]] | sort' <<<"$out")" \
		"[[\"node1\",\"$resp\",\"native\",\"PORT_ACTIVE\"],[\"node2\",\"$resp\",\"generic\",\"PORT_ACTIVE\"]]"
	is "GIDs" "$(jq -r '.interfaces[].gids[]' <<<"$out" | grep -E '10.77|fd00' | sort | xargs)" \
		"::ffff:10.77.1.1 ::ffff:10.77.2.1 fd00:77:1::1 fd00:77:2::1"
	is "the program's id" "$(bpftool -j prog show pinned "$dir/prog" | jq .id)" "$(jq .program.id <<<"$out")"
	try "show in text" 0 xatomic show
	has "text looks like ibv_devinfo" '^hca_id: default' "$out"
	has "GIDs in text" 'GID\[ *[0-9]+\]:.*::ffff:10.77.1.1, RoCE v2' "$out"
}

test_mr() {
	try "mr add" 0 xatomic --json mr add words-1 --words 16 --iova 0x1000
	is "what mr add prints" "$(keys "$out")" "name rkey iova length pdn access map"
	is "values and defaults" "$(jq -c '[.name, .iova, .length, .pdn, .access, .map]' <<<"$out")" \
		"[\"words-1\",4096,128,0,\"atomic\",\"$dir/mr/words-1\"]"
	rkey=$(jq .rkey <<<"$out")
	is "the index of the rkey is one that there is" "$((rkey >> 8 < 4))" 1
	is "mode of the pin" "$(stat -c '%a %u %g' "$dir/mr/words-1")" "600 0 0"
	is "mr show with a name is an object" "$(xatomic --json mr show words-1 | jq -c .)" "$out"
	is "mr show without one is an array" "$(xatomic --json mr show | jq -c .)" "[$out]"
	refuse "a name that is taken" 1 "'words-1' already" xatomic mr add words-1 --words 1
	refuse "an unknown name" 1 "no memory region 'other'" xatomic mr show other
	refuse "del of an unknown name" 1 "no memory region 'other'" xatomic mr del other
	refuse "dump of an unknown name" 1 "no memory region 'other'" xatomic mr dump other
	refuse "set of an unknown name" 1 "no memory region 'other'" xatomic mr set other 0 0
	refuse "an unaligned iova" 2 "multiple of 8" xatomic mr add other --words 1 --iova 4
	refuse "an iova that wraps" 2 "64 bits" xatomic mr add other --words 2 --iova 0xfffffffffffffff8
	refuse "an unknown owner" 1 "no user 'nobody-at-all'" xatomic mr add other --words 1 --owner nobody-at-all
	is "refusals leave nothing" "$(ls "$dir/mr")" "words-1"
	try "mr set" 0 xatomic mr set words-1 0x8 0xffffffffffffffff
	refuse "set behind the end" 1 "16 words .*; give an offset within it" xatomic mr set words-1 128 0
	is "mr dump" "$(xatomic --json mr dump words-1 --count 3)" \
		'{"name":"words-1","offset":0,"words":[0,18446744073709551615,0]}'
	is "mr dump from an offset" "$(xatomic --json mr dump words-1 --offset 120)" \
		'{"name":"words-1","offset":120,"words":[0]}'
	is "mr dump, pretty" "$(xatomic --pretty mr dump words-1 --count 1 | jq -c .)" \
		'{"name":"words-1","offset":0,"words":[0]}'
	is "mr dump in text" "$(xatomic mr dump words-1 --offset 8 --count 1)" \
		"0x00000008  0xffffffffffffffff  18446744073709551615"
	refuse "dump behind the end" 1 "16 words" xatomic mr dump words-1 --offset 128
	refuse "dump across the end" 1 "16 words" xatomic mr dump words-1 --offset 120 --count 2
	try "mr set back" 0 xatomic mr set words-1 8 0
	refuse "output that cannot be written" 1 "could not be written" full_output mr show
}

test_owner() {
	try "an MR of another user" 0 xatomic mr add tenant --words 4 --owner 65534:65534 --perm 0640
	is "its pin" "$(stat -c '%a %u %g' "$dir/mr/tenant")" "640 65534 65534"
	cp "$build/libxatomic.so.0" "$work/lib.so"
	cat >"$work/tenant.py" <<-'PY'
		import ctypes, sys
		lib = ctypes.CDLL(sys.argv[1])
		lib.xatomic_mr_open.restype = lib.xatomic_mr_words.restype = ctypes.c_void_p
		lib.xatomic_mr_count.restype = ctypes.c_size_t
		lib.xatomic_error.restype = ctypes.c_char_p
		mr = lib.xatomic_mr_open(None, sys.argv[2].encode())
		if not mr:
		    sys.exit(lib.xatomic_error().decode())
		mr = ctypes.c_void_p(mr)
		words = ctypes.cast(lib.xatomic_mr_words(mr), ctypes.POINTER(ctypes.c_uint64))
		words[1] += 5
		print(lib.xatomic_mr_count(mr), words[1])
		lib.xatomic_mr_close(mr)
	PY
	try "its owner maps the words without privilege" 0 \
		as_nobody /usr/bin/python3 "$work/tenant.py" "$work/lib.so" tenant
	is "count and value that the owner sees" "$out" "4 5"
	is "the value that others see" "$(word tenant 8)" 5
	refuse "another MR is closed to that user" 1 "'words-1' of instance 'default' cannot be opened.*Permission" \
		as_nobody /usr/bin/python3 "$work/tenant.py" "$work/lib.so" words-1
	refuse "no such MR, by the library" 1 "'none' of instance 'default' cannot be opened.*No such file" \
		as_nobody /usr/bin/python3 "$work/tenant.py" "$work/lib.so" none
	refuse "no such name, by the library" 1 "'a.b' of instance 'default' can be no memory region" \
		as_nobody /usr/bin/python3 "$work/tenant.py" "$work/lib.so" a.b
	chmod 700 "$XATOMIC_BPFFS"
	try "an MR below a closed directory" 0 xatomic mr add closed --words 1 --owner 65534
	chmod 1777 "$XATOMIC_BPFFS"
	has "the warning says so" "closed to other users.*chmod o\+x" "$err"
	try "delete both" 0 xatomic mr del closed
	try "delete both (2)" 0 xatomic mr del tenant
	is "their pins are gone" "$(ls "$dir/mr")" "words-1"
}

test_qp() {
	local psns ip
	try "qp add" 0 xatomic --json qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn 17 --rq-psn 100 --depth 5
	is "what qp add prints" "$(keys "$out")" "lqpn rqpn pdn state rq-psn peer local depth msn access"
	is "values and defaults" "$(jq -c 'del(.lqpn)' <<<"$out")" \
		'{"rqpn":17,"pdn":0,"state":"RTR","rq-psn":100,"peer":"10.77.1.2","local":"10.77.1.1","depth":8,"msn":0,"access":"atomic"}'
	lqpn=$(jq .lqpn <<<"$out")
	is "an address of an attached interface needs no warning" "$err" ""
	for ip in 10.77.1.99 fd00:77:1::99; do
		try "--local $ip, which nobody has" 0 \
			xatomic --json qp add --peer "${ip%99}2" --local $ip --rqpn 17
		has "the warning" "^xatomic: no attached interface has the address $ip, .*xatomic -i default show" "$err"
		is "it is one line" "$(wc -l <"$work/err")" 1
		xatomic qp del "$(jq .lqpn <<<"$out")"
	done
	try "--local like --peer" 0 xatomic --json qp add --peer 10.77.1.1 --local 10.77.1.1 --rqpn 17
	has "the warning" "^xatomic: --local and --peer are both 10.77.1.1, " "$err"
	xatomic qp del "$(jq .lqpn <<<"$out")"
	is "the QPN has a generation" "$((lqpn >= 64 && lqpn < 0xffffff))" 1
	try "qp show" 0 xatomic --json qp show "$lqpn"
	is "what qp show prints" "$(keys "$out")" "lqpn rqpn pdn state rq-psn peer local depth msn access requests \
replayed duplicates_dropped sequence_naks fatal_naks last_nak"
	is "no NAK yet" "$(jq .last_nak <<<"$out")" null
	is "qp show without a number is an array" "$(xatomic --json qp show | jq -c .)" "[$out]"
	refuse "several addresses and no --local" 1 "more than one IPv4 address for --local" \
		xatomic qp add --peer 10.77.1.2 --rqpn 18
	refuse "families that differ" 2 "different families" xatomic qp add --peer 10.77.1.2 --local fd00::1 --rqpn 18
	refuse "an unspecified peer" 2 "one host" xatomic qp add --peer 0.0.0.0 --local 10.77.1.1 --rqpn 18
	refuse "a multicast peer" 2 "one host" xatomic qp add --peer ff02::1 --rqpn 18
	refuse "an unknown QP" 1 "no QP 77 in instance" xatomic qp show 77
	refuse "reset of an unknown QP" 1 "no QP 77 in instance" xatomic qp reset 77
	refuse "del of an unknown QP" 1 "no QP 77 in instance" xatomic qp del 77
	refuse "del of a QPN of another generation" 1 "no QP" xatomic qp del $((lqpn ^ 0x800000))
	is "refusals leave no QP" "$(xatomic --json show | jq .num_qp)" 1
	psns=$(for _ in 1 2 3 4; do
		xatomic --json qp reset "$lqpn" | jq '."rq-psn"'
	done | sort -u | wc -l)
	is "PSNs are random" "$psns" 4
	try "qp del" 0 xatomic qp del "$lqpn"
	refuse "it is gone" 1 "no QP" xatomic qp show "$lqpn"
}

# A requester behind each interface: answers, counters, NAKs, events, reset.
test_traffic() { # NODE MODE
	local node=$1 mode=$2 state
	lqpn=$(qp_add 4 "$node" --rq-psn 0xffffff)
	is "$mode: FETCH_ADD" "$(request 4 "$node" "$lqpn" 0xffffff "$rkey" --count 3 fadd --addr 0x1008 --add 2 | xargs)" \
		"0 2 4"
	is "$mode: COMPARE_SWAP" "$(request 4 "$node" "$lqpn" 2 "$rkey" cswap --addr 0x1008 --compare 6 --swap 0)" 6
	is "$mode: the QP after it" "$(xatomic --json qp show "$lqpn" | jq -c '[."rq-psn", .msn, .requests, .state]')" \
		'[3,4,4,"RTR"]'
	start_monitor
	request 4 "$node" "$lqpn" 3 $((rkey ^ 1)) fadd --addr 0x1010 --add 1 >/dev/null 2>&1
	state=$(xatomic --json qp show "$lqpn")
	is "$mode: the QP after a wrong rkey" "$(jq -c '[.state, .fatal_naks, .last_nak]' <<<"$state")" \
		"[\"ERR\",1,{\"reason\":\"rkey\",\"psn\":3,\"rkey\":$((rkey ^ 1)),\"va\":4112}]"
	wait_for 30 test -s "$work/monitor" || fail "$mode: an event comes"
	stop_monitor
	is "$mode: the event" "$(jq -c 'del(.time)' "$work/monitor")" \
		"{\"event\":\"QP_ACCESS_ERR\",\"lqpn\":$lqpn,\"reason\":\"rkey\",\"psn\":3,\"rkey\":$((rkey ^ 1)),\"va\":4112,\"opcode\":20}"
	check "$mode: the event's time is now" test "$(date -d "$(jq -r .time "$work/monitor")" +%s)" -ge $(($(date +%s) - 60))
	is "$mode: reset" "$(xatomic --json qp reset "$lqpn" --rq-psn 9 | jq -c '[."rq-psn", .msn, .state]')" '[9,0,"RTR"]'
	is "$mode: it works again" "$(request 4 "$node" "$lqpn" 9 "$rkey" fadd --addr 0x1010 --add 1)" 0
	xatomic mr set words-1 16 0
	try "$mode: qp del" 0 xatomic qp del "$lqpn"
	before=$(xatomic --json stat | jq .other.unknown_qp)
	request 4 "$node" "$lqpn" 10 "$rkey" --retry 0 --timeout 10000 fadd --addr 0x1010 --add 1 >/dev/null 2>&1
	is "$mode: a deleted QP answers nothing" "$(word words-1 16) $(($(xatomic --json stat | jq .other.unknown_qp) > before))" \
		"0 1"
}

start_monitor() {
	"$build/asan/xatomic" --json monitor >"$work/monitor" 2>"$work/monitor.err" &
	monitor=$!
	wait_for 30 monitors || fail "monitor starts" "$(cat "$work/monitor.err")"
}

# It has the events when it holds their lock. To try the lock would be to take it from the monitor.
monitors() { grep -qE "FLOCK +ADVISORY +WRITE +$monitor " /proc/locks; }

stop_monitor() {
	kill -TERM "$monitor"
	wait "$monitor"
	is "monitor ends well" "$? $(cat "$work/monitor.err")" "0 "
}

test_monitor() {
	start_monitor
	refuse "a second monitor" 1 "another process reads them" xatomic monitor
	try "other commands go on meanwhile" 0 xatomic mr show
	stop_monitor
}

test_stat() {
	local status
	try "stat" 0 xatomic --json stat
	is "classes" "$(keys "$out")" "cmp_swap fetch_add other"
	is "one key per reason, the same in each class" "$(jq '[.[] | keys_unsorted] | unique | length' <<<"$out")" 1
	is "counts of the traffic" "$(jq -c '[.cmp_swap.executed, .fetch_add.executed, .fetch_add.rkey]' <<<"$out")" \
		"[2,8,2]"
	try "stat in text" 0 xatomic stat
	has "a row" '^executed +tx +2 +8 +0$' "$out"
	is "no row of zeros" "$(grep -cE ' 0 +0 +0$' <<<"$out")" 0
	try "stat -v" 0 xatomic -v stat
	is "all rows with -v" "$(wc -l <<<"$out")" $((1 + $(xatomic --json stat | jq '.other | length')))
	try "stat --openmetrics" 0 xatomic stat --openmetrics
	check "valid OpenMetrics" python3 tests/netns/openmetrics.py <<<"$out"
	has "a counter" '^xatomic_packets_total\{instance="default",class="fetch_add",reason="executed",verdict="tx"\} 8$' "$out"
	has "unknown QPNs by their verdict" 'reason="unknown_qp",verdict="pass"' "$out"
	refuse "--openmetrics and --watch" 2 "leave out --watch" xatomic stat --openmetrics --watch
	"$build/asan/xatomic" --json stat --watch >"$work/watch" 2>&1 &
	status=$!
	wait_for 30 test -s "$work/watch"
	kill -INT $status
	wait $status
	is "--watch ends well" $? 0
	is "rates have the shape of counts" "$(head -1 "$work/watch" | jq -c '[keys_unsorted, .fetch_add.executed]')" \
		'[["cmp_swap","fetch_add","other"],0]'
}

# flock serialises: all of them succeed, and none gets what another has.
test_concurrency() {
	local i
	rm -f "$work"/par*
	for i in {1..20}; do
		"$build/asan/xatomic" --json qp add --peer 10.77.1.2 --local 10.77.1.1 --rqpn $((100 + i)) \
			>"$work/par$i" 2>&1 &
		pids[i]=$!
	done
	for i in {1..20}; do wait "${pids[i]}" || fail "parallel qp add $i" "$(cat "$work/par$i")"; done
	is "20 QPs at once are 20 QPs" "$(cat "$work"/par* | jq .lqpn | sort -u | wc -l)" 20
	is "each with its own peer QPN" "$(xatomic --json qp show | jq '[.[].rqpn] | unique | length')" 20
	for i in {1..20}; do xatomic qp del "$(jq .lqpn "$work/par$i")" & done
	wait
	is "20 deletions at once" "$(xatomic --json qp show)" "[]"
	for i in {1..6}; do xatomic mr add "par$i" --words 1 >/dev/null 2>&1 & done
	wait
	is "memory regions at once, up to the limit" "$(xatomic --json mr show | jq length)" 4
	is "their rkeys differ" "$(xatomic --json mr show | jq '[.[].rkey] | unique | length')" 4
	refuse "the limit of memory regions" 1 "all 4 memory regions" xatomic mr add more --words 1
	for i in {1..6}; do xatomic mr del "par$i" 2>/dev/null; done
	is "a registration gets a free index again" "$(xatomic --json mr add more --words 1 | jq .name)" '"more"'
	xatomic mr del more
}

# Then it has opened the instance.
catches_signals() { find "/proc/$1/fd" -lname '*signalfd*' | grep -q .; }

ends_with_instance() { # NAME PID STDERR
	wait_for 30 ended "$2" || kill -TERM "$2"
	wait "$2"
	is "$1 ends with its instance" "$? $(cat "$3")" "1 xatomic: instance 'default' has been destroyed"
}

ended() { ! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"; }

test_detach_and_destroy() {
	local program watch
	refuse "detach of an interface that is not attached" 1 "lo is not attached" xatomic detach lo --netns "$resp"
	refuse "detach of an unknown interface" 1 "no interface 'nothing'" xatomic detach nothing --netns "$resp"
	try "detach" 0 xatomic detach node2 --netns "$resp"
	is "the program is off" "$(ip -n "$resp" -j link show node2 | jq '.[0].xdp')" null
	is "one link is left" "$(find "$dir/links" -type f | wc -l)" 1
	refuse "detach twice" 1 "not attached" xatomic detach node2 --netns "$resp"
	program=$(xatomic --json show | jq .program.id)
	start_monitor
	"$build/asan/xatomic" --json stat --watch 1000 >"$work/watch" 2>"$work/watch.err" &
	watch=$!
	wait_for 30 catches_signals $watch || fail "stat --watch starts"
	try "destroy" 0 xatomic destroy
	ends_with_instance "monitor" "$monitor" "$work/monitor.err"
	ends_with_instance "stat --watch" $watch "$work/watch.err"
	is "the program is off everywhere" "$(ip -n "$resp" -j link show node1 | jq '.[0].xdp')" null
	is "nothing is left" "$(tree)" ""
	wait_for 30 gone_program "$program" || fail "the program is gone"
	refuse "destroy twice" 1 "no instance" xatomic destroy
}

gone_program() { ! bpftool prog show id "$1"; }

# Interfaces that vanish, move or are called oddly, and several instances.
test_interfaces() {
	local other=$prefix-other
	ip netns add "$other"
	ip -n "$resp" link add "odd.1" type veth peer name odd.2
	ip -n "$resp" link add "odd@x" type veth peer name odd.4
	try "a dot in the name" 0 xatomic attach odd.1 --netns "$resp"
	try "an at sign in the name" 0 xatomic attach odd@x --netns "$resp"
	try "a second instance" 0 xatomic -i second attach node1 --netns "$resp" --unknown-qp drop
	is "each has its own" "$(xatomic --json show | jq -c '[.interfaces[].interface] | sort') \
$(xatomic --json -i second show | jq -c '[.interfaces[].interface, .unknown_qp]')" \
		'["odd.1","odd@x"] ["node1","drop"]'
	try "destroy one" 0 xatomic -i second destroy
	ip -n "$resp" link set odd.1 netns "$other" name moved
	is "an interface that has moved" \
		"$(xatomic --json show | jq -c '.interfaces[] | select(.interface == "moved") | .netns')" "\"$other\""
	try "it is attached there" 0 xatomic attach moved --netns "$other"
	is "once" "$(find "$dir/links" -type f | wc -l)" 2
	ip -n "$resp" link del odd@x
	is "an interface that is gone" "$(xatomic --json show | jq -c '[.interfaces[].interface]')" '["moved"]'
	try "the next attach" 0 xatomic attach node2 --netns "$resp"
	is "clears away its pin" "$(find "$dir/links" -type f | wc -l)" 2
	try "detach where it is now" 0 xatomic detach moved --netns "$other"
	refuse "a driver that knows no XDP, in native mode" 1 "native mode .* use --mode generic" \
		xatomic attach lo --netns "$resp" --mode native
	try "the same in auto mode" 0 xatomic --json attach lo --netns "$resp"
	is "it is generic mode" "$(jq -r .mode <<<"$out")" generic
	has "with the reason" "^xatomic: lo is attached in generic mode, .* \(its driver or its settings" "$err"
	try "once more" 0 xatomic attach lo --netns "$resp"
	is "says no more" "$err" ""
	ip -n "$resp" link add large mtu 65535 type veth peer name large2 mtu 65535
	refuse "a large MTU, in native mode" 1 "native mode \(its MTU is too large for native XDP on this driver\); use" \
		xatomic attach large --netns "$resp" --mode native
	try "a large MTU, in auto mode" 0 xatomic --json attach large --netns "$resp"
	has "it says so" "generic mode, .* \(its MTU is too large for native XDP on this driver\)" "$err"
	is "in one line" "$(wc -l <"$work/err")" 1
	try "destroy" 0 xatomic destroy
	is "nothing is left" "$(tree)" ""
	ip netns del "$other"
}

# All of them want to make the instance.
test_first_attach_at_once() {
	local i pids=()
	for i in 1 2 1 2 1 2; do
		"$build/asan/xatomic" attach "node$i" --netns "$resp" >/dev/null 2>"$work/at-once" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || fail "attach and attach at once" "$(cat "$work/at-once")"; done
	is "attach at once: one instance, one link each" "$(find "$dir/links" -type f | wc -l)" 2
	for i in 1 2 3; do
		"$build/asan/xatomic" destroy 2>/dev/null &
		"$build/asan/xatomic" attach "node1" --netns "$resp" >/dev/null 2>&1 &
	done
	wait
	xatomic attach node1 --netns "$resp" >/dev/null 2>&1
	try "attach and destroy at once" 0 xatomic destroy
	is "nothing is left" "$(tree)" ""
}

test_limits() {
	try "an instance for one QP" 0 xatomic attach node1 --netns "$resp" --max-qps 1 --max-mrs 1 --replay-windows 1
	try "its QP" 0 xatomic qp add --peer 10.77.1.2 --rqpn 17
	refuse "the limit of queue pairs" 1 "all 1 queue pairs of instance 'default' are in use" \
		xatomic qp add --peer 10.77.1.2 --rqpn 18
	is "--local may be left out" "$(xatomic --json qp show | jq -r '.[].local')" 10.77.1.1
	is "an IPv6 peer gets the address of its scope" \
		"$(xatomic qp del "$(xatomic --json qp show | jq '.[].lqpn')" &&
			xatomic --json qp add --peer fd00:77:1::2 --rqpn 18 | jq -r .local)" fd00:77:1::1
	refuse "more memory than there is" 1 "smaller --words" xatomic mr add huge --words 4294967295
	is "it leaves nothing" "$(ls "$dir/mr") $(xatomic --json mr show)" " []"
	xatomic mr add gigabyte --words 134217728 >"$work/out" 2>&1
	if [ -e "$dir/mr/gigabyte" ]; then
		try "1 GiB of words" 0 xatomic mr set gigabyte 0x3ffffff8 7
		is "the last word" "$(word gigabyte 0x3ffffff8)" 7
		try "1 GiB goes again" 0 xatomic mr del gigabyte
	else
		skip "1 GiB of words" "$(cat "$work/out")"
	fi
	try "destroy" 0 xatomic destroy
	refuse "more replay windows than there is memory for" 1 "smaller --max-qps" \
		xatomic attach node1 --netns "$resp" --replay-windows 0x1000000
	is "it leaves nothing" "$(tree)" ""
}

test_layout() {
	local command before
	try "attach" 0 xatomic attach node1 --netns "$resp"
	bpftool map update pinned "$dir/config" key 0 0 0 0 value hex \
		63 00 00 00 00 04 00 00 00 04 00 00 00 05 00 00 00 00 00 00
	before=$(tree)
	for command in show "mr show" "mr add m --words 1" "qp add --peer 10.77.1.2 --rqpn 17" stat \
		"attach node1 --netns $resp" "detach node1 --netns $resp"; do
		# shellcheck disable=SC2086
		refuse "another layout: $command" 1 "layout version 99 and this xatomic knows version 1" xatomic $command
	done
	is "nothing changed" "$(tree)" "$before"
	try "destroy works all the same" 0 xatomic destroy
	is "nothing is left" "$(tree)" ""
	try "attach" 0 xatomic attach node1 --netns "$resp"
	rm "$dir/replay"
	refuse "a pin that is missing" 1 "damaged: it has no replay" xatomic show
	try "destroy" 0 xatomic destroy
	try "attach" 0 xatomic attach node1 --netns "$resp"
	rm -r "$dir/links"
	wait_for 30 off node1 || fail "without its pin the link is gone"
	is "an instance without links/ has no interface" "$(xatomic --json show | jq -c .interfaces)" "[]"
	try "attach makes it again" 0 xatomic attach node1 --netns "$resp"
	is "with the pin of the link" "$(find "$dir/links" -type f | wc -l)" 1
	rm -r "$dir/links"
	try "destroy without links/" 0 xatomic destroy
	mkdir -p "$dir"
	refuse "an instance that is an empty directory" 1 "damaged: it has no config.*destroy" xatomic show
	try "destroy of an empty directory" 0 xatomic destroy
	is "nothing is left" "$(tree)" ""
}

# Mounts where nothing is mounted; in a mount namespace of its own, so that it is gone afterwards.
test_mount() {
	local mounted
	mkdir "$work/empty"
	try "attach mounts a bpffs" 0 unshare -m "$build/asan/xatomic" --bpffs "$work/empty" attach node1 \
		--netns "$resp" --mode generic
	has "and warns that it goes with the mount namespace" "goes with it" "$err"
	wait_for 30 off node1 || fail "it went with the mount namespace"
	mkdir -p "$work/full/file" "$work/mounted"
	refuse "no mount over a directory that is not empty" 1 "$work/full is no BPF .* it is not empty; give an empty" \
		unshare -m "$build/asan/xatomic" --bpffs "$work/full" attach node1 --netns "$resp"
	# shellcheck disable=SC2016
	refuse "no mount over a mount" 1 "$work/mounted is no BPF .* mount point of another" \
		unshare -m sh -c 'mount -t tmpfs none "$2" && "$1" --bpffs "$2" attach node1 --netns "$3"' \
		sh "$build/asan/xatomic" "$work/mounted" "$resp"
	for mounted in /proc /sys /; do
		refuse "no mount over $mounted" 1 "$mounted is no BPF file system" \
			unshare -m "$build/asan/xatomic" --bpffs "$mounted" attach node1 --netns "$resp"
	done
}

off() { [ "$(ip -n "$resp" -j link show "$1" | jq '.[0].xdp')" = null ]; }

unprivileged=$work/xatomic
cp "$build/asan/xatomic" "$unprivileged"
test_without_instance
test_capabilities
test_attach
test_show
test_mr
test_owner
test_qp
test_traffic 1 native
test_traffic 2 generic
test_monitor
test_stat
test_concurrency
test_detach_and_destroy
test_interfaces
test_first_attach_at_once
test_limits
test_layout
test_mount
finish
