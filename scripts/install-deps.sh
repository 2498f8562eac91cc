#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs the Debian packages that building, testing and the demo need and that are missing.
set -eu

packages=(
	# build
	gcc make clang llvm libbpf-dev libelf-dev zlib1g-dev libjson-c-dev bpftool pkg-config libc6-dev
	# lab and demo
	iproute2 procps util-linux ethtool jq
	# tests
	libcmocka-dev libclang-rt-dev clang-format sparse shellcheck mandoc tshark python3-scapy strace git
)

missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
		missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "install-deps: these packages are missing and only root can install them: ${missing[*]};" \
		"run: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
