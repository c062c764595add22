# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Recognises failures whose cause is perftest itself. After such a failure, the test runs server and
# client once more, and only the second run counts.

# is_perftest COMMAND: is COMMAND a program of perftest?
is_perftest() { case $1 in ib_*) return 0 ;; *) return 1 ;; esac; }

# once_more WHAT: prints that WHAT runs a second time. There is no third time. tell() in job.sh
# copies the line to the output of make check.
once_more() { echo "# once more: $*"; }

# too_early RC OUTPUT: did a client with the exit status RC and the output file OUTPUT connect
# before the server listened? First both exchange messages over TCP. Then the server begins to
# listen, and the client connects. If the client is faster, it is rejected, and crashes before its
# next attempt. With a longer network delay the server is faster. (The gate of the laboratory checks
# where a program crashed.)
too_early() { grep -qs RDMA_CM_EVENT_REJECTED "$2" && { [ "$1" -lt 124 ] || [ "$1" = 139 ]; }; }

# no_clock RC OUTPUT: did a client with the exit status RC and the output file OUTPUT fail to
# measure the clock rate of the processor? The client measures the rate after the last completion,
# and needs the rate for its results. The measurement fails if other programs use the processor.
# Then the client exits without its final message to the server, and the server's receive is
# flushed.
no_clock() { [ "$1" = 1 ] && grep -qs "^Can't produce a report$" "$2"; }
# flushed OUTPUT: did the server, whose output is in the file OUTPUT, report a flushed receive?
flushed() { grep -qs '^Bad wc status -- 5 ' "$1"; }

# without_clock COMMAND: prints COMMAND with the option -F. With -F a client succeeds even if it
# cannot measure the clock rate, and prints 0 or inf as its results.
without_clock() {
	local program=${1%% *}
	echo "$program -F${1#"$program"}"
}
