# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the rounds of `make interop` share, over and above tests/netns/lib.sh, which this sources: a guest with
# Debian's kernel and soft-RoCE, its network card a tap in a network namespace of the test's own.
#
#	guest_up [--no-rxe] [--memory MB] [--capture FILE]
#				boots it and returns when it is ready. --capture: a pcap of every frame of the tap, both
#				ways, also of what XDP takes, which no packet socket on the tap would see
#	in_guest COMMAND...	runs a command there, as ssh would: output and exit status come back. Status 255: the
#				guest is gone, or hung for $guest_limit seconds
#	guest_start COMMAND...	the same in the background; prints a handle H. H.out and H.err are what it has printed
#	guest_wait H		waits for its end and returns its exit status
#	guest_results H NAME	the same for what prints TAP: its results count as ours. Fewer or more than it planned, or
#				an exit status without a reason, is a failure
#	guest_run JOB [ARG...]	both, for a file of jobs/ or any path with a slash
#	rxe_fell_silent		with --capture: has the requester in the guest stopped, although its last request was answered?
#	guest_down		powers it off; the trap of tests/netns/lib.sh does the rest
#
# Commands run as root, as many at once as are started, in a copy of the environment that has BUILD. The source tree and
# $(BUILD) are there at the same paths as on the host, read-only, and the working directory is the source tree: programs
# and tests are simply called, and a job can source tests/netns/lib.sh itself. /share in the guest is $share on the host,
# writable for both.
#
#	host:  namespace $host_ns, $host_dev, $host_ip4, $host_ip6
#	guest: eth0 with rxe0 on it, $guest_ip4, $guest_ip6
#
# shellcheck source=tests/netns/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

host_ns=$prefix-host host_dev=tap0 host_mac=02:00:00:77:00:01
host_ip4=10.77.0.1 host_ip6=fd00:77::1
guest_mac=02:00:00:77:00:02
guest_ip4=10.77.0.2 guest_ip6=fd00:77::2
guest_limit=300
capture=
share=$work/share
guest_pid=

# No segmentation and no checksums left to hardware that is not there, and no neighbours to look for.
make_tap() {
	if ! { ip netns add "$host_ns" && ip -n "$host_ns" tuntap add dev $host_dev mode tap; } 2>"$work/tap"; then
		skip_all "no tap in a network namespace here: $(tail -1 "$work/tap")"
	fi
	ip -n "$host_ns" link set dev lo up
	ip -n "$host_ns" link set dev $host_dev address $host_mac addrgenmode none
	ip -n "$host_ns" address add $host_ip4/24 dev $host_dev
	ip -n "$host_ns" address add $host_ip6/64 dev $host_dev nodad
	ip -n "$host_ns" link set dev $host_dev up
	ip -n "$host_ns" neighbour replace $guest_ip4 lladdr $guest_mac dev $host_dev nud permanent
	ip -n "$host_ns" neighbour replace $guest_ip6 lladdr $guest_mac dev $host_dev nud permanent
}

# What init reads.
write_config() { # RXE
	local name
	mkdir -p "$share/.guest"
	{
		printf 'tree=%q build=%q rxe=%q\n' "$here" "$build" "$1"
		for name in host_mac host_ip4 host_ip6 guest_ip4 guest_ip6; do
			printf '%s=%q\n' $name "${!name}"
		done
	} >"$share/.guest/config"
}

folder() { # TAG PATH OPTIONS
	echo "local,path=$2,mount_tag=$1,security_model=none,id=$1$3"
}

# The guest's time stamp counter is this machine's. Its kernel would measure the frequency by a timer that is late on a
# busy machine, and its clock then runs several times too fast: so it is told.
clock_rate() {
	local khz
	khz=$("$build/interop/tsc_khz") && echo "${khz:+tsc_early_khz=$khz}"
}

