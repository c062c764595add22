#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Resizes completion queues: refused sizes, events, memory; random resizes during verified traffic
# of several threads; and the end of the process or of the link during a resize.
# IWT_ROUNDS: number of resizes for each way to poll (300); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_queues
only_iw_tcp "other drivers resize as they like"
only_with RESIZE
two_links

# The time limit is long because the program prints nothing while it resizes; the program ends
# itself if there is no progress
tap "resize" iwt_patient $((IWT_TIME * 4)) ip netns exec "$NS_A" "$IWT_BIN/iwt_queues" -a $IP_A \
	-n "${IWT_ROUNDS:-300}" ${IWT_SEED:+-s "$IWT_SEED"} resize
tap "limit" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_queues" -a $IP_A limit

# begin_resizes: starts a program that resizes queues without end, and waits until the resizes
# during traffic begin
begin_resizes() {
	start in_a "$IWT_BIN/iwt_queues" -a $IP_A -n 1000000 resize >"$TMP/endless" 2>&1
	busywait "$IWT_TIME" grep -q "armed queues are resized" "$TMP/endless"
}

for round in 1 2 3; do
	check "killed during a resize ($round): the program resizes" begin_resizes
	nap 0.$round
	kill -KILL "$PID"
	ended "$PID" >/dev/null 2>&1
	check_no_objects 20 "$DEV_A" "killed during a resize ($round)"
done
check "link deleted during a resize: the program resizes" begin_resizes
check "link deleted during a resize: the link can be deleted" link_del "$NS_A" "$DEV_A"
stop "$PID"
check "link deleted during a resize: nothing is left" busywait 20 in_a bash -c "! rdma link show $DEV_A/1 2>/dev/null"
ktap_finish
