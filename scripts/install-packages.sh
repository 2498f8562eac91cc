#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs those of some Debian packages that are missing. Their services do not start by themselves. Exit status 75
# when the packages cannot be had.
#
# Usage: install-packages.sh PACKAGE...
set -eu

missing=()
for package in "$@"; do
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
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f "$log" $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	echo "install-deps: apt-get cannot install ${missing[*]} ($(grep '^E: ' "$log" | tail -1));" \
		"see that Debian's packages can be reached" >&2
	exit 75
fi
