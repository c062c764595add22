# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# options by which Clang leaves out warnings that the kernel's Makefile disables for Clang, too
CLANG_QUIET=(-Wno-unknown-warning-option -Wno-gnu -Wno-address-of-packed-member)

# kernel_cmd CLANG OBJECT [ROOT]: finds the command by which the kernel's Makefile made
# OBJECT, and converts the command for the compiler CLANG. Sets SOURCE to the source file, and ARGS
# to the options without the options -Wp,* and *bounds-strict*, and without the options that CLANG
# does not know. ROOT is the root directory in which OBJECT was built: /usr/src becomes
# ROOT/usr/src.
kernel_cmd() {
	local clang=$1 object=$2 root=${3:-} cmd arg
	local -a all=() keep=()
	cmd=$(sed -n 's/^\(saved\)\?cmd_[^ ]* := *//p' "${object%/*}/.${object##*/}.cmd")
	cmd=${cmd%% ; *}
	[ -z "$root" ] || cmd=${cmd//' /usr/src/'/" $root/usr/src/"} cmd=${cmd//-I\/usr\/src\//-I$root/usr/src/}
	eval "all=($cmd)"
	SOURCE=${all[-1]}
	for arg in "${all[@]:1:${#all[@]}-5}"; do
		case $arg in
		-Wp,* | *bounds-strict*) ;;
		*) keep+=("$arg") ;;
		esac
	done
	# ask CLANG only once which options it does not know, because all files have the same
	# options
	[ -n "${UNKNOWN+x}" ] || UNKNOWN=$("$clang" -### -fsyntax-only "${keep[@]}" "$SOURCE" 2>&1 |
		sed -n "s/.*error: [^']*'\([^']*\)'.*/ \1 /p")
	ARGS=()
	for arg in "${keep[@]}"; do
		[[ $UNKNOWN == *" $arg "* ]] || ARGS+=("$arg")
	done
}
