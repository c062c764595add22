#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One queue pair, and then 32 queue pairs at the same time, add to one word by atomic operations,
# while a processor of the host that has this word adds to the word by its own atomic operations
# (RFC 7306 5.3). Then the queue pairs count up another word by compare and swap.
# IWT_ATOMICS: number of additions of each queue pair (2000)
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_atomics
[ "$IWT_LINK_TYPE" != siw ] || skip_all "siw has no atomic operations"
two_links

# atomics QPS: runs iwt_atomics with QPS queue pairs at the same time
atomics() {
	local srv
	start in_b "$IWT_BIN/iwt_atomics" -s $IP_B >"$TMP/server"
	srv=$PID
	wait_listen "$NS_B" 7475 || { not_ok "$1 queue pairs: the server listens"; diag <"$TMP/server"; return; }
	tap "$1 queue pairs" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_atomics" -c $IP_B -q "$1" \
		-n "${IWT_ATOMICS:-2000}"
	stop "$srv"
	wait_free "$NS_B" 7475
}

atomics 1
atomics 32
ktap_finish
