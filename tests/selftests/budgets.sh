#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The budgets of receiving and flushing: much of either is done in steps, and nothing is lost.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_attach
only_iw_tcp "other drivers have no such method"
only_with DELAYED
two_links

# room for megabytes that nobody has read
in_net "$NS_A" sysctl -qw net.ipv4.tcp_rmem="4096 131072 33554432"
# The /sys of "ip netns exec" would have no counters
for what in steps gap window; do
	# a buffer that TCP widens at the first step says nothing of what was taken
	[ $what != window ] || in_net "$NS_A" sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0
	in_net "$NS_A" iwt_patient 120 "$IWT_BIN/iwt_attach" $what "$DEV_A" $IP_A >"$TMP/$what" 2>&1
	subtests $what "$TMP/$what" $?
done
ktap_finish
