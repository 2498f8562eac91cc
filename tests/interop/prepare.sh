#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Gets what the rounds need from outside: packages for the host, and the guest. When they cannot be had, that is
# no failure: $BUILD/interop/unavailable says why, and the rounds are skipped with that reason.
set -u
BUILD=${BUILD:-build}
export BUILD
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$BUILD/interop"
why=$BUILD/interop/unavailable

prepare() {
	rm -f "$why"
	tests/interop/install-deps.sh && tests/interop/guest/build.sh
}

prepare 2>"$why.new"
status=$?
cat "$why.new" >&2
if [ $status -eq 75 ]; then
	tail -1 "$why.new" >"$why"
	status=0
fi
rm -f "$why.new"
exit $status