# Two CPUs at least: with one, the emulator's virtual network card loses wake-ups under load. No vnet_hdr: frames are
# captured as they would be on a wire, with their checksums and nothing before them.
boot() { # MEMORY [OPTIONS]
	local memory=$1
	shift
	nsenter --net="/run/netns/$host_ns" qemu-system-x86_64 -M q35 -accel tcg -cpu max -smp 2 -m "$memory" \
		-nodefaults -no-user-config -no-reboot -display none -monitor none -serial "file:$work/console" \
		-kernel "$build/interop/guest/vmlinuz" -initrd "$build/interop/guest/initramfs" \
		-append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off tsc=reliable $(clock_rate) no_timer_check net.ifnames=0 rdinit=/init" \
		-netdev "tap,id=net,ifname=$host_dev,script=no,downscript=no,vhost=off,vnet_hdr=off" \
		-device "virtio-net-pci,netdev=net,mac=$guest_mac" -device virtio-rng-pci \
		-virtfs "$(folder share "$share" ,multidevs=remap)" \
		-virtfs "$(folder tree "$here" ,readonly=on,multidevs=remap)" \
		-virtfs "$(folder build "$build" ,readonly=on,multidevs=remap)" \
		"$@" </dev/null >"$work/qemu" 2>&1 &
	guest_pid=$!
}

guest_up() { # [OPTIONS]
	local memory=1024 rxe=yes
	local -a more=()
	while [ $# -gt 0 ]; do
		case $1 in
		--no-rxe) rxe=no ;;
		--memory) memory=$2 && shift ;;
		--capture)
			capture=$2
			more=(-object "filter-dump,id=dump,netdev=net,file=$capture")
			shift
			;;
		*) bail "guest_up: unknown option $1" ;;
		esac
		shift
	done
	require_root
	[ ! -e "$build/interop/unavailable" ] || skip_all "$(cat "$build/interop/unavailable")"
	make_tap
	write_config $rxe
	boot "$memory" "${more[@]}"
	guest_reaches ready || bail "the guest does not come up" "$(guest_last_words)"
}

guest_alive() { kill -0 "$guest_pid" 2>/dev/null; }

guest_last_words() {
	tail -20 "$work/console"
	tail -5 "$work/qemu"
}

# Waits for a file that the guest makes. A guest that is dead or hung makes none.
guest_reaches() { # FILE
	local end=$((SECONDS + guest_limit))
	until [ -e "$share/.guest/$1" ]; do
		guest_alive && [ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

guest_start() { # COMMAND [ARG...]
	local handle
	handle=$(mktemp "$share/.guest/XXXXXXXX")
	printf '%q ' "$@" >"$handle"
	mv "$handle" "$handle.cmd"
	echo "$handle"
}

guest_wait() { # HANDLE
	if ! guest_reaches "$(basename "$1").status"; then
		{
			echo "the guest is gone, or hung for $guest_limit seconds: $(cat "$1".{cmd,sh} 2>/dev/null)"
			guest_last_words
		} >&2
		return 255
	fi
	return "$(cat "$1.status")"
}

in_guest() { # COMMAND [ARG...]
	local handle status
	handle=$(guest_start "$@")
	guest_wait "$handle"
	status=$?
	cat "$handle.out" 2>/dev/null
	cat "$handle.err" >&2 2>/dev/null
	return $status
}

# The results of what was started, when it has ended.
guest_results() { # HANDLE NAME
	local handle=$1 name=$2 status before=$tests bad=$failures planned
	guest_wait "$handle" 2>"$work/lost"
	status=$?
	adopt <"$handle.out"
	planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$handle.out")
	[ "$((tests - before))" = "$planned" ] && { [ $status -eq 0 ] || [ $failures -gt "$bad" ]; } && return
	fail "$name: $((tests - before)) of ${planned:-?} results, exit status $status" \
		"$(tail -20 "$handle.err")" "$(cat "$work/lost")"
}

guest_run() { # JOB [ARG...]
	local job=$1
	shift
	[[ $job == */* ]] || job=tests/interop/jobs/$job
	guest_results "$(guest_start "$job" "$@")" "$(basename "$job")"
}

# After losses, the requester of rxe in 6.1 now and then neither sends its next requests nor repeats any. To be asked when
# a client has been ended by its limit: one that is not answered goes on repeating or gives up.
rxe_fell_silent() {
	local when last
	read -r when last < <(tshark -n -r "$capture" -Y infiniband.bth -T fields -e frame.time_epoch -e ip.src \
		-e ipv6.src 2>/dev/null | tail -1)
	[ "${when%.*}" -le $(($(date +%s) - 5)) ] && { [ "$last" = $host_ip4 ] || [ "$last" = $host_ip6 ]; }
}

guest_down() {
	touch "$share/.guest/poweroff"
	wait_for "$guest_limit" eval '! guest_alive' || fail "the guest powers off" "$(guest_last_words)"
	kill -9 "$guest_pid" 2>/dev/null
	wait "$guest_pid"
}
