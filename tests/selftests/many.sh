#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many connections at once.
. "$(dirname "$0")/../lib/ktap.sh"
. "$(dirname "$0")/../lib/net.sh"

require iwt_conn
require_type "$IWT_LINK_TYPE"
ktap_begin
setup 1500 || { not_ok "two links"; ktap_finish; }

no_qps() { ! rdma resource show qp link "$1/1" 2>/dev/null | grep -q ' pid '; }

run() {
	local prefix=$1
	shift
	in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B "$@" >"$TMP/client" 2>&1
	subtests "$prefix" "$TMP/client"
}

start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B
srv=$PID
wait_listen "$NS_B" 7471
run "64 connections" -n 64
run "once more" -n 64
# two clients at the same time
in_a "$IWT_BIN/iwt_conn" -t "$IWT_TIME" -c $IP_B -n 32 >"$TMP/other" 2>&1 &
other=$!
run "32 connections, beside others" -n 32
wait $other
subtests "the others" "$TMP/other"
check "the server is alive" alive "$srv"
stop "$srv"
check "no queue pair is left" busywait 20 no_qps "$DEV_B"
wait_free "$NS_B" 7471

start in_b "$IWT_BIN/iwt_conn" -s -a $IP_B -b 1
srv=$PID
wait_listen "$NS_B" 7471
run "one after the other, a backlog of one" -n 1
stop "$srv"
ktap_finish
