#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic upgrade: another program under live maps and links while requesters run, again and again; what it
# says; what it refuses; what is left when it fails or is killed half-way.
#
# $build/variant/xatomic is the same program from the same sources, but its BPF part was compiled with another
# option, so that its instructions and its tag differ.
# shellcheck source=tests/netns/traffic.sh
. "$(dirname "$0")/traffic.sh"

upgrades=${UPGRADES:-100}
nodes=3

# The program of one build or the other, by turns.
build_of() { [ $(($1 % 2)) -eq 0 ] && echo "$build/xatomic" || echo "$build/variant/xatomic"; }

ids() { xatomic --json show | jq -c '.program.id'; }

# Ids of the programs that the kernel has on the interfaces.
on_interfaces() {
	ip -n "$prefix-resp" -j link show type veth | jq -c '[.[].xdp.prog.id] | unique'
}

state() {
	xatomic --json mr show
	xatomic --json show | jq -c 'del(.program, .num_qp)'
	(cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' | sort)
}

links_of() { find "$XATOMIC_BPFFS/xatomic/default/links" -type f | wc -l; }

test_same() {
	local id before
	id=$(ids) before=$(state)
	is "the same program: nothing to do" "$("$build/xatomic" upgrade)" \
		"nothing to do: instance 'default' runs this program already, id $id, tag $(tag)"
	is "the same program: JSON" "$(xatomic --json upgrade |
		jq -c '[.instance, .changed, .layout_version, .old_program == .new_program, ([.interfaces[] | .old_id == .new_id] | all)]')" \
		'["default",false,1,true,true]'
	is "the same program: it stays" "$(ids) $(on_interfaces)" "$id [$id]"
	is "the same program: nothing has changed" "$(state)" "$before"
}

tag() { xatomic --json show | jq -r .program.tag; }

one_upgrade() { # N
	local before out
	before=$(jq -c .new_program "$work/upgrade" 2>/dev/null)
	[ -n "$before" ] || before=$(xatomic --json show | jq -c .program)
	"$(build_of "$1")" --json upgrade >"$work/upgrade.now" 2>"$work/upgrade.err" || return
	mv "$work/upgrade.now" "$work/upgrade"
	out=$(jq -c '[.changed, .old_program, ([.interfaces[].interface] | sort),
		([.interfaces[].old_id] | unique), .new_program.tag == .old_program.tag]' "$work/upgrade")
	[ "$out" = "[true,$before,[\"node1\",\"node2\",\"node3\"],[$(jq .id <<<"$before")],false]" ] || return
	[ "$(on_interfaces)" = "[$(jq .new_program.id "$work/upgrade")]" ]
}

test_live() {
	local i before progress bad=0
	before=$(state)
	traffic_start $nodes "$rkey" 0x1000
	for ((i = 1; i <= upgrades; i++)); do
		progress=$(traffic_progress)
		if ! one_upgrade "$i"; then
			bad=$((bad + 1))
			comment <<<"upgrade $i: $(cat "$work/upgrade.err" "$work/upgrade")"
		fi
		if ! traffic_moves "$progress"; then
			bad=$((bad + 1))
			comment <<<"after upgrade $i the requesters get no answers"
			break
		fi
	done
	is "$upgrades upgrades under traffic, each as it should be" "$bad" 0
	traffic_stop "$upgrades upgrades" words:0
	is "all packets were counted, by old and new programs" "$(xatomic --json stat | jq .fetch_add.executed)" \
		"$(cat "$work"/originals* | wc -l)"
	is "nothing but the program has changed" "$(state)" "$before"
	is "show has the new one" "$(xatomic --json show | jq -c .program)" "$(jq -c .new_program "$work/upgrade")"
	check "the programs of before are gone" wait_for 30 one_program
}

