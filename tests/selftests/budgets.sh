#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The device receives and flushes a limited amount at a time (a budget). The device does a larger
# amount of work in several steps, and loses nothing.
. "$(dirname "$0")/../lib/begin.sh"

begin iwt_attach
only_iw_tcp "other drivers can't attach sockets"
only_with DELAYED
two_links

# room for megabytes of unread data
in_net "$NS_A" sysctl -qw net.ipv4.tcp_rmem="4096 131072 33554432"
# The /sys of "ip netns exec" has no counters
for what in steps gap window; do
	# "window" checks by TCP's window how much the device has received. This check needs a
	# buffer of constant size, so TCP must not enlarge the buffer.
	[ $what != window ] || in_net "$NS_A" sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0
	in_net "$NS_A" iwt_patient 120 "$IWT_BIN/iwt_attach" $what "$DEV_A" $IP_A >"$TMP/$what" 2>&1
	subtests $what "$TMP/$what" $?
done
ktap_finish
