#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Extended verbs of a process: completion times, completion vectors, overruns, attributes, queries,
# parent domains, and the operations of ibv_wr_post(3) except binds of windows.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_queues unshare
only_iw_tcp "other drivers lack these verbs"
two_links

# queues TEST [PREFIX...]: runs a test of iwt_queues, by the command PREFIX
queues() {
	iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "${@:2}" "$IWT_BIN/iwt_queues" -a $IP_A "$1"
}

tap "verbs" queues verbs
if ! has_feature RESIZE; then
	skip "overrun, times" "these parts resize queues, and the driver was built without RESIZE"
	ktap_finish
fi
tap "overrun" queues overrun
tap "times" queues times
# In a time namespace, the process reads the monotonic clock with an offset
if unshare -T --monotonic 100000 true 2>/dev/null; then
	tap "time namespace" queues times unshare -T --monotonic 100000 --fork
else
	skip "time namespace" "this kernel or unshare has none"
fi
ktap_finish
