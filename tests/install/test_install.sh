#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What `make install` lays down: it is complete, pkg-config finds it, programs in C and C++ build against it
# and find it at run time, and the completion completes.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tests=0 failures=0

is() { # NAME GOT WANTED
	tests=$((tests + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tests - $1"
	else
		failures=$((failures + 1))
		printf '# got:    %s\n# wanted: %s\n' "$2" "$3"
		echo "not ok $tests - $1"
	fi
}

check() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$root/log" 2>&1
	is "$name" "$? $(head -c 2000 "$root/log")" "0 "
}

# Without what the `make` has left in the environment that this may run below.
make_install() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$build" DESTDIR="$root" PREFIX=/usr; }
is "make install" "$(make_install 2>&1 >/dev/null) $?" " 0"
is "files" "$(cd "$root" && find . -type f -o -type l | grep -v '^./log' | sort | sed 's|^./usr/||' | xargs)" \
	"$(find include -name '*.h' | sort | xargs) \
lib/libxatomic.a lib/libxatomic.so lib/libxatomic.so.0 lib/libxatomic.so.0.1.0 lib/pkgconfig/xatomic.pc \
lib/systemd/system/xatomic-serve@.service lib/xatomic/pass.bpf.o sbin/xatomic sbin/xatomic-req share/bash-completion/completions/xatomic \
share/bash-completion/completions/xatomic-req share/man/man8/xatomic-req.8 \
share/man/man8/xatomic-serve.8 share/man/man8/xatomic.8"
is "no link is broken" "$(find "$root" -xtype l)" ""
is "a second install does the same" "$(make_install 2>&1 >/dev/null) $?" " 0"
is "soname" "$(objdump -p "$root/usr/lib/libxatomic.so" | awk '$1 == "SONAME" { print $2 }')" libxatomic.so.0
is "only the public names are exported" \
	"$(nm -D --defined-only "$root/usr/lib/libxatomic.so" | awk '{ print $3 }' | grep -vcE '^(xatomic_|LIBXATOMIC_)')" 0
is "the program runs" "$("$root/usr/sbin/xatomic" --version)" "xatomic 0.1.0"

export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
is "version in pkg-config" "$(pkg-config --modversion xatomic)" 0.1.0
cat >"$root/user.c" <<-'C'
	#include <stdio.h>
	#include <xatomic/mr.h>
	#include <xatomic/requester.h>

	int main(void)
	{
		struct xatomic_mr *mr = xatomic_mr_open(NULL, "no such name");

		if (mr)
			xatomic_mr_words(mr)[0]++;
		xatomic_mr_close(mr);
		puts(xatomic_error());
		return !!mr;
	}
C
cp "$root/user.c" "$root/user.cc"
# shellcheck disable=SC2046
build_user() { # COMPILER SOURCE [OPTIONS]
	"$1" -Wall -Wextra -Werror -o "$root/user" "$2" $(pkg-config "${@:3}" --cflags --libs xatomic)
}
run_user() { LD_LIBRARY_PATH=$root/usr/lib "$root/user" | cut -c1-40; }
sentence="'no such name' of instance 'default' can"
check "a C program builds" build_user gcc "$root/user.c"
is "it runs" "$(run_user)" "$sentence"
if command -v g++ >/dev/null; then
	check "a C++ program builds" build_user g++ "$root/user.cc"
	is "it runs" "$(run_user)" "$sentence"
	for header in "$root"/usr/include/xatomic/*.h; do
		check "$(basename "$header") alone is C++" \
			g++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I "$root/usr/include" -include "$header" -x c++ /dev/null
	done
else
	tests=$((tests + 1))
	echo "ok $tests - a C++ program builds # SKIP g++ is not installed"
fi
for header in "$root"/usr/include/xatomic/*.h; do
	check "$(basename "$header") alone is C" \
		gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I "$root/usr/include" -include "$header" -x c /dev/null
done
rm "$root"/usr/lib/libxatomic.so*
check "a C program builds with the static library" build_user gcc "$root/user.c" --static
is "it runs" "$(run_user)" "$sentence"

# Into the running system, which is hidden below copies. The build of before is what counts, so nothing is made.
install_for_real() {
	cp -a /etc "$root/etc" && mount --bind "$root/etc" /etc &&
		mount -t tmpfs none /usr/local && { [ ! -d /var/cache/ldconfig ] ||
		mount -t tmpfs none /var/cache/ldconfig; } || return 77
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s install BUILD="$build" DESTDIR= PREFIX=/usr/local >/dev/null || return 1
	unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
	build_user gcc "$root/user.c" && "$root/user" >/dev/null
}
export -f install_for_real build_user
export root build
if [ "$(id -u)" -eq 0 ]; then
	check "a program finds the library after a plain make install" unshare -m bash -c install_for_real
else
	tests=$((tests + 1))
	echo "ok $tests - a program finds the library after a plain make install # SKIP needs root for a mount namespace"
fi

for page in "$root"/usr/share/man/man8/*.8; do
	check "$(basename "$page") is formatted" mandoc -T lint -W warning "$page"
done

# shellcheck disable=SC1091
. "$root/usr/share/bash-completion/completions/xatomic"
complete_line() { # WORDS...: what the last one could become
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_xatomic "$root/usr/sbin/$1"
	printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}
is "commands" "$(complete_line xatomic '')" "attach destroy detach monitor mr qp restore save serve show stat upgrade"
is "commands by prefix" "$(complete_line xatomic d)" "destroy detach"
is "second words" "$(complete_line xatomic mr '')" "add del dump set show"
is "second words behind an option" "$(complete_line xatomic -i name qp '')" "add del reset show"
is "options of a command" "$(complete_line xatomic attach --m)" "--max-mrs --max-qps --mode"
is "options of every command" "$(complete_line xatomic stat --p)" "--pretty"
is "values" "$(complete_line xatomic attach eth0 --mode '')" "auto generic native"
mkdir -p "$root/bpffs/xatomic/first" "$root/bpffs/xatomic/second"
is "instances" "$(complete_line xatomic --bpffs "$root/bpffs" --instance '')" "first second"
is "instances by the short option" "$(complete_line xatomic --bpffs "$root/bpffs" -i '')" "first second"
is "commands of xatomic-req" "$(complete_line xatomic-req --dev eth0 '')" "cswap fadd perf"
is "options of xatomic-req" "$(complete_line xatomic-req cswap --co)" "--compare --connect --count"
echo "1..$tests"
[ $failures -eq 0 ]
