#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# probe.sh CACHE: prints the features that the kernel being built for lacks,
# and "-" in any case. Prints nothing if not even an empty snippet compiles.
#
# Called by Kbuild.include; the compiler and its flags are those that the
# kernel's Makefile exports. The answer is kept in CACHE until one of them, the
# kernel's configuration or a snippet changes.

cache=$1
dir=$(cd "$(dirname "$0")" && pwd)
generated=${objtree:-.}/include/generated

key=$({
	echo "$CC $NOSTDINC_FLAGS $LINUXINCLUDE $KBUILD_CPPFLAGS $KBUILD_CFLAGS"
	eval "$CC --version"
	cat "$generated/autoconf.h" "$generated/utsrelease.h" \
		"$generated/utsversion.h" "$generated/compile.h" \
		"$0" "$dir"/probes/*.c
} 2>/dev/null | sha256sum | cut -d' ' -f1)

if [ -r "$cache" ]; then
	{ read -r old; read -r missing; } <"$cache"
	if [ "$old" = "# $key" ]; then
		echo "${missing#\# }"
		exit 0
	fi
fi

# compiles SNIPPET
compiles()
{
	eval "$CC $NOSTDINC_FLAGS $LINUXINCLUDE \
		-include ${srctree:-.}/include/linux/compiler_types.h \
		$KBUILD_CPPFLAGS $KBUILD_CFLAGS $KBUILD_CFLAGS_MODULE -DMODULE \
		-DKBUILD_BASENAME='\"probe\"' -DKBUILD_MODNAME='\"probe\"' \
		-DKBUILD_MODFILE='\"probe\"' -D__KBUILD_MODNAME=kmod_probe \
		-Wno-error -Werror=implicit-function-declaration \
		-Werror=incompatible-pointer-types -Werror=int-conversion \
		-fsyntax-only '$1'"
}

# A broken compiler must not look like a kernel without features.
compiles "$dir/probes/any.c" >&2 || exit 0

# two at a time: it is the first thing of a build and the rest waits for it
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT
half()
{
	want=$1 n=0
	for file in "$dir"/probes/*.c; do
		n=$((n + 1))
		[ $((n % 2)) = "$want" ] || continue
		name=${file##*/}
		compiles "$file" >/dev/null 2>&1 || : >"$work/${name%.c}"
	done
}
half 0 &
half 1
wait

missing=$(cd "$work" && echo *)
[ "$missing" != "*" ] || missing=
printf '# %s\n# %s\n' "$key" "- $missing" >"$cache.$$" &&
	mv "$cache.$$" "$cache"
echo "- $missing"
