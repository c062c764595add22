#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shared receive queues of a process: several streams take receives from one queue, while threads
# post receives, the queue is resized, and streams end in the middle of messages.
# IWT_ROUNDS: number of random steps (2000); IWT_SEED: repeats a run; IWT_QUICK: 300 random steps
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_srq rdma python3
only_iw_tcp "other drivers lack some of these verbs"
only_with SRQ
two_links

rounds=${IWT_ROUNDS:-2000}
[ -z "${IWT_QUICK:-}" ] || rounds=300
start in_b iwt_patient "$((IWT_TIME * 3))" "$IWT_BIN/iwt_srq" -s $IP_B -n "$rounds" ${IWT_SEED:+-S "$IWT_SEED"} \
	>"$TMP/server" 2>&1
server=$PID
wait_listen "$NS_B" 7478
in_b rdma resource show srq >"$TMP/shown" 2>&1
check "rdma shows the queue and its user" grep -q "^dev $DEV_B .*type BASIC.*comm iwt_srq" "$TMP/shown" || diag <"$TMP/shown"
# detail NAME VALUE: does rdma show VALUE for this detail of the queue? (The queue does not change
# before the client connects.)
detail() { [ $(($(of_object srq "$DEV_B" "drv_$1") & 0xffffffff)) = $(($2 & 0xffffffff)) ]; }
case $(uname -r) in
6.1.*) skip "the queue's details" "this kernel does not ask the driver for them" ;;
*)
	# These are the values with which iwt_srq creates the queue. The counter "taken" begins at
	# the first index (proto/first.h).
	for pair in max_wr=256 limit=3 left=5 "taken=-${IWT_BEFORE_WRAP:-0}" failed=0; do
		check "the queue's details: $pair" detail "${pair%=*}" "${pair#*=}"
	done
	case $(rdma -V) in
	*iproute2-6.1.*) skip "the queue's raw dump" "this rdma(8) does not ask for it" ;;
	*) check "the queue's raw dump" raw_agrees srq "$DEV_B" ;;
	esac ;;
esac
start in_a "$IWT_BIN/iwt_srq" -c $IP_B >"$TMP/client" 2>&1
client=$PID
status=0
# iwt_patient ends the server if there is no progress
wait "$server" || status=$?
subtests "server" "$TMP/server" $status
check "the client ends well" ended "$client" || diag <"$TMP/client"
check_no_objects 20 "$DEV_B"

more_than() { local n; n=$("${@:2}") && [ "$n" -gt "$1" ]; }
streams() { [ "$(rdma resource show qp | grep -c "^link $DEV_B/.* comm iwt_srq")" -ge 6 ]; }
# share WHAT: starts a server that never ends, and its client; sets $server and $client
share() {
	start in_b iwt_patient "$((IWT_TIME * 3))" "$IWT_BIN/iwt_srq" -s $IP_B -n 1000000000 >"$TMP/server" 2>&1
	server=$PID
	wait_listen "$NS_B" 7478
	# iwt_srq is a child of iwt_patient
	server=$(pgrep -P "$server")
	start in_a "$IWT_BIN/iwt_srq" -c $IP_B >"$TMP/client" 2>&1
	client=$PID
	check "$1: streams share a queue" busywait "$IWT_TIME" streams
	case $(uname -r) in
	6.1.*) ;;
	*) check "$1: streams take receives of the queue" busywait "$IWT_TIME" more_than 5 of_object srq "$DEV_B" drv_taken ;;
	esac
}

share "a kill"
kill -KILL "$server"
check_no_objects 20 "$DEV_B" "after a kill"
stop "$client"
share "link deleted"
check "the link is deleted while streams share a queue" link_del "$NS_B" "$DEV_B"
kill -KILL "$server" 2>/dev/null
stop "$client"
ktap_finish
