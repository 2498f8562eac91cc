#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what the bench compares with and what draws its plots, over and above scripts/install-deps.sh.
set -eu

packages=(redis-server redis-tools memcached gnuplot-nox jq iproute2 util-linux procps)

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
# The bench starts its own servers, in namespaces of its own: none shall start by itself.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
	trap 'rm -f $policy' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
