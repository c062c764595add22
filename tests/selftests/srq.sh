#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shared receive queues of a process: several streams take from one, while threads post, its size
# changes, and streams end in the middle of messages.
# IWT_ROUNDS: random steps (2000); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_srq rdma
only_iw_tcp "other drivers lack some of these verbs"
two_links

rounds=${IWT_ROUNDS:-2000}
[ -z "${IWT_QUICK:-}" ] || rounds=300
start in_b timeout "$((IWT_TIME * 3))" "$IWT_BIN/iwt_srq" -s $IP_B -n "$rounds" ${IWT_SEED:+-S "$IWT_SEED"} \
	>"$TMP/server" 2>&1
server=$PID
wait_listen "$NS_B" 7478
start in_a "$IWT_BIN/iwt_srq" -c $IP_B >"$TMP/client" 2>&1
client=$PID
in_b rdma resource show srq >"$TMP/shown" 2>&1
check "rdma shows the queue and its user" grep -q "^dev $DEV_B .*type BASIC.*comm iwt_srq" "$TMP/shown" || diag <"$TMP/shown"
status=0
ended "$server" || status=$?
subtests "server" "$TMP/server" $status
check "the client ends well" ended "$client" || diag <"$TMP/client"
check_no_objects 20 "$DEV_B"

# share: a server that goes on for ever, and its client
streams() { [ "$(rdma resource show qp | grep -c "^link $DEV_B/.* comm iwt_srq")" -ge 6 ]; }
share() {
	start in_b timeout "$((IWT_TIME * 3))" "$IWT_BIN/iwt_srq" -s $IP_B -n 1000000000 >"$TMP/server" 2>&1
	server=$PID
	wait_listen "$NS_B" 7478
	# below "timeout"
	server=$(pgrep -P "$server")
	start in_a "$IWT_BIN/iwt_srq" -c $IP_B >"$TMP/client" 2>&1
	client=$PID
	check "$1: streams share a queue" busywait "$IWT_TIME" streams
}

share "a kill"
kill -KILL "$server"
check_no_objects 20 "$DEV_B" "after a kill"
stop "$client"
share "the link goes"
check "the link goes while streams share a queue" link_del "$NS_B" "$DEV_B"
kill -KILL "$server" 2>/dev/null
stop "$client"
ktap_finish
