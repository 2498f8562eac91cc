#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what the bench compares with and what draws its plots, over and above scripts/install-deps.sh.
set -eu

packages=(redis-server redis-tools memcached gnuplot-nox jq iproute2 util-linux procps)

exec "$(dirname "$0")/../scripts/install-packages.sh" "${packages[@]}"
