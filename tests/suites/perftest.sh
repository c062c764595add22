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
	meet_commands 18515 "$1" "$1 192.0.2.1" && return
	too_early 1 "$TMP/client" || return
	once_more "$1: the client was rejected"
	was=$DISTANCE
	distance "far off" 100
	meet_commands 18515 "$1" "$1 192.0.2.1" || rc=$?
	[ -n "$was" ] || distance near
	return $rc
}
figures() { grep -qE '^ *[0-9]+ +[0-9]+ ' "$TMP/client"; }
perf() { perf_once "$1" && { figures || { cat "$TMP/client"; return 1; }; }; }

# options: the page's commands; the short form has the first of some programs
options() {
	if [ -z "$QUICK" ]; then recipe options; else recipe options | awk '!seen[$1]++' | head -n 4; fi
}

suite_begin ib_write_bw
if ! check "two hosts" meet_begin; then suite_finish; fi
meet "ib_write_bw" 18515 write-bw
[ -n "$QUICK" ] || meet "ib_send_lat" 18515 send-lat
mapfile -t lines < <(options)
for line in "${lines[@]}"; do check "$line" perf "$line"; done
ran options
meet_end
suite_finish
