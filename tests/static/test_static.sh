#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What can be said of the sources without running them: format, licences, shell, man pages, byte order.
# One result per check and file; a tool that is missing is a skip.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
tests=0 failures=0

result() { # NAME OUTPUT: passes when there is no output
	tests=$((tests + 1))
	if [ -z "$2" ]; then
		echo "ok $tests - $1"
	else
		failures=$((failures + 1))
		printf '%s\n' "$2" | head -30 | sed 's/^/# /'
		echo "not ok $tests - $1"
	fi
}

have() { # TOOL
	command -v "$1" >/dev/null && return
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $1 is not installed"
	return 1
}

# What belongs to the project: tracked files, or all of them in an unpacked archive.
files() { # GLOB...
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files -- "$@"
	else
		local glob
		for glob in "$@"; do
			find . -path "./$build" -prune -o -type f -path "./$glob" -printf '%P\n'
		done
	fi | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

check_format() {
	local file
	have clang-format || return
	for file in $(files '*.c' '*.h'); do
		result "format of $file" "$(clang-format --dry-run -Werror "$file" 2>&1)"
	done
}

# Data has no comments, and a licence text is no licensed file.
check_licences() {
	local file wanted
	for file in $(files '*' | grep -vE '\.(pcap|bin|hex|json|txt)$|(^|/)(LICENSES?|COPYING)|^\.gitignore$'); do
		wanted='(GPL-2.0-only OR )?BSD-2-Clause'
		[[ $file =~ ^(bpf|include)/ ]] && wanted='GPL-2.0-only OR BSD-2-Clause'
		result "licence of $file" \
			"$(head -4 "$file" | grep -qE "SPDX-License-Identifier: $wanted( |\$|-->)" ||
				echo "no line 'SPDX-License-Identifier: $wanted' at its top")"
	done
}

check_shell() {
	local file
	have shellcheck || return
	for file in $(files '*' | while read -r f; do
		[[ $f == *.sh ]] || head -1 "$f" | grep -qaE '^#!.*\b(ba)?sh$' && echo "$f"
	done); do
		result "shellcheck of $file" "$(shellcheck "$file" 2>&1)"
	done
}

check_man_pages() {
	local file
	have mandoc || return
	for file in $(files 'man/*.[1-8]'); do
		result "mandoc of $file" "$(mandoc -T lint -W warning "$file" 2>&1)"
	done
}

# sparse knows no packed enums, so its idea of sizes is not asked for (gcc checks every static assertion);
# what it says of the strings in generated skeletons is no concern of ours.
check_byte_order() {
	local file multiarch
	have sparse || return
	multiarch=$(gcc -print-multiarch)
	for file in $(files 'user/*.c' 'scripts/*.c'); do
		result "byte order in $file" "$(sparse -Wbitwise -Wno-decl -include tests/static/sparse-endian.h \
			'-D_Static_assert(x,y)=' -D_GNU_SOURCE '-DXATOMIC_VERSION=""' -std=gnu11 -Iinclude -Iuser \
			-I"$build" -I"/usr/include/$multiarch" "$file" 2>&1 |
			grep -vE 'note: in included file|\.skel\.h:')"
	done
}

check_format
check_licences
check_shell
check_man_pages
check_byte_order
echo "1..$tests"
[ $failures -eq 0 ]
