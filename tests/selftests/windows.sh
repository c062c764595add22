#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory windows: how a program binds a window, which access the window gives to the peer, and how
# the window is invalidated; a random sequence of requests, whose results are compared with a model;
# windows that are invalidated while the peer writes; and a long list of requests without a message.
# IWT_ROUNDS: steps of the random sequence (1000); IWT_SEED: repeats a run
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_windows
only_iw_tcp "other drivers lack these verbs"
only_with WINDOWS
two_links

tap "one process" iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_windows" -a $IP_A \
	-n "${IWT_ROUNDS:-1000}" ${IWT_SEED:+-s "$IWT_SEED"}

# by_steps: has the device completed the first requests of a long list before it had executed half of
# the list?
by_steps() {
	awk '/iwt_wr_start.*LOCAL_INV/ { if (!done) early++; all++ } /iwt_wr_done.*LOCAL_INV/ { done++ }
	     END { printf "# %d of %d requests were executed before the first one was completed\n", early, all
		   exit !(all && all == done && early < all / 2) }' "$TRACE/trace"
}
list() { iwt_patient "$IWT_TIME" ip netns exec "$NS_A" "$IWT_BIN/iwt_windows" -a $IP_A -l; }
if [ -w /sys/kernel/tracing/events/iw_tcp/iwt_wr_done/enable ]; then
	trace_events iw_tcp/iwt_wr_start iw_tcp/iwt_wr_done
	traced iw_tcp/iwt_wr_start iw_tcp/iwt_wr_done -- tap "a long list" list
	check "a long list: the device executes the requests in steps" by_steps
else
	tap "a long list" list
	skip "a long list: the device executes the requests in steps" "no trace of iw_tcp here"
fi
ktap_finish
