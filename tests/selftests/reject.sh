#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Rejections, and private data of all sizes in all directions.
# IWT_QUICK: over IPv6, only a client without a listener
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_conn rping
two_links

# run PREFIX OPTION...: runs a client, iwt_conn, and reports its results
run() {
	local prefix=$1
	shift
	tap "$prefix" in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" "$@"
}

run "nobody listens" -c $IP_B -x
run "nobody listens, IPv6" -c $IP6_B -x
start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B
srv=$PID
wait_listen "$NS_B" 7471
run "IPv4" -c $IP_B
stop "$srv"
wait_free "$NS_B" 7471
run "the listener has ended" -c $IP_B -x
[ -n "${IWT_QUICK:-}" ] || {
	start in_b "$IWT_BIN/iwt_conn" -s -a $IP6_B
	srv=$PID
	wait_listen "$NS_B" 7471
	run "IPv6" -c $IP6_B
	stop "$srv"
}
pair "afterwards: rping" 7174 "rping -s -a $IP_B -C 3 -V" "rping -c -a $IP_B -C 3 -V -v"
ktap_finish
