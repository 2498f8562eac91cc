#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what `make interop` needs on the host, over and above scripts/install-deps.sh: the emulator, what packs the
# guest, and the headers for the client programs. Exit status 75 when the packages cannot be had.
set -eu

packages=(qemu-system-x86 apt dpkg kmod cpio zstd libibverbs-dev librdmacm-dev)

exec "$(dirname "$0")/../../scripts/install-packages.sh" "${packages[@]}"
