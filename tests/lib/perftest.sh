# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# How perftest ends by itself, which is no result: the pair runs once more.

is_perftest() { case $1 in ib_*) return 0 ;; *) return 1 ;; esac; }

# once_more WHAT: says that WHAT is tried again; nothing is tried again twice
once_more() { echo "# once more: $*"; }

# too_early RC OUTPUT: the client connected before the server listened. The two sides shake hands,
# then the server listens while the client connects. If the client connects first, it is rejected,
# and crashes before its next attempt. With a longer delay between the two it does not. (The gate
# of the laboratory checks where a program crashed.)
too_early() { grep -qs RDMA_CM_EVENT_REJECTED "$2" && { [ "$1" -lt 124 ] || [ "$1" = 139 ]; }; }

# no_clock RC OUTPUT: the client could not measure the clock of the processor. It does so behind
# the last completion, for its figures, and cannot where others use the processor. Then it exits,
# without a word to the server, whose receive for that word is flushed.
no_clock() { [ "$1" = 1 ] && grep -qs "^Can't produce a report$" "$2"; }
flushed() { grep -qs '^Bad wc status -- 5 ' "$1"; }

# without_clock COMMAND: with the option by which a client ends well without the clock, and prints
# 0 or inf for its figures
without_clock() {
	local program=${1%% *}
	echo "$program -F${1#"$program"}"
}
