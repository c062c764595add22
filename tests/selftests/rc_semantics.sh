#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests three properties of direct connections, on which programs for InfiniBand count: a request
# completes when the peer has placed its message, a message waits for its receive, and the status
# of the first request that fails shows the reason (iwt_direct).
# IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_direct rdma
only_iw_tcp "no other iWARP device connects without rdma_cm"
only_with DIRECT
two_links
# group NAME [LABEL COMMAND...]: runs a group of tests between the two links. COMMAND is put in front
# of the test's command line, and LABEL describes COMMAND
group() {
	tap "$1${2:+, $2}" iwt_patient $((IWT_TIME * 2)) "${@:3}" "$IWT_BIN/iwt_direct" \
		${IWT_SEED:+-s "$IWT_SEED"} "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 "$1"
}
before=$(counter $DEV_A tx_confirm)
group confirm
check "confirmations are counted" [ "$(counter $DEV_A tx_confirm)" -gt "$before" ]
before=$(counter $DEV_A tx_confirm)
group reads
check "Reads of the program confirm, too" [ "$(counter $DEV_A tx_confirm)" = $((before + 1)) ]
before=$(counter $DEV_B rx_wait_recv)
group wait
check "messages that wait are counted" [ "$(counter $DEV_B rx_wait_recv)" -gt "$before" ]
group receives
if has_feature POLLING; then
	# a worker that polls the send queue would not make a doorbell for a receive unnecessary
	before=$(counter $DEV_B sqpoll) rang=$(counter $DEV_B doorbell)
	group rings
	check "receives need doorbells" [ "$(counter $DEV_B doorbell)" -gt "$rang" ]
	check "doorbells for receives start no worker" [ "$(counter $DEV_B sqpoll)" = "$before" ]
else
	skip "doorbells for receives" "the driver was built without POLLING"
fi
# a provider that does not know the doorbell of a shared receive queue
group wait "older provider" env LD_PRELOAD="$IWT_BIN/skew.so" IWT_SKEW=features IWT_SKEW_FEATURES=7

# a process dies while streams wait
stays() { grep -q "the streams wait" "$TMP/stay"; }
start "$IWT_BIN/iwt_direct" "$DEV_A@$NS_A" 1 "$DEV_B@$NS_B" 1 stay >"$TMP/stay" 2>&1
check "streams wait" busywait "$IWT_TIME" stays
kill -KILL "$PID"
check_no_objects 20 "$DEV_A" "after a kill"
check_no_objects 20 "$DEV_B" "after a kill"
ktap_finish
