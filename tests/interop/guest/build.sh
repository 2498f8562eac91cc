#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes the guest of `make interop` out of Debian's packages: a kernel with soft-RoCE, and an initramfs with the user land
# of rdma-core and what the project's programs and tests need. Nothing of it is installed on the host, no package's script
# runs, and apt's own state stays as it is.
#
# Usage: BUILD=DIR [INTEROP_CACHE=DIR] tests/interop/guest/build.sh
#
# Packages and guests are kept in INTEROP_CACHE (default: $BUILD/interop), which several source trees may share. A guest
# is named by a hash of what makes it, this file and init, so it is made once; it appears there complete or not at all.
# $BUILD/interop/guest is a link to it: vmlinuz, initramfs, packages (names and versions).
# To have Debian's newest packages, remove the folder guest-*. Exit status 75 when the packages cannot be had.
set -euo pipefail

packages=(
	bash coreutils sed grep mawk findutils diffutils procps util-linux mount kmod jq strace
	iproute2 iputils-ping ethtool tcpdump netcat-openbsd
	ibverbs-providers ibverbs-utils librdmacm1 rdmacm-utils perftest python3-minimal python3-pyverbs
	# for the project's own programs and tests
	bpftool libbpf1 libelf1 libjson-c5 zlib1g libasan8 libubsan1 libcmocka0
)
modules=(
	virtio_pci virtio_net virtio_rng 9p 9pnet_virtio crc32_generic crc32_pclmul crc32c_generic
	ib_uverbs ib_umad rdma_ucm rdma_rxe
	veth tun ifb dummy bridge 8021q sch_netem sch_ingress cls_bpf cls_matchall act_bpf act_mirred
)
# Debian's cloud flavour has no rdma_rxe.
kernel=linux-image-amd64

here=$(cd "$(dirname "$0")" && pwd)
build=$(mkdir -p "${BUILD:-build}/interop" && cd "${BUILD:-build}" && pwd)
cache=${INTEROP_CACHE:-$build/interop}
PATH=$PATH:/usr/sbin:/sbin
key=$(cat "$here/build.sh" "$here/init" | sha256sum | cut -c1-16)

unavailable() {
	echo "guest: $1 ($(grep '^E: ' "$work/apt" | tail -1)); see that Debian's packages can be reached," \
		"or set INTEROP_CACHE to a folder that has them" >&2
	exit 75
}

# With an empty status, apt resolves everything down to the C library, whatever the host has installed.
apt() {
	apt-get -o Dir::State::status="$work/status" -o Dir::Cache::archives="$cache/debs" -o APT::Sandbox::User=root \
		-o Debug::NoLocking=1 -qq -y --no-install-recommends "$@" 2>"$work/apt"
}

# "name version" of all that is to be unpacked.
resolve() {
	apt -s install "${packages[@]}" | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' >"$work/packages" &&
		image=$(apt-cache depends "$kernel" | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p') && [ -n "$image" ]
}

download() {
	mkdir -p "$cache/debs/partial"
	apt --download-only install "${packages[@]}" >/dev/null &&
		(cd "$cache/debs" && apt download "$image" >/dev/null)
}

# Lists that are old or absent are the usual cause of failure, so they are renewed once.
fetch() {
	echo "Downloading the packages of the guest"
	{ resolve && download; } && return
	apt-get -qq update >/dev/null 2>"$work/apt" || unavailable "apt-get cannot update its lists"
	resolve || unavailable "apt-get cannot find all packages of the guest"
	download || unavailable "apt-get cannot download the packages of the guest"
}

deb() { # NAME VERSION
	echo "$cache/debs/${1%%:*}_${2//:/%3a}_"*.deb
}

unpack() {
	local name version dir
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do
		ln -s usr/$dir "$root/$dir"
	done
	while read -r name version; do
		dpkg-deb --fsys-tarfile "$(deb "$name" "$version")" |
			tar -x -C "$root" --keep-directory-symlink --no-same-owner
	done <"$work/packages"
	# What nobody there reads; nor does anything that is run need Perl.
	rm -rf "$root"/usr/share/{doc,man,locale,info,lintian,bash-completion,zoneinfo,perl*,misc} "$root"/usr/bin/perl* \
		"$root"/usr/lib/{udev,systemd} "$root"/usr/lib/*-linux-gnu/{perl*,libperl*,gconv}
}

# What the packages' scripts would have done.
configure() {
	mkdir -p "$root"/{proc,sys/fs/bpf,dev,tmp,run,root,share,etc}
	ln -s mawk "$root/usr/bin/awk"
	ln -s bash "$root/usr/bin/sh"
	[ -e "$root/usr/bin/nc" ] || ln -s nc.openbsd "$root/usr/bin/nc"
	printf '%s\n' root:x:0:0::/root:/bin/bash nobody:x:65534:65534::/:/bin/false tcpdump:x:101:101::/:/bin/false \
		>"$root/etc/passwd"
	printf '%s\n' root:x:0: nogroup:x:65534: tcpdump:x:101: >"$root/etc/group"
	echo 127.0.0.1 localhost >"$root/etc/hosts"
	ldconfig -r "$root"
	install -m 755 "$here/init" "$root/init"
}

newest() { # FILE...
	local file newest=$1
	for file; do
		[ "$file" -ot "$newest" ] || newest=$file
	done
	echo "$newest"
}

# The modules that are wanted, and those that they need.
install_kernel() {
	local version file module
	dpkg-deb -x "$(newest "$cache/debs/${image}"_*.deb)" "$work/kernel"
	version=$(ls "$work/kernel/lib/modules")
	cp "$work/kernel/boot/vmlinuz-$version" "$work/guest/vmlinuz"
	depmod -b "$work/kernel" "$version"
	mkdir -p "$root/lib/modules/$version"
	cp "$work/kernel/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$version/"
	for module in "${modules[@]}"; do
		modprobe -d "$work/kernel" -S "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | sort -u | while read -r file; do
		install -D -m 644 "$file" "$root${file#"$work/kernel"}"
	done
	depmod -b "$root" "$version"
	echo "$image" >>"$work/packages"
}

make_guest() {
	work=$(mktemp -d "$cache/tmp.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	root=$work/root
	mkdir "$work/guest"
	: >"$work/status"
	fetch
	echo "Making the guest"
	unpack
	configure
	install_kernel
	cp "$work/packages" "$work/guest/"
	(cd "$root" && find . -print0 | cpio --null -o -H newc -R 0:0 --quiet) >"$work/guest/initramfs"
	mv -T "$work/guest" "$cache/guest-$key"
}

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
exec {lock}>"$cache/lock"
flock $lock
[ -d "$cache/guest-$key" ] || make_guest
ln -sfnr "$cache/guest-$key" "$build/interop/guest"
