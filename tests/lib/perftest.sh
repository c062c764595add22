# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Recognises failures that are perftest's own faults. They do not count as results: the test runs
# server and client once more.

is_perftest() { case $1 in ib_*) return 0 ;; *) return 1 ;; esac; }

# once_more WHAT: prints that WHAT runs a second time (lib/job.sh shows this); there is no third
# time
once_more() { echo "# once more: $*"; }

# too_early RC OUTPUT: did the client connect before the server listened? The two sides first
# exchange messages over TCP; then the server starts to listen and the client connects. If the
# client is faster, it is rejected, and crashes before its next attempt. With a longer network
# delay the server is faster. (The gate of the laboratory checks where a program crashed.)
too_early() { grep -qs RDMA_CM_EVENT_REJECTED "$2" && { [ "$1" -lt 124 ] || [ "$1" = 139 ]; }; }

# no_clock RC OUTPUT: did the client fail to measure the processor's clock rate? It measures the
# rate after the last completion, to compute its figures, and fails if other programs use the
# processor. Then it exits without the final message to the server, whose receive is flushed.
no_clock() { [ "$1" = 1 ] && grep -qs "^Can't produce a report$" "$2"; }
# flushed OUTPUT: did the server report a flushed receive?
flushed() { grep -qs '^Bad wc status -- 5 ' "$1"; }

# without_clock COMMAND: prints COMMAND with the option that lets a client succeed without the
# clock rate; its figures are then 0 or inf
without_clock() {
	local program=${1%% *}
	echo "$program -F${1#"$program"}"
}
