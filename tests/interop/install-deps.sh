#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what `make interop` needs on the host, over and above scripts/install-deps.sh: the emulator, what packs the
# guest, and the headers for the client programs. Exit status 75 when the packages cannot be had.
set -eu

packages=(qemu-system-x86 apt dpkg kmod cpio zstd libibverbs-dev librdmacm-dev)

missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
		missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "install-deps: these packages are missing and only root can install them: ${missing[*]};" \
		"run: sudo apt-get install ${missing[*]}" >&2
	exit 75
fi
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	echo "install-deps: apt-get cannot install ${missing[*]} ($(grep '^E: ' "$log" | tail -1));" \
		"see that Debian's packages can be reached" >&2
	exit 75
fi
