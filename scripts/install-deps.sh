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

exec "$(dirname "$0")/install-packages.sh" "${packages[@]}"
