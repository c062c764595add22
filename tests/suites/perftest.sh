#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perftest: the commands and the options of Documentation/applications/perftest.rst. (perftest does
# not compare its data; the selftest verify does. "make bench" measures.)
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/suites/meet.sh
. "$here/meet.sh"

# A client that was too early is no result (tests/lib/perftest.sh)
perf_once() {
	local was rc=0
	meet_commands 18515 "$1 -F" "$1 -F 192.0.2.1" && return
	too_early 1 "$TMP/client" || return
	once_more "$1: the client was rejected"
	was=$DISTANCE
	distance "far off" 100
	meet_commands 18515 "$1 -F" "$1 -F 192.0.2.1" || rc=$?
	[ -n "$was" ] || distance near
	return $rc
}
figures() { grep -qE '^ *[0-9]+ +[0-9]+ ' "$TMP/client"; }
perf() { perf_once "$1" && { figures || { cat "$TMP/client"; return 1; }; }; }

# options: the page's commands; the short form has the first of some programs
options() {
	if [ -z "$QUICK" ]; then recipe options; else recipe options | awk '!seen[$1]++' | head -n 4; fi
}

# The page's commands have no -F, without which a client needs the processor's clock
# (tests/lib/perftest.sh)
write_bw() {
	meet_once 18515 write-bw && return
	no_clock 1 "$TMP/client" || return 1
	once_more "ib_write_bw: the client could not measure the processor's clock"
	meet_once 18515 write-bw 's/^ib_write_bw/& -F/' && as_told write-bw-client "$TMP/client"
}

# check_said WHAT COMMAND...: check, and what ran once more is said
check_said() {
	check "$@"
	grep '^# once more: ' "$KTAP_LOG"
}

suite_begin ib_write_bw
if ! check "two hosts" meet_begin; then suite_finish; fi
COOKED+=(write-bw-server write-bw-client)
check_said "ib_write_bw" write_bw
[ -n "$QUICK" ] || meet "ib_send_lat" 18515 send-lat
COOKED+=(options)
mapfile -t lines < <(options)
for line in "${lines[@]}"; do check_said "$line" perf "$line"; done
meet_end
suite_finish
