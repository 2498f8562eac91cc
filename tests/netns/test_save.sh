#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# xatomic save and restore: memory regions, words and rkeys survive an instance; the file is the old one or the
# new one, never a part; what cannot be restored is refused and changes nothing.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

file=$work/saved

state() {
	xatomic --json mr show
	(cd "$XATOMIC_BPFFS" && find . -mindepth 1 ! -name '*.debug' | sort)
}

refuse() { # NAME PATTERN COMMAND...: exit status 1, one line, nothing has changed
	local name=$1 pattern=$2 before status
	shift 2
	before=$(state)
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	is "$name: refused" "$status $(wc -c <"$work/out") $(wc -l <"$work/err")" "1 0 1"
	grep -qE -- "$pattern" "$work/err" || fail "$name: sentence" "wanted: $pattern" "got: $(cat "$work/err")"
	is "$name: nothing has changed" "$(state)" "$before"
}

fresh() { # xatomic attach options
	[ ! -e "$XATOMIC_BPFFS/xatomic/default" ] || xatomic destroy || bail "destroy"
	attach 1 1 --max-qps 4 "$@"
}

test_round_trip() {
	local before words qpn
	fresh --max-mrs 8
	rkey=$(mr_add one --words 600 --iova 0x1000 --owner 65534:65533 --perm 0640)
	mr_add two-2 --words 3 --pd 7 --access atomic,read >/dev/null
	xatomic mr set one 8 41
	xatomic mr set one 4792 0xfedcba9876543210
	xatomic mr set two-2 16 3
	before=$(xatomic --json mr show) words=$(xatomic --json mr dump one)
	is "save" "$(xatomic --json save "$file" | jq -c 'del(.bytes)')" \
		"{\"instance\":\"default\",\"file\":\"$file\",\"mrs\":2,\"words\":603}"
	is "the file is its owner's alone" "$(stat -c %a "$file")" 600
	is "save says how large it is" "$(xatomic --json save "$file" | jq .bytes)" "$(stat -c %s "$file")"
	is "and leaves nothing else" "$(find "$work" -name 'saved*')" "$file"
	fresh --max-mrs 8
	is "restore prints what mr show prints" "$(xatomic --json restore "$file" | jq -c .)" "$before"
	is "names, rkeys, everything is as it was" "$(xatomic --json mr show)" "$before"
	is "the words are as they were" "$(xatomic --json mr dump one)" "$words"
	is "those of the other too" "$(word two-2 16)" 3
	is "owner and mode of the pins" "$(stat -c '%n %u %g %a' "$XATOMIC_BPFFS"/xatomic/default/mr/* | sed 's|.*/||' | xargs)" \
		"one 65534 65533 640 two-2 0 0 600"
	qpn=$(qp_add 4 1 --rq-psn 5)
	is "a requester goes on with the rkey that it had" \
		"$(request 4 1 "$qpn" 5 "$rkey" fadd --addr 0x1008 --add 1)" 41
	is "queue pairs do not come back" "$(xatomic qp del "$qpn" && xatomic --json qp show)" "[]"
	is "the next rkey of the same index is another" "$(xatomic mr del one && next_rkey)" 1
}

# Registers until the index of "one" is used again.
next_rkey() {
	local i key
	for i in {1..7}; do
		key=$(mr_add "next$i" --words 1)
		[ $((key >> 8)) -ne $((rkey >> 8)) ] || echo $((key != rkey))
	done
}

test_nothing() {
	fresh --max-mrs 8
	is "no memory region: save" "$(xatomic --json save "$work/none" | jq -c '[.mrs, .words, .bytes]')" "[0,0,24]"
	is "no memory region: restore" "$(xatomic --json restore "$work/none")" "[]"
}

test_conflicts() {
	local before
	fresh --max-mrs 8
	xatomic restore "$file" >/dev/null
	refuse "restore twice" "there is a memory region '(one|two-2)' in instance 'default' already" xatomic restore "$file"
	xatomic mr del one
	refuse "one of two is there" "there is a memory region 'two-2'" xatomic restore "$file"
	xatomic mr del two-2
	mr_add two-2 --words 1 >/dev/null
	refuse "another of that name" "two-2" xatomic restore "$file"
	xatomic mr del two-2
	for i in {1..8}; do mr_add "m$i" --words 1 >/dev/null; done
	refuse "the rkeys are taken" "the rkey 0x[0-9a-f]+ of '(one|two-2)' cannot be had while 'm[1-8]' has" \
		xatomic restore "$file"
	for i in {1..8}; do xatomic mr del "m$i"; done
	check "with all out of the way" xatomic restore "$file"
	# Of two regions, one has an index above 0.
	fresh --max-mrs 1
	refuse "too small an instance" "too small .*--max-mrs [2-8] or more" xatomic restore "$file"
}