# Programs that use this instance's queue pairs.
one_program() {
	local map
	map=$(bpftool -j map show pinned "$XATOMIC_BPFFS/xatomic/default/qps" | jq .id)
	[ "$(bpftool -j prog show | jq "[.[] | select(.map_ids // [] | index($map))] | length")" = 1 ]
}

test_text() {
	local out
	"$(build_of 0)" upgrade >/dev/null
	out=$("$(build_of 1)" upgrade)
	is "text: a line for the program" "$(head -1 <<<"$out" | sed -E 's/id [0-9]+, tag [0-9a-f]{16}/ID/g')" \
		"instance 'default': program ID, replaced by ID"
	is "text: a line for each interface" "$(tail -n +2 <<<"$out" | sed -E 's/ifindex [0-9]+/N/; s/id [0-9]+/ID/g' | sort)" \
		"$(printf "node%d (N, netns $prefix-resp): program ID replaced by ID\n" 1 2 3)"
	"$(build_of 0)" upgrade >/dev/null
}

# strace ... -e inject=bpf: at the Nth BPF_LINK_UPDATE, which is a certain call of bpf(2).
at_link_update() { # WHAT N COMMAND...
	local what=$1 n=$2 call
	shift 2
	strace -qqq -o "$work/trace" -e trace=bpf "$@" >/dev/null 2>&1
	call=$(grep -n BPF_LINK_UPDATE "$work/trace" | sed -n "${n}s/:.*//p")
	"$(build_of 0)" upgrade >/dev/null
	(
		strace -qqq -o /dev/null -e trace=bpf -e inject=bpf:"$what":when="$call" "$@" >"$work/out" 2>"$work/err"
		exit $?
	) 2>/dev/null
}

test_partly() {
	local id before
	strace -qqq -o /dev/null -e inject=getppid:signal=SIGKILL:when=1 true 2>"$work/err" || {
		skip "half-way" "strace cannot inject here: $(cat "$work/err")"
		return
	}
	before=$(state)
	at_link_update error=ENOMEM 2 "$(build_of 1)" upgrade
	is "one interface cannot be changed: refused in a line" \
		"$? $(grep -cE '^xatomic: the program of node[1-3] .*Cannot allocate memory' "$work/err") $(wc -l <"$work/err")" \
		"1 1 1"
	id=$(ids)
	is "one interface cannot be changed: all have the old program" "$(on_interfaces)" "[$id]"
	is "one interface cannot be changed: nothing has changed" "$(state)" "$before"

	at_link_update signal=SIGKILL 2 "$(build_of 1)" upgrade
	is "killed half-way" $? 137
	is "killed half-way: two programs are there" "$(on_interfaces | jq length)" 2
	is "killed half-way: show has all interfaces" "$(xatomic --json show | jq -c '[.interfaces[].mode] | sort')" \
		'["generic","native","native"]'
	check "killed half-way: another attach changes nothing" xatomic attach node1 --netns "$prefix-resp" --mode native
	check "killed half-way: detach" xatomic detach node1 --netns "$prefix-resp"
	check "killed half-way: attach" xatomic attach node1 --netns "$prefix-resp"
	check "killed half-way: the next upgrade" "$(build_of 1)" upgrade
	is "killed half-way: it completes" "$(on_interfaces) $(tag)" "[$(ids)] $("$(build_of 1)" --json upgrade | jq -r .new_program.tag)"
	check "killed half-way: back" "$(build_of 0)" upgrade
	is "killed half-way: nothing is left of it" "$(state | grep -c +)" 0
	check "killed half-way: one program is left" wait_for 30 one_program
}

# The pin of a link whose interface has gone, and an interface that has moved.
test_interfaces() {
	ip netns add "$prefix-other"
	ip -n "$prefix-resp" link del node2
	ip -n "$prefix-resp" link set node3 netns "$prefix-other" name moved
	is "an interface is gone, another has moved" "$("$(build_of 1)" --json upgrade |
		jq -c '[.changed, ([.interfaces[] | [.interface, .netns]] | sort)]')" \
		"[true,[[\"moved\",\"$prefix-other\"],[\"node1\",\"$prefix-resp\"]]]"
	is "the pin of the dead link is gone" "$(links_of)" 2
	ip -n "$prefix-other" link del moved
	ip netns del "$prefix-other"
	check "no interface but one" "$(build_of 0)" upgrade
	check "no interface" xatomic detach node1 --netns "$prefix-resp"
	is "no interface: the program is replaced all the same" "$("$(build_of 1)" --json upgrade |
		jq -c '[.changed, .interfaces]')" '[true,[]]'
	check "no interface: attach" xatomic attach node1 --netns "$prefix-resp"
	is "no interface: attach takes the new program" "$(xatomic --json show | jq -c '[.program.id]')" "$(on_interfaces)"
}

# The old one goes on when the new one knows other maps.
test_layout() {
	local before
	bpftool map dump pinned "$XATOMIC_BPFFS/xatomic/default/config" >/dev/null
	bpftool map update pinned "$XATOMIC_BPFFS/xatomic/default/config" key 0 0 0 0 value hex \
		63 00 00 00 10 00 00 00 08 00 00 00 90 01 00 00 00 00 00 00
	before=$(on_interfaces)
	"$(build_of 0)" upgrade >"$work/out" 2>"$work/err"
	is "another layout version: refused" "$? $(wc -c <"$work/out") $(wc -l <"$work/err")" "1 0 1"
	check "another layout version: the sentence says why" grep -q \
		"layout version 99 and this xatomic knows version 1" "$work/err"
	is "another layout version: the program stays" "$(on_interfaces)" "$before"
	check "destroy" xatomic destroy
	"$(build_of 0)" upgrade >"$work/out" 2>"$work/err"
	is "no instance: refused" "$? $(grep -c "no instance 'default'" "$work/err")" "1 1"
}

require_root
own_bpffs
lab_up --nodes $nodes
attach 1 1 --max-qps 16 --max-mrs 8
attach 2 2 --mode generic
attach 3 3
rkey=$(mr_add words --words 4 --iova 0x1000)
test_same
test_live
test_text
test_partly
test_interfaces
test_layout
finish
