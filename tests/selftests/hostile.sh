#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A hostile process runs beside two honest processes, and must not disturb the honest processes.
# IWT_SEED repeats a run.
. "$(dirname "$0")/../lib/begin.sh"

# The honest processes are the two ends of rping, which exchange data without end
others() {
	alive "$CLI" && alive "$SRV" && return
	tail -n 5 "$TMP"/traffic-*
	return 1
}
still_moving() { MOVING_FROM='' busywait "$IWT_TIME" moving "$NS_A" "$IF_A" 100000; }

begin iwt_hostile rping rdma
only_iw_tcp "the rings are those of iw_tcp"
two_links
check "honest processes exchange data" traffic_rping
start in_b "$IWT_BIN/iwt_hostile" -s $IP_B >"$TMP/peer" 2>&1
peer=$PID
check "the peer listens" wait_listen "$NS_B" 7474
tap hostile in_a "$IWT_BIN/iwt_hostile" -c $IP_B ${IWT_SEED:+--seed "$IWT_SEED"}
check "the hostile process's peer still runs" alive "$peer"
check "the honest processes still run" others
check "the honest processes still exchange data" still_moving
check "nothing of the hostile processes is left" busywait "$IWT_TIME" nothing_of iwt_hostile "$DEV_A"
diag <"$TMP/peer"
stop "$peer" "$CLI" "$SRV"
ktap_finish
