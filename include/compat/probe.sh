#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# probe.sh CACHE: prints "-", and the features that the target kernel lacks.
# Prints nothing if not even a snippet that uses no feature compiles.
#
# Kbuild.include calls this script. The kernel's Makefile exports the compiler
# and its flags. The result is stored in the file CACHE, and used again until
# the compiler, its flags, the kernel's version or configuration, a snippet or
# this script changes.

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

# compiles SNIPPET: succeeds if the file SNIPPET compiles
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

# Compile two snippets at a time: the whole build waits for this script.
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
