#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prints what the test programs are doing. This script is the usual value of IWT_LOOK, so the script
# runs before a program that hangs is killed. For each process of a program in IWT_BIN, it prints
# the state, the processor time that the process used within a second (ticks in user mode and in
# kernel mode), and the kernel stack.

# shellcheck disable=SC2086
used() { local s; { read -r s <"/proc/$1/stat"; } 2>/dev/null || return; s=${s##*) }; set -- $s; echo "$1 ${12} ${13}"; }

declare -A before=()
for exe in /proc/[0-9]*/exe; do
	pid=${exe#/proc/} pid=${pid%/exe}
	[[ $(readlink "$exe" 2>/dev/null) != "${IWT_BIN:-/opt/iw_tcp/bin}/"* ]] || before[$pid]=$(used "$pid")
done
[ ${#before[@]} -gt 0 ] || exit 0
read -rt 1 <> <(:)
for pid in "${!before[@]}"; do
	now=$(used "$pid")
	[ -n "$now" ] || continue
	# shellcheck disable=SC2086
	set -- ${before[$pid]} $now
	echo "# process $pid ($(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c 1-100)): state $4, $(($5 - $2)) user, $(($6 - $3)) kernel"
	sed 's/^/#   /' "/proc/$pid/stack" 2>/dev/null
done