test_bad_files() {
	fresh --max-mrs 8
	refuse "no such file" "cannot be opened \(No such file" xatomic restore "$work/nothing"
	refuse "a directory" "cannot be read \(Is a directory" xatomic restore "$work"
	refuse "an empty file" "ends too early" xatomic restore /dev/null
	refuse "another file" "is no file of saved memory regions" xatomic restore "$build/xatomic"
	head -c -1 "$file" >"$work/torn"
	refuse "a torn file" "ends too early" xatomic restore "$work/torn"
	cp "$file" "$work/flipped"
	printf '\x2a' | dd of="$work/flipped" bs=1 seek=280 conv=notrunc status=none
	refuse "another value of a word" "checksum" xatomic restore "$work/flipped"
	(cat "$file" && echo) >"$work/longer"
	refuse "more behind it" "goes on behind its end" xatomic restore "$work/longer"
	check "a pipe will do" xatomic restore /dev/stdin < <(cat "$file")
}

test_bad_targets() {
	cp "$file" "$work/old"
	ln -s "$file" "$work/link"
	mkdir "$work/closed"
	refuse "a device" "/dev/full is there and no ordinary file" xatomic save /dev/full
	refuse "a directory" "no ordinary file" xatomic save "$work/closed"
	refuse "a symbolic link" "no ordinary file" xatomic save "$work/link"
	refuse "a directory that is not there" "cannot be written \(No such file" xatomic save "$work/no/file"
	mount -t tmpfs -o size=4k none "$work/closed"
	refuse "no space" "cannot be written \(No space left" xatomic save "$work/closed/file"
	is "no space: nothing is left" "$(ls -A "$work/closed")" ""
	umount "$work/closed"
	(flock 9 && exec sleep 600) 9>>"$file.tmp" &
	wait_for 30 locked "$file.tmp"
	refuse "two at once" "another 'xatomic save' is writing" xatomic save "$file"
	kill $!
	wait $! 2>/dev/null
	echo "left by a killed one" >"$file.tmp"
	check "what a killed one left is in nobody's way" xatomic save "$file"
	is "nothing is left" "$(find "$work" -name 'saved*')" "$file"
	ln "$file" "$file.tmp"
	refuse "somebody else's file is not touched" "belongs to somebody else" xatomic save "$file"
	rm "$file.tmp"
	check "the file is still whole" cmp "$file" "$work/old"
}

locked() { [ -e "$1" ] && ! flock -n "$1" true; }

# Sparse: words that are 0 take no room, and the rest is found again.
test_big() {
	fresh --max-mrs 8
	if ! mr_add big --words 134217728 >"$work/out" 2>&1; then
		skip "1 GiB" "$(cat "$work/out")"
		return
	fi
	xatomic mr set big 0 1
	xatomic mr set big 0x20000000 2
	xatomic mr set big 0x3ffffff8 3
	check "1 GiB: save" xatomic save "$work/big"
	is "1 GiB: the file is small" "$(($(stat -c %s "$work/big") < 20000))" 1
	check "1 GiB: del" xatomic mr del big
	check "1 GiB: restore" xatomic restore "$work/big"
	is "1 GiB: its words" "$(word big 0) $(word big 8) $(word big 0x20000000) $(word big 0x3ffffff8)" "1 0 2 3"
	check "1 GiB: del" xatomic mr del big
}

# Words that change while they are saved: each is one that was there.
test_live() {
	local qpn saver
	fresh --max-mrs 8
	rkey=$(mr_add live --words 2 --iova 0x1000)
	qpn=$(qp_add 4 1 --rq-psn 0)
	request 4 1 "$qpn" 0 "$rkey" fadd --addr 0x1008 --add 0x100000001 --count 20000 --window 16 >"$work/answers" &
	saver=$!
	wait_for 60 moves
	check "save under traffic" xatomic save "$work/live"
	wait $saver
	is "the requester noticed nothing" "$(wc -l <"$work/answers") $(word live 8)" "20000 $((20000 * 0x100000001))"
	xatomic mr del live
	check "restore" xatomic restore "$work/live"
	is "the word was one of those that were there" "$(grep -cx "$(word live 8)" "$work/answers")" 1
}

moves() { [ "$(word live 8)" -gt 0 ]; }

# More than a process may have open files.
test_many() {
	local i
	fresh --max-mrs 600
	for ((i = 0; i < 300; i++)); do
		"$build/xatomic" mr add "many$i" --words 2 >/dev/null && "$build/xatomic" mr set "many$i" 8 $i
	done
	is "300 regions: save" "$(ulimit -n 64 && xatomic --json save "$work/many" | jq .mrs)" 300
	fresh --max-mrs 600
	is "300 regions: restore" "$(ulimit -n 64 && xatomic --json restore "$work/many" | jq length)" 300
	is "300 regions: words" "$(word many0 8) $(word many299 8)" "0 299"
}

require_root
own_bpffs
lab_up --nodes 1
test_round_trip
test_nothing
test_conflicts
test_bad_files
test_bad_targets
test_big
test_live
test_many
finish
